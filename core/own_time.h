// The part of a step's time that is its own: after the end of the step before it on the same engine instance.
//
// Where the host runs ahead of the device (asynchronous scheduling, loops that never wait) a step's interval begins when its work was
// launched and holds the queue of the steps before it: sixteen steps of 31 ms overlap and each lasts 500 ms. What a step is judged by is
// the time from max(its start, the end of every earlier step of its instance) to its end. Steps that do not overlap own their whole
// interval. Values in, values out; any thread.
#pragma once

#include <span>
#include <vector>

#include "core/model.h"
#include "core/types.h"

namespace faultline {

/// A step that ends together with the one before it (under a hundredth of its interval is left) ran beside it, on another device: both own
/// what lies after the step before them. By position in `steps`; empty (start = end) where a step ends before an earlier one does. A stall owns its interval.
[[nodiscard]] std::vector<TimeRange> own_ranges(std::span<const Step> steps);

}  // namespace faultline
