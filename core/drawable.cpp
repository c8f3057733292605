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

}  // namespace

std::vector<FoldItem> fold(const Lane& lane, TimeRange range, int width_px, double min_px) {
    std::vector<FoldItem> items;
    if (range.empty() || width_px <= 0) return items;
    const auto [first, last] = lane.find(range);
    const double px_ns = static_cast<double>(range.duration()) / width_px;
    const TimeNs narrow = std::max<TimeNs>(1, static_cast<TimeNs>(std::llround(std::min(min_px * px_ns, 9e18))));
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
    const auto busy_until = [&](double t) {
        const TimeNs whole = saturated_add(range.start, static_cast<TimeNs>(std::min(std::ceil(t), 9.2e18)));
        if (at < last) at = std::min(last, first_not_less(lane.starts, at, whole));
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
