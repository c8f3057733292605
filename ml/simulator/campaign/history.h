// How long a run must be so that enough normal steps of each phase come before its fault, with what the scenario needs of a run taken into
// account.
#pragma once

#include "ml/simulator/faults/fault.h"

namespace faultline::simulator {

/// Steps of each phase that are wanted before the middle of the run, where faults begin, with something to spare over the 60 that are
/// promised. FSDP reads prompts once a batch and is eager, so that its prefill steps are worth many events: half as many of those (its
/// decode steps are ten times as many).
inline constexpr double kHistory = 75, kFsdpHistory = 36;

/// The length of `options`, longer where a scenario makes requests rarer or prompts longer than they say.
[[nodiscard]] double length_for(const RunOptions& options, const FaultInfo& scenario);

}  // namespace faultline::simulator
