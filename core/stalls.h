// Stretches in which a service makes no progress though it should (DESIGN §6): a hang makes no step, so it is an item of its own.
//
// Three signs, each of at least `stall_least_ns`: a kernel (or a graph seen as one row) that runs on or never ended; a stretch between
// steps in which a request is live; one in which the scheduler turns without a step. Where nothing about requests is known, a plain gap
// between steps is idleness. Values in, values out; any thread, since a SpanIndex is const. Times are capture times.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "core/analyse_capture.h"
#include "core/capture_reader.h"
#include "core/device_busy.h"
#include "core/model.h"
#include "core/request.h"
#include "core/result.h"
#include "core/span_index.h"
#include "core/step_verdict.h"

namespace faultline {

struct Stall {
    Step step;                             ///< kind is stall; without an id
    std::string sentence;                  ///< why it is one, without a full stop
    StepBound bound = StepBound::unknown;  ///< of a kernel: gpu, or communication for a collective; cpu where the scheduler turns
};

/// By start; overlapping ones of an instance are one.
[[nodiscard]] Result<std::vector<Stall>> find_stalls(const CaptureReader& capture, const SpanIndex& index, std::span<const Step> steps,
                                                     std::span<const Request> requests, std::span<const DeviceBusy> devices,
                                                     const AnalysisOptions& options);

}  // namespace faultline
