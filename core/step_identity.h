// The same step on several ranks is one step (DESIGN §6). Used by find_steps().
//
// Rule: the k-th step of a rank with an engine number is the k-th with that number of the other ranks; without numbers the k-th with the
// same text, shifted by the few places that make the most of them overlap in time (a rank may start to record later). Steps join only
// where both ranks are known and differ and, if their clocks can be compared, where the ranks' steps lie in the same stretch of time.
#pragma once

#include <cstdint>
#include <vector>

#include "core/model.h"

namespace faultline {

/// Joins `found`, the steps of one rank by start and without ids, to `known`: grows what is the same step, gives the others new ids from
/// `next_id` on and appends them. Returns the position in `known` of each found step.
[[nodiscard]] std::vector<std::size_t> join_steps(std::vector<Step>& known, std::vector<Step> found, std::int64_t& next_id,
                                                  bool clocks_comparable);

}  // namespace faultline
