#include "core/inferred_steps.h"

#include <algorithm>
#include <limits>
#include <map>

#include "core/kernel_repetition.h"

namespace faultline {

namespace {

/// A graph that holds a whole step launches at least this many kernels; pieces of one (a layer) launch about a dozen.
constexpr std::uint16_t kWholeStepKernels = 64;
/// Kernels of one sampling pass stand closer together than this many launches.
constexpr std::size_t kSamplingGap = 32;
/// Ranges of one stem that make a repetition.
constexpr std::size_t kMinRanges = 3;

StepRange inferred_range(std::string_view dialect, std::string_view name, std::size_t thread, TimeNs start, TimeNs end) {
    StepRange range;
    range.text.dialect = dialect;
    range.name = std::string(name);
    range.inferred = true;
    range.thread = thread;
    range.start = start;
    range.end = end;
    return range;
}

/// What ranges that repeat have in common: their text before the first number or bracket.
std::string_view stem(std::string_view name) { return name.substr(0, name.find_first_of("0123456789=[({#")); }

/// Outermost ranges of a thread by the stem of their text.
std::map<std::string_view, std::vector<SpanPlace>> outermost_ranges(const SourceBuilder& source, const HostThread& thread) {
    std::map<std::string_view, std::vector<SpanPlace>> by_stem;
    const std::uint32_t track = thread.tracks.front();
    const TrackBuffer& t = source.tracks()[track];
    TimeNs open_until = std::numeric_limits<TimeNs>::min();
    for (std::uint32_t i = 0; i < t.size(); ++i) {
        if (t.kinds[i] != SpanKind::range || t.starts[i] < open_until) continue;
        open_until = t.end(i);
        if (const auto s = stem(source.names().text(t.names[i])); !s.empty()) by_stem[s].push_back({track, i});
    }
    return by_stem;
}

/// Steps of a thread around anchor calls: a step ends with the first copy to the host at or after its anchor (its tokens), or else
/// in the widest gap before the next anchor.
std::vector<StepRange> around_anchors(const std::vector<LaunchCall>& calls, const std::vector<std::size_t>& anchors, std::size_t thread,
                                      std::string_view dialect, std::string_view name) {
    std::vector<StepRange> steps;
    std::size_t first = 0;
    for (std::size_t a = 0; a < anchors.size(); ++a) {
        const std::size_t next = a + 1 < anchors.size() ? anchors[a + 1] : calls.size();
        std::size_t last = next - 1;  // last call of the step
        TimeNs widest = -1;
        for (std::size_t i = anchors[a]; i < next; ++i) {
            if (calls[i].work.copies_out) {
                last = i;
                break;
            }
            if (next == calls.size() || calls[i + 1].start - calls[i].end <= widest) continue;
            widest = calls[i + 1].start - calls[i].end;
            last = i;
        }
        steps.push_back(inferred_range(dialect, name, thread, calls[first].start, std::max(calls[last].end, calls[last].start + 1)));
        first = last + 1;
    }
    return steps;
}

/// One step from each opening part to the next of its thread.
std::vector<StepRange> from_openings(const SourceBuilder& source, const std::vector<MatchedSpan>& openings,
                                     const std::vector<LaunchCall>& calls, std::size_t thread) {
    std::vector<StepRange> steps = nested_steps(source, openings, thread, true);
    for (std::size_t i = 0; i < steps.size(); ++i) {
        const auto by_start = [](const LaunchCall& c, TimeNs t) { return c.start < t; };
        auto next = calls.end();
        if (i + 1 < steps.size()) next = std::lower_bound(calls.begin(), calls.end(), steps[i + 1].start, by_start);
        if (next != calls.begin() && std::prev(next)->start >= steps[i].start) steps[i].end = std::max(steps[i].end, std::prev(next)->end);
        if (i + 1 < steps.size()) steps[i].end = std::min(steps[i].end, steps[i + 1].start);
    }
    return steps;
}

class Inference {
public:
    Inference(const SourceBuilder& source, const std::vector<HostThread>& threads, const LaunchTable& launches, const StepTexts& texts)
        : source_(source), threads_(threads), launches_(launches), texts_(texts), thread_of_(source.tracks().size(), StepRange::kNoThread) {
        for (std::size_t t = 0; t < threads.size(); ++t)
            for (const std::uint32_t track : threads[t].tracks) thread_of_[track] = t;
        for (const HostThread& thread : threads) calls_.push_back(launches.calls(source, thread));
    }

