// What the steps of a capture are made of, counted in one pass over the loaded spans: what structure and bounds are judged by.
//
// Values in, values out; any thread with its own reader. Reads the `step` column alone; the rest comes from the index.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <stop_token>
#include <vector>

#include "core/capture_reader.h"
#include "core/layer_rules.h"
#include "core/model.h"
#include "core/result.h"
#include "core/span_index.h"

namespace faultline {

/// The spans of a step with one kind and name, over all ranks.
struct StepPart {
    SpanKind kind = SpanKind::other;
    NameId name{};
    std::int64_t count = 0;
    TimeNs total = 0;
};

/// A device that a step ran on.
struct StepDevice {
    DeviceId device{};
    TimeNs collective_ns = 0;  ///< device work of class COMM
    TimeNs graph_ns = 0;       ///< graph launches seen as one row each
};

struct StepParts {
    std::vector<StepPart> parts;  ///< device work, calls and operators, by (kind, name)
    std::vector<StepDevice> devices;
};

struct CountedSteps {
    std::vector<StepParts> steps;                               ///< by position in `steps`
    std::map<TrackId, std::vector<std::int64_t>> device_steps;  ///< step id of every span of each device track; kNull for none
};

[[nodiscard]] Result<CountedSteps> count_parts(const CaptureReader& capture, const SpanIndex& index, const LayerRules& layers,
                                               std::span<const Step> steps, std::stop_token stop = {});

}  // namespace faultline
