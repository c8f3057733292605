#include "core/step_cover.h"

#include <algorithm>
#include <map>
#include <queue>
#include <tuple>

namespace faultline {

namespace {

constexpr TimeNs kTokenCopyWithin = 1'000'000'000;  ///< a copy later than this after a text closed is not that step's
constexpr std::int64_t kClosingKernels = 16;        ///< a copy followed by fewer kernels than this closes its range

/// Which step owns each moment: disjoint, by start; of overlapping ranges the one that started last.
class Timeline {
public:
    explicit Timeline(std::vector<std::tuple<TimeNs, TimeNs, std::int64_t>> ranges) {
        std::sort(ranges.begin(), ranges.end());
        std::vector<std::pair<TimeNs, std::int64_t>> open;  // end and step, the last started on top
        TimeNs now = 0;
        const auto close_until = [&](TimeNs t) {
            while (!open.empty() && open.back().first <= t) {
                add(now, open.back().first, open.back().second);
                now = std::max(now, open.back().first);
                open.pop_back();
            }
        };
        for (const auto& [start, end, step] : ranges) {
            close_until(start);
            if (!open.empty()) add(now, start, open.back().second);
            now = start;
            open.emplace_back(end, step);
        }
        close_until(std::numeric_limits<TimeNs>::max());
    }

    [[nodiscard]] bool empty() const noexcept { return segments_.empty(); }

