#include "ml/simulator/campaign/campaign.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "ml/simulator/campaign/apportion.h"
#include "ml/simulator/campaign/pilot.h"
#include "ml/simulator/campaign/surroundings.h"

namespace faultline::simulator {
namespace {

constexpr int kTestRuns = 12, kValidationRuns = 8;  // of `paper`
constexpr int kFaultyTracesOfARun = 3;              // at most: the other traces of a run are normal ones from before the fault
constexpr double kTracesOfARun = 3.75;
constexpr double kLookAlikeShare = 0.1;  // of all runs (FAULTS §6: natural variance of that order, more in training)
constexpr int kReservedRuns = 4;         // of each reserved kind, in `paper`

// What a draw of Draw::campaign is for.
constexpr std::uint64_t kShuffle = 1, kSeed = 2, kFormat = 3, kFirstKind = 4, kSplit = 5;

/// A run before runs are shuffled.
struct Slot {
    Engine engine{};
    const FaultInfo* info = nullptr;  ///< what is set up
    bool inject = false;
    int faulty = 0, normal = 0, steps = 0;

    /// Runs of one group share the splits evenly: 0 normal, 1 to 5 the classes, 6 look-alikes.
    [[nodiscard]] int group() const { return !inject ? 0 : info->look_alike ? 6 : static_cast<int>(info->type); }
};

bool runs_in(const FaultInfo& info, Engine engine) { return (info.engines >> static_cast<int>(engine) & 1) != 0; }

/// Kinds in turn, the least used first, so that a campaign holds as many of them as it has room for.
class KindTurns {
public:
    KindTurns(const std::vector<FaultInfo>& catalogue, const Noise& noise) {
        for (std::size_t i = 0; i < catalogue.size(); ++i) order_.emplace_back(noise.bits(Draw::campaign, kFirstKind, i), &catalogue[i]);
        std::sort(order_.begin(), order_.end(), [](const auto& a, const auto& b) { return a.first < b.first; });
    }

    template <class Fits>
    const FaultInfo* next(Fits fits) {
        const FaultInfo* best = nullptr;
        for (const auto& [place, info] : order_) {
            if (fits(*info) && (best == nullptr || uses_[info] < uses_[best])) best = info;
        }
        if (best != nullptr) ++uses_[best];
        return best;
    }

private:
    std::vector<std::pair<std::uint64_t, const FaultInfo*>> order_;
    std::map<const FaultInfo*, int> uses_;
};

/// Deals `total` out over slots as evenly as can be.
void deal(int total, int Slot::*field, const std::vector<Slot*>& slots) {
    const std::vector<int> parts = apportion(total, std::vector<double>(slots.size(), 1));
    for (std::size_t i = 0; i < slots.size(); ++i) slots[i]->*field += parts[i];
}

class Planner {
public:
    Planner(const CampaignRequest& request, const std::vector<FaultInfo>& catalogue)
        : request_(request),
          catalogue_(catalogue),
          noise_(request.seed),
          turns_(catalogue, noise_),
          factor_(request.size == CampaignSize::large ? kLargeFactor : 1) {}

    CampaignPlan plan() {
        if (request_.reserved) {
            reserved_slots();
        } else {
            slots();
        }
        return finish();
    }

private:
    void slots() {
        std::array<std::array<bool, 5>, kEngineCount> possible{};
        for (const FaultInfo& info : catalogue_) {
            if (info.reserved || info.look_alike || info.type == FaultClass::normal) continue;
            for (std::size_t e = 0; e < kEngineCount; ++e) {
                possible[e][static_cast<std::size_t>(info.type) - 1] |= runs_in(info, static_cast<Engine>(e));
            }
        }
        const FaultMatrix matrix = fault_matrix(factor_, possible);
        std::vector<double> room;
        std::vector<int> runs;
        int all = 0;
        for (const EngineShare& share : kPaperShares) {
            runs.push_back(static_cast<int>(factor_ * share.traces / kTracesOfARun + 0.999));
            int faulty_runs = 0;
            for (const int n : matrix[static_cast<std::size_t>(share.engine)])
                faulty_runs += (n + kFaultyTracesOfARun - 1) / kFaultyTracesOfARun;
            room.push_back(std::max(0, runs.back() - faulty_runs));
            all += runs.back();
        }
        const std::vector<int> look_alikes = apportion(static_cast<int>(kLookAlikeShare * all + 0.5), room);
        for (std::size_t i = 0; i < kPaperShares.size(); ++i) {
            engine_slots(kPaperShares[i], matrix[static_cast<std::size_t>(kPaperShares[i].engine)], runs[i], look_alikes[i]);
        }
    }

