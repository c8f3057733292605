#include <algorithm>
#include <unordered_map>

#include "core/call_chain.h"
#include "core/packed_column.h"

namespace faultline {

namespace {

constexpr std::size_t kMaxLaunched = 100'000;

/// Columns of the chunks met so far: the ancestors of a span lie in few of them.
class ChunkColumns {
public:
    explicit ChunkColumns(const CaptureReader& capture) : capture_(capture) {}

    Result<std::int64_t> value(SpanId span, Column column) {
        const auto column_of_chunk = chunk(span.track(), span.ordinal() / kChunkSpans, column);
        if (!column_of_chunk) return tl::unexpected<Error>(column_of_chunk.error());
        const std::size_t at = span.ordinal() % kChunkSpans;
        if (at >= (*column_of_chunk)->size()) return fail(ErrorCode::wrong_usage, "there is no such span");
        return (**column_of_chunk)[at];
    }

    Result<const std::vector<std::int64_t>*> chunk(TrackId track, std::size_t chunk, Column column) {
        const Key key{index_of(track), chunk, column};
        auto known = columns_.find(key);
        if (known == columns_.end()) {
            std::vector<std::int64_t> values;
            if (auto ok = capture_.read_chunk(track, chunk, column, values); !ok) return tl::unexpected<Error>(ok.error());
            known = columns_.emplace(key, std::move(values)).first;
        }
        return &known->second;
    }

private:
    struct Key {
        std::uint32_t track;
        std::size_t chunk;
        Column column;
        bool operator==(const Key&) const = default;
    };
    struct Hash {
        std::size_t operator()(const Key& k) const noexcept {
            return (std::size_t{k.track} << 36) ^ (k.chunk << 6) ^ static_cast<std::size_t>(k.column);
        }
    };
    const CaptureReader& capture_;
    std::unordered_map<Key, std::vector<std::int64_t>, Hash> columns_;
};

/// Ordinal of the first span of the track that starts at or after `t` (capture time).
Result<std::uint64_t> first_from(const CaptureReader& capture, ChunkColumns& columns, const Track& track, TimeNs t) {
    const auto& chunks = capture.chunks(track.id);
    const auto after =
        std::partition_point(chunks.begin(), chunks.end(), [&](const Chunk& c) { return c.max_start + track.clock_offset_ns < t; });
    if (after == chunks.end()) return track.spans;
    const auto starts = columns.chunk(track.id, static_cast<std::size_t>(after - chunks.begin()), Column::start);
    if (!starts) return tl::unexpected<Error>(starts.error());
    return after->first_ordinal +
           static_cast<std::uint64_t>(std::lower_bound((*starts)->begin(), (*starts)->end(), t) - (*starts)->begin());
}

/// The span and what encloses it on its track, outermost first.
Result<std::vector<SpanId>> enclosing(ChunkColumns& columns, SpanId span) {
    std::vector<SpanId> path{span};
    while (true) {
        const auto parent = columns.value(path.back(), Column::parent);
        if (!parent) return tl::unexpected<Error>(parent.error());
        // A parent stands before its children; anything else would be a damaged file.
        if (*parent < 0 || static_cast<std::uint64_t>(*parent) >= path.back().ordinal()) break;
        path.push_back(SpanId::make(span.track(), static_cast<std::uint64_t>(*parent)));
    }
    std::reverse(path.begin(), path.end());
    return path;
}

/// Adds what the spans of `track` launched that start in the range, and the span itself.
void add_launched(const LaunchIndex& launches, SpanId first, SpanId last, SpanChain& chain) {
    for (const LaunchIndex::Entry& e : launches.launched(first, last)) {
        if (chain.launched.size() == kMaxLaunched) {
            chain.launched_truncated = true;
            return;
        }
        chain.launched.push_back(e.device_span);
    }
}

Result<void> find_launched(const CaptureReader& capture, ChunkColumns& columns, const LaunchIndex& launches, const Track& track,
                           SpanId span, SpanChain& chain) {
    const auto start = columns.value(span, Column::start), duration = columns.value(span, Column::duration);
    if (!start || !duration) return tl::unexpected<Error>((!start ? start : duration).error());
    const TimeNs end = *start + *duration;
    // What a span holds follows it directly: its track is in order of start, and nested.
    const auto last = first_from(capture, columns, track, end);
    if (!last) return tl::unexpected<Error>(last.error());
    add_launched(launches, span, SpanId::make(track.id, std::max(*last, span.ordinal() + 1)), chain);
    for (const Track& lane : capture.tracks()) {  // what crosses stands on sub-lanes of the same thread
        if (lane.kind != TrackKind::host || lane.thread != track.thread || lane.process != track.process || lane.part != track.part ||
            lane.lane <= track.lane || *duration == 0)
            continue;
        const auto from = first_from(capture, columns, lane, *start), to = first_from(capture, columns, lane, end);
        if (!from || !to) return tl::unexpected<Error>((!from ? from : to).error());
        add_launched(launches, SpanId::make(lane.id, *from), SpanId::make(lane.id, *to), chain);
    }
    return {};
}

}  // namespace

Result<SpanChain> span_chain(const CaptureReader& capture, SpanId span, const LaunchIndex* launches) {
    const Track* track = span.valid() ? capture.track(span.track()) : nullptr;
    if (!track || span.ordinal() >= track->spans)
        return fail(ErrorCode::wrong_usage, "there is no such span in this capture", "Choose a span that the capture shows");
    ChunkColumns columns(capture);
    SpanChain chain;
    SpanId host = span;
    if (track->kind == TrackKind::device) {
        const auto launch = columns.value(span, Column::launch);
        if (!launch) return tl::unexpected<Error>(launch.error());
        const Track* host_track = *launch != kNull ? capture.track(SpanId{*launch}.track()) : nullptr;
        if (host_track && SpanId{*launch}.ordinal() < host_track->spans) host = SpanId{*launch};
    }
    auto path = enclosing(columns, host);
    if (!path) return tl::unexpected<Error>(path.error());
    chain.ancestors = std::move(*path);
    if (host != span) chain.ancestors.push_back(span);

    for (const SpanId of : {span, host}) {
        const auto step = columns.value(of, Column::step);
        if (!step) return tl::unexpected<Error>(step.error());
        if (*step == kNull) continue;
        chain.step = StepId{*step};
        break;
    }
    if (track->kind != TrackKind::host) return chain;
    std::shared_ptr<const LaunchIndex> own;
    if (!launches) {
        auto built = LaunchIndex::build(capture);
        if (!built) return tl::unexpected<Error>(built.error());
        own = std::move(*built);
    }
    if (auto ok = find_launched(capture, columns, launches ? *launches : *own, *track, span, chain); !ok)
        return tl::unexpected<Error>(ok.error());
    return chain;
}

}  // namespace faultline
