// From signs to fault types: the reading rules that separate the classes (FAULTS §0), with what they leave open.
//
// Rules on numbers, not a learned model: how much of the step's extra time speaks for each type; where one sign fits several types, its
// time is shared among them. Values in, values out; any thread.
#pragma once

#include <array>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/diagnosis.h"
#include "core/fault_signs.h"
#include "core/step_comparison.h"
#include "core/surrounding_evidence.h"

namespace faultline {

/// What a reading is made from beside the comparison itself.
struct ReadingInput {
    const StepComparison& comparison;
    const FaultSigns& signs;
    const FamilyRules& families;
    std::span<const StepLog> logs;
    std::optional<FaultType> frame_cue;  ///< what the Python frame under the slowest host code points to
    bool peers_missing = false;          ///< the capture holds fewer ranks than took part
    std::string_view frame{};            ///< the name of that frame; empty where there is none
};

struct FaultReading {
    bool abnormal = false;
    std::vector<Diagnosis::Alternative> types;  ///< most probable first; for a normal step `normal` alone
    std::optional<Sign> main;                   ///< the sign with the most time of the first type; absent for structure alone
    std::optional<std::size_t> culprit;         ///< position in FaultSigns::ranks whose signs were read; absent: all alike
    double explained = 0;                       ///< share of the step's extra time that the signs account for, 0 to 1
};

/// Whether the analysis of the capture had enough steps to say anything about the step.
[[nodiscard]] bool is_judged(const StepComparison& comparison);
/// … or where the capture was never analysed: then its reference steps alone are asked.
[[nodiscard]] bool was_judged(const StepComparison& comparison);
/// What the analysis says; of a step that it could not judge what three or more reference steps with as many tokens say.
[[nodiscard]] bool is_abnormal(const StepComparison& comparison);
[[nodiscard]] FaultReading read_fault(const ReadingInput& input);

/// Instances of the step that the type points at, worst first, one for each rank, kind and name, at most `limit`; with scores of 0 to 1.
struct SuspectInstance {
    std::size_t instance = 0;
    double score = 0;
};
[[nodiscard]] std::vector<SuspectInstance> suspect_instances(const ReadingInput& input, const FaultReading& reading, std::size_t limit = 6);

/// How much of a sign's time speaks for each type; adds up to 1.
[[nodiscard]] std::array<double, kFaultTypeCount> shares_of(Sign sign, const ReadingInput& input);

}  // namespace faultline
