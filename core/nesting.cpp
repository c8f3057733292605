#include "core/nesting.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <optional>
#include <array>
#include <bit>
#include <functional>
#include <numeric>
#include <queue>
#include <utility>

#include "core/span_place.h"

namespace faultline {

namespace {

/// Rank of a kind where intervals are equal: the outer one first.
int nesting_rank(SpanKind kind) noexcept {
    switch (kind) {
        case SpanKind::window: return 0;
        case SpanKind::range:
        case SpanKind::device_range: return 1;
        case SpanKind::python: return 2;
        case SpanKind::op: return 3;
        default: return 4;
    }
}

bool before(const TrackBuffer& t, std::uint32_t a, std::uint32_t b) {
    if (t.starts[a] != t.starts[b]) return t.starts[a] < t.starts[b];
    if (t.durations[a] != t.durations[b]) return t.durations[a] > t.durations[b];
    const int rank_a = nesting_rank(t.kinds[a]);
    const int rank_b = nesting_rank(t.kinds[b]);
    return rank_a != rank_b ? rank_a < rank_b : a < b;
}

struct SortKey {
    std::uint64_t start;  ///< distance to the earliest start
    std::uint32_t at;
};

/// Least-significant-digit radix sort by start: captures come nearly sorted but by several writers, and this stays linear.
void sort_by_start(std::vector<SortKey>& keys, std::uint64_t largest) {
    constexpr unsigned kDigit = 11;
    constexpr std::size_t kBuckets = std::size_t{1} << kDigit;
    std::vector<SortKey> other(keys.size());
    const auto bits = static_cast<unsigned>(std::bit_width(largest));
    for (unsigned shift = 0; shift < bits; shift += kDigit) {
        std::array<std::uint32_t, kBuckets> at{};
        for (const SortKey& k : keys) ++at[(k.start >> shift) & (kBuckets - 1)];
        std::uint32_t sum = 0;
        for (std::uint32_t& n : at) sum += std::exchange(n, sum);
        for (const SortKey& k : keys) other[at[(k.start >> shift) & (kBuckets - 1)]++] = k;
        keys.swap(other);
    }
}

std::vector<std::uint32_t> sorted_order(const TrackBuffer& t) {
    std::vector<std::uint32_t> order(t.size());
    std::iota(order.begin(), order.end(), 0u);
    if (std::is_sorted(order.begin(), order.end(), [&](std::uint32_t a, std::uint32_t b) { return before(t, a, b); })) return {};
    const auto [low, high] = std::minmax_element(t.starts.begin(), t.starts.end());
    std::vector<SortKey> keys(t.size());
    for (std::uint32_t i = 0; i < t.size(); ++i) keys[i] = {static_cast<std::uint64_t>(t.starts[i]) - static_cast<std::uint64_t>(*low), i};
    sort_by_start(keys, static_cast<std::uint64_t>(*high) - static_cast<std::uint64_t>(*low));
    for (std::uint32_t i = 0; i < t.size(); ++i) order[i] = keys[i].at;
    for (std::size_t i = 0; i < order.size();) {
        std::size_t end = i + 1;
        while (end < order.size() && t.starts[order[end]] == t.starts[order[i]]) ++end;
        if (end - i > 1)
            std::sort(order.begin() + static_cast<std::ptrdiff_t>(i), order.begin() + static_cast<std::ptrdiff_t>(end),
                      [&](std::uint32_t a, std::uint32_t b) { return before(t, a, b); });
        i = end;
    }
    return order;
}

bool untimed(const TrackBuffer& t, std::uint32_t i) {
    const std::int64_t flags = t.get(i, Column::flags);
    return flags != kNull && (flags & flag_no_time) != 0;
}

/// Start of the first span whose time was collected; the latest time there is where none was.
TimeNs earliest(const TrackBuffer& t) {
    TimeNs first = std::numeric_limits<TimeNs>::max();
    const bool flagged = t.has(Column::flags);
    for (std::uint32_t i = 0; i < t.size(); ++i)
        if (!flagged || !untimed(t, i)) first = std::min(first, t.starts[i]);
    return first;
}

/// Spans whose times were not collected lie, with length 0, where their track begins, or the source where the whole track has no times.
void place_untimed(SourceBuilder& source) {
    constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();
    std::optional<TimeNs> whole;
    for (TrackBuffer& t : source.tracks()) {
        if (!t.has(Column::flags)) continue;
        std::vector<std::uint32_t> lost;
        for (std::uint32_t i = 0; i < t.size(); ++i)
            if (untimed(t, i)) lost.push_back(i);
        if (lost.empty()) continue;
        TimeNs first = earliest(t);
        if (first == kNever) {
            if (!whole) {
                whole = kNever;
                for (const TrackBuffer& other : source.tracks()) whole = std::min(*whole, earliest(other));
            }
            first = *whole == kNever ? 0 : *whole;
        }
        for (const std::uint32_t i : lost) t.starts[i] = first;
    }
}

/// Where each span of a sorted track goes.
struct Placement {
    std::vector<std::int32_t> lane, depth;
    std::vector<std::int64_t> parent;  ///< position in the track, -1 for none
    int lanes = 1;
};

class Nester {
public:
    Nester(TrackBuffer& track, const SourceBuilder& source, ImportLedger& ledger)
        : t_(track), source_(source), ledger_(ledger), flat_(track.track.kind == TrackKind::device) {
        const std::size_t n = t_.size();
        placed_.lane.assign(n, 0);
        placed_.depth.assign(n, 0);
        placed_.parent.assign(n, -1);
        stacks_.emplace_back();
    }

