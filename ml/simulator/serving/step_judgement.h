// Whether a step that a fault may have touched counts as faulty: by what it lost against its rehearsal (FAULTS §0), not by what was injected.
#pragma once

#include "ml/simulator/faults/fault.h"
#include "ml/simulator/serving/step_record.h"

namespace faultline::simulator {

/// What was measured of a step beside its record.
struct StepLoss {
    TimeNs core = 0;                         ///< by the engine's core after the step
    TimeNs expected = kNull, arrived = kNull;  ///< when its tokens were with the core: as rehearsed, and when they were; kNull: unknown
    bool stuck = false;                      ///< the run stands still
};

/// The label of the step. Completes `record`: a step whose tokens were held after the device was through ends when they arrived; one that
/// nothing touched was not rehearsed. `fault` is null where none is injected.
[[nodiscard]] FaultClass judge_step(StepRecord& record, const StepLoss& loss, const Fault* fault);

}  // namespace faultline::simulator
