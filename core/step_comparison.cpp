#include "core/step_comparison.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <unordered_map>

#include "core/reference_steps.h"

namespace faultline {

namespace {

constexpr double kLeastSpread = 0.1;  ///< of log self time: nothing is known to a tenth of itself from nine steps
constexpr double kMostScale = 4;
constexpr double kLikeTokens = 1.5;  ///< factor between token counts of like work

double log_of(TimeNs ns) { return std::log1p(static_cast<double>(std::max<TimeNs>(0, ns))); }

/// What the references say about one key.
struct Counterparts {
    struct Member {
        std::uint32_t occurrence = 0;
        TimeNs self = 0;
    };
    std::vector<Member> members;
    std::vector<std::int64_t> counts;  ///< by reference step
    std::vector<TimeNs> totals;
    std::optional<RobustScale> of_all;  ///< of log self time, once it was asked for
    const OperatorInstance* first = nullptr;
};

using Key = std::uint64_t;
using ReferenceTable = std::unordered_map<Key, Counterparts>;

ReferenceTable table_of(const StepComparison& c) {
    ReferenceTable table;
    for (const OperatorInstance& x : c.reference_instances) {
        Counterparts& of_key = table[operator_key(x)];
        if (of_key.counts.empty()) {
            of_key.first = &x;
            of_key.counts.resize(c.references.size());
            of_key.totals.resize(c.references.size());
        }
        const double scale = is_device_work(x.kind) ? c.scale : 1.0;
        const auto self = static_cast<TimeNs>(static_cast<double>(x.self_ns) * scale);
        of_key.members.push_back({x.occurrence, self});
        ++of_key.counts[x.step];
        of_key.totals[x.step] += self;
    }
    for (auto& [key, of_key] : table)
        std::stable_sort(of_key.members.begin(), of_key.members.end(),
                         [](const auto& a, const auto& b) { return a.occurrence < b.occurrence; });
    return table;
}

/// Of log self times of the counterparts of an instance: of the same occurrence where the references agree on the count, else of all.
RobustScale counterpart_scale(Counterparts& of_key, const OperatorInstance& x, std::int64_t count) {
    const bool same_count = std::find(of_key.counts.begin(), of_key.counts.end(), count) != of_key.counts.end();
    if (!same_count && of_key.of_all) return *of_key.of_all;
    const auto by_occurrence = [](const auto& member, std::uint32_t o) { return member.occurrence < o; };
    auto first = of_key.members.begin(), last = of_key.members.end();
    if (same_count) {
        first = std::lower_bound(of_key.members.begin(), of_key.members.end(), x.occurrence, by_occurrence);
        last = std::lower_bound(first, of_key.members.end(), x.occurrence + 1, by_occurrence);
    }
    std::vector<double> times;
    times.reserve(static_cast<std::size_t>(last - first));
    for (auto m = first; m != last; ++m) times.push_back(log_of(m->self));
    const RobustScale scale = robust_scale(times);
    if (!same_count) of_key.of_all = scale;
    return scale;
}

void set_deviations(StepComparison& c, ReferenceTable& table, const std::unordered_map<Key, std::int64_t>& counts) {
    c.deviations.resize(c.instances.size());
    for (std::size_t i = 0; i < c.instances.size(); ++i) {
        const OperatorInstance& x = c.instances[i];
        InstanceDeviation& d = c.deviations[i];
        const auto known = table.find(operator_key(x));
        if (known == table.end()) {
            d.extra = !c.alone;
            d.excess_ns = c.alone ? 0 : x.self_ns;
            continue;
        }
        const std::int64_t most = *std::max_element(known->second.counts.begin(), known->second.counts.end());
        d.extra = !c.alone && static_cast<std::int64_t>(x.occurrence) >= most;
        const RobustScale scale = counterpart_scale(known->second, x, counts.at(operator_key(x)));
        d.expected_ns = static_cast<TimeNs>(std::expm1(scale.median));
        d.z = (log_of(x.self_ns) - scale.median) / std::max(scale.spread, kLeastSpread);
        d.excess_ns = d.extra ? x.self_ns : std::max<TimeNs>(0, x.self_ns - d.expected_ns);
    }
}

double middle(std::vector<double> values) { return median_of(values); }

void set_reference(OperatorDifference& of, const Counterparts& counterparts) {
    std::vector<double> counts, totals;
    for (const std::int64_t n : counterparts.counts) counts.push_back(static_cast<double>(n));
    for (const TimeNs t : counterparts.totals) totals.push_back(static_cast<double>(t));
    of.least_count = *std::min_element(counterparts.counts.begin(), counterparts.counts.end());
    of.most_count = *std::max_element(counterparts.counts.begin(), counterparts.counts.end());
    of.expected_count = middle(std::move(counts));
    const RobustScale scale = robust_scale(totals);
    of.expected_ns = static_cast<TimeNs>(scale.median);
    of.spread_ns = static_cast<TimeNs>(scale.spread);
}

class Differences {
public:
    Differences(StepComparison& c, const CaptureReader& capture, const LayerRules& layers, NameFamilies& families)
        : c_(c), capture_(capture), layers_(layers), families_(families) {}

