#include "core/range_projection.h"

#include <algorithm>
#include <limits>
#include <map>
#include <utility>
#include <vector>

#include "core/nesting.h"

namespace faultline {

namespace {

/// Device work that belongs to one host span.
struct Projection {
    TimeNs first = std::numeric_limits<TimeNs>::max();
    TimeNs last = std::numeric_limits<TimeNs>::min();
    std::int64_t busy = 0;
    std::int64_t count = 0;

    void add(TimeNs start, TimeNs end) noexcept {
        first = std::min(first, start);
        last = std::max(last, end);
        busy += end - start;
        ++count;
    }
    void add(const Projection& other) noexcept {
        first = std::min(first, other.first);
        last = std::max(last, other.last);
        busy += other.busy;
        count += other.count;
    }
};

/// Projections of the spans of each host track, by the position of the track in the source; empty where it launched nothing.
class LaunchedWorkOfTracks {
public:
    explicit LaunchedWorkOfTracks(const SourceBuilder& source) : of_track_(source.tracks().size()) {
        std::map<TrackId, std::size_t> positions;
        std::size_t at = 0;
        for (const TrackBuffer& t : source.tracks()) positions[t.track.id] = at++;
        for (const TrackBuffer& t : source.tracks()) {
            if (t.track.kind != TrackKind::device) continue;
            const std::vector<std::int64_t>& launch = t.column(Column::launch);
            TrackId last{};
            std::vector<Projection>* of = nullptr;
            for (std::uint32_t i = 0; i < launch.size(); ++i) {
                if (launch[i] == kNull || !is_device_work(t.kinds[i])) continue;
                const SpanId call{launch[i]};
                if (of == nullptr || call.track() != last) {
                    const auto host = positions.find(call.track());
                    if (host == positions.end()) continue;
                    last = call.track();
                    of = &of_track_[host->second];
                    if (of->empty()) of->resize(source.tracks()[host->second].size());
                }
                if (call.ordinal() < of->size()) (*of)[call.ordinal()].add(t.starts[i], t.end(i));
            }
        }
    }

    [[nodiscard]] std::vector<Projection>& at(std::size_t track) noexcept { return of_track_[track]; }

private:
    std::vector<std::vector<Projection>> of_track_;
};

/// Calls of a thread by start, to ask for the work of all that began in an interval.
class CallsByStart {
public:
    void add(TimeNs start, const Projection& work) { calls_.emplace_back(start, work); }

    void build() {
        std::sort(calls_.begin(), calls_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
        size_ = 1;
        while (size_ < calls_.size()) size_ *= 2;
        tree_.assign(size_ * 2, Projection{});
        for (std::size_t i = 0; i < calls_.size(); ++i) tree_[size_ + i] = calls_[i].second;
        for (std::size_t i = size_ - 1; i > 0; --i) {
            tree_[i] = tree_[i * 2];
            tree_[i].add(tree_[i * 2 + 1]);
        }
    }

    [[nodiscard]] Projection within(TimeNs start, TimeNs end) const {
        const auto position = [&](TimeNs t) {
            return static_cast<std::size_t>(
                std::partition_point(calls_.begin(), calls_.end(), [&](const auto& call) { return call.first < t; }) - calls_.begin());
        };
        Projection sum;
        std::size_t from = size_ + position(start);
        std::size_t to = size_ + position(end);
        for (; from < to; from /= 2, to /= 2) {
            if (from % 2 == 1) sum.add(tree_[from++]);
            if (to % 2 == 1) sum.add(tree_[--to]);
        }
        return sum;
    }

private:
    std::vector<std::pair<TimeNs, Projection>> calls_;
    std::vector<Projection> tree_;  ///< a segment tree over the calls
    std::size_t size_ = 1;
};

void set_columns(TrackBuffer& track, std::uint32_t range, const Projection& work) {
    if (work.count == 0) return;
    track.set(range, Column::device_delay, work.first - track.starts[range]);
    track.set(range, Column::device_duration, work.last - work.first);
    track.set(range, Column::device_busy, work.busy);
    track.set(range, Column::device_count, work.count);
}

bool holds_ranges(const TrackBuffer& track) {
    return std::find(track.kinds.begin(), track.kinds.end(), SpanKind::range) != track.kinds.end();
}

/// The main lane of a thread and the lanes beside it, by position.
struct Lanes {
    std::size_t main = static_cast<std::size_t>(-1);
    std::vector<std::size_t> others;
};

class ThreadProjection {
public:
    ThreadProjection(SourceBuilder& source, LaunchedWorkOfTracks& work, const Lanes& lanes) : source_(source), work_(work), lanes_(lanes) {}