    void engine_slots(const EngineShare& share, const std::array<int, 5>& faults, int runs, int look_alikes) {
        const std::size_t first = slots_.size();
        const auto add = [&](const FaultInfo* info, bool inject, int faulty) {
            slots_.push_back({share.engine, info, inject, faulty, 0, 0});
        };
        for (std::size_t c = 0; c < 5; ++c) {
            const int parts = (faults[c] + kFaultyTracesOfARun - 1) / kFaultyTracesOfARun;
            for (const int faulty : apportion(faults[c], std::vector<double>(static_cast<std::size_t>(parts), 1))) {
                const auto type = static_cast<FaultClass>(c + 1);
                add(turns_.next(
                        [&](const FaultInfo& f) { return f.type == type && !f.look_alike && !f.reserved && runs_in(f, share.engine); }),
                    true, faulty);
            }
        }
        const std::size_t faulty_end = slots_.size();
        for (int i = 0; i < look_alikes; ++i) {
            const FaultInfo* info = turns_.next([&](const FaultInfo& f) { return f.look_alike && runs_in(f, share.engine); });
            if (info != nullptr) add(info, true, 0);
        }
        for (std::size_t i = 0; slots_.size() < first + static_cast<std::size_t>(runs); ++i) {
            // The surroundings of a faulty run of this engine, so that what a kind needs does not tell that it is there.
            add(faulty_end > first ? slots_[first + i % (faulty_end - first)].info : nullptr, false, 0);
        }
        deal_traces(share, first, faulty_end);
    }

    void deal_traces(const EngineShare& share, std::size_t first, std::size_t faulty_end) {
        std::vector<Slot*> faulty, others, all;
        for (std::size_t i = first; i < slots_.size(); ++i) {
            (i < faulty_end ? faulty : others).push_back(&slots_[i]);
            all.push_back(&slots_[i]);
        }
        const int normal = factor_ * (share.traces - share.faulty);
        const int with_faults = others.empty() ? normal : std::min(normal, static_cast<int>(faulty.size()));
        deal(with_faults, &Slot::normal, faulty);
        deal(normal - with_faults, &Slot::normal, others);
        std::vector<double> traces;
        for (const Slot* slot : all) traces.push_back(slot->faulty + slot->normal);
        const std::vector<int> steps = apportion(factor_ * share.steps, traces);
        for (std::size_t i = 0; i < all.size(); ++i) all[i]->steps = steps[i];
    }

    void reserved_slots() {
        for (const FaultInfo& info : catalogue_) {
            if (!info.reserved) continue;
            std::vector<Engine> engines;
            for (const EngineShare& share : kPaperShares) {
                if (runs_in(info, share.engine)) engines.push_back(share.engine);
            }
            for (int i = 0; i < kReservedRuns * factor_ && !engines.empty(); ++i) {
                slots_.push_back({engines[static_cast<std::size_t>(i) % engines.size()], &info, true, kFaultyTracesOfARun, 1, 34});
            }
        }
    }

    /// Whole runs, each group of runs in the same proportions.
    std::vector<Split> splits() const {
        std::vector<Split> result(slots_.size(), request_.reserved ? Split::test : Split::train);
        if (request_.reserved) return result;
        std::map<int, std::vector<std::pair<std::uint64_t, std::size_t>>> groups;
        for (std::size_t i = 0; i < slots_.size(); ++i) groups[slots_[i].group()].emplace_back(noise_.bits(Draw::campaign, kSplit, i), i);
        std::vector<double> sizes;
        for (auto& [group, members] : groups) {
            std::sort(members.begin(), members.end());
            sizes.push_back(static_cast<double>(members.size()));
        }
        const std::vector<int> test = apportion(kTestRuns * factor_, sizes);
        const std::vector<int> validation = apportion(kValidationRuns * factor_, sizes);
        std::size_t g = 0;
        for (const auto& [group, members] : groups) {
            const auto tests = static_cast<std::size_t>(test[g]), validations = static_cast<std::size_t>(validation[g]);
            for (std::size_t i = 0; i < members.size() && i < tests + validations; ++i)
                result[members[i].second] = i < tests ? Split::test : Split::validation;
            ++g;
        }
        return result;
    }

