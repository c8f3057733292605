#include "core/requests.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <tuple>
#include <unordered_set>

namespace faultline {

namespace {

bool is_digit(char c) { return c >= '0' && c <= '9'; }
bool is_hex(char c) { return is_digit(c) || (c >= 'a' && c <= 'f'); }

bool is_form_of_vllm(std::string_view id) { return id.starts_with("chatcmpl-") || id.starts_with("cmpl-"); }

/// The id without the suffix of an engine: "-" and eight hex digits, or "-" and the index of a prompt. Empty where it has none.
std::string_view without_suffix(std::string_view id) {
    constexpr std::size_t kRandom = 8, kMostIndex = 6;
    const auto dash = id.rfind('-');
    if (dash == std::string_view::npos || dash == 0) return {};
    const std::string_view tail = id.substr(dash + 1);
    const bool random = tail.size() == kRandom && std::all_of(tail.begin(), tail.end(), is_hex);
    const bool index = !tail.empty() && tail.size() <= kMostIndex && std::all_of(tail.begin(), tail.end(), is_digit);
    return random || index ? id.substr(0, dash) : std::string_view{};
}

/// The id without the "N_" of a child. Empty where it has none.
std::string_view without_child(std::string_view id) {
    const auto end = std::find_if_not(id.begin(), id.end(), is_digit);
    const auto digits = static_cast<std::size_t>(end - id.begin());
    return digits > 0 && digits + 1 < id.size() && id[digits] == '_' ? id.substr(digits + 1) : std::string_view{};
}

/// The shortest spelling that was seen among what is left of an id as its parts are taken off.
std::string_view shortest_seen(std::string_view id, const std::unordered_set<std::string_view>& seen) {
    constexpr int kMostParts = 3;  // an engine adds an index and a random suffix, and "N_" once
    std::string_view best = id;
    std::string_view front = id;
    for (int children = 0; children <= kMostParts && !front.empty(); ++children, front = without_child(front)) {
        std::string_view left = front;
        for (int suffixes = 0; suffixes <= kMostParts && !left.empty(); ++suffixes, left = without_suffix(left)) {
            if (left.size() < best.size() && seen.contains(left)) best = left;
        }
    }
    return best;
}

}  // namespace

std::unordered_map<std::string, std::string> canonical_ids(std::span<const RequestMention> mentions) {
    std::unordered_set<std::string_view> seen;
    for (const RequestMention& m : mentions) {
        seen.insert(m.request);
        if (const std::string_view parent = without_child(m.request); is_form_of_vllm(parent)) seen.insert(parent);
    }
    std::unordered_map<std::string, std::string> names;
    names.reserve(seen.size());
    for (const std::string_view id : seen) names.emplace(id, shortest_seen(id, seen));
    return names;
}

namespace {

/// A time, how well it is known, and where it comes from.
struct Moment {
    TimeNs time = 0;
    TimeNs resolution = 0;
    SourceId source{};
    std::string origin;
};

/// What all places together say about one request.
struct Evidence {
    std::optional<Moment> arrival, first_token, finished, aborted;
    std::optional<TimeNs> ttft_ns, latency_ns;
    std::optional<std::int64_t> prompt_tokens, output_tokens;
    std::optional<TimeNs> appeared;
    std::size_t order = 0;  ///< of its first mention
    std::unordered_map<std::int64_t, SourceId> steps;
};

void widen(std::optional<std::int64_t>& most, const std::optional<std::int64_t>& value) {
    if (value && (!most || *value > *most)) most = value;
}

Moment moment_of(const RequestMention& m, TimeNs time) {
    std::string origin = m.span.valid() ? "a range" : fmt::format("log line {}", m.log);
    return {time, m.resolution_ns, m.source, std::move(origin)};
}

void keep_first(std::optional<Moment>& kept, const RequestMention& m, TimeNs time) {
    if (!kept || time < kept->time) kept = moment_of(m, time);
}
void keep_last(std::optional<Moment>& kept, const RequestMention& m, TimeNs time) {
    if (!kept || time > kept->time) kept = moment_of(m, time);
}

void take(Evidence& e, const RequestMention& m) {
    widen(e.prompt_tokens, m.prompt_tokens);
    widen(e.output_tokens, m.output_tokens);
    if (!e.ttft_ns) e.ttft_ns = m.ttft_ns;
    widen(e.latency_ns, m.latency_ns);
    if (m.step) e.steps.emplace(index_of(*m.step), m.source);
    if (!m.time) return;
    if (!e.appeared || *m.time < *e.appeared) e.appeared = m.time;
    switch (m.event) {
        case RequestEvent::arrival: return keep_first(e.arrival, m, *m.time);
        case RequestEvent::first_token: return keep_first(e.first_token, m, *m.time);
        case RequestEvent::finished: return keep_last(e.finished, m, m.span.valid() ? m.end : *m.time);
        case RequestEvent::aborted: return keep_last(e.aborted, m, m.span.valid() ? m.end : *m.time);
        case RequestEvent::mention:
        case RequestEvent::in_step:
        case RequestEvent::preempted: return;
    }
}

/// Turns the evidence for one request into its figures.
class Timing {
public:
    /// `steps`: those of the request, by start; `recorded_from`: start of the first step of all.
    Timing(const Evidence& evidence, const std::vector<const Step*>& steps, TimeNs recorded_from,
           const std::unordered_map<std::uint32_t, TimeNs>& uncertainty)
        : e_(evidence), steps_(steps), recorded_from_(recorded_from), uncertainty_(uncertainty) {}

