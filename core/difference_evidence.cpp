#include "core/difference_evidence.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

#include "core/evidence_texts.h"

namespace faultline {

namespace {

/// A piece of evidence at a span of the step, or at the step itself where there is none to show.
Evidence at_instance(const StepComparison& c, std::optional<std::size_t> instance, TimeNs weight, std::string sentence) {
    Evidence e;
    e.weight_ns = std::max<TimeNs>(0, weight);
    e.sentence = std::move(sentence);
    if (instance) {
        e.kind = EvidenceKind::span;
        e.id = c.instances[*instance].span.value;
        e.start = c.instances[*instance].start;
    } else {
        e.kind = EvidenceKind::difference;
        e.id = index_of(c.step.id);
        e.start = c.step.start;
    }
    return e;
}

std::string references_words(const StepComparison& c) {
    return c.references.size() == 1 ? "the reference step" : fmt::format("the {} reference steps", c.references.size());
}

class OperatorSentences {
public:
    OperatorSentences(const CaptureReader& capture, const StepComparison& c) : capture_(capture), c_(c) {}

    /// Complete sentence for an operator that takes longer.
    std::string longer(const OperatorDifference& of) const {
        const std::string name = short_name(capture_.name(of.name));
        const InstanceDeviation& worst = c_.deviations[*of.where];
        const OperatorInstance& x = c_.instances[*of.where];
        if (of.expected_count == 0 && of.most_count == 0) {
            return of.count == 1 ? fmt::format("{} took {}{}; {} it.", name, time_words(x.self_ns), on_rank(of.rank), none_has())
                                 : fmt::format("{} ran {}{} for {} in all; {} it.", name, count_words(static_cast<double>(of.count)),
                                               on_rank(of.rank), time_words(of.self_ns), none_has());
        }
        if (of.expected_ns == 0)
            return fmt::format("{} ran {}{} for {} in all; most of {} do not have it.", name, count_words(static_cast<double>(of.count)),
                               on_rank(of.rank), time_words(of.self_ns), references_words(c_));
        if (of.count > of.most_count)
            return fmt::format("{} ran {}{} for {} in all; {} {} it {} for {}.", name, count_words(static_cast<double>(of.count)),
                               on_rank(of.rank), time_words(of.self_ns), references_words(c_), c_.references.size() == 1 ? "has" : "have",
                               count_words(of.expected_count), time_words(of.expected_ns));
        if (worst.expected_ns > 0 && worst.excess_ns * 10 >= of.excess_ns * 6)
            // What it holds is said of the held, not again of the holder.
            return fmt::format("{} took {}{}{} where its counterparts in {} take {}{}.", name, time_words(x.self_ns),
                               x.self_ns * 50 < x.duration * 49 ? " of its own" : "", on_rank(of.rank),
                               references_words(c_), time_words(worst.expected_ns), of.count > 1 ? one_of(of) : "");
        return fmt::format("{} ({}) took {} in all{}, {} more than in {} ({} as long).", name, count_words(static_cast<double>(of.count)),
                           time_words(of.self_ns), on_rank(of.rank), time_words(of.excess_ns), references_words(c_),
                           times_words(ratio(of.self_ns, of.expected_ns)));
    }

    std::string shorter(const OperatorDifference& of) const {
        const std::string name = short_name(capture_.name(of.name));
        if (of.count == 0)
            return fmt::format("{} did not run{}; {} {} it {} for {}.", name, on_rank(of.rank), references_words(c_),
                               c_.references.size() == 1 ? "has" : "have", count_words(of.expected_count), time_words(of.expected_ns));
        if (of.count < of.least_count)
            return fmt::format("{} ran only {}{}; {} {} it {}.", name, count_words(static_cast<double>(of.count)), on_rank(of.rank),
                               references_words(c_), c_.references.size() == 1 ? "has" : "have", count_words(of.expected_count));
        return fmt::format("{} ({}) took {} in all{}, {} less than in {}.", name, count_words(static_cast<double>(of.count)),
                           time_words(of.self_ns), on_rank(of.rank), time_words(-of.excess_ns), references_words(c_));
    }

    std::string variant(const OperatorDifference& now, const OperatorDifference& before) const {
        const double mean_now = static_cast<double>(now.self_ns) / static_cast<double>(std::max<std::int64_t>(1, now.count));
        const double mean_before = static_cast<double>(before.expected_ns) / std::max(1.0, before.expected_count);
        return fmt::format("{} ran {}{} where {} {} {}; one takes {} instead of {}.", variant_name(capture_.name(now.name)),
                           count_words(static_cast<double>(now.count)), on_rank(now.rank), references_words(c_),
                           c_.references.size() == 1 ? "runs" : "run", variant_name(capture_.name(before.name)),
                           time_words(static_cast<TimeNs>(mean_now)), time_words(static_cast<TimeNs>(mean_before)));
    }

private:
    [[nodiscard]] std::string none_has() const {
        return c_.references.size() == 1 ? "the reference step does not have" : fmt::format("none of {} has", references_words(c_));
    }
    [[nodiscard]] static std::string one_of(const OperatorDifference& of) { return fmt::format(", one of {} in the step", of.count); }
    [[nodiscard]] static double ratio(TimeNs a, TimeNs b) { return static_cast<double>(a) / static_cast<double>(std::max<TimeNs>(1, b)); }

