// One stack sample of a thread: where it was at an instant (FORMATS §1.3, §6).
//
// A value. The time is the source's own clock inside a SourceBuilder and capture time where a CaptureReader gives it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "core/types.h"

namespace faultline {

struct StackSample {
    std::int64_t id = 0;
    SourceId source{};
    std::optional<TimeNs> time;  ///< absent in aggregates
    std::optional<ProcessId> process;
    std::optional<ThreadId> thread;
    std::string stack;                ///< frames, outermost first, separated by ;
    std::optional<TimeNs> weight_ns;  ///< time that the sample stands for
    std::optional<bool> owns_gil;     ///< null where the source does not say
};

}  // namespace faultline
