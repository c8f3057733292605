// Whole numbers that add up to a total, as near as can be to given weights (largest remainders).
#pragma once

#include <vector>

namespace faultline::simulator {

/// Parts without weight get nothing; all 0 where there are no weights.
[[nodiscard]] std::vector<int> apportion(int total, const std::vector<double>& weights);

}  // namespace faultline::simulator
