// Stack samples of a file of their own, put on the processes and threads of the traces that they were taken beside. Any thread.
#pragma once

#include <vector>

#include "core/capture_reader.h"
#include "core/stack_sample.h"

namespace faultline {

/// A sample whose source has no spans of its process takes the process of the same number in the one source that has, and there the thread of the
/// same number. Where several sources have that process (pids of containers collide) it stays where it is.
void place_stacks(const CaptureReader& capture, std::vector<StackSample>& samples);

}  // namespace faultline