    void fill(Request& r) {
        arrival_ = e_.arrival;
        r.prompt_tokens = e_.prompt_tokens;
        r.output_tokens = e_.output_tokens;
        first_token_ = first_token();
        end_ = end(r);
        if (!r.output_tokens) r.output_tokens = tokens_by_steps();
        if (arrival_) r.arrival = arrival_->time;
        if (first_token_) r.first_token = first_token_->time;
        if (end_) r.end = end_->time;
        say("arrival", arrival_);
        say("first token", first_token_);
        say("end", end_);
        r.ttft_ns = ttft();
        r.tpot_ns = tpot(r);
        r.timing_rule = std::move(rule_);
    }

private:
    void add(std::string_view sentence) {
        if (!rule_.empty()) rule_ += "; ";
        rule_ += sentence;
    }
    void say(std::string_view what, const std::optional<Moment>& moment) {
        add(moment ? fmt::format("{}: {}", what, moment->origin) : fmt::format("{}: not known", what));
    }

    /// The step whose end gave the first token. In a step of prefill alone every request still prefills; in a mixed one a request may
    /// decode already, unless the steps were recorded when it arrived and this is its first.
    [[nodiscard]] const Step* prefill_step() const {
        if (steps_.empty()) return nullptr;
        const Step* const first = steps_.front();
        if (first->phase == StepPhase::mixed) return arrival_ && arrival_->time + arrival_->resolution >= recorded_from_ ? first : nullptr;
        if (first->phase != StepPhase::prefill) return nullptr;
        std::size_t last = 0;
        while (last + 1 < steps_.size() && steps_[last + 1]->phase == StepPhase::prefill) ++last;
        return steps_[last];
    }

    [[nodiscard]] std::optional<Moment> first_token() const {
        if (e_.first_token) return e_.first_token;
        if (arrival_ && e_.ttft_ns)
            return Moment{arrival_->time + *e_.ttft_ns, arrival_->resolution, arrival_->source, "arrival and the engine's own TTFT"};
        const Step* const step = prefill_step();
        if (!step) return std::nullopt;
        const auto next = std::find(steps_.begin(), steps_.end(), step) + 1;
        const bool sure = next == steps_.end() || (*next)->phase == StepPhase::decode;
        return Moment{
            step->end, 0, e_.steps.at(index_of(step->id)),
            fmt::format("end of step {}, where it prefilled{}", index_of(step->id), sure ? "" : " (if no piece of its prompt came later)")};
    }

    [[nodiscard]] std::optional<Moment> end(Request& r) const {
        if (e_.finished) return e_.finished;
        r.aborted = e_.aborted.has_value();
        if (r.aborted) return e_.aborted;
        if (arrival_ && e_.latency_ns)
            return Moment{arrival_->time + *e_.latency_ns, arrival_->resolution, arrival_->source, "arrival and the engine's own latency"};
        return std::nullopt;
    }

    /// Where every step after the first token gave each of its requests one token (no speculation: their texts count as many tokens as
    /// requests), an ended request has as many as it has steps.
    [[nodiscard]] std::optional<std::int64_t> tokens_by_steps() {
        const Step* const first = prefill_step();
        if (!first || !e_.finished) return std::nullopt;
        std::int64_t tokens = 1;
        for (const Step* s : steps_) {
            if (s->start < first->end) continue;
            if (!s->generation_requests || s->generation_requests != s->generation_tokens || s->instance != first->instance) return std::nullopt;
            ++tokens;
        }
        if (tokens > 1) add("output tokens: one for each of its steps");
        return tokens;
    }

