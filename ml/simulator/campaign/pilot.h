// How long a run must be so that enough normal steps of each phase come before its fault: measured on its beginning, which is simulated without the
// fault and thrown away. Estimates from sizes alone were wrong by a factor of three. One thread.
#pragma once

#include <stop_token>

#include "ml/simulator/serving/simulation.h"

namespace faultline::simulator {

/// Steps of each phase that are wanted before the middle of the run, where faults begin, with something to spare over the 60 that are
/// promised. FSDP reads prompts once a batch and is eager, so that its prefill steps are worth many events: half as many of those (its
/// decode steps are ten times as many).
inline constexpr double kHistory = 66, kFsdpHistory = 36;
inline constexpr double kShortestRun = 4, kLongestRun = 400;  ///< seconds: faults that last seconds need room

/// In seconds, to a tenth. A run in which a phase does not come (idle for its whole pilot) has the longest length that is allowed.
[[nodiscard]] Result<double> pilot_length(const SimulationJob& job, std::stop_token stop = {});

/// What makes a run of a campaign: its pilot, then the run.
[[nodiscard]] Result<SimulationSummary> simulate_with_history(const SimulationJob& job, const Progress& progress);

}  // namespace faultline::simulator
