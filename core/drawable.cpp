#include "core/drawable.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace faultline {

std::size_t first_not_less(const std::vector<TimeNs>& values, std::size_t from, TimeNs limit) noexcept {
    std::size_t low = std::min(from, values.size());
    std::size_t step = 1;
    while (low + step < values.size() && values[low + step] < limit) {
        low += step;
        step *= 2;
    }
    const auto begin = values.begin() + static_cast<std::ptrdiff_t>(low);
    const auto end = values.begin() + static_cast<std::ptrdiff_t>(std::min(values.size(), low + step + 1));
    return static_cast<std::size_t>(std::lower_bound(begin, end, limit) - values.begin());
}

namespace {

TimeNs saturated_add(TimeNs a, TimeNs b) {
    TimeNs sum = 0;
    return __builtin_add_overflow(a, b, &sum) ? std::numeric_limits<TimeNs>::max() : sum;
}

/// Span by span, jumping over those that belong to one item.
void fold_spans(const Lane& lane, std::size_t first, std::size_t last, TimeNs narrow, std::vector<FoldItem>& items) {
    std::size_t at = first;
    while (at < last) {
        std::size_t next = at + 1;
        if (lane.ends[at] - lane.starts[at] < narrow) {
            TimeNs limit = saturated_add(lane.ends[at], narrow);
            while (next < last) {
                // Everything before `next` ends less than `narrow` after the end that `limit` was made from, so it belongs to the item.
                next = std::min(last, first_not_less(lane.ends, next, limit));
                if (next == last || lane.ends[next] - lane.ends[next - 1] >= narrow) break;
                limit = saturated_add(lane.ends[next], narrow);
                ++next;
            }
        }
        items.push_back({at, next - at, lane.starts[at], lane.ends[next - 1]});
        at = next;
    }
}

/// Run by run of a level that is not coarser than asked for: the same items, from memory that lies together.
void fold_runs(const Lane& lane, const FoldLevel& level, std::size_t first, std::size_t last, TimeNs narrow, std::vector<FoldItem>& items) {
    auto run = std::upper_bound(level.runs.begin(), level.runs.end(), first, [](std::size_t at, const FoldRun& r) { return at < r.first; });
    if (run != level.runs.begin()) --run;
    bool open = false;
    for (; run != level.runs.end() && run->first < last; ++run) {
        const std::size_t from = std::max<std::size_t>(run->first, first);
        const std::size_t to = std::min<std::size_t>(run->first + run->count, last);
        const bool cut = from != run->first;
        const TimeNs start = cut ? lane.starts[from] : run->start;
        const TimeNs first_end = cut ? lane.ends[from] : run->first_end;
        const TimeNs end = to != run->first + run->count ? lane.ends[to - 1] : run->end;
        if (open && first_end - items.back().end < narrow) {
            items.back().count += to - from;
            items.back().end = end;
        } else {
            items.push_back({from, to - from, start, end});
            open = to - from > 1 || first_end - start < narrow;
        }
    }
}

/// The number of spans of the lane that start before `t`, not less than `from`. In long lanes by the marks, which lie together; the rest
/// of the search does not depend on the one before, so that a processor can do several at once.
std::size_t starts_before(const Lane& lane, std::size_t from, std::size_t last, TimeNs t, std::size_t& mark) {
    if (lane.marks.empty()) return std::min(last, first_not_less(lane.starts, from, t));
    mark = first_not_less(lane.marks, mark, t);
    std::size_t low = mark == 0 ? 0 : (mark - 1) * Lane::kMarkSpans;
    std::size_t count = std::min(lane.size(), low + Lane::kMarkSpans) - low;
    while (count > 0) {
        const std::size_t half = count / 2;
        const bool less = lane.starts[low + half] < t;
        low = less ? low + half + 1 : low;
        count = less ? count - half - 1 : half;
    }
    return std::clamp(low, from, last);
}

}  // namespace

std::vector<FoldItem> fold(const Lane& lane, TimeRange range, int width_px, double min_px) {
    std::vector<FoldItem> items;
    if (range.empty() || width_px <= 0) return items;
    const auto [first, last] = lane.find(range);
    const double px_ns = static_cast<double>(range.duration()) / width_px;
    const TimeNs narrow = std::max<TimeNs>(1, static_cast<TimeNs>(std::llround(std::min(min_px * px_ns, 9e18))));
    const auto level = std::find_if(lane.levels.rbegin(), lane.levels.rend(), [narrow](const FoldLevel& l) { return l.narrow <= narrow; });
    if (level != lane.levels.rend())
        fold_runs(lane, *level, first, last, narrow, items);
    else
        fold_spans(lane, first, last, narrow, items);
    return items;
}

std::vector<float> occupancy(const Lane& lane, TimeRange range, int width_px, std::vector<std::uint32_t>* last_spans) {
    std::vector<float> shares;
    if (range.empty() || width_px <= 0 || lane.busy.size() != lane.size() + 1) return shares;
    shares.resize(static_cast<std::size_t>(width_px), 0.0F);
    if (last_spans != nullptr) last_spans->assign(static_cast<std::size_t>(width_px), 0);
    const auto [first, last] = lane.find(range);
    const double px_ns = static_cast<double>(range.duration()) / width_px;
    // Busy time in [range.start, range.start + t), for t that grows: `at` counts the spans that start before it. Only differences of
    // integers become doubles, so that nothing is lost at epoch scale.
    std::size_t at = first;
    std::size_t mark = first / Lane::kMarkSpans;
    const auto busy_until = [&](double t) {
        const TimeNs whole = saturated_add(range.start, static_cast<TimeNs>(std::min(std::ceil(t), 9.2e18)));
        if (at < last) at = starts_before(lane, at, last, whole, mark);
        if (at == first) return 0.0;
        const std::size_t open = at - 1;
        double sum = static_cast<double>(lane.busy[at] - lane.busy[first]);
        if (lane.busy[first + 1] != lane.busy[first]) {  // the part of the first span before the range
            sum -= static_cast<double>(std::max<TimeNs>(0, range.start - lane.starts[first]));
        }
        if (lane.busy[at] != lane.busy[open]) {  // the part of the last span after t
            sum -= std::max(0.0, static_cast<double>(lane.ends[open] - range.start) - t);
        }
        return sum;
    };
    double before = 0;
    for (int x = 0; x < width_px; ++x) {
        const double until = busy_until(px_ns * (x + 1));
        shares[static_cast<std::size_t>(x)] = static_cast<float>(std::clamp((until - before) / px_ns, 0.0, 1.0));
        before = until;
        if (last_spans != nullptr) (*last_spans)[static_cast<std::size_t>(x)] = static_cast<std::uint32_t>(at > first ? at - 1 : first);
    }
    return shares;
}

}  // namespace faultline
