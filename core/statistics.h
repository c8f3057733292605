// Questions that a person asks all the time, answered from the loaded columns instead of by SQL: the longest kernels, the device work
// inside a range of time, the gaps of each stream.
//
// Values in, values out; any thread, since a SpanIndex is const. Times are capture times.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <vector>

#include "core/capture_reader.h"
#include "core/model.h"
#include "core/result.h"
#include "core/span_index.h"
#include "core/types.h"

namespace faultline {

struct NameStatistics {
    NameId name{};
    std::uint64_t count = 0;
    TimeNs total = 0;
    TimeNs longest = 0;
    [[nodiscard]] double mean() const noexcept { return count == 0 ? 0.0 : static_cast<double>(total) / static_cast<double>(count); }
};

/// The `limit` names with the greatest total time among the spans of `kind`, greatest first; equal totals by ascending name id.
/// O(spans of the lanes that can hold the kind).
[[nodiscard]] std::vector<NameStatistics> top_names(const SpanIndex& index, SpanKind kind, std::size_t limit);

struct DeviceSpan {
    SpanId span;
    NameId name{};
    SpanKind kind = SpanKind::kernel;
    TimeNs start = 0, end = 0;
};

/// The device work that touches `range`, in the order of tracks and starts. O(result + tracks · log spans).
[[nodiscard]] std::vector<DeviceSpan> device_work_in(const SpanIndex& index, TimeRange range);

/// The stretches of a stream without device work, between its first and its last work, in time order.
struct StreamGaps {
    SourceId source{};
    std::optional<DeviceId> device;
    std::optional<std::int64_t> stream;
    std::vector<TimeRange> gaps;
};

/// The gaps of every stream that last at least `at_least` ns. Sub-lanes of a stream count as one: a gap is what none of them fills.
[[nodiscard]] std::vector<StreamGaps> stream_gaps(const SpanIndex& index, TimeNs at_least = 1);

/// How many spans of each kind a capture has, read from the packed columns.
[[nodiscard]] Result<std::array<std::uint64_t, kSpanKindCount>> count_kinds(const CaptureReader& capture);

}  // namespace faultline
