// Steps where no text names them, by repetition (DESIGN §6): parts that open a step, annotations that hold the launches, graph launches,
// token sampling, and last the kernel sequence itself. Used by find_steps().
#pragma once

#include <string>
#include <vector>

#include "core/launch_calls.h"
#include "core/source_builder.h"
#include "core/step_texts.h"

namespace faultline {

struct InferredSteps {
    std::vector<StepRange> steps;  ///< by thread, then start; all inferred. Without a host thread: device times
    std::string way;               ///< in words, for the ledger; empty where nothing repeats
};

/// Tries the ways in that order and stops at the first that gives at least two steps. Linear in spans (the kernel sequence is read
/// for at most 48 candidate kernels).
[[nodiscard]] InferredSteps infer_steps(const SourceBuilder& source, const std::vector<HostThread>& threads, const LaunchTable& launches,
                                        const StepTexts& texts);

}  // namespace faultline
