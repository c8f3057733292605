// What differs between a step and its reference steps, biggest first, each thing with a place to look at; and the answer that the numbers
// alone give (DESIGN §7, CONTRACT.md `diagnose`).
//
// Values in, values out; any thread with its own reader.
#pragma once

#include <span>
#include <stop_token>
#include <vector>

#include "core/candidates.h"
#include "core/capture_reader.h"
#include "core/diagnosis.h"
#include "core/layer_rules.h"
#include "core/log_line.h"
#include "core/request.h"
#include "core/result.h"
#include "core/step_verdict.h"

namespace faultline {

/// What a diagnosis reads: everything of the capture that was derived before. All of it outlives the call.
struct DiagnosisInput {
    const CaptureReader& capture;
    const LayerRules& layers;
    std::span<const Step> steps;             ///< of the capture, then its stalls
    std::span<const StepVerdict> verdicts;   ///< by position in `steps`
    std::span<const Bubble> bubbles;
    std::span<const LogLine> logs;           ///< by time
    std::span<const Request> requests;
};

/// The evidence list of a step. Also for a normal step: then it says how it lies among its reference steps.
[[nodiscard]] Result<std::vector<Evidence>> step_evidence(const DiagnosisInput& input, StepId step, std::stop_token stop = {});

/// Fault type, suspects, explanation and evidence by rules on the numbers (FAULTS §0); `model` is "numbers", and `missing` says that no
/// learned model was asked. Unsure where the numbers do not separate the classes: low confidence, alternatives.
[[nodiscard]] Result<Diagnosis> diagnose_by_numbers(const DiagnosisInput& input, StepId step, std::stop_token stop = {});

}  // namespace faultline