    Placement run() {
        for (std::uint32_t i = 0; i < t_.size(); ++i) place(i);
        placed_.lanes = static_cast<int>(stacks_.size());
        return std::move(placed_);
    }

private:
    static constexpr std::size_t kMostDepth = 2'000;  ///< what is deeper cannot be drawn, and readers refuse it

    void place(std::uint32_t i) {
        auto& main = stacks_.front();
        drop_ended(main, t_.starts[i]);
        if (main.empty() || (!flat_ && t_.end(i) <= t_.end(main.back()) && main.size() < kMostDepth)) {
            put(i, 0);
            return;
        }
        if (main.size() >= kMostDepth)
            ledger_.note("span.deep", "More than 2,000 spans enclose a span: ranges that are never closed do that; it lies on a lane of its own",
                         place_of(i));
        if (!flat_ && main.size() < kMostDepth && clip(i, main)) {
            put(i, 0);
            return;
        }
        put(i, lane_for(i));
    }

    void drop_ended(std::vector<std::uint32_t>& stack, TimeNs now) const {
        while (!stack.empty() && t_.end(stack.back()) <= now) stack.pop_back();
    }

    /// The lane whose innermost open span encloses span i most tightly, else the lowest that is free, else a new one. Only the first
    /// lanes are searched for an enclosing span, so that thousands of concurrent spans cost no more than their logarithm.
    std::size_t lane_for(std::uint32_t i) {
        constexpr std::size_t kSearched = 64;
        std::size_t best = stacks_.size();
        for (std::size_t lane = 1; lane < std::min(stacks_.size(), kSearched) && !flat_; ++lane) {
            auto& stack = stacks_[lane];
            drop_ended(stack, t_.starts[i]);
            if (stack.empty() || t_.end(i) > t_.end(stack.back()) || stack.size() >= kMostDepth) continue;
            if (best == stacks_.size() || t_.starts[stack.back()] > t_.starts[stacks_[best].back()]) best = lane;
        }
        if (best < stacks_.size()) return best;
        while (!busy_.empty() && busy_.top().first <= t_.starts[i]) {
            free_.push(busy_.top().second);
            busy_.pop();
        }
        if (!free_.empty()) {
            best = free_.top();
            free_.pop();
            stacks_[best].clear();
        } else if (stacks_.size() < static_cast<std::size_t>(kMaxLanes)) {
            stacks_.emplace_back();
        } else {
            repair(i, flag_clipped, "span.too-many-lanes", "More spans cross here than there are lanes; the span is kept with length 0");
            t_.durations[i] = 0;
            return 0;
        }
        busy_.emplace(t_.end(i), best);
        return best;
    }

    /// Mends a crossing of at most kClipNs on the main lane: the overhang of span i, or the tails of those that it runs into.
    bool clip(std::uint32_t i, std::vector<std::uint32_t>& stack) {
        const TimeNs overhang = t_.end(i) - t_.end(stack.back());
        if (overhang <= kClipNs) {
            repair(i, flag_clipped, "span.clipped", "A span crossed its neighbour by at most 1 us and was shortened");
            t_.durations[i] -= overhang;
            return true;
        }
        std::size_t keep = stack.size();
        while (keep > 0 && t_.end(stack[keep - 1]) < t_.end(i)) {
            if (t_.end(stack[keep - 1]) - t_.starts[i] > kClipNs) return false;
            --keep;
        }
        for (std::size_t k = keep; k < stack.size(); ++k) {
            repair(stack[k], flag_clipped, "span.clipped", "A span crossed its neighbour by at most 1 us and was shortened");
            t_.durations[stack[k]] = t_.starts[i] - t_.starts[stack[k]];
        }
        stack.resize(keep);
        return true;
    }

