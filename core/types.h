// Strong ids and the time type that every layer uses.
//
// Times are integer nanoseconds. A range is half-open: [start, end). A span of length 0 is an instant.
// Ids are values inside one capture file; none of them is ever a display name.
#pragma once

#include <compare>
#include <cstdint>
#include <limits>
#include <type_traits>

namespace faultline {

/// Nanoseconds; in the source's own clock inside a SourceBuilder, since the zero of the capture everywhere else.
using TimeNs = std::int64_t;

/// The absent value of every integer column (see packed_column.h); no real value of a capture equals it.
inline constexpr std::int64_t kNull = std::numeric_limits<std::int64_t>::min();

struct TimeRange {
    TimeNs start = 0;
    TimeNs end = 0;

    [[nodiscard]] constexpr TimeNs duration() const noexcept { return end - start; }
    [[nodiscard]] constexpr bool empty() const noexcept { return end <= start; }
    [[nodiscard]] constexpr bool contains(TimeNs t) const noexcept { return t >= start && t < end; }
    [[nodiscard]] constexpr bool overlaps(TimeRange other) const noexcept { return start < other.end && other.start < end; }
    friend constexpr bool operator==(const TimeRange&, const TimeRange&) = default;
};

enum class NameId : std::uint32_t {};     ///< an interned span name (row of `name`)
enum class TextId : std::uint32_t {};     ///< an interned attribute text (position in `text_block`); 0 is "no text"
enum class SourceId : std::uint32_t {};   ///< one imported file
enum class ProcessId : std::uint32_t {};  ///< one process of one source
enum class ThreadId : std::uint32_t {};   ///< one thread of one process
enum class DeviceId : std::uint32_t {};   ///< one accelerator of one source
enum class TrackId : std::uint32_t {};    ///< one lane of spans; 24 bits are used
enum class StepId : std::int64_t {};      ///< one step of the capture

/// The id of a span: its track and its ordinal in that track, which never change once the source is complete.
struct SpanId {
    std::int64_t value = -1;

    static constexpr int kOrdinalBits = 40;
    static constexpr SpanId make(TrackId track, std::uint64_t ordinal) noexcept {
        return SpanId{static_cast<std::int64_t>((static_cast<std::uint64_t>(track) << kOrdinalBits) | ordinal)};
    }
    [[nodiscard]] constexpr bool valid() const noexcept { return value >= 0; }
    [[nodiscard]] constexpr TrackId track() const noexcept { return TrackId{static_cast<std::uint32_t>(value >> kOrdinalBits)}; }
    [[nodiscard]] constexpr std::uint64_t ordinal() const noexcept {
        return static_cast<std::uint64_t>(value) & ((std::uint64_t{1} << kOrdinalBits) - 1);
    }
    friend constexpr auto operator<=>(const SpanId&, const SpanId&) = default;
};

/// The number behind a strong id, for array indices and SQL.
template <class Id>
[[nodiscard]] constexpr auto index_of(Id id) noexcept {
    return static_cast<std::underlying_type_t<Id>>(id);
}

}  // namespace faultline
