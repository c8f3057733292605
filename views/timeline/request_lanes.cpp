#include "views/timeline/request_lanes.h"

#include <algorithm>
#include <queue>
#include <set>
#include <tuple>

namespace faultline {

namespace {

/// Steps of a request by start, without those that the capture does not have.
std::vector<const Step*> steps_of(const LoadedCapture& capture, const Request& request) {
    std::vector<const Step*> steps;
    for (const StepId id : request.steps) {
        if (const Step* step = capture.step(id)) steps.push_back(step);
    }
    std::sort(steps.begin(), steps.end(), [](const Step* a, const Step* b) { return a->start < b->start; });
    return steps;
}

void add_segments(const LoadedCapture& capture, const Request& request, const RequestBar& bar, RequestLane& lane) {
    const std::vector<const Step*> steps = steps_of(capture, request);
    if (steps.empty()) return;  // nothing says when it waited and when it was served: the line alone
    TimeNs done = bar.start;
    const TimeNs first = std::min(steps.front()->start, bar.end);
    if (bar.arrival_known && first > bar.start) {
        lane.segments.push_back({bar.start, first, RequestPart::waiting});
        done = first;
    }
    for (std::size_t i = 0; i < steps.size(); ++i) {
        // Up to its first token a request prefills; where that is not known, its first step is a prefill and so is any that says so.
        const Step& step = *steps[i];
        const bool before = bar.first_token ? step.start < *bar.first_token : i == 0 || step.phase == StepPhase::prefill;
        const TimeNs start = std::max(step.start, done);
        const TimeNs end = std::min(step.end, bar.end);
        if (end <= start) continue;
        lane.segments.push_back({start, end, before ? RequestPart::prefill : RequestPart::decode});
        done = end;
    }
}

}  // namespace

std::size_t RequestLane::first_bar(TimeNs t) const noexcept {
    return static_cast<std::size_t>(
        std::upper_bound(bars.begin(), bars.end(), t, [](TimeNs at, const RequestBar& b) { return at < b.end; }) - bars.begin());
}

std::size_t RequestLane::first_segment(TimeNs t) const noexcept {
    return static_cast<std::size_t>(
        std::upper_bound(segments.begin(), segments.end(), t, [](TimeNs at, const RequestSegment& s) { return at < s.end; }) -
        segments.begin());
}

std::optional<std::size_t> RequestLane::bar_at(TimeNs t, TimeNs slack) const noexcept {
    const std::size_t at = first_bar(t);
    if (at < bars.size() && bars[at].start <= t) return at;
    std::optional<std::size_t> best;
    TimeNs distance = slack + 1;
    if (at < bars.size() && bars[at].start - t < distance) {
        best = at;
        distance = bars[at].start - t;
    }
    if (at > 0 && t - bars[at - 1].end < distance) best = at - 1;
    return best;
}

RequestLanes RequestLanes::build(const LoadedCapture& capture) {
    RequestLanes out;
    std::vector<RequestBar> bars;
    for (std::uint32_t i = 0; i < capture.requests.size(); ++i) {
        const Request& request = capture.requests[i];
        for (const StepId step : request.steps) out.by_step.emplace_back(step, i);
        const TimeRange range = request_range(capture, request);
        if (range.empty()) continue;
        bars.push_back({range.start, range.end, request.first_token, i, request.arrival.has_value(), request.end.has_value()});
    }
    std::sort(out.by_step.begin(), out.by_step.end());
    // Of those that begin together (a coarse clock) the longest comes first, and so stands in the rows in sight.
    std::stable_sort(bars.begin(), bars.end(),
                     [](const RequestBar& a, const RequestBar& b) { return std::tuple(a.start, -a.end) < std::tuple(b.start, -b.end); });
    out.requests = bars.size();
    // The topmost free lane takes the next bar, so that the rows in sight are the full ones; where there are few requests each has a lane.
    using Busy = std::pair<TimeNs, std::size_t>;
    std::priority_queue<Busy, std::vector<Busy>, std::greater<>> busy;
    std::set<std::size_t> free;
    for (const RequestBar& bar : bars) {
        for (; out.packed() && !busy.empty() && busy.top().first <= bar.start; busy.pop()) free.insert(busy.top().second);
        std::size_t lane = out.lanes.size();
        if (free.empty()) {
            out.lanes.emplace_back();
        } else {
            lane = *free.begin();
            free.erase(free.begin());
        }
        out.lanes[lane].bars.push_back(bar);
        add_segments(capture, capture.requests[bar.request], bar, out.lanes[lane]);
        busy.emplace(bar.end, lane);
    }
    return out;
}

std::optional<std::pair<std::size_t, std::size_t>> RequestLanes::find(std::size_t request) const noexcept {
    for (std::size_t lane = 0; lane < lanes.size(); ++lane) {
        for (std::size_t bar = 0; bar < lanes[lane].bars.size(); ++bar) {
            if (lanes[lane].bars[bar].request == request) return std::pair(lane, bar);
        }
    }
    return std::nullopt;
}

bool RequestLanes::any_in(TimeRange range) const noexcept {
    return std::any_of(lanes.begin(), lanes.end(), [&](const RequestLane& lane) {
        const std::size_t at = lane.first_bar(range.start);
        return at < lane.bars.size() && lane.bars[at].start < range.end;
    });
}

std::vector<std::uint32_t> RequestLanes::of_step(StepId step) const {
    std::vector<std::uint32_t> found;
    for (auto at = std::lower_bound(by_step.begin(), by_step.end(), std::pair(step, std::uint32_t{0}));
         at != by_step.end() && at->first == step; ++at)
        found.push_back(at->second);
    return found;
}

}  // namespace faultline
