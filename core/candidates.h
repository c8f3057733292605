// Numeric candidate localization (TELLER §3.4): which operator families of a step are out of line with those of its reference steps.
//
// φ(x) of every operator instance, log(1+·), median and MAD, a Gaussian mixture per family fitted on the reference steps, a(x) = 1 − ρ(x)
// in mode `paper`. In mode `density` a(x) is what a far point gets: how far −log p(x) lies beyond the tail of the reference steps, or how
// far x lies beyond its own counterparts in them, whichever is more, and only where it is slower or extra (MODEL.md §3: responsibilities
// alone are near chance, since a far point belongs surely to the widest component). A family then counts by the time that it costs as well,
// and work that the references have and the step lacks counts by the time it would have taken. Values in, values out; any thread with its
// own reader.
#pragma once

#include <cstdint>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/capture_reader.h"
#include "core/families.h"
#include "core/layer_rules.h"
#include "core/model.h"
#include "core/result.h"
#include "core/step_comparison.h"
#include "core/step_verdict.h"

namespace faultline {

enum class CandidateScore : std::uint8_t { density, paper };

struct FamilyScore {
    std::string family;
    double suspiciousness = 0;  ///< A_{s,t}: 0 to 1
    bool candidate = false;
    std::int64_t instances = 0;
};

struct InstanceScore {
    SpanId span;
    std::size_t family = 0;  ///< position in Candidates::families
    double score = 0;        ///< a(x): 0 to 1; in mode `density` weighted by the time it costs
    TimeNs excess_ns = 0;    ///< self time beyond the median of its counterparts in the reference steps; 0 where faster
};

struct Candidates {
    StepId step{};
    CandidateScore score = CandidateScore::density;
    std::vector<FamilyScore> families;     ///< most suspicious first
    std::vector<InstanceScore> instances;  ///< most suspicious first
    std::vector<StepId> references;        ///< steps that it was fitted on
    std::string rule;                      ///< how it was fitted, and why where too little was there
};

/// `families` are those that `comparison` was made with.
[[nodiscard]] Candidates find_candidates(const StepComparison& comparison, NameFamilies& families,
                                         CandidateScore score = CandidateScore::density);

/// A_{s,t}: the mean of the largest max(1, ⌊q·m⌋) of the m scores of a family, which is 1 − the mean of the least ρ.
[[nodiscard]] double family_suspiciousness(std::span<const double> scores, double quantile);

[[nodiscard]] Result<Candidates> find_candidates(const CaptureReader& capture, const LayerRules& layers, std::span<const Step> steps,
                                                 std::span<const StepVerdict> verdicts, StepId step,
                                                 CandidateScore score = CandidateScore::density, std::stop_token stop = {});

}  // namespace faultline