    std::vector<StepRange> openings() const {
        std::vector<std::vector<MatchedSpan>> by_thread(threads_.size());
        for (const MatchedSpan& m : texts_.of(StepRole::begin))
            if (thread_of_[m.place.track] != StepRange::kNoThread) by_thread[thread_of_[m.place.track]].push_back(m);
        std::vector<StepRange> steps;
        for (std::size_t t = 0; t < threads_.size(); ++t)
            for (StepRange& s : from_openings(source_, by_thread[t], calls_[t], t)) steps.push_back(std::move(s));
        return steps;
    }

    /// Outermost ranges of one stem that hold nearly all launches of their thread: the annotations of an engine that no rule knows.
    std::vector<StepRange> repeated_ranges() const {
        std::vector<StepRange> steps;
        for (std::size_t t = 0; t < threads_.size(); ++t) {
            if (calls_[t].empty()) continue;
            for (const auto& [common, places] : outermost_ranges(source_, threads_[t])) {
                if (places.size() < kMinRanges || 10 * calls_inside(t, places) < 8 * calls_[t].size()) continue;
                for (const SpanPlace& p : places) {
                    const TrackBuffer& track = source_.tracks()[p.track];
                    steps.push_back(
                        inferred_range("repeated-range", source_.names().text(track.names[p.at]), t, track.starts[p.at], track.end(p.at)));
                    steps.back().spans.push_back(SpanId::make(track.track.id, p.at));
                }
            }
        }
        return steps;
    }

    /// Launches of graphs that hold a whole step.
    std::vector<StepRange> graph_launches() const {
        std::vector<SpanPlace> anchors;
        for (const MatchedSpan& m : texts_.of(StepRole::graph))
            if (launches_.of(m.place).kernels >= kWholeStepKernels) anchors.push_back(m.place);
        return steps_at(anchors, 1, texts_.of(StepRole::graph), "graph launch");
    }

    /// Calls that launched sampling kernels, the last of each pass.
    std::vector<StepRange> samplings() const {
        std::vector<SpanPlace> anchors;
        for (const MatchedSpan& m : texts_.of(StepRole::sample)) {
            const std::int64_t launch = source_.tracks()[m.place.track].get(m.place.at, Column::launch);
            if (launch == kNull) continue;
            const std::uint32_t host = launches_.position(SpanId{launch}.track());
            if (host != LaunchTable::kNone) anchors.push_back({host, static_cast<std::uint32_t>(SpanId{launch}.ordinal())});
        }
        return steps_at(anchors, kSamplingGap, texts_.of(StepRole::sample), "token sampling");
    }

    std::vector<StepRange> kernel_sequence() const {
        std::vector<StepRange> steps;
        for (const KernelRepetition& r : repeated_kernels(source_)) {
            const TrackBuffer& device = source_.tracks()[r.track];
            for (std::size_t i = 0; i + 1 < r.starts.size(); ++i) {
                const std::uint32_t first = r.starts[i], last = r.starts[i + 1] - 1;
                StepRange range = inferred_range("kernel-sequence", source_.names().text(device.names[r.starts[0]]), StepRange::kNoThread,
                                                 device.starts[first], device.end(last));
                place_on_host(device, first, last, range);
                steps.push_back(std::move(range));
            }
        }
        return steps;
    }

private:
    std::size_t calls_inside(std::size_t thread, const std::vector<SpanPlace>& ranges) const {
        const auto first_at = [&](TimeNs t) {
            return std::lower_bound(calls_[thread].begin(), calls_[thread].end(), t,
                                    [](const LaunchCall& c, TimeNs time) { return c.start < time; });
        };
        std::size_t inside = 0;
        for (const SpanPlace& p : ranges) {
            const TrackBuffer& track = source_.tracks()[p.track];
            inside += static_cast<std::size_t>(first_at(track.end(p.at)) - first_at(track.starts[p.at]));
        }
        return inside;
    }

