// What a step should have lasted for its tokens: a line through the P99 of latency for each instance and phase (StriaTrace §5.4).
//
// Latency is a step's own time (own_time.h): where steps overlap, what lies after the end of the one before.
// For every token count the minimum, the median and the P99 of latency, the P99 without values that lie far from the median, so that a
// bucket that is slow now and then does not raise it; a line through the P99 points by RANSAC (all pairs where they are few, else seeded
// ones), refitted on its inliers. It takes `roofline_steps` steps and three token counts; else the median of comparable steps (like tokens;
// like kernels where no text says tokens), which takes six of them; else nothing is expected. First steps of an instance are not learned
// from. Values in, values out; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/analyse_capture.h"
#include "core/model.h"
#include "core/step_verdict.h"

namespace faultline {

struct StepExpectation {
    std::optional<TimeNs> expected;
    TimeNs slow_beyond = 0;  ///< a longer step is slow; meaningless without `expected`
    bool cold = false;       ///< one of the first steps of its instance: never called slow
    std::string rule;        ///< as StepVerdict::rule
};

struct Rooflines {
    std::vector<RooflineLine> lines;
    std::vector<StepExpectation> expectations;  ///< by position in `steps`
};

/// What one token count of an instance and phase looks like.
struct LatencyBucket {
    double tokens = 0;
    TimeNs minimum = 0, median = 0, p99 = 0;
    std::int64_t steps = 0;
};

/// By tokens. Of `durations` of one token count each.
[[nodiscard]] std::vector<LatencyBucket> latency_buckets(std::span<const std::pair<std::int64_t, TimeNs>> tokens_and_durations);

[[nodiscard]] Rooflines fit_rooflines(std::span<const Step> steps, const AnalysisOptions& options);

}  // namespace faultline
