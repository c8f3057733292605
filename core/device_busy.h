// When each device was busy: the union of its work over all streams (StriaTrace §5.3). User annotations are no work.
//
// Values in, values out; any thread, since a SpanIndex is const. Linear in device spans. Times are capture times.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/span_index.h"
#include "core/types.h"

namespace faultline {

/// A stretch in which none of a device's streams works, between two pieces of work.
struct DeviceGap {
    TimeNs start = 0, end = 0;
    SpanId before;  ///< the work that ends at `start`
    SpanId after;   ///< the work that starts at `end`
    [[nodiscard]] TimeNs duration() const noexcept { return end - start; }
};

struct DeviceBusy {
    DeviceId device{};
    SourceId source{};
    std::vector<DeviceGap> gaps;     ///< by start, those of at least the length that was asked for
    std::vector<TimeNs> busy_until;  ///< busy time before each of the times that were asked for
    TimeNs first_start = 0, last_end = 0;
};

/// One for each device that has work. `times` ascend.
[[nodiscard]] std::vector<DeviceBusy> device_busy(const SpanIndex& index, TimeNs gap_at_least, std::span<const TimeNs> times);

}  // namespace faultline
