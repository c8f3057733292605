// What each step is made of, operator by operator: what structure, evidence and candidates compare (DESIGN §7).
//
// Values in, values out; any thread with its own reader.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/capture_reader.h"
#include "core/layer_rules.h"
#include "core/model.h"
#include "core/result.h"

namespace faultline {

/// The spans of one step with the same rank, kind and name.
struct OperatorTotal {
    std::optional<std::int64_t> rank;
    SpanKind kind = SpanKind::other;
    LayerClass layer = LayerClass::none;
    NameId name{};
    std::int64_t count = 0;
    TimeNs self_ns = 0;   ///< summed length without the spans nested in them; of device work its whole length
    TimeNs total_ns = 0;  ///< summed length
    TimeNs longest_ns = 0;
    SpanId longest;  ///< the longest of them
    SpanId first;    ///< the first of them
};

struct StepProfile {
    StepId step{};
    std::vector<OperatorTotal> operators;  ///< by (rank, kind, name)
    TimeNs device_busy_ns = 0;             ///< union of device work on each device, summed
    TimeNs device_idle_ns = 0;             ///< step interval without device work on any of its devices, averaged over them
    TimeNs collective_ns = 0;              ///< device work of class COMM
    std::uint64_t order = 0;               ///< hash of the sequence of kernel names on each stream
};

/// The profiles of the given steps, in their order, in one pass over the columns that hold them. Python frames are left out.
[[nodiscard]] Result<std::vector<StepProfile>> profile_steps(const CaptureReader& capture, const LayerRules& layers,
                                                             std::span<const Step> steps, std::stop_token stop = {});

}  // namespace faultline
