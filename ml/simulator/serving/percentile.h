// The figure that explanations compare with: P99 of what was normal before.
#pragma once

#include <algorithm>
#include <vector>

#include "core/types.h"

namespace faultline::simulator {

/// Of at least one duration.
[[nodiscard]] inline TimeNs p99(std::vector<TimeNs> durations) {
    const auto rank = static_cast<std::ptrdiff_t>((durations.size() * 99 + 99) / 100 - 1);
    std::nth_element(durations.begin(), durations.begin() + rank, durations.end());
    return durations[static_cast<std::size_t>(rank)];
}

}  // namespace faultline::simulator
