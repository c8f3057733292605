#include "views/timeline/geometry.h"

#include <algorithm>
#include <cmath>

#include "views/timeline/time_axis.h"

namespace faultline {

namespace {

int column(const TimeAxis& axis, TimeNs t, int width) {
    return static_cast<int>(std::clamp(std::floor(axis.x(t)), 0.0, static_cast<double>(width)));
}

LaneGeometry counter_geometry(const Lane& lane, TimeRange range, int width) {
    LaneGeometry out{range, width, {}, {}, {}, {}, 0};
    const TimeAxis axis{range, static_cast<double>(width)};
    out.level.assign(static_cast<std::size_t>(width), -1.0F);
    // A sample holds until the next one. The scale is that of the whole counter, so that it does not jump while panning.
    for (const double peak : lane.peaks) out.level_top = std::max(out.level_top, peak);
    const double scale = out.level_top > 0 ? 1.0 / out.level_top : 0.0;
    auto at = static_cast<std::size_t>(std::upper_bound(lane.starts.begin(), lane.starts.end(), range.start) - lane.starts.begin());
    for (int x = 0; x < width; ++x) {
        const TimeNs until = axis.time(x + 1);
        const auto next = static_cast<std::size_t>(
            std::lower_bound(lane.starts.begin() + static_cast<std::ptrdiff_t>(at), lane.starts.end(), until) - lane.starts.begin());
        const std::size_t from = at > 0 ? at - 1 : 0;
        if (next > from) out.level[static_cast<std::size_t>(x)] = static_cast<float>(std::clamp(lane.peak(from, next) * scale, 0.0, 1.0));
        at = next;
    }
    return out;
}

void sample_folded(const Lane& lane, const TimeAxis& axis, LaneGeometry& out) {
    if (out.sample.empty()) out.sample.assign(static_cast<std::size_t>(out.width), 0);
    for (const Block& block : out.blocks) {
        if (block.kind != BlockKind::folded) continue;
        std::size_t at = block.first;
        std::size_t mark = block.first / Lane::kMarkSpans;
        const std::size_t last = block.first + block.count - 1;
        for (int x = block.x0; x < block.x1; x += LaneGeometry::kSlice) {
            const TimeNs middle = axis.time(std::min(x + LaneGeometry::kSlice / 2.0, static_cast<double>(block.x1)));
            const std::size_t before = mark;
            mark = first_not_less(lane.marks, mark, middle);
            // Where the slice stands for a great many spans any of them will do; else the one that still runs at its middle, or the next.
            if (mark > before + 1)
                at = std::clamp((mark - 1) * Lane::kMarkSpans, at, last);
            else
                at = std::min(last, first_not_less(lane.ends, at, middle));
            out.sample[static_cast<std::size_t>(x)] = static_cast<std::uint32_t>(at);
        }
    }
}

}  // namespace

LaneGeometry lane_geometry(const Lane& lane, bool device, TimeRange range, int width) {
    if (width <= 0 || range.empty()) return {range, width, {}, {}, {}, {}, 0};
    if (!lane.values.empty()) return counter_geometry(lane, range, width);
    LaneGeometry out{range, width, {}, {}, {}, {}, 0};
    const TimeAxis axis{range, static_cast<double>(width)};
    const std::vector<FoldItem> items = fold(lane, range, width, device ? 4.0 : 3.0);
    out.blocks.reserve(items.size());
    bool dense = false;
    bool folded = false;
    for (const FoldItem& item : items) {
        Block block;
        block.first = item.first;
        block.count = item.count;
        block.x0 = std::min(column(axis, item.start, width), width - 1);
        block.x1 = std::min(width, std::max(column(axis, item.end, width), block.x0 + 1));
        block.starts_before = item.start < range.start;
        if (item.count > 1)
            block.kind = device ? BlockKind::busy : BlockKind::folded;
        else if (item.start == item.end)
            block.kind = BlockKind::instant;
        // A busy block covers every column that it touches, since each column says for itself how much of it is busy.
        if (block.kind == BlockKind::busy)
            block.x1 = std::clamp(static_cast<int>(std::ceil(std::min(axis.x(item.end), 1e9))), block.x1, width);
        folded = folded || block.kind == BlockKind::folded;
        dense = dense || block.kind == BlockKind::busy;
        out.blocks.push_back(block);
    }
    if (dense) out.busy = occupancy(lane, range, width, &out.sample);
    if (folded) sample_folded(lane, axis, out);
    return out;
}

const Block* block_at(const LaneGeometry& geometry, int x, int slack) noexcept {
    const auto after =
        std::upper_bound(geometry.blocks.begin(), geometry.blocks.end(), x, [](int at, const Block& b) { return at < b.x0; });
    const Block* best = nullptr;
    int distance = slack + 1;
    if (after != geometry.blocks.begin()) {
        const Block& before = *(after - 1);
        if (x < before.x1) return &before;
        if (x - before.x1 + 1 < distance) {
            best = &before;
            distance = x - before.x1 + 1;
        }
    }
    if (after != geometry.blocks.end() && after->x0 - x < distance) best = &*after;
    return best;
}

std::size_t span_under(const Lane& lane, const Block& block, TimeNs t) noexcept {
    if (block.count <= 1) return block.first;
    const auto begin = lane.starts.begin() + static_cast<std::ptrdiff_t>(block.first);
    const auto end = begin + static_cast<std::ptrdiff_t>(block.count);
    const auto after = std::upper_bound(begin, end, t);
    if (after == begin) return block.first;
    const auto at = static_cast<std::size_t>(after - 1 - lane.starts.begin());
    if (t < lane.ends[at] || after == end) return at;
    // In a gap: the nearer of the two neighbours.
    return time_difference(t, lane.ends[at]) <= time_difference(lane.starts[at + 1], t) ? at : at + 1;
}

}  // namespace faultline
