#include "core/log_alignment.h"

#include <algorithm>
#include <tuple>

#include "core/requests.h"

namespace faultline {

AlignmentOptions alignment_options(std::span<const Source> sources) {
    AlignmentOptions options;
    for (const Source& source : sources) options.uncertainty_ns[index_of(source.id)] = source.clock_uncertainty_ns;
    return options;
}

std::vector<std::vector<std::size_t>> requests_of_lines(std::span<const LogLine> lines, std::span<const RequestMention> mentions,
                                                        std::span<const Request> requests) {
    const std::unordered_map<std::string, std::string> names = canonical_ids(mentions);
    std::unordered_map<std::string, std::size_t> position;
    for (std::size_t i = 0; i < requests.size(); ++i) position.emplace(requests[i].name, i);
    std::unordered_map<std::int64_t, std::size_t> line_of;
    for (std::size_t i = 0; i < lines.size(); ++i) line_of.emplace(lines[i].id, i);
    std::vector<std::vector<std::size_t>> all(lines.size());
    for (const RequestMention& m : mentions) {
        const auto line = line_of.find(m.log);
        const auto name = names.find(m.request);
        if (m.log == 0 || line == line_of.end() || name == names.end()) continue;
        const auto request = position.find(name->second);
        if (request == position.end()) continue;
        std::vector<std::size_t>& of = all[line->second];
        if (std::find(of.begin(), of.end(), request->second) == of.end()) of.push_back(request->second);
    }
    return all;
}

namespace {

/// The instant that a stamp means, closed: [first, last].
struct Instant {
    TimeNs first = 0, last = 0;
};
Instant instant_of(const LogLine& line) { return {*line.time, *line.time + std::max<TimeNs>(line.resolution_ns, 1) - 1}; }

bool overlap(Instant i, const Step& step) { return i.first < std::max(step.end, step.start + 1) && i.last >= step.start; }

TimeNs distance(Instant i, const Step& step) {
    if (i.first >= step.end && step.start < i.first) return i.first - step.end;
    if (i.last < step.start) return step.start - (i.last > i.first ? i.last + 1 : i.last);
    return 0;
}

TimeNs tolerance(const LogLine& line, const AlignmentOptions& options) {
    const auto found = options.uncertainty_ns.find(index_of(line.source));
    return options.lag_ns + (found == options.uncertainty_ns.end() ? 0 : found->second);
}

/// A step and how far from it.
struct Nearest {
    const Step* step = nullptr;
    TimeNs distance = 0;
    bool apart = false;  ///< the instant does not overlap the step, though it may touch it
    friend bool operator<(const Nearest& a, const Nearest& b) {
        return std::tie(a.apart, a.distance, a.step->start, a.step->id) < std::tie(b.apart, b.distance, b.step->start, b.step->id);
    }
};

/// Steps by start, to find the nearest to an instant; they may overlap.
class StepFinder {
public:
    explicit StepFinder(std::vector<const Step*> steps) : steps_(std::move(steps)) {
        std::sort(steps_.begin(), steps_.end(),
                  [](const Step* a, const Step* b) { return std::tie(a->start, a->id) < std::tie(b->start, b->id); });
        for (std::size_t i = 0; i < steps_.size(); ++i)
            longest_.push_back(i > 0 && steps_[longest_[i - 1]]->end >= steps_[i]->end ? longest_[i - 1] : i);
    }
    [[nodiscard]] bool empty() const noexcept { return steps_.empty(); }
    [[nodiscard]] const Step* first() const noexcept { return steps_.front(); }

