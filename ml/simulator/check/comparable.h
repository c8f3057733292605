// Which run is to be simulated for the comparison with a real capture: engine, dialect, model, GPU, ranks, graphs and load as far as the
// capture tells them. What it does not tell keeps its default.
#pragma once

#include <string>
#include <vector>

#include "core/capture_reader.h"
#include "core/result.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/device/cards.h"

namespace faultline::simulator {

struct Comparable {
    RunOptions options;
    TraceFormat format = TraceFormat::kineto;  ///< that of the real one: each format leaves something out
    std::vector<std::string> reasons;  ///< what was chosen and why, a sentence each
};

/// Fails where the capture has no steps with kernels. `models` and `gpus` are what can be simulated: model_cards(), gpu_cards().
[[nodiscard]] Result<Comparable> comparable_run(const CaptureReader& real, const std::vector<ModelCard>& models,
                                                const std::vector<GpuCard>& gpus);

[[nodiscard]] Dialect dialect_of(const std::string& rule);  ///< the name of a rule of the step grammar

}  // namespace faultline::simulator