    /// Host side of a run of kernels: from the call that launched the first to the one that launched the last, where both are known.
    void place_on_host(const TrackBuffer& device, std::uint32_t first, std::uint32_t last, StepRange& range) const {
        const std::int64_t a = device.get(first, Column::launch), b = device.get(last, Column::launch);
        if (a == kNull || b == kNull) return;
        const std::uint32_t track = launches_.position(SpanId{a}.track());
        if (track == LaunchTable::kNone || launches_.position(SpanId{b}.track()) != track) return;
        const TrackBuffer& host = source_.tracks()[track];
        range.thread = thread_of_[track];
        range.start = host.starts[SpanId{a}.ordinal()];
        range.end = host.end(static_cast<std::uint32_t>(SpanId{b}.ordinal()));
    }

    /// Anchors fewer than `gap` launching calls after the one before belong to the same step; the last of them counts.
    std::vector<StepRange> steps_at(const std::vector<SpanPlace>& places, std::size_t gap, const std::vector<MatchedSpan>& spans,
                                    std::string_view name) const {
        std::vector<std::vector<bool>> is_anchor(source_.tracks().size());
        for (const SpanPlace& p : places) {
            auto& marks = is_anchor[p.track];
            if (marks.empty()) marks.resize(source_.tracks()[p.track].size());
            if (p.at < marks.size()) marks[p.at] = true;
        }
        std::vector<StepRange> steps;
        for (std::size_t t = 0; t < threads_.size(); ++t) {
            std::vector<std::size_t> anchors;
            for (std::size_t i = 0; i < calls_[t].size(); ++i) {
                const SpanPlace p = calls_[t][i].place;
                if (is_anchor[p.track].empty() || !is_anchor[p.track][p.at]) continue;
                if (!anchors.empty() && i - anchors.back() < gap)
                    anchors.back() = i;
                else
                    anchors.push_back(i);
            }
            if (anchors.empty()) continue;
            for (StepRange& s : around_anchors(calls_[t], anchors, t, spans.front().text->dialect, name)) steps.push_back(std::move(s));
        }
        return steps;
    }

    const SourceBuilder& source_;
    const std::vector<HostThread>& threads_;
    const LaunchTable& launches_;
    const StepTexts& texts_;
    std::vector<std::size_t> thread_of_;
    std::vector<std::vector<LaunchCall>> calls_;
};

}  // namespace

InferredSteps infer_steps(const SourceBuilder& source, const std::vector<HostThread>& threads, const LaunchTable& launches,
                          const StepTexts& texts) {
    const Inference inference(source, threads, launches, texts);
    if (auto steps = inference.openings(); steps.size() >= 2) return {std::move(steps), "the parts that open a step"};
    if (auto steps = inference.repeated_ranges(); steps.size() >= 2) return {std::move(steps), "annotations that repeat"};
    auto graphs = inference.graph_launches();
    auto samplings = inference.samplings();
    // Prefill steps run without a graph but sample as well: where there is more sampling than graphs, it counts the steps.
    if (samplings.size() >= 2 && samplings.size() >= graphs.size()) return {std::move(samplings), "the sampling of tokens"};
    if (graphs.size() >= 2) return {std::move(graphs), "graph launches"};
    if (auto steps = inference.kernel_sequence(); steps.size() >= 2) return {std::move(steps), "the repetition of the kernel sequence"};
    return {};
}

}  // namespace faultline