    /// Not on an empty finder. The earlier step wins where two are as near.
    [[nodiscard]] Nearest nearest(Instant i) const {
        const auto reaches =
            std::partition_point(longest_.begin(), longest_.end(), [&](std::size_t l) { return steps_[l]->end <= i.first; });
        const auto at = static_cast<std::size_t>(reaches - longest_.begin());
        std::optional<Nearest> best;
        for (const std::size_t candidate : {at > 0 ? longest_[at - 1] : steps_.size(), at}) {
            if (candidate >= steps_.size()) continue;
            const Nearest here{steps_[candidate], distance(i, *steps_[candidate]), !overlap(i, *steps_[candidate])};
            if (!best || here < *best) best = here;
        }
        return *best;
    }

private:
    std::vector<const Step*> steps_;
    std::vector<std::size_t> longest_;  ///< of the steps up to here, the one that ends last
};

/// Finders of all steps and, as they are asked for, of the steps of each request.
class StepFinders {
public:
    StepFinders(std::span<const Step> steps, std::span<const Request> requests) : requests_(requests), of_request_(requests.size()) {
        std::vector<const Step*> all;
        for (const Step& s : steps) {
            all.push_back(&s);
            by_id_.emplace(index_of(s.id), &s);
        }
        all_.emplace(std::move(all));
    }
    [[nodiscard]] const StepFinder& all() const noexcept { return *all_; }
    const StepFinder& of_request(std::size_t r) {
        if (!of_request_[r]) {
            std::vector<const Step*> steps;
            for (const StepId id : requests_[r].steps)
                if (const auto found = by_id_.find(index_of(id)); found != by_id_.end()) steps.push_back(found->second);
            of_request_[r].emplace(std::move(steps));
        }
        return *of_request_[r];
    }

private:
    std::span<const Request> requests_;
    std::unordered_map<std::int64_t, const Step*> by_id_;
    std::optional<StepFinder> all_;
    std::vector<std::optional<StepFinder>> of_request_;
};

/// By request: the nearest step of all requests that the line names. False where none of them has steps.
bool align_by_request(const LogLine& line, const std::vector<std::size_t>& named, StepFinders& finders, LogAlignment& a) {
    std::optional<Nearest> best;
    for (const std::size_t r : named) {
        const StepFinder& finder = finders.of_request(r);
        if (finder.empty()) continue;
        const Nearest here = line.time ? finder.nearest(instant_of(line)) : Nearest{finder.first(), 0};
        if (!best || here < *best) best = here;
    }
    if (!best) return false;
    a.step = best->step->id;
    a.method = AlignMethod::request;
    if (line.time) a.distance_ns = best->distance;
    return true;
}

bool names(const std::vector<std::size_t>& named, std::size_t request) {
    return std::find(named.begin(), named.end(), request) != named.end();
}

}  // namespace

std::vector<LogAlignment> align_logs(std::span<const LogLine> lines, const std::vector<std::vector<std::size_t>>& line_requests,
                                     std::span<const Step> steps, std::span<const Request> requests, const AlignmentOptions& options) {
    StepFinders finders(steps, requests);
    std::vector<LogAlignment> all;
    all.reserve(lines.size());
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const LogLine& line = lines[i];
        LogAlignment& a = all.emplace_back();
        a.log = line.id;
        if (!line_requests[i].empty()) a.request = requests[line_requests[i].front()].name;
        if (align_by_request(line, line_requests[i], finders, a) || !line.time || finders.all().empty()) continue;
        const Nearest near = finders.all().nearest(instant_of(line));
        if (near.distance > tolerance(line, options)) continue;
        a.step = near.step->id;
        a.method = AlignMethod::time;
        a.distance_ns = near.distance;
    }
    return all;
}

std::vector<AlignedLine> lines_of_step(std::span<const LogLine> lines, const std::vector<std::vector<std::size_t>>& line_requests,
                                       const Step& step, std::span<const Request> requests, const AlignmentOptions& options,
                                       std::optional<std::size_t> request) {
    std::vector<bool> in_step(requests.size(), false);
    for (std::size_t r = 0; r < requests.size(); ++r)
        in_step[r] = std::find(requests[r].steps.begin(), requests[r].steps.end(), step.id) != requests[r].steps.end();
    std::vector<AlignedLine> all;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::vector<std::size_t>& named = line_requests[i];
        if (request && !named.empty() && !names(named, *request)) continue;
        const TimeNs here = lines[i].time ? distance(instant_of(lines[i]), step) : 0;
        if (std::any_of(named.begin(), named.end(), [&](std::size_t r) { return in_step[r]; }))
            all.push_back({i, AlignMethod::request, here});
        else if (lines[i].time && here <= tolerance(lines[i], options))
            all.push_back({i, AlignMethod::time, here});
    }
    return all;
}

std::vector<AlignedLine> lines_of_request(std::span<const LogLine> lines, const std::vector<std::vector<std::size_t>>& line_requests,
                                          std::span<const Step> steps, std::span<const Request> requests, std::size_t request,
                                          const AlignmentOptions& options) {
    StepFinders finders(steps, requests);
    const StepFinder& of = finders.of_request(request);
    std::vector<AlignedLine> all;
    for (std::size_t i = 0; i < lines.size(); ++i) {
        const bool named = names(line_requests[i], request);
        if (!named && (!line_requests[i].empty() || of.empty() || !lines[i].time)) continue;
        const TimeNs here = of.empty() || !lines[i].time ? 0 : of.nearest(instant_of(lines[i])).distance;
        if (named)
            all.push_back({i, AlignMethod::request, here});
        else if (here <= tolerance(lines[i], options))
            all.push_back({i, AlignMethod::time, here});
    }
    return all;
}

}  // namespace faultline
