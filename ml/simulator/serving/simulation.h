// Serves one run from its first arrival to its end and writes what a capture of it would hold, with the truth beside it.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/faults/fault.h"
#include "ml/simulator/writers/trace_writer.h"

namespace faultline::simulator {

struct FaultChoice {
    const FaultInfo* info = nullptr;
    bool inject = true;                ///< false: the same run without it (--no-fault)
    double intensity = 1;              ///< factor on the size
    std::optional<double> duration_s{};  ///< of the fault; else as the kind has it
    std::vector<int> ranks{};
};

struct SimulationJob {
    RunOptions options;
    std::optional<FaultChoice> fault;
    std::string folder;
    TraceFormat format = TraceFormat::kineto;
    bool gzip = true;
};

struct SimulationSummary {
    std::vector<std::string> files;  ///< relative to the folder, truth.json last
    std::uint64_t events = 0;        ///< records in the traces
    std::uint64_t steps = 0, faulty_steps = 0, requests = 0, faulty_requests = 0, log_lines = 0, samples = 0;
    std::int64_t tokens_out = 0;
    std::optional<TimeNs> fault_start;  ///< true time from which the fault may act; absent where none is injected
    bool stuck = false;              ///< the run ended in a hang
    RunOptions options;              ///< as they were used
};

/// Writes the run into `job.folder`, which is made where it is missing and must be empty. Cancelled: what was written is removed.
[[nodiscard]] Result<SimulationSummary> simulate(const SimulationJob& job, const Progress& progress = {});

/// The same without files: everything goes to `sink` (tests, rehearsals). Truth is asked for by `record`, which gets every step when it is over.
struct SimulationHooks {
    Sink* sink = nullptr;
    std::function<void(const StepRecord&, FaultClass label)> record;
    std::function<void(const StepPlan&, const StepOutcome&, const Scheduler&)> completed;
};
[[nodiscard]] Result<SimulationSummary> simulate_into(const RunOptions& options, const std::optional<FaultChoice>& fault, const SimulationHooks& hooks,
                                                      std::stop_token stop = {});

}  // namespace faultline::simulator