    /// Asked with times that never go back; `none` outside all steps. Gives the start of the segment, too.
    struct Sweep {
        const Timeline& timeline;
        std::size_t at = 0;
        std::int64_t operator()(TimeNs t) {
            while (at < timeline.segments_.size() && timeline.segments_[at].end <= t) ++at;
            return at < timeline.segments_.size() && timeline.segments_[at].start <= t ? timeline.segments_[at].step : kNull;
        }
    };

private:
    struct Segment {
        TimeNs start, end;
        std::int64_t step;
    };
    void add(TimeNs start, TimeNs end, std::int64_t step) {
        if (start < end) segments_.push_back({start, end, step});
    }
    std::vector<Segment> segments_;
};

using Ranges = std::vector<std::tuple<TimeNs, TimeNs, std::int64_t>>;

/// Marks every span of the track that starts in a step; the column stays empty where none does.
void cover_starts(TrackBuffer& track, const Timeline& timeline) {
    Timeline::Sweep step{timeline};
    auto& column = track.column(Column::step);
    for (std::uint32_t i = 0; i < track.size(); ++i) {
        const std::int64_t owner = step(track.starts[i]);
        if (owner == kNull) continue;
        if (column.empty()) column.assign(track.size(), kNull);
        column[i] = owner;
    }
}

/// Collectives that run on threads of their own (gloo).
bool is_host_collective(const TrackBuffer& track, std::uint32_t at) {
    if (track.kinds[at] != SpanKind::range && track.kinds[at] != SpanKind::op) return false;
    const std::int64_t flags = track.get(at, Column::flags);
    return flags != kNull && (flags & flag_collective) != 0;
}

/// Marks the collectives that start in a step, with what encloses them and starts in it, too.
void cover_collectives(TrackBuffer& track, const Timeline& timeline, const std::vector<StepRange>& ranges) {
    Timeline::Sweep step{timeline};
    for (std::uint32_t i = 0; i < track.size(); ++i) {
        if (!is_host_collective(track, i)) continue;
        const std::int64_t owner = step(track.starts[i]);
        if (owner == kNull) continue;
        auto& column = track.column(Column::step);
        if (column.empty()) column.assign(track.size(), kNull);
        const TimeNs since = ranges[static_cast<std::size_t>(owner)].start;
        for (std::int64_t at = i; at != kNull && at >= 0; at = track.get(static_cast<std::uint32_t>(at), Column::parent)) {
            const auto a = static_cast<std::uint32_t>(at);
            if (column[a] == owner || track.starts[a] < since) break;
            column[a] = owner;
        }
    }
}

/// Gives device spans the step of their launch; what was launched nowhere known stays without.
void cover_launched(SourceBuilder& source, const LaunchTable& launches) {
    for (TrackBuffer& t : source.tracks()) {
        const auto& launch = t.column(Column::launch);
        std::vector<std::int64_t>* column = nullptr;
        for (std::uint32_t i = 0; i < launch.size(); ++i) {
            if (launch[i] == kNull) continue;
            const std::uint32_t host = launches.position(SpanId{launch[i]}.track());
            if (host == LaunchTable::kNone) continue;
            const std::int64_t owner = source.tracks()[host].get(static_cast<std::uint32_t>(SpanId{launch[i]}.ordinal()), Column::step);
            if (owner == kNull) continue;
            if (!column) {
                column = &t.column(Column::step);
                column->assign(t.size(), kNull);
            }
            (*column)[i] = owner;
        }
    }
}

void cover_device_times(SourceBuilder& source, const Timeline& timeline) {
    for (TrackBuffer& t : source.tracks()) {
        if (t.track.kind != TrackKind::device) continue;
        Timeline::Sweep step{timeline};
        for (std::uint32_t i = 0; i < t.size(); ++i)
            if (t.get(i, Column::launch) == kNull)
                if (const std::int64_t owner = step(t.starts[i]); owner != kNull) t.set(i, Column::step, owner);
    }
}

/// Adds up the device work of one device: its streams merged by start.
void add_device_work(const std::vector<const TrackBuffer*>& streams, std::vector<StepWork>& work) {
    std::vector<TimeNs> busy_until(work.size(), std::numeric_limits<TimeNs>::min());
    struct Head {
        TimeNs start;
        std::size_t stream;
        std::uint32_t at;
        bool operator>(const Head& other) const noexcept { return start > other.start; }
    };
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    const auto push_next = [&](std::size_t stream, std::uint32_t at) {
        const TrackBuffer& t = *streams[stream];
        const auto& column = t.column(Column::step);
        while (at < column.size() && (column[at] == kNull || !is_device_work(t.kinds[at]))) ++at;
        if (at < column.size()) heads.push({t.starts[at], stream, at});
    };
    for (std::size_t s = 0; s < streams.size(); ++s) push_next(s, 0);
    while (!heads.empty()) {
        const Head head = heads.top();
        heads.pop();
        const TrackBuffer& t = *streams[head.stream];
        const auto step = static_cast<std::size_t>(t.column(Column::step)[head.at]);
        StepWork& w = work[step];
        const TimeNs end = t.end(head.at);
        w.first_start = w.spans == 0 ? head.start : std::min(w.first_start, head.start);
        w.last_end = w.spans == 0 ? end : std::max(w.last_end, end);
        ++w.spans;
        if (t.kinds[head.at] == SpanKind::kernel) ++w.kernels;
        w.busy_ns += std::max<TimeNs>(0, end - std::max(head.start, busy_until[step]));
        busy_until[step] = std::max(busy_until[step], end);
        push_next(head.stream, head.at + 1);
    }
}

std::vector<StepWork> device_work(const SourceBuilder& source, std::size_t steps) {
    std::map<std::int64_t, std::vector<const TrackBuffer*>> devices;
    for (const TrackBuffer& t : source.tracks())
        if (t.track.kind == TrackKind::device && t.has(Column::step))
            devices[t.track.device ? static_cast<std::int64_t>(index_of(*t.track.device)) : -1].push_back(&t);
    std::vector<StepWork> work(steps);
    for (const auto& [device, streams] : devices) add_device_work(streams, work);
    return work;
}

/// The host ranges, by the thread, the process, and whether they reach beyond their process.
struct Reach {
    std::map<std::size_t, Ranges> own;       ///< by thread
    std::map<std::int64_t, Ranges> process;  ///< by process
    Ranges everywhere;                       ///< of processes that launch nothing themselves
    Ranges device_only;
};

std::int64_t process_key(const HostThread& thread) { return thread.process ? static_cast<std::int64_t>(index_of(*thread.process)) : -1; }

Reach reach_of(const std::vector<HostThread>& threads, const LaunchTable& launches, const std::vector<StepRange>& ranges) {
    Reach reach;
    std::map<std::int64_t, bool> launching;
    for (const HostThread& thread : threads)
        for (const std::uint32_t track : thread.tracks) launching[process_key(thread)] |= launches.launches(track);
    for (std::size_t i = 0; i < ranges.size(); ++i) {
        const auto range = std::make_tuple(ranges[i].start, ranges[i].end, static_cast<std::int64_t>(i));
        if (ranges[i].thread == StepRange::kNoThread) {
            reach.device_only.push_back(range);
            continue;
        }
        const std::int64_t process = process_key(threads[ranges[i].thread]);
        reach.own[ranges[i].thread].push_back(range);
        reach.process[process].push_back(range);
        if (!launching[process]) reach.everywhere.push_back(range);
    }
    return reach;
}

}  // namespace

void extend_to_token_copy(std::vector<StepRange*>& of_thread, const std::vector<LaunchCall>& calls) {
    const auto first_at = [&](TimeNs t) {
        return std::lower_bound(calls.begin(), calls.end(), t, [](const LaunchCall& c, TimeNs time) { return c.start < time; });
    };
    for (std::size_t i = 0; i < of_thread.size(); ++i) {
        StepRange& range = *of_thread[i];
        const auto after = first_at(range.end);
        bool closed = false;
        std::int64_t kernels = 0;
        for (auto c = after; c != calls.begin() && !closed && kernels < kClosingKernels;) {
            --c;
            if (c->start < range.start) break;
            closed = c->work.copies_out;
            kernels += c->work.kernels;
        }
        if (closed) continue;
        TimeNs limit = range.end + kTokenCopyWithin;
        if (i + 1 < of_thread.size()) limit = std::min(limit, of_thread[i + 1]->start);
        for (auto c = after; c != calls.end() && c->start < limit; ++c) {
            if (!c->work.copies_out) continue;
            range.end = std::max(range.end, std::min(c->end, limit));
            break;
        }
    }
}

std::vector<StepWork> cover_spans(SourceBuilder& source, const std::vector<HostThread>& threads, const LaunchTable& launches,
                                  const std::vector<StepRange>& ranges) {
    const Reach reach = reach_of(threads, launches, ranges);
    std::map<std::int64_t, Timeline> of_process;
    for (const auto& [process, list] : reach.process) of_process.try_emplace(process, list);
    const Timeline everywhere(reach.everywhere);
    for (std::size_t t = 0; t < threads.size(); ++t) {
        const auto own = reach.own.find(t);
        const auto process = of_process.find(process_key(threads[t]));
        if (own != reach.own.end()) {
            const Timeline timeline(own->second);
            for (const std::uint32_t track : threads[t].tracks) cover_starts(source.tracks()[track], timeline);
            continue;
        }
        const Timeline& timeline = process != of_process.end() ? process->second : everywhere;
        if (timeline.empty()) continue;
        const bool launching =
            std::any_of(threads[t].tracks.begin(), threads[t].tracks.end(), [&](std::uint32_t track) { return launches.launches(track); });
        for (const std::uint32_t track : threads[t].tracks) {
            if (launching)
                cover_starts(source.tracks()[track], timeline);
            else if (source.tracks()[track].has(Column::flags))
                cover_collectives(source.tracks()[track], timeline, ranges);
        }
    }
    cover_launched(source, launches);
    if (!reach.device_only.empty()) cover_device_times(source, Timeline(reach.device_only));
    return device_work(source, ranges.size());
}

void set_step_ids(SourceBuilder& source, const std::vector<StepId>& ids) {
    for (TrackBuffer& t : source.tracks())
        for (std::int64_t& step : t.column(Column::step))
            if (step != kNull) step = static_cast<std::int64_t>(index_of(ids[static_cast<std::size_t>(step)]));
}

}  // namespace faultline
