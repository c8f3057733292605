#include "core/find_steps.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "core/inferred_steps.h"
#include "core/launch_calls.h"
#include "core/step_cover.h"
#include "core/step_identity.h"
#include "core/step_texts.h"

namespace faultline {

namespace {

/// Finds the host ranges of the steps of one source.
class StepSearch {
public:
    StepSearch(const SourceBuilder& source, const std::vector<HostThread>& threads, const LaunchTable& launches, const StepTexts& texts)
        : source_(source), threads_(threads), launches_(launches), texts_(texts), thread_of_(source.tracks().size(), StepRange::kNoThread) {
        for (std::size_t t = 0; t < threads.size(); ++t)
            for (const std::uint32_t track : threads[t].tracks) thread_of_[track] = t;
    }

    struct Found {
        std::vector<StepRange> ranges;
        std::string way;  ///< how they were inferred; empty where texts named them
    };

    Found find() const {
        Found found{steps_of(StepRole::step, false), {}};
        if (found.ranges.empty()) {
            found.ranges = steps_of(StepRole::frame, true);
            drop_idle_threads(found.ranges);
            drop_captures(found.ranges);
            if (!found.ranges.empty())
                found.way = fmt::format("calls of the functions that run a step ({})", found.ranges.front().text.dialect);
        }
        extend(found.ranges);
        std::vector<StepRange> outer = outer_steps(found.ranges);
        found.ranges.insert(found.ranges.end(), std::make_move_iterator(outer.begin()), std::make_move_iterator(outer.end()));
        if (!found.ranges.empty()) return found;
        InferredSteps inferred = infer_steps(source_, threads_, launches_, texts_);
        drop_captures(inferred.steps);
        return {std::move(inferred.steps), std::move(inferred.way)};
    }

private:
    std::vector<StepRange> steps_of(StepRole role, bool inferred) const {
        std::map<std::size_t, std::vector<MatchedSpan>> by_thread;
        for (const MatchedSpan& m : texts_.of(role))
            if (const std::size_t t = thread_of_[m.place.track]; t != StepRange::kNoThread) by_thread[t].push_back(m);
        std::vector<StepRange> steps;
        for (auto& [thread, spans] : by_thread)
            for (StepRange& s : nested_steps(source_, std::move(spans), thread, inferred)) steps.push_back(std::move(s));
        return steps;
    }

    /// Functions of the same name on a thread that launches nothing only hand the step on (an engine core in front of its worker).
    void drop_idle_threads(std::vector<StepRange>& steps) const {
        const auto idle = [&](const StepRange& s) {
            return std::none_of(threads_[s.thread].tracks.begin(), threads_[s.thread].tracks.end(),
                                [&](std::uint32_t t) { return launches_.launches(t); });
        };
        if (std::all_of(steps.begin(), steps.end(), idle)) return;
        std::erase_if(steps, idle);
    }

    /// What runs while graphs are captured is no step.
    void drop_captures(std::vector<StepRange>& steps) const {
        std::vector<TimeRange> captures;
        for (const MatchedSpan& m : texts_.of(StepRole::capture)) captures.push_back({m.start, m.end});
        if (captures.empty()) return;
        std::sort(captures.begin(), captures.end(), [](TimeRange a, TimeRange b) { return a.start < b.start; });
        std::vector<TimeRange> merged;
        for (const TimeRange c : captures) {
            if (!merged.empty() && c.start < merged.back().end)
                merged.back().end = std::max(merged.back().end, c.end);
            else
                merged.push_back(c);
        }
        std::erase_if(steps, [&](const StepRange& s) {
            const auto after = std::lower_bound(merged.begin(), merged.end(), s.end, [](TimeRange c, TimeNs t) { return c.start < t; });
            return after != merged.begin() && std::prev(after)->end > s.start;
        });
    }

    /// Outer ranges (ProfilerStep) that hold no step. The row may stand on a process of its own, so time alone decides; ranges of two
    /// processes that both launch work do not shadow each other.
    std::vector<StepRange> outer_steps(const std::vector<StepRange>& steps) const {
        std::vector<StepRange> outer = steps_of(StepRole::outer, false);
        drop_captures(outer);
        std::vector<TimeNs> starts;
        for (const StepRange& s : steps) starts.push_back(s.start);
        std::sort(starts.begin(), starts.end());
        std::erase_if(outer, [&](const StepRange& o) {
            const auto inside = std::lower_bound(starts.begin(), starts.end(), o.start);
            return inside != starts.end() && *inside < o.end;
        });
        std::stable_sort(outer.begin(), outer.end(),
                         [](const StepRange& a, const StepRange& b) { return a.start != b.start ? a.start < b.start : a.end > b.end; });
        std::map<std::optional<ProcessId>, bool> launching;
        for (const HostThread& t : threads_)
            for (const std::uint32_t track : t.tracks) launching[t.process] |= launches_.launches(track);
        std::vector<StepRange> kept;
        std::map<std::optional<ProcessId>, TimeNs> open_until;
        for (StepRange& o : outer) {
            const auto process = threads_[o.thread].process;
            bool shadowed = false;
            for (const auto& [other, until] : open_until)
                shadowed |= o.start < until && (other == process || !launching[other] || !launching[process]);
            if (shadowed) continue;
            TimeNs& until = open_until.try_emplace(process, o.end).first->second;
            until = std::max(until, o.end);
            kept.push_back(std::move(o));
        }
        return kept;
    }

