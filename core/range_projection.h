// Every host range projected on the devices: when the work that was launched inside it began and ended there, and how much it was.
//
// What "NVTX projection" means in Nsight Systems, kept as columns of the range: device_delay (from the start of the range to that of the
// first work), device_duration (from there to the end of the last), device_busy (sum of lengths), device_count. Work counts for a range
// when the call that launched it began inside the range on the same thread, whatever the sub-lane of either.
#pragma once

#include "core/source_builder.h"

namespace faultline {

/// Sets the columns on ranges that launched device work, themselves or through what they hold (launch columns, parents and sub-lanes are
/// set: after bind_launches()). One thread; linear in spans, times a logarithm for ranges on sub-lanes.
void project_ranges(SourceBuilder& source);

}  // namespace faultline