    const CaptureReader& capture_;
    const StepComparison& c_;
};

/// Single launches where a graph was launched before, rank by rank.
void add_lost_graphs(const StepComparison& c, const FaultSigns& signs, const FamilyRules& families, std::vector<Evidence>& out) {
    if (!signs.graph_lost) return;
    for (const RankSigns& r : signs.ranks) {
        std::int64_t launches = 0;
        double expected_launches = 0, expected_graphs = 0;
        std::optional<std::size_t> where;
        for (const OperatorDifference& of : c.operators) {
            if (of.rank != r.rank || !is_api_call(of.kind)) continue;
            const std::string_view family = families.name(of.family);
            if (family == "graph_launch") {
                expected_graphs += of.expected_count - static_cast<double>(of.count);
            } else if (family == "launch") {
                launches += of.count;
                expected_launches += of.expected_count;
                if (of.where) where = of.where;
            }
        }
        if (expected_graphs <= 0 || !where) continue;
        const TimeNs weight = r.of(Sign::launching) + r.of(Sign::host_code);
        out.push_back(at_instance(
            c, where, std::max(signs.least_ns, weight),
            fmt::format("The step was launched kernel by kernel{}: {} single launches where {} {} {:.0f} and {}.", on_rank(r.rank),
                        launches, references_words(c), c.references.size() == 1 ? "has" : "have", expected_launches,
                        expected_graphs == 1 ? "a graph launch" : fmt::format("{:.0f} graph launches", expected_graphs))));
    }
}

/// Whether nearly all kernels of a rank take longer by about the same factor: a slow device, and no slow kernel (FAULTS §0.2).
void add_slow_device(const StepComparison& c, const FaultSigns& signs, std::vector<Evidence>& out) {
    for (const RankSigns& r : signs.ranks) {
        if (r.of(Sign::kernel_time) < signs.least_ns) continue;
        std::vector<double> ratios;
        TimeNs all = 0, longer = 0;
        for (const OperatorDifference& of : c.operators) {
            if (of.rank != r.rank || of.kind != SpanKind::kernel || of.collective || of.count == 0 || of.expected_ns <= 0) continue;
            const double ratio = static_cast<double>(of.self_ns) / static_cast<double>(of.expected_ns);
            all += of.self_ns;
            if (ratio > 1.15) longer += of.self_ns;
            ratios.push_back(ratio);
        }
        const std::size_t names = ratios.size();
        if (names < 4 || longer * 10 < all * 9) continue;
        const auto slower = std::count_if(ratios.begin(), ratios.end(), [](double v) { return v > 1.15; });
        if (static_cast<std::size_t>(slower) * 10 < names * 8) continue;
        const std::size_t worst = static_cast<std::size_t>(Sign::kernel_time);
        out.push_back(
            at_instance(c, r.worst[worst], r.of(Sign::kernel_time),
                        fmt::format("{} of {} kernel names took longer{} than in {}, {} at the median: the device as a whole was slow.",
                                    slower, names, on_rank(r.rank), references_words(c), times_words(median_of(ratios)))));
    }
}

/// Why device times of the step are not held against those of its references.
std::string other_work_words(const StepComparison& c) {
    std::int64_t least = 0, most = 0;
    for (const Step& s : c.references) {
        const std::int64_t tokens = s.tokens.value_or(0);
        least = least == 0 ? tokens : std::min(least, tokens);
        most = std::max(most, tokens);
    }
    return fmt::format("The step has {} tokens and {} {}, so times of device work are not compared with theirs.", c.step.tokens.value_or(0),
                       references_words(c), least == most ? fmt::format("{}", most) : fmt::format("{} to {}", least, most));
}

}  // namespace

std::string step_words(const Step& step) {
    std::string words =
        fmt::format("{} {} ({}", step.kind == StepKind::stall ? "stall" : "step", index_of(step.id), phase_name(step.phase));
    if (step.tokens) words += fmt::format(", {} {}", *step.tokens, *step.tokens == 1 ? "token" : "tokens");
    return words + ")";
}

Evidence duration_evidence(const StepComparison& c) {
    Evidence e;
    e.kind = EvidenceKind::roofline;
    e.id = index_of(c.step.id);
    e.start = c.step.start;
    e.weight_ns = c.extra_ns();
    std::string words = step_words(c.step);
    words[0] = 'S';
    if (c.step.kind == StepKind::stall) {
        e.weight_ns = c.duration();
        e.sentence = fmt::format("{} lasted {}.", words, time_words(c.duration()));
        return e;
    }
    if (c.verdict.own_ns && *c.verdict.own_ns < c.step.end - c.step.start)
        words += fmt::format(" began while earlier steps ran ({} in all); after them it", time_words(c.step.end - c.step.start));
    if (c.verdict.expected_ns && *c.verdict.expected_ns > 0) {
        const double ratio = static_cast<double>(c.duration()) / static_cast<double>(*c.verdict.expected_ns);
        e.weight_ns = std::max<TimeNs>(0, c.duration() - *c.verdict.expected_ns);
        e.sentence = fmt::format("{} lasted {}, {} what is expected of it ({}, {}).", words, time_words(c.duration()), times_words(ratio),
                                 time_words(*c.verdict.expected_ns), c.verdict.rule.empty() ? "no rule given" : c.verdict.rule);
    } else if (!c.references.empty()) {
        const double ratio = static_cast<double>(c.duration()) / static_cast<double>(std::max<TimeNs>(1, c.expected_ns));
        if (!c.like_work()) {
            e.weight_ns = 0;
            e.sentence = fmt::format("{} lasted {}; no other step of its phase has about as many tokens to compare it with.", words,
                                     time_words(c.duration()));
            return e;
        }
        e.sentence = fmt::format("{} lasted {}, {} the median of {} ({}).", words, time_words(c.duration()), times_words(ratio),
                                 references_words(c), time_words(c.expected_ns));
    } else {
        e.sentence = fmt::format("{} lasted {}; the capture has no step to compare it with.", words, time_words(c.duration()));
    }
    return e;
}

std::vector<Evidence> operator_evidence(const CaptureReader& capture, const StepComparison& c, const FaultSigns& signs,
                                        const FamilyRules& families) {
    std::vector<Evidence> out;
    const OperatorSentences sentences(capture, c);
    const bool like_work = c.like_work();
    if (!like_work) out.push_back(at_instance(c, std::nullopt, 0, other_work_words(c)));
    std::vector<bool> told(c.operators.size(), false);
    add_lost_graphs(c, signs, families, out);
    if (like_work) add_slow_device(c, signs, out);
    for (const VariantChange& v : signs.variants) {
        const OperatorDifference &now = c.operators[v.now], &before = c.operators[v.before];
        const TimeNs more = now.self_ns + before.self_ns - now.expected_ns - before.expected_ns;
        out.push_back(at_instance(c, now.where, std::max(signs.least_ns, more), sentences.variant(now, before)));
        told[v.now] = told[v.before] = true;
    }
    for (const std::size_t i : signs.missing) {
        const OperatorDifference& of = c.operators[i];
        out.push_back(at_instance(c, of.where, std::max(signs.least_ns, -of.excess_ns), sentences.shorter(of)));
        told[i] = true;
    }
    for (std::size_t i = 0; i < c.operators.size(); ++i) {
        const OperatorDifference& of = c.operators[i];
        const bool waits = signs.straggler && of.collective && is_device_work(of.kind);  // told by rank_evidence()
        const std::string_view family = families.name(of.family);
        const bool by_tokens = is_device_work(of.kind) || (is_api_call(of.kind) && (family == "sync" || family == "synchronize"));
        if (!like_work && by_tokens) continue;
        if (told[i] || waits || !c.stands_out(of, signs.least_ns)) continue;
        if (of.excess_ns > 0 && of.where)
            out.push_back(at_instance(c, of.where, of.excess_ns, sentences.longer(of)));
        else if (of.excess_ns < 0 && of.count < of.least_count)
            out.push_back(at_instance(c, of.where, -of.excess_ns, sentences.shorter(of)));
    }
    return out;
}

std::vector<Evidence> rank_evidence(const CaptureReader& capture, const StepComparison& c, const FaultSigns& signs) {
    std::vector<Evidence> out;
    const auto late = static_cast<std::size_t>(Sign::late_start), communication = static_cast<std::size_t>(Sign::communication);
    for (const RankSigns& r : signs.ranks) {
        if (r.of(Sign::late_start) < signs.least_ns || !r.first) continue;
        out.push_back(at_instance(
            c, r.first, r.of(Sign::late_start),
            fmt::format("Rank {} began the step {} after the first rank, with {}; in {} it begins {} after.",
                        r.rank ? fmt::format("{}", *r.rank) : std::string("unknown"), time_words(r.total[late]),
                        short_name(capture.name(c.instances[*r.first].name)), references_words(c), time_words(r.expected[late]))));
    }
    if (!signs.straggler) return out;
    const RankSigns& straggler = signs.ranks[*signs.straggler];
    for (const RankSigns& r : signs.ranks) {
        if (&r == &straggler || 2 * (r.of(Sign::communication) - straggler.of(Sign::communication)) < signs.waited_ns) continue;
        if (!r.worst[communication]) continue;
        out.push_back(at_instance(c, r.worst[communication], r.of(Sign::communication) - straggler.of(Sign::communication),
                                  fmt::format("Collectives took {} more than usual{} and only {} more{}: the others waited for that rank.",
                                              time_words(r.of(Sign::communication)), on_rank(r.rank),
                                              time_words(straggler.of(Sign::communication)), on_rank(straggler.rank))));
    }
    return out;
}

}  // namespace faultline