    void find(const ReferenceTable& table) {
        for (std::size_t i = 0; i < c_.instances.size(); ++i) add(i);
        if (c_.alone) {
            for (OperatorDifference& of : c_.operators) {
                of.expected_count = static_cast<double>(of.count);
                of.least_count = of.most_count = of.count;
                of.expected_ns = of.self_ns;
            }
        } else {
            for (const auto& [key, counterparts] : table) {
                OperatorDifference& of = row(key, *counterparts.first);
                set_reference(of, counterparts);
            }
        }
        for (OperatorDifference& of : c_.operators) of.excess_ns = of.self_ns - of.expected_ns;
        std::sort(c_.operators.begin(), c_.operators.end(), [](const OperatorDifference& a, const OperatorDifference& b) {
            const TimeNs of_a = std::abs(a.excess_ns), of_b = std::abs(b.excess_ns);
            if (of_a != of_b) return of_a > of_b;
            if (a.name != b.name) return a.name < b.name;
            return a.kind != b.kind ? a.kind < b.kind : a.rank < b.rank;
        });
    }

private:
    OperatorDifference& row(Key key, const OperatorInstance& x) {
        const auto [at, fresh] = rows_.emplace(key, c_.operators.size());
        if (fresh) {
            OperatorDifference of;
            of.rank = x.rank;
            of.kind = x.kind;
            of.name = x.name;
            of.collective = x.collective;
            of.family = families_.id(x.kind, x.name);
            of.layer = layers_.classify(x.kind, capture_.name(x.name));
            c_.operators.push_back(of);
        }
        return c_.operators[at->second];
    }

    void add(std::size_t i) {
        const OperatorInstance& x = c_.instances[i];
        OperatorDifference& of = row(operator_key(x), x);
        c_.deviations[i].family = of.family;
        ++of.count;
        of.self_ns += x.self_ns;
        const auto rank_of = [this](std::size_t at) { return std::pair(c_.deviations[at].excess_ns, c_.instances[at].self_ns); };
        if (!of.where || rank_of(i) > rank_of(*of.where)) of.where = i;
    }

