#include "core/fault_reading.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace faultline {

namespace {

constexpr double kSlowRatio = 1.25;
constexpr TimeNs kSlowNs = 1'000'000;
constexpr double kFarSlowRatio = 1.5;  ///< where only the reference steps can judge
constexpr std::size_t kReferencesToJudge = 3;
constexpr double kSurest = 0.9;  ///< rules on numbers are never surer
constexpr double kLeastAlternative = 0.08;
constexpr double kLeastScore = 0.02;  ///< of a suspect beside others

using Weights = std::array<double, kFaultTypeCount>;

std::size_t at_of(FaultType type) { return static_cast<std::size_t>(type); }

struct Share {
    FaultType type;
    double share;
};

Weights weights_of(std::initializer_list<Share> shares) {
    Weights out{};
    for (const Share& s : shares) out[at_of(s.type)] += s.share;
    return out;
}

constexpr auto kMemory = FaultType::memory_resource;
constexpr auto kKernel = FaultType::cuda_kernel;
constexpr auto kDriver = FaultType::runtime_driver;
constexpr auto kNetwork = FaultType::communication_network;
constexpr auto kSoftware = FaultType::scheduling_software;

/// Structure has no time of its own: it is weighed against the step's duration.
Weights structure_weights(const ReadingInput& in) {
    const FaultSigns& signs = in.signs;
    if ((in.comparison.verdict.reasons & reason_contradiction) != 0) return weights_of({{kSoftware, 0.8}, {kKernel, 0.2}});
    if (signs.graph_lost) return weights_of({{kKernel, 0.85}, {kDriver, 0.1}, {kSoftware, 0.05}});
    if (!signs.variants.empty()) return weights_of({{kKernel, 0.8}, {kSoftware, 0.2}});
    const bool counts = !signs.missing.empty() || !signs.added.empty();
    if (counts || (in.comparison.verdict.reasons & reason_structure) != 0) return weights_of({{kSoftware, 0.65}, {kKernel, 0.35}});
    return {};
}

/// Time of a sign over the ranks that are read: the culprit's, else the most of any; of collectives what all ranks share.
TimeNs time_of(const ReadingInput& in, Sign sign) {
    if (sign == Sign::communication) return in.signs.shared_communication();
    if (in.signs.straggler) return in.signs.ranks[*in.signs.straggler].of(sign);
    return sign == Sign::late_start ? 0 : in.signs.most(sign);
}

/// Consequences of launching one by one what a graph launched at once.
bool follows_from_lost_graph(Sign sign) {
    return sign == Sign::launching || sign == Sign::host_code || sign == Sign::unseen || sign == Sign::other_call ||
           sign == Sign::kernel_time || sign == Sign::more_work;
}

/// Whether the references have about as many tokens, so that their durations say how long the step should have been.
bool has_like_references(const StepComparison& c) {
    if (!c.step.tokens) return false;
    const auto own = static_cast<double>(*c.step.tokens);
    return std::all_of(c.references.begin(), c.references.end(),
                       [own](const Step& s) { return s.tokens && std::abs(static_cast<double>(*s.tokens) - own) <= 2 + 0.25 * own; });
}

double reference_quality(const StepComparison& c) {
    if (c.references.size() >= 5) return 1;
    return c.references.empty() ? 0.5 : 0.85;
}

FaultReading normal_reading(const StepComparison& c) {
    FaultReading reading;
    double sure = c.references.empty() ? 0.3 : c.references.size() < 5 ? 0.7 : 0.9;
    const double ratio = c.expected_ns > 0 ? static_cast<double>(c.duration()) / static_cast<double>(c.expected_ns) : 1;
    if (ratio > 1.12) sure *= 0.8;
    if (!is_judged(c) && !c.verdict.rule.empty()) sure = std::min(sure, 0.3);  // nobody judged it
    reading.types.push_back({FaultType::normal, sure});
    return reading;
}

}  // namespace

bool is_judged(const StepComparison& c) { return c.verdict.expected_ns.has_value() || c.verdict.reasons != 0; }

bool was_judged(const StepComparison& c) { return is_judged(c) || c.verdict.rule.empty(); }

