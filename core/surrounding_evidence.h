// Evidence from what surrounds a step's operators: idle devices, log messages, stack samples, Python frames and counters.
//
// Values in, values out; any thread with its own reader.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/capture_reader.h"
#include "core/diagnosis.h"
#include "core/log_line.h"
#include "core/request.h"
#include "core/result.h"
#include "core/step_comparison.h"
#include "core/step_verdict.h"

namespace faultline {

/// The bubbles of a step that are longer than those of its references, longest first, at most eight; and the stack samples under them.
[[nodiscard]] Result<std::vector<Evidence>> bubble_evidence(const CaptureReader& capture, const StepComparison& comparison,
                                                            std::span<const Bubble> bubbles, TimeNs least_ns);

/// A message that belongs to a step, and the fault type that its words point to.
struct StepLog {
    const LogLine* line = nullptr;
    std::optional<FaultType> cue;
    bool serious = false;  ///< WARNING or worse
};
/// Messages aligned to the step, and warnings whose stamp's instant touches it; by seriousness, then nearness; at most eight.
[[nodiscard]] std::vector<StepLog> logs_of_step(std::span<const LogLine> logs, const Step& step);
/// Requests of the step that ask for something else than its other requests do, as their log lines say; at most four.
[[nodiscard]] std::vector<Evidence> parameter_evidence(std::span<const LogLine> logs, std::span<const Request> requests,
                                                       const StepComparison& comparison);
[[nodiscard]] Evidence log_evidence(const StepLog& log, TimeNs extra_ns);

/// The innermost Python frame that fills most of a host instance's own time.
struct FrameUnder {
    SpanId span;
    NameId name{};
    TimeNs start = 0, duration = 0;
};
[[nodiscard]] Result<std::optional<FrameUnder>> frame_under(const CaptureReader& capture, const OperatorInstance& instance);

/// Counters that stand elsewhere at the end of the step than at the ends of its references, at most four.
[[nodiscard]] Result<std::vector<Evidence>> counter_evidence(const CaptureReader& capture, const StepComparison& comparison);

}  // namespace faultline
