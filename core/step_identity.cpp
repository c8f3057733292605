#include "core/step_identity.h"

#include <algorithm>
#include <map>
#include <string>

#include "core/step_texts.h"

namespace faultline {

namespace {

constexpr std::int64_t kMaxShift = 8;
constexpr std::size_t kShiftSamples = 64;
constexpr TimeNs kClockSlack = 1'000'000'000;  ///< clocks of hosts differ by less

std::string key_of(const Step& step) {
    return step.number ? step.dialect + "\n#" + std::to_string(*step.number) : step.dialect + '\n' + step.name;
}

bool has_rank(const Step& step, std::int64_t rank) { return std::find(step.ranks.begin(), step.ranks.end(), rank) != step.ranks.end(); }

TimeRange extent(const std::vector<Step>& steps) {
    TimeRange all{steps.front().start, steps.front().end};
    for (const Step& s : steps) all = {std::min(all.start, s.start), std::max(all.end, s.end)};
    return all;
}

/// Places by which the steps of the other ranks are ahead of the found ones.
std::int64_t best_shift(const std::vector<Step>& known, const std::vector<std::size_t>& candidates, const std::vector<Step>& found,
                        const std::vector<std::size_t>& same) {
    std::int64_t best = 0;
    TimeNs most = 0;
    for (std::int64_t n = 0; n <= 2 * kMaxShift; ++n) {
        const std::int64_t shift = (n % 2 == 0 ? 1 : -1) * ((n + 1) / 2);  // 0, -1, 1, -2, …: the smaller shift wins ties
        TimeNs overlap = 0;
        for (std::size_t i = 0; i < std::min(same.size(), kShiftSamples); ++i) {
            const std::int64_t k = static_cast<std::int64_t>(i) + shift;
            if (k < 0 || k >= static_cast<std::int64_t>(candidates.size())) continue;
            const Step &a = found[same[i]], &b = known[candidates[static_cast<std::size_t>(k)]];
            overlap += std::max<TimeNs>(0, std::min(a.end, b.end) - std::max(a.start, b.start));
        }
        if (overlap > most) {
            most = overlap;
            best = shift;
        }
    }
    return best;
}

void grow(Step& step, const Step& rank) {
    step.start = std::min(step.start, rank.start);
    step.end = std::max(step.end, rank.end);
    step.host_ns = std::max(step.host_ns, rank.host_ns);
    step.kernels += rank.kernels;
    step.kernel_busy_ns += rank.kernel_busy_ns;
    step.ranks.insert(step.ranks.end(), rank.ranks.begin(), rank.ranks.end());
    std::sort(step.ranks.begin(), step.ranks.end());
    step.spans.insert(step.spans.end(), rank.spans.begin(), rank.spans.end());
    if (step.phase == StepPhase::other) step.phase = rank.phase;
    fill_counts(step, rank);
}

}  // namespace

std::vector<std::size_t> join_steps(std::vector<Step>& known, std::vector<Step> found, std::int64_t& next_id, bool clocks_comparable) {
    std::vector<std::size_t> places(found.size());
    if (found.empty()) return places;
    std::map<std::string, std::vector<std::size_t>> candidates, same;
    const TimeRange here = extent(found);
    if (!found.front().ranks.empty()) {
        const TimeRange reach{here.start - kClockSlack, here.end + kClockSlack};
        for (std::size_t k = 0; k < known.size(); ++k) {
            if (known[k].ranks.empty() || has_rank(known[k], found.front().ranks.front())) continue;
            if (!clocks_comparable || reach.overlaps({known[k].start, known[k].end + 1})) candidates[key_of(known[k])].push_back(k);
        }
        for (auto& [key, list] : candidates)
            std::stable_sort(list.begin(), list.end(), [&](std::size_t a, std::size_t b) { return known[a].start < known[b].start; });
    }
    for (std::size_t i = 0; i < found.size(); ++i) same[key_of(found[i])].push_back(i);
    std::vector<bool> joined(found.size(), false);
    for (const auto& [key, list] : same) {
        const auto others = candidates.find(key);
        if (others == candidates.end()) continue;
        const bool numbered = found[list.front()].number.has_value();
        const std::int64_t shift = numbered || !clocks_comparable ? 0 : best_shift(known, others->second, found, list);
        for (std::size_t i = 0; i < list.size(); ++i) {
            const std::int64_t k = static_cast<std::int64_t>(i) + shift;
            if (k < 0 || k >= static_cast<std::int64_t>(others->second.size())) continue;
            places[list[i]] = others->second[static_cast<std::size_t>(k)];
            grow(known[places[list[i]]], found[list[i]]);
            joined[list[i]] = true;
        }
    }
    for (std::size_t i = 0; i < found.size(); ++i) {
        if (joined[i]) continue;
        places[i] = known.size();
        found[i].id = StepId{next_id++};
        known.push_back(std::move(found[i]));
    }
    return places;
}

}  // namespace faultline