    void run() {
        const bool beside =
            std::any_of(lanes_.others.begin(), lanes_.others.end(), [&](std::size_t lane) { return holds_ranges(source_.tracks()[lane]); });
        if (beside) gather_calls();
        if (holds_ranges(source_.tracks()[lanes_.main])) project_main_lane();
        if (!beside) return;
        for (const std::size_t lane : lanes_.others) {
            TrackBuffer& track = source_.tracks()[lane];
            for (std::uint32_t i = 0; i < track.size(); ++i)
                if (track.kinds[i] == SpanKind::range) set_columns(track, i, calls_.within(track.starts[i], track.end(i)));
        }
    }

private:
    void gather_calls() {
        const auto gather = [&](std::size_t lane) {
            const std::vector<Projection>& work = work_.at(lane);
            for (std::uint32_t i = 0; i < work.size(); ++i)
                if (work[i].count > 0) calls_.add(source_.tracks()[lane].starts[i], work[i]);
        };
        gather(lanes_.main);
        for (const std::size_t lane : lanes_.others) gather(lane);
        calls_.build();
    }

    /// From the last span to the first, so that a parent has all of its children when it is passed on itself.
    void project_main_lane() {
        TrackBuffer& track = source_.tracks()[lanes_.main];
        std::vector<Projection>& work = work_.at(lanes_.main);
        for (const std::size_t lane : lanes_.others) {
            const std::vector<Projection>& other = work_.at(lane);
            for (std::uint32_t i = 0; i < other.size(); ++i) {
                if (other[i].count == 0) continue;
                const std::int64_t inside = innermost_at(track, source_.tracks()[lane].starts[i]);
                if (inside < 0) continue;
                if (work.empty()) work.resize(track.size());
                work[static_cast<std::size_t>(inside)].add(other[i]);
            }
        }
        if (work.empty()) return;
        const std::vector<std::int64_t>& parents = track.column(Column::parent);
        for (std::uint32_t i = track.size(); i-- > 0;) {
            if (work[i].count == 0) continue;
            if (i < parents.size() && parents[i] != kNull) work[static_cast<std::size_t>(parents[i])].add(work[i]);
            if (track.kinds[i] == SpanKind::range) set_columns(track, i, work[i]);
        }
    }

    SourceBuilder& source_;
    LaunchedWorkOfTracks& work_;
    const Lanes& lanes_;
    CallsByStart calls_;
};

}  // namespace

void project_ranges(SourceBuilder& source) {
    LaunchedWorkOfTracks work(source);
    std::map<std::pair<ThreadId, int>, Lanes> threads;  // several Python threads may share a thread as parts of it
    for (std::size_t i = 0; i < source.tracks().size(); ++i) {
        const Track& track = source.tracks()[i].track;
        if (track.kind != TrackKind::host || !track.thread) continue;
        Lanes& lanes = threads[{*track.thread, track.part}];
        if (track.lane == 0)
            lanes.main = i;
        else
            lanes.others.push_back(i);
    }
    for (const auto& [thread, lanes] : threads)
        if (lanes.main != static_cast<std::size_t>(-1)) ThreadProjection(source, work, lanes).run();
}

}  // namespace faultline
