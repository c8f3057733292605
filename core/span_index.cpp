#include "core/span_index.h"

#include <fmt/format.h>
#include <algorithm>
#include <atomic>
#include <bit>
#include <limits>
#include <mutex>
#include <system_error>
#include <thread>

namespace faultline {

namespace {

/// Deeper spans share the last lane: a damaged depth must not make a million lanes.
constexpr std::int64_t kMaxDepth = 4095;
/// Below this a second thread and a second reader cost more than they save.
constexpr std::uint64_t kParallelSpans = 200'000;

/// The lanes of one track while they are read. Two passes over the chunks: the first finds the lane of every span, so that the second
/// fills arrays of the right size.
class TrackLoader {
public:
    TrackLoader(const CaptureReader& capture, const Track& track, std::stop_token stop) : capture_(capture), stop_(std::move(stop)) {
        out_.track = track;
    }

    Result<TrackLanes> load() {
        if (auto done = assign_lanes(); !done) return tl::unexpected(done.error());
        if (auto done = fill_lanes(); !done) return tl::unexpected(done.error());
        if (out_.track.kind == TrackKind::device) {
            for (Lane& lane : out_.lanes) lane.seal_busy();
        }
        if (out_.track.kind == TrackKind::counter) {
            if (auto done = read_values(); !done) return tl::unexpected(done.error());
        }
        std::erase_if(out_.lanes, [](const Lane& lane) { return lane.size() == 0; });
        for (Lane& lane : out_.lanes) lane.seal_levels();
        return std::move(out_);
    }

private:
    Error damaged(std::string_view what) const {
        return {ErrorCode::unusable_input, fmt::format("the capture is damaged: {} on track {}", what, index_of(out_.track.id)),
                "import its source again"};
    }

    Result<void> read(std::size_t chunk, Column column, std::vector<std::int64_t>& values) {
        auto done = capture_.read_chunk(out_.track.id, chunk, column, values);
        if (!done) return done;
        if (values.size() != capture_.chunks(out_.track.id)[chunk].count) return tl::unexpected(damaged("a chunk has missing values"));
        return {};
    }

    Result<void> assign_lanes();
    Result<void> fill_lanes();
    Result<void> read_values();
    std::size_t lane_number(std::int64_t depth, bool python);
    Result<void> place(std::size_t lane, TimeNs start, TimeNs end, NameId name, SpanKind kind, std::uint32_t ordinal);