    CampaignPlan finish() const {
        const std::vector<Split> split = splits();
        std::vector<std::pair<std::uint64_t, std::size_t>> order;
        for (std::size_t i = 0; i < slots_.size(); ++i) order.emplace_back(noise_.bits(Draw::campaign, kShuffle, i), i);
        std::sort(order.begin(), order.end());
        CampaignPlan plan;
        plan.request = request_;
        for (std::size_t number = 0; number < order.size(); ++number) {
            const std::size_t i = order[number].second;
            plan.runs.push_back(run_of(slots_[i], split[i], number + 1, i));
        }
        plan.hash = hash_of(plan);
        return plan;
    }

    CampaignRun run_of(const Slot& slot, Split split, std::uint64_t number, std::uint64_t key) const {
        CampaignRun run;
        run.dir = fmt::format("run-{:04}", number);
        run.split = split;
        run.type = slot.inject && !slot.info->look_alike ? slot.info->type : FaultClass::normal;
        run.job.options = surroundings(slot.engine, slot.info, noise_, key);
        run.job.options.seed = seed_of(number);
        if (slot.info != nullptr) {
            run.job.fault = FaultChoice{slot.info, slot.inject, 1, {}, {}};
        }
        const double format = noise_.uniform(Draw::campaign, kFormat, key);
        run.job.format = request_.format.value_or(format < 0.6   ? TraceFormat::kineto
                                                  : format < 0.9 ? TraceFormat::nsys
                                                                 : TraceFormat::nsys_older);
        run.faulty_traces = slot.faulty;
        run.normal_traces = slot.normal;
        run.steps = slot.steps;
        return run;
    }

    /// By number alone, and never twice: the number is its low part.
    std::uint64_t seed_of(std::uint64_t number) const {
        constexpr std::uint64_t kNumbers = 1 << 16;
        return (noise_.bits(Draw::campaign, kSeed, number) >> 24) / kNumbers * kNumbers + (number * 40503) % kNumbers;
    }

    static std::string hash_of(const CampaignPlan& plan);

    const CampaignRequest& request_;
    const std::vector<FaultInfo>& catalogue_;
    Noise noise_;
    KindTurns turns_;
    int factor_;
    std::vector<Slot> slots_;
};

std::string text_of(const CampaignRun& run) {
    const RunOptions& o = run.job.options;
    const Deployment& d = o.deployment;
    const Workload& w = o.workload;
    const RecordingOptions& r = o.recording;
    std::string text = fmt::format("{} {} {} {} {} {} {} {};", run.dir, split_name(run.split), o.seed, static_cast<int>(run.job.format),
                                   run.job.fault ? run.job.fault->info->id : "", run.injected(), run.faulty_traces, run.normal_traces);
    text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {} {};", engine_name(d.engine), d.model, d.gpu, d.tp, d.dp, d.nodes,
                        graph_mode_name(d.graphs), d.async_scheduling, d.spec_tokens, d.prefix_cache, d.max_num_seqs, d.custom_all_reduce,
                        d.rdma, d.attention_backend, run.steps);
    text += fmt::format("{} {} {} {} {} {} {} {} {} {} {} {} {} {};", static_cast<int>(w.arrivals), w.rate, w.clients, w.prompt_median,
                        w.prompt_spread, w.output_median, w.output_spread, w.output_max, w.shared_prefix, w.random_sampling, w.top_k,
                        w.penalties, w.guided, w.aborts);
    return text + fmt::format("{} {} {} {} {} {} {}\n", dialect_name(r.dialect), r.operators, r.python, r.request_ids, r.samples,
                              r.counters, r.iteration_log);
}

std::string Planner::hash_of(const CampaignPlan& plan) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;  // FNV-1a
    const auto add = [&](std::string_view text) {
        for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ULL;
    };
    // Lengths follow from the runs and from what is wanted of a history.
    add(fmt::format("{} {} {} {};", kHistory, kFsdpHistory, kShortestRun, kLongestRun));
    for (const CampaignRun& run : plan.runs) add(text_of(run));
    return fmt::format("{:016x}", hash);
}

}  // namespace

std::string_view campaign_name(CampaignSize size) noexcept { return size == CampaignSize::paper ? "paper" : "large"; }

std::optional<CampaignSize> campaign_named(std::string_view name) noexcept {
    if (name == "paper") return CampaignSize::paper;
    if (name == "large") return CampaignSize::large;
    return std::nullopt;
}

std::string_view split_name(Split split) noexcept {
    switch (split) {
        case Split::train: return "train";
        case Split::validation: return "validation";
        case Split::test: break;
    }
    return "test";
}

CampaignPlan plan_campaign(const CampaignRequest& request, const std::vector<FaultInfo>& catalogue) {
    return Planner(request, catalogue).plan();
}

}  // namespace faultline::simulator
