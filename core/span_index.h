// The spans of a capture in memory, laid out for reading ranges of time fast: what the timeline paints and what the statistics read.
//
// Built once, off the GUI thread, then const: any number of threads may read it. About 28 bytes a span, 8 more
// on devices.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stop_token>
#include <string_view>
#include <utility>
#include <vector>

#include "core/capture_reader.h"
#include "core/model.h"
#include "core/result.h"

namespace faultline {

/// Spans of a lane that are drawn as one wherever spans shorter than a level's `narrow` cannot be told apart (core/drawable.h).
struct FoldRun {
    TimeNs start = 0;
    TimeNs first_end = 0;  ///< end of its first span
    TimeNs end = 0;
    std::uint32_t first = 0;  ///< position of its first span in the lane
    std::uint32_t count = 1;
};

struct FoldLevel {
    TimeNs narrow = 0;
    std::vector<FoldRun> runs;  ///< all spans of the lane, in order
};

/// One row to paint: the spans of one track at one nesting depth. Sorted by start, never overlapping, so sorted by end too.
///
/// Python frames have lanes of their own (`python`), so that forty frames do not push the operators under them out of sight: `depth`
/// counts the enclosing spans that are frames for a frame's lane, and those that are not for every other lane.
struct Lane {
    TrackId track{};
    int depth = 0;
    bool python = false;
    std::vector<TimeNs> starts;  ///< capture time
    std::vector<TimeNs> ends;
    std::vector<NameId> names;
    std::vector<SpanKind> kinds;
    std::vector<std::uint32_t> ordinals;  ///< position in the track: SpanId::make(track, ordinal)
    /// busy[i] is the summed length of the device work (is_device_work) among spans 0…i-1, exact since they do not overlap; one more
    /// entry than spans. Lanes of device tracks only.
    std::vector<TimeNs> busy;
    /// The samples of a counter, one for each span, and the largest of every kPeakSpans of them. Lanes of counter tracks only.
    std::vector<double> values;
    std::vector<double> peaks;
    static constexpr std::size_t kPeakSpans = 64;
    /// The start of every kMarkSpans-th span: where a search through a long lane begins.
    std::vector<TimeNs> marks;
    static constexpr std::size_t kMarkSpans = 64;
    /// Coarser and coarser runs, `narrow` growing by 4; only those that are at most a sixteenth of the spans. Long lanes only.
    std::vector<FoldLevel> levels;

    [[nodiscard]] std::size_t size() const noexcept { return starts.size(); }
    /// Positions [first, last) of the spans that touch the range.
    [[nodiscard]] std::pair<std::size_t, std::size_t> find(TimeRange range) const noexcept;
    /// The span that holds `t`; npos where there is none.
    [[nodiscard]] std::size_t span_at(TimeNs t) const noexcept;
    /// Busy time inside the range (device lanes; O(log n)).
    [[nodiscard]] TimeNs busy_in(TimeRange range) const noexcept;
    static constexpr std::size_t npos = static_cast<std::size_t>(-1);

    /// Largest sample at positions [first, last), which is not empty; counter lanes only.
    [[nodiscard]] double peak(std::size_t first, std::size_t last) const noexcept;

    /// Building: spans in start order, then once seal_busy() for lanes of device tracks or seal_values() for those of counters,
    /// and seal_levels() for all.
    void append(TimeNs start, TimeNs end, NameId name, SpanKind kind, std::uint32_t ordinal);
    void reserve(std::size_t spans);
    void seal_busy();
    void seal_values();
    void seal_levels();
};

/// The lanes of one track: those of ranges, operators, calls and device work by depth, then those of Python frames by depth.
struct TrackLanes {
    Track track;
    std::vector<Lane> lanes;
};

/// Where a span lies in the index.
struct SpanPlace {
    const Lane* lane = nullptr;
    std::size_t at = 0;
    [[nodiscard]] TimeRange range() const noexcept { return {lane->starts[at], lane->ends[at]}; }
    [[nodiscard]] SpanId id() const noexcept { return SpanId::make(lane->track, lane->ordinals[at]); }
};

class SpanIndex {
public:
    /// Reads the five columns it needs, on two threads where the capture is large (the second with a reader of its own).
    [[nodiscard]] static Result<std::shared_ptr<const SpanIndex>> build(const CaptureReader& capture, std::stop_token stop = {});
    /// An index from lanes made by hand (tests, benchmarks, computed tracks); adds the sums of device tracks and the peaks of counters.
    [[nodiscard]] static std::shared_ptr<const SpanIndex> from_lanes(std::vector<TrackLanes> tracks);

    [[nodiscard]] const std::vector<TrackLanes>& tracks() const noexcept { return tracks_; }
    [[nodiscard]] const TrackLanes* track(TrackId id) const noexcept;
    /// Where a span lies; O(depth · log n). Nothing where the capture has no such span.
    [[nodiscard]] std::optional<SpanPlace> place(SpanId id) const noexcept;
    [[nodiscard]] std::uint64_t span_count() const noexcept { return spans_; }
    [[nodiscard]] TimeRange extent() const noexcept { return extent_; }

private:
    std::vector<TrackLanes> tracks_;
    std::uint64_t spans_ = 0;
    TimeRange extent_;
};

}  // namespace faultline