    const CaptureReader& capture_;
    std::stop_token stop_;
    TrackLanes out_;
    std::vector<std::uint16_t> lane_of_;       ///< per span
    std::vector<SpanKind> kinds_;              ///< per span
    std::vector<std::uint16_t> others_above_;  ///< by depth: spans on the current path, down to it, that are no Python frames
    std::vector<int> number_[2];               ///< by own depth: work lanes, Python lanes; -1 where there is none yet
    std::vector<std::int64_t> a_, b_, c_;
};

std::size_t TrackLoader::lane_number(std::int64_t depth, bool python) {
    std::vector<int>& numbers = number_[python ? 1 : 0];
    const auto at = static_cast<std::size_t>(depth);
    if (numbers.size() <= at) numbers.resize(at + 1, -1);
    if (numbers[at] < 0) {
        numbers[at] = static_cast<int>(out_.lanes.size());
        Lane lane;
        lane.track = out_.track.id;
        lane.depth = static_cast<int>(depth);
        lane.python = python;
        out_.lanes.push_back(std::move(lane));
    }
    return static_cast<std::size_t>(numbers[at]);
}

Result<void> TrackLoader::assign_lanes() {
    const auto& chunks = capture_.chunks(out_.track.id);
    std::uint64_t total = 0;
    for (const Chunk& chunk : chunks) total += chunk.count;
    if (total > std::numeric_limits<std::uint32_t>::max()) return tl::unexpected(damaged("there are more than 4 billion spans"));
    lane_of_.reserve(total);
    kinds_.reserve(total);
    std::vector<std::size_t> sizes;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
        if (stop_.stop_requested()) return fail(ErrorCode::cancelled, "opening was cancelled");
        if (auto done = read(c, Column::depth, a_); !done) return done;
        if (auto done = read(c, Column::kind, b_); !done) return done;
        for (std::size_t i = 0; i < a_.size(); ++i) {
            const auto kind = b_[i] >= 0 && b_[i] < kSpanKindCount ? static_cast<SpanKind>(b_[i]) : SpanKind::other;
            const std::int64_t depth = std::clamp<std::int64_t>(a_[i], 0, kMaxDepth);  // kNull is the lowest number: depth 0
            const auto d = static_cast<std::size_t>(depth);
            if (others_above_.size() <= d) others_above_.resize(d + 1, 0);
            const int others = d > 0 ? others_above_[d - 1] : 0;
            const bool python = kind == SpanKind::python;
            others_above_[d] = static_cast<std::uint16_t>(others + (python ? 0 : 1));
            const std::size_t lane = lane_number(python ? std::max<std::int64_t>(0, depth - others) : others, python);
            if (sizes.size() <= lane) sizes.resize(lane + 1, 0);
            ++sizes[lane];
            lane_of_.push_back(static_cast<std::uint16_t>(lane));
            kinds_.push_back(kind);
        }
    }
    for (std::size_t lane = 0; lane < sizes.size(); ++lane) out_.lanes[lane].reserve(sizes[lane]);
    return {};
}

Result<void> TrackLoader::place(std::size_t lane, TimeNs start, TimeNs end, NameId name, SpanKind kind, std::uint32_t ordinal) {
    // Spans of a track nest, so those of one depth never overlap. Where a file says otherwise the span moves to the next lane that has
    // room, so that nothing is lost and every search may rely on sorted ends.
    if (!out_.lanes[lane].starts.empty() && start < out_.lanes[lane].starts.back()) {
        return tl::unexpected(damaged("spans are out of order"));
    }
    std::int64_t depth = out_.lanes[lane].depth;
    const bool python = out_.lanes[lane].python;
    for (int tries = 0; !out_.lanes[lane].ends.empty() && start < out_.lanes[lane].ends.back(); ++tries) {
        if (tries == 64 || depth >= kMaxDepth) return tl::unexpected(damaged("spans overlap"));
        lane = lane_number(++depth, python);
    }
    out_.lanes[lane].append(start, end, name, kind, ordinal);
    return {};
}

Result<void> TrackLoader::fill_lanes() {
    const auto& chunks = capture_.chunks(out_.track.id);
    std::uint32_t ordinal = 0;
    for (std::size_t c = 0; c < chunks.size(); ++c) {
        if (stop_.stop_requested()) return fail(ErrorCode::cancelled, "opening was cancelled");
        if (auto done = read(c, Column::start, a_); !done) return done;
        if (auto done = read(c, Column::duration, b_); !done) return done;
        if (auto done = read(c, Column::name, c_); !done) return done;
        for (std::size_t i = 0; i < a_.size(); ++i, ++ordinal) {
            if (a_[i] == kNull) return tl::unexpected(damaged("a span has no start"));
            TimeNs end = 0;
            if (__builtin_add_overflow(a_[i], std::max<std::int64_t>(0, b_[i]), &end)) end = std::numeric_limits<TimeNs>::max();
            const NameId name{static_cast<std::uint32_t>(std::max<std::int64_t>(0, c_[i]))};
            if (auto done = place(lane_of_[ordinal], a_[i], end, name, kinds_[ordinal], ordinal); !done) return done;
        }
    }
    std::sort(out_.lanes.begin(), out_.lanes.end(),
              [](const Lane& x, const Lane& y) { return x.python != y.python ? y.python : x.depth < y.depth; });
    return {};
}

Result<void> TrackLoader::read_values() {
    auto values = capture_.read_column(out_.track.id, Column::value);
    if (!values) return tl::unexpected(values.error());
    for (Lane& lane : out_.lanes) {
        lane.values.reserve(lane.size());
        for (const std::uint32_t ordinal : lane.ordinals) {
            const std::int64_t bits = ordinal < values->size() ? (*values)[ordinal] : kNull;
            lane.values.push_back(bits == kNull ? 0.0 : std::bit_cast<double>(bits));
        }
        lane.seal_values();
    }
    return {};
}

/// Tracks taken one after the other, the largest first, by as many threads as call run().
class SharedLoad {
public:
    explicit SharedLoad(const std::vector<Track>& tracks, std::stop_token stop) : tracks_(tracks), stop_(std::move(stop)) {
        loaded.resize(tracks.size());
        order_.resize(tracks.size());
        for (std::size_t i = 0; i < order_.size(); ++i) order_[i] = i;
        std::sort(order_.begin(), order_.end(), [&](std::size_t x, std::size_t y) { return tracks[x].spans > tracks[y].spans; });
    }