    void extend(std::vector<StepRange>& steps) const {
        std::map<std::size_t, std::vector<StepRange*>> by_thread;
        for (StepRange& s : steps) by_thread[s.thread].push_back(&s);
        for (auto& [thread, list] : by_thread) extend_to_token_copy(list, launches_.calls(source_, threads_[thread]));
    }

    const SourceBuilder& source_;
    const std::vector<HostThread>& threads_;
    const LaunchTable& launches_;
    const StepTexts& texts_;
    std::vector<std::size_t> thread_of_;
};

const Process* process_of(const SourceBuilder& source, std::optional<ProcessId> id) {
    if (!id) return nullptr;
    for (const Process& p : source.processes())
        if (p.id == *id) return &p;
    return nullptr;
}

/// `host/name`, or the number of the process where its name is only that of the interpreter.
std::string instance_of(const Source& source, const Process* process) {
    std::string name;
    if (process) {
        name = process->name;
        if (name.empty() || name.starts_with("python") || name.starts_with("pt_main_thread")) name = process->pid_text;
        if (name.empty()) name = fmt::format("process {}", process->pid);
    }
    if (source.host.empty()) return name;
    return name.empty() ? source.host : source.host + '/' + name;
}

Step step_of(const SourceBuilder& source, const StepRange& range, const StepWork& work, const Process* process, std::int64_t offset_ns) {
    Step s;
    s.name = range.name;
    s.dialect = std::string(range.text.dialect);
    s.phase = range.text.phase;
    s.start = range.start + offset_ns;
    s.end = (work.spans > 0 ? std::max(range.end, work.last_end) : range.end) + offset_ns;
    s.host_ns = range.thread == StepRange::kNoThread ? 0 : range.end - range.start;
    s.inferred = range.inferred;
    s.number = range.text.number;
    s.tokens = range.text.tokens;
    s.batch = range.text.batch;
    s.context_requests = range.text.context_requests;
    s.context_tokens = range.text.context_tokens;
    s.generation_requests = range.text.generation_requests;
    s.generation_tokens = range.text.generation_tokens;
    s.instance = instance_of(source.source, process);
    const auto rank = process && process->rank ? process->rank : source.source.rank;
    if (rank) s.ranks.push_back(*rank);
    s.spans = range.spans;
    s.kernels = work.kernels;
    s.kernel_busy_ns = work.busy_ns;
    return s;
}

/// Makes rows of the ranges, joins them rank by rank with each other and with what is known, and writes their ids into the spans.
FoundSteps make_steps(SourceBuilder& source, const std::vector<HostThread>& threads, const std::vector<StepRange>& ranges,
                      const std::vector<StepWork>& work, const std::vector<Step>& known, std::int64_t next_id, std::int64_t offset_ns) {
    std::map<std::optional<std::int64_t>, std::pair<std::vector<Step>, std::vector<std::size_t>>> by_rank;
    std::vector<std::size_t> order(ranges.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return ranges[a].start < ranges[b].start; });
    for (const std::size_t i : order) {
        const Process* process = ranges[i].thread == StepRange::kNoThread ? nullptr : process_of(source, threads[ranges[i].thread].process);
        Step step = step_of(source, ranges[i], work[i], process, offset_ns);
        auto& [steps, places] = by_rank[step.ranks.empty() ? std::nullopt : std::optional(step.ranks.front())];
        steps.push_back(std::move(step));
        places.push_back(i);
    }
    std::vector<Step> all = known;
    std::vector<StepId> ids(ranges.size());
    std::vector<bool> touched(known.size(), false);
    for (auto& [rank, group] : by_rank) {
        const std::vector<std::size_t> joined = join_steps(all, std::move(group.first), next_id, source.has_wall_clock);
        touched.resize(all.size(), false);
        for (std::size_t i = 0; i < joined.size(); ++i) {
            ids[group.second[i]] = all[joined[i]].id;
            touched[joined[i]] = true;
        }
    }
    set_step_ids(source, ids);
    FoundSteps found;
    for (std::size_t i = 0; i < all.size(); ++i)
        if (touched[i]) found.steps.push_back(std::move(all[i]));
    return found;
}

void report(const StepTexts& texts, const StepSearch::Found& found, ImportLedger& ledger) {
    if (found.ranges.empty() && !texts.of(StepRole::capture).empty())
        ledger.note("steps.capture-only", "The capture shows graphs being captured at start-up and no serving step", "",
                    texts.of(StepRole::capture).size());
    if (!found.way.empty() && !found.ranges.empty())
        ledger.note("steps.inferred", fmt::format("No text names the steps; they were inferred from {}", found.way), "",
                    found.ranges.size());
}

}  // namespace

FoundSteps find_steps(SourceBuilder& source, const StepGrammar& grammar, const std::vector<Step>& known, std::int64_t next_id,
                      std::int64_t offset_ns, ImportLedger& ledger) {
    const std::vector<HostThread> threads = host_threads(source);
    const StepTexts texts = match_step_texts(source, grammar);
    const LaunchTable launches(source);
    const StepSearch::Found found = StepSearch(source, threads, launches, texts).find();
    report(texts, found, ledger);
    if (found.ranges.empty()) return {};
    const std::vector<StepWork> work = cover_spans(source, threads, launches, found.ranges);
    FoundSteps steps = make_steps(source, threads, found.ranges, work, known, next_id, offset_ns);
    steps.inferred = !found.way.empty();
    return steps;
}

}  // namespace faultline
