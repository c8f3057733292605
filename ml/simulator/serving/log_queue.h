// Lines that were written ahead of their time (a watchdog that fires in a minute), given out in order of time. One thread.
#pragma once

#include <vector>

#include "ml/simulator/logs/log_voice.h"

namespace faultline::simulator {

class LogQueue {
public:
    void add(std::vector<LogDraft> drafts);
    /// Tells `sink` of every line before `until`, by time; lines of one time in the order in which they came.
    void give(TimeNs until, Sink& sink);
    [[nodiscard]] std::uint64_t given() const { return given_; }

private:
    struct Waiting {
        std::uint64_t order = 0;
        LogDraft draft;
    };
    std::vector<Waiting> heap_;
    std::uint64_t added_ = 0, given_ = 0;
};

}  // namespace faultline::simulator
