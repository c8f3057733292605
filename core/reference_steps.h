// The steps that a step is compared with: the nearest normal ones of its instance and phase, by tokens and batch (DESIGN §7).
//
// Values in, values out; any thread.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "core/model.h"
#include "core/step_verdict.h"

namespace faultline {

/// Positions in `steps` of at most `limit` reference steps, nearest first. `verdicts` are by position in `steps` (or empty: then every
/// other step counts as normal). Outliers, stalls and the step itself are left out; where tokens are unknown, by time.
[[nodiscard]] std::vector<std::size_t> reference_steps(std::span<const Step> steps, std::span<const StepVerdict> verdicts, std::size_t step,
                                                       std::size_t limit = 9);

}  // namespace faultline