    /// How far off a difference of two times may be.
    [[nodiscard]] TimeNs error(const Moment& a, const Moment& b) const {
        const auto of = [&](const Moment& m) {
            const auto found = uncertainty_.find(index_of(m.source));
            return found == uncertainty_.end() ? TimeNs{0} : found->second;
        };
        const TimeNs clocks = a.source == b.source ? 0 : of(a) + of(b);
        // Stamps of one nanosecond are exact for every purpose here.
        return clocks + (a.resolution > 1 ? a.resolution : 0) + (b.resolution > 1 ? b.resolution : 0);
    }

    /// The time between the two where the clocks tell it to a tenth.
    [[nodiscard]] std::optional<TimeNs> difference(const Moment& from, const Moment& to) const {
        constexpr TimeNs kTimesError = 10;
        const TimeNs between = to.time - from.time;
        if (between < 0 || between / kTimesError < error(from, to)) return std::nullopt;
        return between;
    }

    [[nodiscard]] std::optional<TimeNs> ttft() {
        if (e_.ttft_ns) {
            add("TTFT: as the engine says");
            return e_.ttft_ns;
        }
        if (!arrival_ || !first_token_) return std::nullopt;
        const std::optional<TimeNs> between = difference(*arrival_, *first_token_);
        if (!between) add("TTFT: the clocks are too coarse");
        return between;
    }

    [[nodiscard]] std::optional<TimeNs> tpot(const Request& r) {
        if (r.aborted || !r.output_tokens || *r.output_tokens < 2) return std::nullopt;
        const std::int64_t tokens = *r.output_tokens - 1;
        if (r.ttft_ns && e_.latency_ns && *e_.latency_ns > *r.ttft_ns) {
            add("TPOT: the engine's own latency without TTFT, by token");
            return (*e_.latency_ns - *r.ttft_ns) / tokens;
        }
        if (!first_token_ || !end_) return std::nullopt;
        const std::optional<TimeNs> between = difference(*first_token_, *end_);
        if (!between) {
            add("TPOT: the clocks are too coarse");
            return std::nullopt;
        }
        return *between / tokens;
    }

    const Evidence& e_;
    const std::vector<const Step*>& steps_;
    TimeNs recorded_from_;
    const std::unordered_map<std::uint32_t, TimeNs>& uncertainty_;
    std::optional<Moment> arrival_, first_token_, end_;
    std::string rule_;
};

/// Evidence by name, in the order of first appearance.
std::vector<std::pair<std::string, Evidence>> gather(std::span<const RequestMention> mentions) {
    const std::unordered_map<std::string, std::string> names = canonical_ids(mentions);
    std::unordered_map<std::string_view, std::size_t> position;
    std::vector<std::pair<std::string, Evidence>> all;
    for (const RequestMention& m : mentions) {
        const std::string& name = names.at(m.request);
        const auto [at, added] = position.try_emplace(name, all.size());
        if (added) all.emplace_back(name, Evidence{}).second.order = all.size();
        take(all[at->second].second, m);
    }
    std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) {
        const auto& [x, y] = std::tie(a.second, b.second);
        if (x.appeared.has_value() != y.appeared.has_value()) return x.appeared.has_value();
        return std::tie(x.appeared, x.order) < std::tie(y.appeared, y.order);
    });
    return all;
}

}  // namespace

std::vector<Request> find_requests(std::span<const RequestMention> mentions, std::span<const Step> steps, std::span<const Source> sources) {
    std::unordered_map<std::int64_t, const Step*> step_of;
    for (const Step& s : steps) step_of.emplace(index_of(s.id), &s);
    TimeNs recorded_from = std::numeric_limits<TimeNs>::max();
    for (const Step& s : steps) recorded_from = std::min(recorded_from, s.start);
    std::unordered_map<std::uint32_t, TimeNs> uncertainty;
    for (const Source& s : sources) uncertainty.emplace(index_of(s.id), s.clock_uncertainty_ns);
    std::vector<Request> requests;
    for (const auto& [name, evidence] : gather(mentions)) {
        std::vector<const Step*> of;
        for (const auto& [id, source] : evidence.steps)
            if (const auto found = step_of.find(id); found != step_of.end()) of.push_back(found->second);
        std::sort(of.begin(), of.end(), [](const Step* a, const Step* b) { return std::tie(a->start, a->id) < std::tie(b->start, b->id); });
        Request r;
        r.id = static_cast<std::int64_t>(requests.size()) + 1;
        r.name = name;
        for (const Step* s : of) {
            r.steps.push_back(s->id);
            if (!s->instance.empty() && std::find(r.instances.begin(), r.instances.end(), s->instance) == r.instances.end())
                r.instances.push_back(s->instance);
        }
        Timing(evidence, of, recorded_from, uncertainty).fill(r);
        requests.push_back(std::move(r));
    }
    return requests;
}

}  // namespace faultline