bool is_abnormal(const StepComparison& c) {
    if (c.step.kind == StepKind::stall || c.verdict.outlier) return true;
    if (is_judged(c) || c.expected_ns <= 0 || c.extra_ns() < kSlowNs) return false;
    const double ratio = static_cast<double>(c.duration()) / static_cast<double>(c.expected_ns);
    if (c.verdict.rule.empty()) return ratio > kSlowRatio;  // a capture that was not analysed
    return ratio > kFarSlowRatio && c.references.size() >= kReferencesToJudge && has_like_references(c);
}

Weights shares_of(Sign sign, const ReadingInput& in) {
    switch (sign) {
        case Sign::communication:
            return in.peers_missing ? weights_of({{kNetwork, 0.5}, {kDriver, 0.2}, {kSoftware, 0.15}, {kKernel, 0.15}})
                                    : weights_of({{kNetwork, 1}});
        case Sign::kernel_time: return weights_of({{kKernel, 1}});
        case Sign::more_work: return weights_of({{kSoftware, 0.6}, {kKernel, 0.2}, {kMemory, 0.2}});
        case Sign::device_copy: return weights_of({{kMemory, 0.6}, {kDriver, 0.4}});
        case Sign::allocation: return weights_of({{kMemory, 0.85}, {kDriver, 0.15}});
        case Sign::module_load: return weights_of({{kDriver, 0.6}, {kKernel, 0.4}});
        case Sign::synchronization: return weights_of({{kDriver, 0.85}, {kSoftware, 0.15}});
        case Sign::launching: return weights_of({{kDriver, 0.9}, {kSoftware, 0.1}});
        case Sign::copy_call: return weights_of({{kDriver, 0.6}, {kMemory, 0.4}});
        case Sign::other_call: return weights_of({{kDriver, 1}});
        case Sign::host_code:
            if (in.frame_cue) return weights_of({{*in.frame_cue, 0.7}, {kSoftware, 0.3}});
            return weights_of({{kSoftware, 0.6}, {kMemory, 0.2}, {kDriver, 0.2}});
        case Sign::unseen:
        case Sign::late_start: break;
    }
    return weights_of({{kDriver, 0.45}, {kSoftware, 0.4}, {kMemory, 0.15}});
}

FaultReading read_fault(const ReadingInput& in) {
    const StepComparison& c = in.comparison;
    if (!is_abnormal(c)) return normal_reading(c);
    FaultReading reading;
    reading.abnormal = true;
    reading.culprit = in.signs.straggler;
    Weights weights{};
    std::array<TimeNs, kSigns> times{};
    double total = 0;
    const bool like_work = c.like_work();
    for (std::size_t s = 0; s < kSigns; ++s) {
        const auto sign = static_cast<Sign>(s);
        times[s] = time_of(in, sign);
        // Times of device work follow from tokens: references of another size say nothing about them.
        const bool by_tokens = sign == Sign::communication || sign == Sign::kernel_time || sign == Sign::more_work ||
                               sign == Sign::device_copy || sign == Sign::synchronization;
        if (by_tokens && !like_work) times[s] = 0;
        if (times[s] < in.signs.least_ns || (in.signs.graph_lost && follows_from_lost_graph(sign))) times[s] = 0;
        const Weights shares = shares_of(sign, in);
        for (std::size_t t = 0; t < weights.size(); ++t) weights[t] += shares[t] * static_cast<double>(times[s]);
        total += static_cast<double>(times[s]);
    }
    const auto extra = static_cast<double>(c.extra_ns());
    reading.explained = extra > 0 ? std::min(1.0, total / extra) : 1;
    // Structure speaks for what time does not explain, and alone where nothing is slow.
    const Weights structure = structure_weights(in);
    const bool has_structure = std::any_of(structure.begin(), structure.end(), [](double w) { return w > 0; });
    const bool slow = (c.verdict.reasons & reason_slow) != 0 || (c.verdict.reasons == 0 && extra >= static_cast<double>(kSlowNs));
    const double unexplained = std::max({0.0, extra - total, slow ? 0.0 : 4 * total, static_cast<double>(in.signs.least_ns)});
    if (has_structure) {
        for (std::size_t t = 0; t < weights.size(); ++t) weights[t] += structure[t] * unexplained;
        reading.explained = 1;
    }
    double sum = 0;
    for (const double w : weights) sum += w;
    if (!(sum > 0)) {
        // A limit that was missed while the step itself was as ever: what came before it, the queue.
        const bool limit_alone = (c.verdict.reasons & reason_slo) != 0 && !slow;
        weights = limit_alone ? weights_of({{kSoftware, 0.6}, {kMemory, 0.25}, {kDriver, 0.15}}) : shares_of(Sign::unseen, in);
        sum = 1;
    }
    bool told_serious = false;
    for (const StepLog& log : in.logs) {
        if (!log.cue || (log.serious && told_serious)) continue;
        // A stamp of a second holds hundreds of steps.
        const bool vague = log.line->method != AlignMethod::request && log.line->resolution_ns > 10 * c.duration();
        weights[at_of(*log.cue)] += (log.serious ? vague ? 0.4 : 0.8 : vague ? 0.1 : 0.2) * sum;
        told_serious |= log.serious;
    }
    sum = 0;
    for (const double w : weights) sum += w;
    const double quality = kSurest * reference_quality(c) * (0.5 + 0.5 * reading.explained);
    for (std::size_t t = 1; t < weights.size(); ++t)
        if (weights[t] > kLeastAlternative * sum) reading.types.push_back({static_cast<FaultType>(t), quality * weights[t] / sum});
    std::stable_sort(reading.types.begin(), reading.types.end(), [](const auto& a, const auto& b) { return a.confidence > b.confidence; });
    const std::size_t first = at_of(reading.types.front().fault_type);
    double best = 0;
    for (std::size_t s = 0; s < kSigns; ++s) {
        const double time = shares_of(static_cast<Sign>(s), in)[first] * static_cast<double>(times[s]);
        if (time > best) best = time, reading.main = static_cast<Sign>(s);
    }
    return reading;
}

