#include "core/fault_signs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <string_view>

namespace faultline {

namespace {

constexpr TimeNs kLeastNs = 20'000;
constexpr double kLeastShare = 0.02;  ///< of the expected duration

std::size_t at_of(Sign sign) { return static_cast<std::size_t>(sign); }

std::optional<Sign> sign_of_call(std::string_view family) {
    if (family == "allocate" || family == "free") return Sign::allocation;
    if (family == "module_load") return Sign::module_load;
    if (family == "sync") return Sign::synchronization;
    if (family == "launch" || family == "graph_launch") return Sign::launching;
    if (family == "copy" || family == "memset") return Sign::copy_call;
    if (family == "wait") return std::nullopt;  // a victim of whatever it waits for
    return Sign::other_call;
}

class Signs {
public:
    Signs(const StepComparison& c, const FamilyRules& families) : c_(c), families_(families) {}

    FaultSigns run() {
        out_.least_ns = std::max(kLeastNs, static_cast<TimeNs>(kLeastShare * static_cast<double>(c_.expected_ns)));
        add_operators();
        for (RankSigns& r : out_.ranks) settle(r);
        add_late_starts();
        find_straggler();
        find_structure();
        return std::move(out_);
    }

private:
    RankSigns& of_rank(std::optional<std::int64_t> rank) {
        const auto at = std::lower_bound(out_.ranks.begin(), out_.ranks.end(), rank,
                                         [](const RankSigns& r, const auto& wanted) { return r.rank < wanted; });
        if (at != out_.ranks.end() && at->rank == rank) return *at;
        RankSigns fresh;
        fresh.rank = rank;
        return *out_.ranks.insert(at, fresh);
    }

    void add_operators() {
        for (const OperatorDifference& of : c_.operators) {
            RankSigns& rank = of_rank(of.rank);
            if (of.kind == SpanKind::kernel) {
                rank.kernels += of.count;
                rank.expected_kernels += of.expected_count;
            }
            const std::optional<Sign> sign = sign_of(of.kind, of.collective, families_.name(of.family));
            if (!sign) continue;
            const std::size_t s = at_of(*sign);
            rank.total[s] += of.self_ns;
            rank.expected[s] += of.expected_ns;
            if (of.where && of.excess_ns > 0 && (!rank.worst[s] || excess(*of.where) > excess(*rank.worst[s]))) rank.worst[s] = of.where;
        }
        for (std::size_t i = 0; i < c_.instances.size(); ++i) {
            std::optional<std::size_t>& first = of_rank(c_.instances[i].rank).first;
            if (!is_device_work(c_.instances[i].kind) && (!first || c_.instances[i].start < c_.instances[*first].start)) first = i;
        }
    }

    [[nodiscard]] TimeNs excess(std::size_t instance) const { return c_.deviations[instance].excess_ns; }

    /// Sums become excesses; host calls that wait for the device are not blamed for the device.
    static void settle(RankSigns& r) {
        for (std::size_t s = 0; s < kSigns; ++s) r.excess[s] = std::max<TimeNs>(0, r.total[s] - r.expected[s]);
        TimeNs& kernels = r.excess[at_of(Sign::kernel_time)];
        if (r.expected_kernels > 0 && static_cast<double>(r.kernels) > 1.1 * r.expected_kernels) {
            const double share = (static_cast<double>(r.kernels) - r.expected_kernels) / static_cast<double>(r.kernels);
            const auto work = static_cast<TimeNs>(share * static_cast<double>(r.total[at_of(Sign::kernel_time)]));
            r.excess[at_of(Sign::more_work)] = std::min(kernels, work);
            kernels -= r.excess[at_of(Sign::more_work)];
        }
        const TimeNs device = r.of(Sign::communication) + r.of(Sign::kernel_time) + r.of(Sign::more_work) + r.of(Sign::device_copy);
        for (const Sign waits : {Sign::synchronization, Sign::launching, Sign::copy_call})
            r.excess[at_of(waits)] = std::max<TimeNs>(0, r.excess[at_of(waits)] - device);
    }

