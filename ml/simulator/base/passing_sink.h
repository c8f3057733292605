// A sink that hands everything on: what looks at some of it, or adds to it, overrides that alone. One thread.
#pragma once

#include "ml/simulator/base/event.h"

namespace faultline::simulator {

class PassingSink : public Sink {
public:
    explicit PassingSink(Sink& next) : next_(next) {}  ///< `next` must outlive it

    void event(const Event& event) override { next_.event(event); }
    void log(const LogEntry& entry) override { next_.log(entry); }
    void sample(const StackSampleEvent& sample) override { next_.sample(sample); }
    void counter(const CounterEvent& counter) override { next_.counter(counter); }
    void gap(const IdleGap& gap) override { next_.gap(gap); }

protected:
    Sink& next_;
};

}  // namespace faultline::simulator