    void run(const CaptureReader& capture) {
        for (;;) {
            const std::size_t at = next_.fetch_add(1);
            if (at >= order_.size() || failed_.load()) return;
            const std::size_t track = order_[at];
            auto lanes = TrackLoader(capture, tracks_[track], stop_).load();
            if (lanes) {
                loaded[track] = std::move(*lanes);
                continue;
            }
            const std::scoped_lock lock(guard_);
            if (!failed_.exchange(true)) error = lanes.error();
        }
    }

    std::vector<TrackLanes> loaded;
    std::optional<Error> error;

private:
    const std::vector<Track>& tracks_;
    std::stop_token stop_;
    std::vector<std::size_t> order_;
    std::atomic<std::size_t> next_{0};
    std::atomic<bool> failed_{false};
    std::mutex guard_;
};

}  // namespace

Result<std::shared_ptr<const SpanIndex>> SpanIndex::build(const CaptureReader& capture, std::stop_token stop) {
    const std::vector<Track>& tracks = capture.tracks();
    std::uint64_t total = 0;
    for (const Track& track : tracks) total += track.spans;
    SharedLoad load(tracks, std::move(stop));
    std::thread second;
    if (total >= kParallelSpans && tracks.size() > 1) {
        try {
            second = std::thread([&load, &capture] {
                // Where a second reader cannot be had, the first does all the work.
                if (auto own = CaptureReader::open(capture.path())) load.run(**own);
            });
        } catch (const std::system_error&) {
        }
    }
    load.run(capture);
    if (second.joinable()) second.join();
    if (load.error) return tl::unexpected(*load.error);
    return from_lanes(std::move(load.loaded));
}

std::shared_ptr<const SpanIndex> SpanIndex::from_lanes(std::vector<TrackLanes> tracks) {
    auto index = std::make_shared<SpanIndex>();
    std::sort(tracks.begin(), tracks.end(), [](const TrackLanes& x, const TrackLanes& y) { return x.track.id < y.track.id; });
    bool any = false;
    for (TrackLanes& track : tracks) {
        for (Lane& lane : track.lanes) {
            if (track.track.kind == TrackKind::device && lane.busy.size() != lane.size() + 1) lane.seal_busy();
            if (track.track.kind == TrackKind::counter && lane.values.size() != lane.size()) lane.seal_values();
            if (lane.marks.empty()) lane.seal_levels();
            if (lane.size() == 0) continue;
            index->spans_ += lane.size();
            const TimeRange own{lane.starts.front(), lane.ends.back()};
            index->extent_ = any ? TimeRange{std::min(index->extent_.start, own.start), std::max(index->extent_.end, own.end)} : own;
            any = true;
        }
    }
    index->tracks_ = std::move(tracks);
    return index;
}

const TrackLanes* SpanIndex::track(TrackId id) const noexcept {
    const auto at =
        std::lower_bound(tracks_.begin(), tracks_.end(), id, [](const TrackLanes& t, TrackId wanted) { return t.track.id < wanted; });
    return at != tracks_.end() && at->track.id == id ? &*at : nullptr;
}

std::optional<SpanPlace> SpanIndex::place(SpanId id) const noexcept {
    const TrackLanes* lanes = id.valid() ? track(id.track()) : nullptr;
    if (lanes == nullptr) return std::nullopt;
    for (const Lane& lane : lanes->lanes) {
        const auto at = std::lower_bound(lane.ordinals.begin(), lane.ordinals.end(), id.ordinal());
        if (at != lane.ordinals.end() && *at == id.ordinal()) return SpanPlace{&lane, static_cast<std::size_t>(at - lane.ordinals.begin())};
    }
    return std::nullopt;
}

}  // namespace faultline
