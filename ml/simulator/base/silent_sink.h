// A sink that keeps nothing: what looks at one kind of thing alone overrides that; rehearsals and pilots want none of it. One thread.
#pragma once

#include "ml/simulator/base/event.h"

namespace faultline::simulator {

class SilentSink : public Sink {
public:
    void event(const Event& /*event*/) override {}
    void log(const LogEntry& /*entry*/) override {}
    void sample(const StackSampleEvent& /*sample*/) override {}
    void counter(const CounterEvent& /*counter*/) override {}
    void gap(const IdleGap& /*gap*/) override {}
};

}  // namespace faultline::simulator
