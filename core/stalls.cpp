#include "core/stalls.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <unordered_map>

namespace faultline {

namespace {

constexpr int kSchedulings = 5;      ///< turns of the scheduler without a step that make a loop
constexpr double kBusyAnyway = 0.2;  ///< of a gap filled with device work: something ran that no text names

std::string seconds(TimeNs ns) { return fmt::format("{:.1f} s", static_cast<double>(ns) / 1e9); }

bool is_scheduling(std::string_view name) {
    // Loops that turn without work (SGLang's) have other names: only asking for blocks means that a request waits.
    return name.starts_with("schedule: allocate_slots") || name.starts_with("sched.allocate_slots");
}

/// When requests were live.
class LiveRequests {
public:
    LiveRequests(std::span<const Request> requests, std::span<const Step> steps) {
        std::unordered_map<std::int64_t, TimeNs> starts;
        for (const Step& s : steps) starts[index_of(s.id)] = s.start;
        // Without an end in a log that tells ends, it never came.
        const bool ends_known = std::any_of(requests.begin(), requests.end(), [](const Request& r) { return r.end.has_value(); });
        for (const Request& r : requests) {
            std::optional<TimeNs> first = r.arrival, last = r.end;
            for (const StepId id : r.steps) {
                const auto step = starts.find(index_of(id));
                if (step == starts.end()) continue;
                first = std::min(first.value_or(step->second), step->second);
                if (!r.end) last = std::max(last.value_or(step->second), step->second);
            }
            if (!r.end && ends_known) last = std::numeric_limits<TimeNs>::max();
            if (first && last) lives_.push_back({*first, *last});  // else it is not known how long it lived
        }
    }

    /// Requests that were live in `gap` for at least `least`.
    [[nodiscard]] std::int64_t in(TimeRange gap, TimeNs least) const {
        return std::count_if(lives_.begin(), lives_.end(),
                             [&](TimeRange life) { return std::min(gap.end, life.end) - std::max(gap.start, life.start) >= least; });
    }

private:
    std::vector<TimeRange> lives_;
};

class Search {
public:
    Search(const CaptureReader& capture, const SpanIndex& index, std::span<const Step> steps, std::span<const Request> requests,
           std::span<const DeviceBusy> devices, const AnalysisOptions& options)
        : capture_(capture), index_(index), steps_(steps), live_(requests, steps), devices_(devices), options_(options) {}

    Result<std::vector<Stall>> run() {
        if (Result<void> ok = find_endless(); !ok) return tl::unexpected<Error>(ok.error());
        find_gaps();
        return joined();
    }

private:
    /// Kernels that run on. Only the last work of a lane can be without an end.
    Result<void> find_endless() {
        for (const TrackLanes& track : index_.tracks()) {
            if (track.track.kind != TrackKind::device) continue;
            for (const Lane& lane : track.lanes)
                for (std::size_t i = 0; i < lane.size(); ++i) {
                    if (!is_kernel(lane.kinds[i])) continue;
                    const bool runs_on = lane.ends[i] - lane.starts[i] >= options_.stall_least_ns;
                    const bool may_not_end = i + 1 == lane.size() && traced_until() - lane.starts[i] >= options_.stall_least_ns;
                    if (!runs_on && !may_not_end) continue;
                    const Result<std::int64_t> value = capture_.value(SpanId::make(lane.track, lane.ordinals[i]), Column::flags);
                    if (!value) return tl::unexpected<Error>(value.error());
                    const std::int64_t flags = *value == kNull ? 0 : *value;
                    if (runs_on || (flags & flag_unfinished) != 0) endless(track.track, lane, i, flags);
                }
        }
        return {};
    }

    static bool is_kernel(SpanKind kind) { return kind == SpanKind::kernel || kind == SpanKind::graph; }

    void endless(const Track& track, const Lane& lane, std::size_t i, std::int64_t flags) {
        const bool unfinished = (flags & flag_unfinished) != 0;
        Stall stall;
        stall.step.start = lane.starts[i];
        stall.step.end = unfinished ? std::max(lane.ends[i], traced_until()) : lane.ends[i];
        stall.step.name = fmt::format("stall in {}", capture_.name(lane.names[i]));
        stall.step.kernels = 1;
        stall.step.kernel_busy_ns = stall.step.end - stall.step.start;
        stall.step.spans = {SpanId::make(lane.track, lane.ordinals[i])};
        stall.bound = (flags & flag_collective) != 0 ? StepBound::communication : StepBound::gpu;
        place(stall, track.source, track.process);
        stall.sentence = fmt::format("{} {} on device {}", capture_.name(lane.names[i]),
                                     unfinished ? "started and never ended" : "ran for " + seconds(stall.step.end - stall.step.start),
                                     device_ordinal(track));
        found_.push_back(std::move(stall));
    }

    [[nodiscard]] std::int64_t device_ordinal(const Track& track) const {
        const Device* const device = track.device ? capture_.device(*track.device) : nullptr;
        return device ? device->ordinal : 0;
    }

    /// Instance and rank of the stall: those of the steps of the same source.
    void place(Stall& stall, SourceId source, std::optional<ProcessId> process) const {
        const Process* const p = process ? capture_.process(*process) : nullptr;
        const Source* const s = capture_.source(source);
        const auto rank = p && p->rank ? p->rank : s ? s->rank : std::nullopt;
        if (rank) stall.step.ranks = {*rank};
        for (const Step& step : steps_) {
            const bool here = std::any_of(step.spans.begin(), step.spans.end(), [&](SpanId span) {
                const Track* const track = capture_.track(span.track());
                return track && track->source == source;
            });
            if (!here) continue;
            stall.step.instance = step.instance;
            return;
        }
    }

