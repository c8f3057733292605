// Evidence from a step's operators: what took longer, ran more or less often, or ran as something else than in the reference steps.
//
// Values in, values out; any thread with its own reader.
#pragma once

#include <string>
#include <vector>

#include "core/capture_reader.h"
#include "core/diagnosis.h"
#include "core/fault_signs.h"
#include "core/step_comparison.h"

namespace faultline {

/// How the step as a whole lies among its references: one piece of evidence of kind roofline.
[[nodiscard]] Evidence duration_evidence(const StepComparison& comparison);

/// Operators that stand out of the references, variants, and work that is missing, rank by rank; unordered.
[[nodiscard]] std::vector<Evidence> operator_evidence(const CaptureReader& capture, const StepComparison& comparison,
                                                      const FaultSigns& signs, const FamilyRules& families);

/// A rank for which the others wait, or a rank that began late.
[[nodiscard]] std::vector<Evidence> rank_evidence(const CaptureReader& capture, const StepComparison& comparison, const FaultSigns& signs);

/// "step 41 (decode, 9 tokens)".
[[nodiscard]] std::string step_words(const Step& step);

}  // namespace faultline