    StepComparison& c_;
    const CaptureReader& capture_;
    const LayerRules& layers_;
    NameFamilies& families_;
    std::unordered_map<Key, std::size_t> rows_;
};

/// Where the roofline expects another duration of the step than of its references, their device times are scaled by it.
double token_scale(const StepComparison& c) {
    std::vector<double> expected;
    for (const StepVerdict& v : c.reference_verdicts)
        if (v.expected_ns && *v.expected_ns > 0) expected.push_back(static_cast<double>(*v.expected_ns));
    if (expected.empty() || !c.verdict.expected_ns || *c.verdict.expected_ns <= 0) return 1;
    return std::clamp(static_cast<double>(*c.verdict.expected_ns) / middle(std::move(expected)), 1 / kMostScale, kMostScale);
}

TimeNs expected_duration(const StepComparison& c) {
    if (c.references.empty() || !c.like_work()) return c.verdict.expected_ns.value_or(0);
    std::vector<double> durations;
    for (std::size_t i = 0; i < c.references.size(); ++i) {
        const Step& s = c.references[i];
        durations.push_back(static_cast<double>(c.reference_verdicts[i].own_ns.value_or(s.end - s.start)));
    }
    return static_cast<TimeNs>(middle(std::move(durations)) * c.scale);
}

}  // namespace

TimeNs StepComparison::extra_ns() const noexcept { return expected_ns > 0 ? std::max<TimeNs>(0, duration() - expected_ns) : 0; }

bool StepComparison::like_work() const noexcept {
    if (alone || !step.tokens) return true;
    const auto of = [](std::int64_t tokens) { return static_cast<double>(tokens) + 1; };
    std::size_t like = 0;
    bool scaled = verdict.expected_ns.has_value();
    for (std::size_t i = 0; i < references.size(); ++i) {
        scaled = scaled && reference_verdicts[i].expected_ns;
        if (!references[i].tokens) return true;
        const double factor = of(*references[i].tokens) / of(*step.tokens);
        like += factor <= kLikeTokens && factor * kLikeTokens >= 1;
    }
    return scaled || 2 * like > references.size();
}

bool StepComparison::stands_out(const OperatorDifference& of, TimeNs least_ns) const noexcept {
    if (alone) return false;
    const TimeNs off = std::abs(of.excess_ns);
    return off >= least_ns && off > 4 * of.spread_ns && off * 20 > of.expected_ns;
}

Result<StepComparison> compare_with_references(const CaptureReader& capture, const LayerRules& layers, NameFamilies& families,
                                               std::span<const Step> steps, std::span<const StepVerdict> verdicts, StepId step,
                                               std::stop_token stop) {
    const auto found = std::find_if(steps.begin(), steps.end(), [step](const Step& s) { return s.id == step; });
    if (found == steps.end())
        return fail(ErrorCode::wrong_usage, fmt::format("the capture has no step {}", index_of(step)),
                    "`faultline steps CAPTURE` lists those it has");
    const auto position = static_cast<std::size_t>(found - steps.begin());
    StepComparison c;
    c.step = *found;
    c.verdict.step = step;
    if (position < verdicts.size()) c.verdict = verdicts[position];
    if (found->kind == StepKind::step) {
        for (const std::size_t r : reference_steps(steps, verdicts, position)) {
            c.references.push_back(steps[r]);
            c.reference_verdicts.push_back(r < verdicts.size() ? verdicts[r] : StepVerdict{});
        }
    }
    c.alone = c.references.empty();
    c.scale = token_scale(c);
    c.expected_ns = expected_duration(c);
    std::vector<Step> wanted = c.references;
    wanted.push_back(c.step);
    auto instances = operator_instances(capture, wanted, stop);
    if (!instances) return tl::unexpected<Error>(instances.error());
    // The step stands last: its instances, and the parents among them, move down by what comes before.
    const auto own =
        std::partition_point(instances->begin(), instances->end(), [&](const OperatorInstance& x) { return x.step < c.references.size(); });
    c.instances.assign(own, instances->end());
    const auto before = static_cast<std::int64_t>(own - instances->begin());
    for (OperatorInstance& x : c.instances) {
        x.step = 0;
        if (x.parent >= 0) x.parent -= before;
    }
    instances->erase(own, instances->end());
    c.reference_instances = std::move(*instances);
    StepComparison itself;
    if (c.alone) {
        itself.references = {c.step};
        itself.reference_instances = c.instances;
        for (OperatorInstance& x : itself.reference_instances) x.occurrence = 0;  // held against all of its key
    }
    ReferenceTable table = table_of(c.alone ? itself : c);
    std::unordered_map<Key, std::int64_t> counts;
    for (const OperatorInstance& x : c.instances) ++counts[operator_key(x)];
    if (c.alone)
        for (auto& [key, n] : counts) n = -1;  // no occurrence to match
    set_deviations(c, table, counts);
    Differences(c, capture, layers, families).find(table);
    return c;
}

}  // namespace faultline
