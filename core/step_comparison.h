// A step held against its reference steps, operator by operator: what candidates, evidence and the answer by numbers are made of (DESIGN
// §7).
//
// Values in, values out; any thread with its own reader. Reads the chunks of the step and of its references only.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/capture_reader.h"
#include "core/families.h"
#include "core/layer_rules.h"
#include "core/model.h"
#include "core/operator_features.h"
#include "core/result.h"
#include "core/step_verdict.h"

namespace faultline {

/// How one instance of the step lies among its counterparts: the instances with the same key and occurrence in the reference steps.
struct InstanceDeviation {
    TimeNs expected_ns = 0;  ///< median self time of its counterparts; 0 where there is none
    TimeNs excess_ns = 0;    ///< self time beyond that; 0 where faster
    double z = 0;            ///< robust z of log(1 + self time)
    FamilyId family = FamilyId::other;
    bool extra = false;  ///< more of its key than any reference step has
};

/// The instances of one rank, kind and group, in the step and in its references.
struct OperatorDifference {
    std::optional<std::int64_t> rank;
    SpanKind kind = SpanKind::other;
    NameId name{};
    FamilyId family = FamilyId::other;
    LayerClass layer = LayerClass::none;
    bool collective = false;
    std::int64_t count = 0;
    double expected_count = 0;                     ///< median over the references
    std::int64_t least_count = 0, most_count = 0;  ///< over the references
    TimeNs self_ns = 0;
    TimeNs expected_ns = 0;            ///< median over the references of the summed self time
    TimeNs spread_ns = 0;              ///< 1.4826 · MAD of those sums
    TimeNs excess_ns = 0;              ///< self_ns - expected_ns; negative where the step took less
    std::optional<std::size_t> where;  ///< the instance with the greatest excess; absent where the step has none of it
};

struct StepComparison {
    Step step;
    StepVerdict verdict;
    std::vector<Step> references;
    std::vector<StepVerdict> reference_verdicts;
    bool alone = false;      ///< no reference step: the instances of the step are held against each other
    double scale = 1;        ///< device times of the references are multiplied by this, where the step has other tokens than they
    TimeNs expected_ns = 0;  ///< median own time of the references where they have like work, else what the verdict expects, else 0
    std::vector<OperatorInstance> instances;    ///< of the step
    std::vector<InstanceDeviation> deviations;  ///< of each of them
    std::vector<OperatorInstance> reference_instances;
    std::vector<OperatorDifference> operators;  ///< by |excess|, greatest first

    /// Whether a difference stands out of the spread of the references; `least_ns` is the least time that matters.
    [[nodiscard]] bool stands_out(const OperatorDifference& of, TimeNs least_ns) const noexcept;
    /// The step's own time (own_time.h), its whole interval where that is not known.
    [[nodiscard]] TimeNs duration() const noexcept { return verdict.own_ns.value_or(step.end - step.start); }
    /// Whether the references have about as much work, or what they have is scaled to it; else times of device work say nothing.
    [[nodiscard]] bool like_work() const noexcept;
    /// How much longer than expected, 0 where it is not.
    [[nodiscard]] TimeNs extra_ns() const noexcept;
};

/// Error where `steps` hold no such step. `verdicts` are by position in `steps`, or empty.
[[nodiscard]] Result<StepComparison> compare_with_references(const CaptureReader& capture, const LayerRules& layers, NameFamilies& families,
                                                             std::span<const Step> steps, std::span<const StepVerdict> verdicts,
                                                             StepId step, std::stop_token stop = {});

}  // namespace faultline