    /// By how much each rank begins after the first of all, in the step and in the references.
    void add_late_starts() {
        if (out_.ranks.size() < 2 || c_.alone) return;
        using Starts = std::map<std::optional<std::int64_t>, TimeNs>;
        const auto add = [](Starts& starts, const OperatorInstance& x) {
            if (is_device_work(x.kind)) return;
            const auto [at, fresh] = starts.emplace(x.rank, x.start);
            if (!fresh) at->second = std::min(at->second, x.start);
        };
        const auto first_of = [](const Starts& starts) {
            return std::min_element(starts.begin(), starts.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->second;
        };
        Starts own;
        for (const OperatorInstance& x : c_.instances) add(own, x);
        std::vector<Starts> others(c_.references.size());
        for (const OperatorInstance& x : c_.reference_instances) add(others[x.step], x);
        if (own.size() < 2) return;
        for (RankSigns& r : out_.ranks) {
            if (!own.contains(r.rank)) continue;
            std::vector<double> usual;
            for (const Starts& o : others)
                if (o.contains(r.rank)) usual.push_back(static_cast<double>(o.at(r.rank) - first_of(o)));
            const std::size_t s = at_of(Sign::late_start);
            r.total[s] = own.at(r.rank) - first_of(own);
            r.expected[s] = static_cast<TimeNs>(median_of(usual));
            r.excess[s] = std::max<TimeNs>(0, r.total[s] - r.expected[s]);
            r.worst[s] = r.first;
        }
    }

    /// The late rank has the short collective, its peers the long one (FAULTS §0.1).
    void find_straggler() {
        if (out_.ranks.size() < 2) return;
        std::optional<std::size_t> shortest;
        for (std::size_t i = 0; i < out_.ranks.size(); ++i) {
            if (!out_.ranks[i].communicates()) continue;
            if (!shortest || out_.ranks[i].of(Sign::communication) < out_.ranks[*shortest].of(Sign::communication)) shortest = i;
        }
        if (!shortest) return;
        const TimeNs longest = out_.most(Sign::communication), least = out_.ranks[*shortest].of(Sign::communication);
        if (longest - least < out_.least_ns || 2 * (longest - least) < longest) return;
        out_.straggler = shortest;
        out_.waited_ns = longest - least;
    }

    void find_structure() {
        if (c_.alone) return;
        bool fewer_graphs = false, more_launches = false;
        for (std::size_t i = 0; i < c_.operators.size(); ++i) {
            const OperatorDifference& of = c_.operators[i];
            const std::string_view family = families_.name(of.family);
            fewer_graphs |= family == "graph_launch" && of.count < of.least_count;
            more_launches |= family == "launch" && of.count > of.most_count + 2;
            if (!is_device_work(of.kind)) continue;
            if (of.count < of.least_count) out_.missing.push_back(i);
            if (of.count > of.most_count) out_.added.push_back(i);
        }
        out_.graph_lost = fewer_graphs && more_launches;
        pair_variants();
    }

    /// What is missing and what is added of one family and rank, as often: the same work under another name.
    void pair_variants() {
        std::vector<std::size_t> unpaired;
        for (const std::size_t before : out_.missing) {
            const OperatorDifference& a = c_.operators[before];
            const auto now = std::find_if(out_.added.begin(), out_.added.end(), [&](std::size_t i) {
                const OperatorDifference& b = c_.operators[i];
                const double gone = a.expected_count - static_cast<double>(a.count), come = static_cast<double>(b.count) - b.expected_count;
                return a.kind == b.kind && a.family == b.family && a.rank == b.rank && std::abs(gone - come) < 0.5;
            });
            if (now == out_.added.end()) {
                unpaired.push_back(before);
                continue;
            }
            out_.variants.push_back({*now, before});
            out_.added.erase(now);
        }
        out_.missing = std::move(unpaired);
    }

    const StepComparison& c_;
    const FamilyRules& families_;
    FaultSigns out_;
};

}  // namespace

std::optional<Sign> sign_of(SpanKind kind, bool collective, std::string_view family) {
    if (is_device_work(kind)) {
        if (collective) return Sign::communication;
        return kind == SpanKind::memory_copy || kind == SpanKind::memory_set ? Sign::device_copy : Sign::kernel_time;
    }
    if (is_api_call(kind) || kind == SpanKind::os_call) return sign_of_call(family);
    if (family == "wait") return std::nullopt;
    return family == "step" ? Sign::unseen : Sign::host_code;
}

TimeNs FaultSigns::most(Sign sign) const noexcept {
    TimeNs out = 0;
    for (const RankSigns& r : ranks) out = std::max(out, r.of(sign));
    return out;
}

TimeNs FaultSigns::shared_communication() const noexcept {
    std::optional<TimeNs> out;
    for (const RankSigns& r : ranks)
        if (r.communicates()) out = std::min(out.value_or(r.of(Sign::communication)), r.of(Sign::communication));
    return out.value_or(0);
}

bool RankSigns::communicates() const noexcept { return total[at_of(Sign::communication)] > 0 || expected[at_of(Sign::communication)] > 0; }

FaultSigns fault_signs(const StepComparison& comparison, const FamilyRules& families) { return Signs(comparison, families).run(); }

}  // namespace faultline