std::vector<SuspectInstance> suspect_instances(const ReadingInput& in, const FaultReading& reading, std::size_t limit) {
    std::vector<SuspectInstance> out;
    if (!reading.abnormal) return out;
    const StepComparison& c = in.comparison;
    std::set<std::uint64_t> told;
    const auto add = [&](std::size_t instance, double score) {
        if (out.size() < limit && told.insert(operator_key(c.instances[instance])).second)
            out.push_back({instance, std::clamp(score, 0.0, 1.0)});
    };
    const auto extra = static_cast<double>(std::max<TimeNs>({1, c.extra_ns(), in.signs.least_ns}));
    // What has no time of its own first: variants, then the neighbours of what is missing, then what is more than usual.
    if ((c.verdict.reasons & reason_slow) == 0) {
        for (const VariantChange& v : in.signs.variants)
            if (c.operators[v.now].where) add(*c.operators[v.now].where, 0.9);
        for (const std::size_t i : in.signs.missing)
            if (c.operators[i].where) add(*c.operators[i].where, 0.7);
        for (const std::size_t i : in.signs.added)
            if (c.operators[i].where) add(*c.operators[i].where, 0.6);
    }
    if (reading.main == Sign::late_start && reading.culprit && in.signs.ranks[*reading.culprit].first)
        add(*in.signs.ranks[*reading.culprit].first, 0.9);
    if (in.signs.graph_lost) {  // the launches that stand in for the graph
        for (const OperatorDifference& of : c.operators)
            if (of.where && in.families.name(of.family) == "launch" && of.count > of.most_count) add(*of.where, 0.8);
    }
    std::vector<std::tuple<double, std::size_t>> ranked;
    for (const OperatorDifference& of : c.operators) {
        const auto sign = sign_of(of.kind, of.collective, in.families.name(of.family));
        if (!sign || !of.where || of.excess_ns <= 0) continue;
        if (reading.culprit && (of.rank != in.signs.ranks[*reading.culprit].rank || *sign == Sign::communication)) continue;
        const double share = shares_of(*sign, in)[at_of(reading.types.front().fault_type)];
        if (share > 0) ranked.emplace_back(share * static_cast<double>(of.excess_ns) / extra, *of.where);
    }
    std::sort(ranked.begin(), ranked.end(), [](const auto& a, const auto& b) {
        return std::get<0>(a) != std::get<0>(b) ? std::get<0>(a) > std::get<0>(b) : std::get<1>(a) < std::get<1>(b);
    });
    for (const auto& [score, instance] : ranked)
        if (out.empty() || (score >= kLeastScore && score * extra >= static_cast<double>(in.signs.least_ns))) add(instance, score);
    return out;
}

}  // namespace faultline
