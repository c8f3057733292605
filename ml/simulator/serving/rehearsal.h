// A turn of an engine played through on a copy of the machine, without what disturbs it: what a fault costs is the difference. One thread.
#pragma once

#include <optional>
#include <vector>

#include "ml/simulator/host/host_model.h"
#include "ml/simulator/machine/machine.h"

namespace faultline::simulator {

struct StepRehearsal {
    TimeNs device_end = 0;         ///< of the step's last work on a device; 0 where it has none
    std::optional<TimeNs> tokens;  ///< when they would be with the engine's core
};

[[nodiscard]] StepRehearsal rehearse_step(const Machine& machine, const HostModel& host, const StepPlan& plan, const std::vector<StepKernels>& kernels);

/// When `core` would be through with what follows a step.
[[nodiscard]] TimeNs rehearse_end(const Machine& machine, const HostModel& host, const StepPlan& plan, const StepOutcome& outcome, ThreadIndex core);

}  // namespace faultline::simulator
