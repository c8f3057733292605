// The options of `faultline simulate`, and the run that they ask for.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/result.h"
#include "ml/simulator/campaign/campaign.h"
#include "ml/simulator/serving/simulation.h"

namespace CLI {
class App;
}

namespace faultline {

struct SimulateOptions {
    std::string folder, scenario, campaign;
    std::vector<std::string> check;
    bool normal = false, list = false, reserved = false, no_fault = false, json = false, progress = false;
    std::uint64_t seed = 1;
    std::optional<std::string> format, engine, model, gpu, graphs, dialect, arrivals;
    std::optional<int> tp, dp, nodes, clients, prompt_tokens, output_tokens, spec_tokens, max_steps, skip_steps;
    std::optional<double> duration, arrival_rate, intensity, fault_duration;
    std::string fault_ranks;  ///< 0,2
    bool prefill_decode = false, python_frames = false, no_operators = false, no_request_ids = false, no_logs = false, no_samples = false,
         no_counters = false, iteration_log = false, startup = false, no_gzip = false;
};

void add_simulate_options(CLI::App& command, SimulateOptions& options);

/// What goes together and what does not.
[[nodiscard]] Result<void> check_combination(const SimulateOptions& options);

/// One run: --scenario, --normal, or that of the sample.
[[nodiscard]] Result<simulator::SimulationJob> job_of(const SimulateOptions& options);

/// Puts what was said on the command line over what a run would have.
[[nodiscard]] Result<void> set_over(const SimulateOptions& options, simulator::RunOptions& run);

[[nodiscard]] std::optional<simulator::TraceFormat> format_of(const SimulateOptions& options);
[[nodiscard]] std::string_view format_word(simulator::TraceFormat format);

}  // namespace faultline
