#include "core/statistics.h"

#include <algorithm>
#include <map>
#include <tuple>

namespace faultline {

namespace {

bool is_device_kind(SpanKind kind) { return is_device_work(kind) || kind == SpanKind::sync; }

/// The work of a lane as stretches of time, adjoining ones joined. Spans of a lane do not overlap.
std::vector<TimeRange> busy_stretches(const Lane& lane) {
    std::vector<TimeRange> busy;
    busy.reserve(lane.size());
    for (std::size_t i = 0; i < lane.size(); ++i) {
        if (!is_device_work(lane.kinds[i])) continue;
        if (!busy.empty() && lane.starts[i] <= busy.back().end)
            busy.back().end = std::max(busy.back().end, lane.ends[i]);
        else
            busy.push_back({lane.starts[i], lane.ends[i]});
    }
    return busy;
}

/// Two lists of stretches as one, overlapping ones joined.
std::vector<TimeRange> united(const std::vector<TimeRange>& a, const std::vector<TimeRange>& b) {
    std::vector<TimeRange> sorted(a.size() + b.size());
    std::merge(a.begin(), a.end(), b.begin(), b.end(), sorted.begin(), [](TimeRange x, TimeRange y) { return x.start < y.start; });
    std::vector<TimeRange> joined;
    for (const TimeRange stretch : sorted) {
        if (!joined.empty() && stretch.start <= joined.back().end)
            joined.back().end = std::max(joined.back().end, stretch.end);
        else
            joined.push_back(stretch);
    }
    return joined;
}

/// The gaps of a lane that has its stream to itself.
std::vector<TimeRange> lane_gaps(const Lane& lane, TimeNs at_least) {
    std::vector<TimeRange> gaps;
    std::size_t before = lane.size();
    for (std::size_t i = 0; i < lane.size(); ++i) {
        if (!is_device_work(lane.kinds[i])) continue;
        if (before < i && lane.starts[i] - lane.ends[before] >= at_least) gaps.push_back({lane.ends[before], lane.starts[i]});
        before = i;
    }
    return gaps;
}

/// The gaps of lanes taken together.
std::vector<TimeRange> common_gaps(const std::vector<const Lane*>& lanes, TimeNs at_least) {
    std::vector<TimeRange> busy;
    for (const Lane* lane : lanes) busy = united(busy, busy_stretches(*lane));
    std::vector<TimeRange> gaps;
    for (std::size_t i = 1; i < busy.size(); ++i) {
        if (busy[i].start - busy[i - 1].end >= at_least) gaps.push_back({busy[i - 1].end, busy[i].start});
    }
    return gaps;
}

}  // namespace

std::vector<NameStatistics> top_names(const SpanIndex& index, SpanKind kind, std::size_t limit) {
    std::vector<NameStatistics> by_name;
    for (const TrackLanes& track : index.tracks()) {
        if (is_device_kind(kind) != (track.track.kind == TrackKind::device)) continue;
        for (const Lane& lane : track.lanes) {
            for (std::size_t i = 0; i < lane.size(); ++i) {
                if (lane.kinds[i] != kind) continue;
                const std::size_t name = index_of(lane.names[i]);
                if (name >= by_name.size()) by_name.resize(name + 1);
                const TimeNs length = lane.ends[i] - lane.starts[i];
                NameStatistics& sum = by_name[name];
                ++sum.count;
                sum.total += length;
                sum.longest = std::max(sum.longest, length);
            }
        }
    }
    for (std::size_t name = 0; name < by_name.size(); ++name) by_name[name].name = NameId{static_cast<std::uint32_t>(name)};
    std::erase_if(by_name, [](const NameStatistics& sum) { return sum.count == 0; });
    const std::size_t kept = std::min(limit, by_name.size());
    std::partial_sort(
        by_name.begin(), by_name.begin() + static_cast<std::ptrdiff_t>(kept), by_name.end(),
        [](const NameStatistics& a, const NameStatistics& b) { return a.total != b.total ? a.total > b.total : a.name < b.name; });
    by_name.resize(kept);
    return by_name;
}

std::vector<DeviceSpan> device_work_in(const SpanIndex& index, TimeRange range) {
    std::vector<DeviceSpan> found;
    for (const TrackLanes& track : index.tracks()) {
        if (track.track.kind != TrackKind::device) continue;
        for (const Lane& lane : track.lanes) {
            const auto [first, last] = lane.find(range);
            for (std::size_t i = first; i < last; ++i) {
                if (is_device_work(lane.kinds[i]))
                    found.push_back(
                        {SpanId::make(track.track.id, lane.ordinals[i]), lane.names[i], lane.kinds[i], lane.starts[i], lane.ends[i]});
            }
        }
    }
    return found;
}

std::vector<StreamGaps> stream_gaps(const SpanIndex& index, TimeNs at_least) {
    using Stream = std::tuple<SourceId, std::optional<DeviceId>, std::optional<std::int64_t>>;
    std::map<Stream, std::vector<const Lane*>> streams;
    for (const TrackLanes& track : index.tracks()) {
        if (track.track.kind != TrackKind::device) continue;
        auto& lanes = streams[{track.track.source, track.track.device, track.track.stream}];
        for (const Lane& lane : track.lanes) lanes.push_back(&lane);
    }
    std::vector<StreamGaps> found;
    for (const auto& [stream, lanes] : streams)
        found.push_back({std::get<0>(stream), std::get<1>(stream), std::get<2>(stream),
                         lanes.size() == 1 ? lane_gaps(*lanes.front(), at_least) : common_gaps(lanes, at_least)});
    return found;
}

Result<std::array<std::uint64_t, kSpanKindCount>> count_kinds(const CaptureReader& capture) {
    std::array<std::uint64_t, kSpanKindCount> counts{};
    std::vector<std::int64_t> kinds;
    for (const Track& track : capture.tracks()) {
        for (std::size_t chunk = 0; chunk < capture.chunks(track.id).size(); ++chunk) {
            if (Result<void> read = capture.read_chunk(track.id, chunk, Column::kind, kinds); !read)
                return tl::unexpected<Error>(read.error());
            for (const std::int64_t kind : kinds) {
                if (kind >= 0 && kind < kSpanKindCount) ++counts[static_cast<std::size_t>(kind)];
            }
        }
    }
    return counts;
}

}  // namespace faultline