    void repair(std::uint32_t i, SpanFlag flag, std::string_view code, std::string_view sentence) {
        const std::int64_t flags = t_.get(i, Column::flags);
        constexpr std::int64_t repairs = flag_clipped | flag_unfinished | flag_negative | flag_no_duration | flag_no_time | flag_renamed;
        ledger_.repaired(code, sentence, place_of(i), flags != kNull && (flags & repairs) != 0);
        t_.add_flag(i, flag);
    }

    [[nodiscard]] std::string place_of(std::uint32_t i) const { return span_place(source_.names().text(t_.names[i]), t_.starts[i]); }

    void put(std::uint32_t i, std::size_t lane) {
        auto& stack = stacks_[lane];
        placed_.lane[i] = static_cast<std::int32_t>(lane);
        placed_.depth[i] = static_cast<std::int32_t>(stack.size());
        placed_.parent[i] = stack.empty() ? -1 : std::int64_t{stack.back()};
        stack.push_back(i);
        if (lane > 0)
            ledger_.note("span.sub-lane", "Spans that cross others of their thread or stream lie on a lane of their own", place_of(i));
    }

    TrackBuffer& t_;
    const SourceBuilder& source_;
    ImportLedger& ledger_;
    bool flat_;
    Placement placed_;
    std::vector<std::vector<std::uint32_t>> stacks_;  ///< open spans of each lane; the outermost first
    using Until = std::pair<TimeNs, std::size_t>;
    std::priority_queue<Until, std::vector<Until>, std::greater<>> busy_;  ///< end of the outermost span of each sub-lane in use
    std::priority_queue<std::size_t, std::vector<std::size_t>, std::greater<>> free_;
};

/// Moves the spans of higher lanes to tracks of their own and writes parent and depth where nesting is meant.
void split_lanes(SourceBuilder& source, TrackBuffer& track, Placement& placed) {
    const std::uint32_t n = track.size();
    std::vector<std::uint32_t> ordinal(n);
    std::vector<std::vector<std::uint32_t>> members(static_cast<std::size_t>(placed.lanes));
    for (std::uint32_t i = 0; i < n; ++i) {
        auto& lane = members[static_cast<std::size_t>(placed.lane[i])];
        ordinal[i] = static_cast<std::uint32_t>(lane.size());
        lane.push_back(i);
    }
    for (std::uint32_t i = 0; i < n; ++i)
        if (placed.parent[i] >= 0) placed.parent[i] = ordinal[static_cast<std::size_t>(placed.parent[i])];
    const auto fill = [&](TrackBuffer& to, const std::vector<std::uint32_t>& from) {
        int deepest = 0;
        for (std::uint32_t k = 0; k < from.size(); ++k) {
            const std::uint32_t i = from[k];
            if (placed.parent[i] >= 0) to.set(k, Column::parent, placed.parent[i]);
            if (to.track.kind != TrackKind::device) to.set(k, Column::depth, placed.depth[i]);
            deepest = std::max(deepest, placed.depth[i]);
        }
        to.track.max_depth = deepest;
    };
    for (int lane = 1; lane < placed.lanes; ++lane) {
        TrackBuffer& other = source.sub_lane(track, lane);
        other.append_from(track, members[static_cast<std::size_t>(lane)]);
        fill(other, members[static_cast<std::size_t>(lane)]);
    }
    if (placed.lanes > 1) track.rearrange(members.front());
    fill(track, members.front());
}

void sort_track(TrackBuffer& track) {
    if (const std::vector<std::uint32_t> order = sorted_order(track); !order.empty()) track.rearrange(order);
}

}  // namespace

void sort_and_nest(SourceBuilder& source, ImportLedger& ledger, const Progress& progress) {
    place_untimed(source);
    const std::size_t tracks = source.tracks().size();  // sub-lanes are appended behind and need no second look
    for (std::size_t i = 0; i < tracks && !progress.stopped(); ++i) {
        TrackBuffer& track = source.tracks()[i];
        sort_track(track);
        if (track.track.kind == TrackKind::counter || track.empty()) continue;
        Placement placed = Nester(track, source, ledger).run();
        split_lanes(source, track, placed);
    }
}

std::int64_t innermost_at(const TrackBuffer& track, TimeNs t) {
    const auto after = std::upper_bound(track.starts.begin(), track.starts.end(), t);
    std::int64_t at = after - track.starts.begin() - 1;
    while (at >= 0 && track.end(static_cast<std::uint32_t>(at)) <= t) {
        const std::int64_t parent = track.get(static_cast<std::uint32_t>(at), Column::parent);
        at = parent == kNull ? -1 : parent;
    }
    return at;
}

}  // namespace faultline
