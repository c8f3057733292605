#include "core/surrounding_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <map>
#include <unordered_map>
#include <unordered_set>

#include "core/evidence_texts.h"
#include "core/fault_cues.h"
#include "core/request_parameters.h"

namespace faultline {

namespace {

constexpr std::size_t kMostBubbles = 8, kMostLogs = 8, kMostCounters = 4, kCountersRead = 64, kMostOdd = 4;
constexpr TimeNs kLogLag = 5'000'000;  ///< engines write a line a little after the fact

std::string device_words(const CaptureReader& capture, DeviceId id) {
    const Device* const device = capture.device(id);
    const Source* const source = device ? capture.source(device->source) : nullptr;
    return fmt::format("Device {}{}", device ? device->ordinal : 0, source ? on_rank(source->rank) : std::string());
}

/// The longest bubble of the reference steps on any device; 0 where they have none.
TimeNs longest_usual_bubble(const StepComparison& c, std::span<const Bubble> bubbles) {
    std::unordered_set<std::int64_t> references;
    for (const Step& s : c.references) references.insert(index_of(s.id));
    TimeNs longest = 0;
    for (const Bubble& b : bubbles)
        if (b.step && references.contains(index_of(*b.step))) longest = std::max(longest, b.duration);
    return longest;
}

Result<std::string> under_words(const CaptureReader& capture, const Bubble& b) {
    if (!b.host_span.valid()) return std::string("while no host span was recorded");
    const Result<std::int64_t> name = capture.value(b.host_span, Column::name);
    if (!name) return tl::unexpected<Error>(name.error());
    return "while the host was in " + short_name(capture.name(NameId{static_cast<std::uint32_t>(*name)}));
}

Result<void> add_stacks(const CaptureReader& capture, const std::vector<const Bubble*>& shown, std::vector<Evidence>& out) {
    std::unordered_map<std::int64_t, const Bubble*> wanted;
    for (const Bubble* b : shown)
        if (b->stack) wanted.emplace(*b->stack, b);
    if (wanted.empty()) return {};
    const auto samples = capture.stack_samples();
    if (!samples) return tl::unexpected<Error>(samples.error());
    for (const StackSample& sample : *samples) {
        const auto bubble = wanted.find(sample.id);
        if (bubble == wanted.end()) continue;
        const std::size_t last = sample.stack.rfind(';');
        const std::string inner = last == std::string::npos ? sample.stack : sample.stack.substr(last + 1);
        Evidence e;
        e.kind = EvidenceKind::stack;
        e.id = sample.id;
        e.start = sample.time;
        e.weight_ns = std::min(bubble->second->duration, sample.weight_ns.value_or(bubble->second->duration));
        e.sentence = fmt::format("A stack sample under the gap of {} was in {}.", time_words(bubble->second->duration), first_line(inner));
        if (sample.owns_gil && !*sample.owns_gil) e.sentence.insert(e.sentence.size() - 1, ", without the interpreter lock");
        out.push_back(std::move(e));
    }
    return {};
}

bool is_serious(std::string_view level) { return level == "WARNING" || level == "ERROR" || level == "CRITICAL"; }

bool touches(const LogLine& line, const Step& step) {
    if (!line.time) return false;
    return *line.time<step.end + kLogLag&& * line.time + std::max<TimeNs>(1, line.resolution_ns)> step.start;
}

struct Sample {
    SpanId span;
    double value = 0;
};

/// The last sample of a counter track at or before `t`; nothing where there is none.
Result<std::optional<Sample>> sample_at(const CaptureReader& capture, const Track& track, TimeNs t) {
    const std::vector<Chunk>& chunks = capture.chunks(track.id);
    const auto after = std::partition_point(chunks.begin(), chunks.end(),
                                            [&](const Chunk& chunk) { return chunk.min_start + track.clock_offset_ns <= t; });
    if (after == chunks.begin()) return std::optional<Sample>{};
    const auto at = static_cast<std::size_t>(after - chunks.begin()) - 1;
    std::vector<std::int64_t> starts, values;
    if (Result<void> read = capture.read_chunk(track.id, at, Column::start, starts); !read) return tl::unexpected<Error>(read.error());
    if (Result<void> read = capture.read_chunk(track.id, at, Column::value, values); !read) return tl::unexpected<Error>(read.error());
    const auto last = std::upper_bound(starts.begin(), starts.end(), t) - starts.begin();
    if (last == 0) return std::optional<Sample>{};
    const auto row = static_cast<std::size_t>(last) - 1;
    const double value = values[row] == kNull ? std::nan("") : std::bit_cast<double>(values[row]);
    if (!std::isfinite(value)) return std::optional<Sample>{};
    return std::optional<Sample>{Sample{SpanId::make(track.id, chunks[at].first_ordinal + row), value}};
}

Result<std::optional<Evidence>> counter_of(const CaptureReader& capture, const StepComparison& c, const Track& track) {
    const auto now = sample_at(capture, track, c.step.end);
    if (!now) return tl::unexpected<Error>(now.error());
    std::vector<double> usual;
    for (const Step& s : c.references) {
        const auto then = sample_at(capture, track, s.end);
        if (!then) return tl::unexpected<Error>(then.error());
        if (*then) usual.push_back((*then)->value);
    }
    if (!*now || usual.size() < 3) return std::optional<Evidence>{};
    const auto [least, most] = std::minmax_element(usual.begin(), usual.end());
    const double low = *least, high = *most, spread = high - low;
    const double margin = std::max(spread, 0.25 * std::max(std::abs(low), std::abs(high)));
    const double value = (*now)->value;
    if (value <= high + margin && value >= low - margin) return std::optional<Evidence>{};
    Evidence e;
    e.kind = EvidenceKind::counter;
    e.id = (*now)->span.value;
    e.start = c.step.end;
    e.sentence = fmt::format(
        "Counter {} stood at {:.6g} at the end of the step; at the ends of the reference steps it stood between {:.6g} and {:.6g}.",
        first_line(track.name, 80), value, low, high);
    return std::optional<Evidence>{std::move(e)};
}

}  // namespace

Result<std::vector<Evidence>> bubble_evidence(const CaptureReader& capture, const StepComparison& c, std::span<const Bubble> bubbles,
                                              TimeNs least_ns) {
    const TimeNs usual = longest_usual_bubble(c, bubbles);
    std::vector<const Bubble*> shown;
    for (const Bubble& b : bubbles)
        if (b.step == c.step.id && b.duration >= least_ns && (c.alone || b.duration > usual + usual / 4)) shown.push_back(&b);
    std::stable_sort(shown.begin(), shown.end(), [](const Bubble* a, const Bubble* b) { return a->duration > b->duration; });
    if (shown.size() > kMostBubbles) shown.resize(kMostBubbles);
    std::vector<Evidence> out;
    for (const Bubble* b : shown) {
        const auto under = under_words(capture, *b);
        if (!under) return tl::unexpected<Error>(under.error());
        Evidence e;
        e.kind = EvidenceKind::bubble;
        e.id = b->id;
        e.start = b->start;
        e.weight_ns = c.alone ? b->duration : b->duration - usual;
        e.sentence = fmt::format("{} lay idle for {} {} (cause: {})", device_words(capture, b->device), time_words(b->duration), *under,
                                 bubble_cause_name(b->cause));
        e.sentence += c.alone      ? "."
                      : usual == 0 ? "; the reference steps have no such gap."
                                   : fmt::format("; the longest gap of the reference steps is {}.", time_words(usual));
        out.push_back(std::move(e));
    }
    if (Result<void> added = add_stacks(capture, shown, out); !added) return tl::unexpected<Error>(added.error());
    return out;
}

std::vector<StepLog> logs_of_step(std::span<const LogLine> logs, const Step& step) {
    std::vector<StepLog> out;
    for (const LogLine& line : logs) {
        const bool aligned = line.step == step.id && line.method != AlignMethod::none;
        const bool serious = is_serious(line.level);
        if (!aligned && !(serious && touches(line, step))) continue;
        const std::optional<FaultType> cue = fault_cue(line.text);
        if (!serious && !cue && line.method != AlignMethod::request) continue;
        out.push_back({&line, cue, serious});
    }
    const auto rank = [](const StepLog& l) {
        return std::tuple(!(l.serious && l.cue), !l.serious, !l.cue, l.line->method != AlignMethod::request,
                          l.line->distance_ns.value_or(0));
    };
    std::stable_sort(out.begin(), out.end(), [&](const StepLog& a, const StepLog& b) { return rank(a) < rank(b); });
    if (out.size() > kMostLogs) out.resize(kMostLogs);
    return out;
}

std::vector<Evidence> parameter_evidence(std::span<const LogLine> logs, std::span<const Request> requests, const StepComparison& c) {
    std::unordered_map<std::string_view, std::size_t> members;
    std::vector<std::string_view> names;
    for (const Request& r : requests)
        if (std::find(r.steps.begin(), r.steps.end(), c.step.id) != r.steps.end() && members.emplace(r.name, names.size()).second)
            names.push_back(r.name);
    if (names.size() < 3) return {};
    std::vector<std::map<std::string, std::string>> parameters(names.size());
    std::vector<const LogLine*> lines(names.size());
    for (const LogLine& line : logs) {
        const auto member = members.find(line.request);
        if (member == members.end() || lines[member->second]) continue;
        parameters[member->second] = request_parameters(line.text);
        if (!parameters[member->second].empty()) lines[member->second] = &line;
    }
    const auto known = std::count_if(lines.begin(), lines.end(), [](const LogLine* line) { return line != nullptr; });
    std::vector<Evidence> out;
    for (const OddParameter& odd : odd_parameters(parameters)) {
        if (out.size() == kMostOdd) break;
        Evidence e;
        e.kind = EvidenceKind::log;
        e.id = lines[odd.request]->id;
        e.start = lines[odd.request]->time;
        // A request that was in the steps like it too does not tell them apart by itself.
        const auto request = std::find_if(requests.begin(), requests.end(), [&](const Request& r) { return r.name == names[odd.request]; });
        const auto shared = std::count_if(c.references.begin(), c.references.end(), [&](const Step& s) {
            return std::find(request->steps.begin(), request->steps.end(), s.id) != request->steps.end();
        });
        e.weight_ns = shared == 0 ? c.extra_ns() / 20 : 0;
        e.sentence = fmt::format("Request {} asks for {}={}, the {} others of the step for {}{}.", names[odd.request], odd.name,
                                 first_line(odd.value, 60), known - 1, first_line(odd.usual, 60),
                                 shared == 0 ? std::string()
                                             : fmt::format("; it was in {} of the {} reference steps too", shared, c.references.size()));
        out.push_back(std::move(e));
    }
    return out;
}

Evidence log_evidence(const StepLog& log, TimeNs extra_ns) {
    const LogLine& line = *log.line;
    Evidence e;
    e.kind = EvidenceKind::log;
    e.id = line.id;
    e.start = line.time;
    e.weight_ns = log.serious && log.cue ? extra_ns : log.serious || log.cue ? extra_ns / 4 : 0;
    const std::string who = line.logger.empty() ? "The log" : line.logger;
    const std::string how = line.method == AlignMethod::request
                                ? fmt::format("names request {} of the step", line.request)
                                : fmt::format("stamped to {} at the time of the step", time_words(std::max<TimeNs>(1, line.resolution_ns)));
    e.sentence = fmt::format("{} says{} \"{}\" ({}).", who, line.level.empty() ? "" : " (" + line.level + ")", first_line(line.text), how);
    return e;
}

Result<std::optional<FrameUnder>> frame_under(const CaptureReader& capture, const OperatorInstance& instance) {
    const TrackId id = instance.span.track();
    const Track* const track = capture.track(id);
    if (!track || track->kind != TrackKind::host) return std::optional<FrameUnder>{};
    const TimeNs end = instance.start + instance.duration;
    std::optional<FrameUnder> best;
    std::int64_t best_depth = -1;
    std::vector<std::int64_t> starts, durations, kinds, depths, names;
    const std::vector<Chunk>& chunks = capture.chunks(id);
    for (std::size_t i = 0; i < chunks.size(); ++i) {
        const bool holds_frames = (chunks[i].kind_mask & (1u << static_cast<unsigned>(SpanKind::python))) != 0;
        if (!holds_frames || chunks[i].max_start + track->clock_offset_ns < instance.start ||
            chunks[i].min_start + track->clock_offset_ns >= end)
            continue;
        for (const auto& [column, out] : {std::pair{Column::start, &starts},
                                          {Column::duration, &durations},
                                          {Column::kind, &kinds},
                                          {Column::depth, &depths},
                                          {Column::name, &names}})
            if (Result<void> read = capture.read_chunk(id, i, column, *out); !read) return tl::unexpected<Error>(read.error());
        for (std::size_t s = 0; s < starts.size(); ++s) {
            const bool inside = starts[s] >= instance.start && starts[s] + durations[s] <= end;
            if (kinds[s] != static_cast<std::int64_t>(SpanKind::python) || !inside || durations[s] * 10 < instance.self_ns * 6) continue;
            if (depths[s] <= best_depth) continue;
            best_depth = depths[s];
            best = FrameUnder{SpanId::make(id, chunks[i].first_ordinal + s), NameId{static_cast<std::uint32_t>(names[s])}, starts[s],
                              durations[s]};
        }
    }
    return best;
}

Result<std::vector<Evidence>> counter_evidence(const CaptureReader& capture, const StepComparison& c) {
    std::vector<Evidence> out;
    if (c.references.size() < 3) return out;
    std::size_t read = 0;
    for (const Track& track : capture.tracks()) {
        if (track.kind != TrackKind::counter || ++read > kCountersRead) continue;
        auto evidence = counter_of(capture, c, track);
        if (!evidence) return tl::unexpected<Error>(evidence.error());
        if (*evidence) out.push_back(std::move(**evidence));
        if (out.size() == kMostCounters) break;
    }
    return out;
}

}  // namespace faultline