    /// The last moment at which the trace itself recorded something.
    [[nodiscard]] TimeNs traced_until() const {
        TimeNs last = 0;
        for (const Track& t : capture_.tracks())
            if (t.kind == TrackKind::host || t.kind == TrackKind::device) last = std::max(last, t.last_end + t.clock_offset_ns);
        return last;
    }

    void find_gaps() {
        std::map<std::string_view, std::vector<const Step*>> instances;
        for (const Step& s : steps_) instances[s.instance].push_back(&s);
        for (auto& [instance, steps] : instances) {
            std::sort(steps.begin(), steps.end(), [](const Step* a, const Step* b) { return a->start < b->start; });
            TimeNs until = steps.front()->end;
            const Step* before = steps.front();
            for (const Step* step : steps) {
                if (step->start - until >= options_.stall_least_ns) judge_gap(*before, {until, step->start});
                if (step->end < until) continue;
                until = step->end;
                before = step;
            }
            if (const TimeNs last = traced_until(); last - until >= options_.stall_least_ns) judge_gap(*before, {until, last});
        }
    }

    void judge_gap(const Step& before, TimeRange gap) {
        for (const DeviceBusy& device : devices_)
            if (busy_in(device, gap) > kBusyAnyway * static_cast<double>(gap.duration())) return;
        const std::int64_t live = live_.in(gap, options_.stall_least_ns);
        const int turns = schedulings(gap);
        if (live == 0 && turns < kSchedulings) return;
        Stall stall;
        stall.step.start = gap.start;
        stall.step.end = gap.end;
        stall.step.instance = before.instance;
        stall.step.ranks = before.ranks;
        stall.step.name = fmt::format("no step for {}", seconds(gap.duration()));
        stall.sentence = fmt::format("no step for {}", seconds(gap.duration()));
        if (live > 0) stall.sentence += fmt::format(" with {} {} live", live, live == 1 ? "request" : "requests");
        if (turns >= kSchedulings) stall.bound = StepBound::cpu;
        if (turns >= kSchedulings) stall.sentence += fmt::format(", while the scheduler looked for room {} times", turns);
        found_.push_back(std::move(stall));
    }

    /// Long gaps are listed; what is left of the stretch was busy, or idle in short pieces.
    [[nodiscard]] double busy_in(const DeviceBusy& device, TimeRange range) const {
        if (device.first_start >= range.end || device.last_end <= range.start) return 0;
        TimeNs idle = 0;
        for (const DeviceGap& g : device.gaps) idle += std::max<TimeNs>(0, std::min(g.end, range.end) - std::max(g.start, range.start));
        const TimeNs inside = std::min(range.end, device.last_end) - std::max(range.start, device.first_start);
        return static_cast<double>(std::max<TimeNs>(0, inside - idle));
    }

    [[nodiscard]] int schedulings(TimeRange gap) const {
        int turns = 0;
        for (const TrackLanes& track : index_.tracks()) {
            if (track.track.kind != TrackKind::host) continue;
            for (const Lane& lane : track.lanes) {
                if (lane.python) continue;
                const auto [first, last] = lane.find(gap);
                for (std::size_t i = first; i < last; ++i)
                    turns +=
                        (lane.kinds[i] == SpanKind::range || lane.kinds[i] == SpanKind::op) && is_scheduling(capture_.name(lane.names[i]));
            }
        }
        return turns;
    }

    /// By start; what overlaps in one instance is one stall, that of the longest.
    std::vector<Stall> joined() {
        std::sort(found_.begin(), found_.end(), [](const Stall& a, const Stall& b) { return a.step.start < b.step.start; });
        std::vector<Stall> out;
        for (Stall& s : found_) {
            const auto same = std::find_if(out.rbegin(), out.rend(),
                                           [&](const Stall& o) { return o.step.instance == s.step.instance && s.step.start < o.step.end; });
            if (same == out.rend()) {
                out.push_back(std::move(s));
                continue;
            }
            std::set<std::int64_t> ranks(same->step.ranks.begin(), same->step.ranks.end());
            ranks.insert(s.step.ranks.begin(), s.step.ranks.end());
            const TimeNs start = std::min(same->step.start, s.step.start), end = std::max(same->step.end, s.step.end);
            if (s.step.end - s.step.start > same->step.end - same->step.start) *same = std::move(s);
            same->step.start = start;
            same->step.end = end;
            same->step.ranks.assign(ranks.begin(), ranks.end());
        }
        return out;
    }

    const CaptureReader& capture_;
    const SpanIndex& index_;
    std::span<const Step> steps_;
    LiveRequests live_;
    std::span<const DeviceBusy> devices_;
    const AnalysisOptions& options_;
    std::vector<Stall> found_;
};

}  // namespace

Result<std::vector<Stall>> find_stalls(const CaptureReader& capture, const SpanIndex& index, std::span<const Step> steps,
                                       std::span<const Request> requests, std::span<const DeviceBusy> devices,
                                       const AnalysisOptions& options) {
    return Search(capture, index, steps, requests, devices, options).run();
}

}  // namespace faultline
