// The part of TimelinePainter that marks: the lit chain, the selection, launch arrows, and the names of the rows.
#include <algorithm>

#include "views/timeline/painter_frame.h"

namespace faultline {

namespace {

constexpr std::size_t kMostArrows = 24;

/// Whether any of the sorted ids lies in [first, last].
bool any_between(const std::vector<std::int64_t>& sorted, std::int64_t first, std::int64_t last) {
    const auto at = std::lower_bound(sorted.begin(), sorted.end(), first);
    return at != sorted.end() && *at <= last;
}

}  // namespace

void TimelinePainter::paint_marks_of_block(Frame& frame, const Row& row, const Block& block, PixelRect rect) {
    // The lit chain has a thin frame and a tab at its start, the selection a thick frame with a halo: told apart without their colours.
    const Lane& lane = *row.lane;
    const std::int64_t first = SpanId::make(lane.track, lane.ordinals[block.first]).value;
    const std::int64_t last = SpanId::make(lane.track, lane.ordinals[block.first + block.count - 1]).value;
    const int bar = std::max(2, frame.px(2));
    rect.x1 = std::max(rect.x1, rect.x0 + 2);
    if (any_between(lit_, first, last)) {
        outline(frame.content, rect, frame.colours.lit.rgb(), std::max(1, frame.px(1)));
        fill(frame.content, {rect.x0, rect.y0, std::min(rect.x1, rect.x0 + frame.px(3)), rect.y1}, frame.colours.lit.rgb());
    }
    if (!selected_ || *selected_ < first || *selected_ > last) return;
    if (block.count > 1 &&
        !std::binary_search(lane.ordinals.begin(), lane.ordinals.end(), static_cast<std::uint32_t>(SpanId{*selected_}.ordinal())))
        return;
    if (block.count > 1) {  // the selected one alone, at its place inside the block
        const std::size_t at = static_cast<std::size_t>(
            std::lower_bound(lane.ordinals.begin(), lane.ordinals.end(), static_cast<std::uint32_t>(SpanId{*selected_}.ordinal())) -
            lane.ordinals.begin());
        rect.x0 = std::clamp(frame.x(lane.starts[at]), rect.x0, rect.x1);
        rect.x1 = std::max(rect.x0 + 2, std::min(rect.x1, frame.x(lane.ends[at])));
    }
    outline(frame.content, {rect.x0 - 2, rect.y0 - 1, rect.x1 + 2, rect.y1 + 1}, frame.base, 1);
    outline(frame.content, {rect.x0 - 1, rect.y0 - 1, rect.x1 + 1, rect.y1 + 1}, frame.colours.selected.rgb(), bar);
}

void TimelinePainter::paint_arrows(Frame& frame) {
    const auto span = frame.session.selected_span();
    if (!span || capture_ == nullptr || !capture_->index) return;
    const auto chosen = capture_->index->place(*span);
    if (!chosen) return;
    const SpanChain& chain = frame.session.lit();
    const SpanKind kind = chosen->lane->kinds[chosen->at];
    if (is_api_call(kind)) {
        for (std::size_t i = 0; i < std::min(chain.launched.size(), kMostArrows); ++i) {
            if (const auto work = capture_->index->place(chain.launched[i])) paint_arrow(frame, *chosen, *work);
        }
        return;
    }
    if (!is_device_work(kind)) return;
    for (auto at = chain.ancestors.rbegin(); at != chain.ancestors.rend(); ++at) {
        const auto launch = capture_->index->place(*at);
        if (!launch || !is_api_call(launch->lane->kinds[launch->at])) continue;
        paint_arrow(frame, *launch, *chosen);
        return;
    }
}

void TimelinePainter::paint_arrow(Frame& frame, const SpanPlace& from, const SpanPlace& to) {
    const int from_row = frame.layout.row_of(from.lane);
    const int to_row = frame.layout.row_of(to.lane);
    if (from_row < 0 || to_row < 0) return;
    const Row& upper = frame.layout.rows()[static_cast<std::size_t>(from_row)];
    const Row& lower = frame.layout.rows()[static_cast<std::size_t>(to_row)];
    // Down from the end of the launch, across just above the device row, down into the start of the work: right angles only, so that it
    // is drawn with rectangles and stays crisp.
    const int x0 = frame.x(from.range().end);
    const int x1 = frame.x(to.range().start);
    const int y0 = frame.bottom(upper) - frame.px(4);
    const int y1 = frame.top(lower) + frame.px(1);
    const int bend = y1 - frame.px(9);
    const int half = std::max(1, frame.px(1));
    const auto line = [&](int ax, int ay, int bx, int by, int grow, QRgb colour) {
        fill(frame.content,
             {std::min(ax, bx) - grow, std::min(ay, by) - grow, std::max(ax, bx) + half + grow, std::max(ay, by) + half + grow}, colour);
    };
    for (const auto& [grow, colour] : {std::pair(half, frame.base), std::pair(0, frame.colours.lit.rgb())}) {
        line(x0, y0, x0, bend, grow, colour);
        line(x0, bend, x1, bend, grow, colour);
        line(x1, bend, x1, y1 - frame.px(3), grow, colour);
        triangle(frame.content, x1 + half / 2, y1 - frame.px(1) + grow, frame.px(4) + grow, Pointing::down, colour);
    }
    fill(frame.content, {x0 - frame.px(2), y0 - frame.px(2), x0 + frame.px(3), y0 + frame.px(3)}, frame.colours.lit.rgb());
}

void TimelinePainter::paint_gutter(Frame& frame, const Row& row) {
    const bool heading = row.kind == RowKind::process || row.kind == RowKind::layer;
    const int y0 = frame.top(row);
    const int y1 = frame.bottom(row);
    const int right = row.kind == RowKind::process ? frame.canvas.width - frame.px(8) : frame.gutter - frame.px(6);
    const int index = static_cast<int>(&row - frame.layout.rows().data());
    const bool current = index == frame.view.current_row && frame.view.focus;
    if (current) {
        blend(frame.canvas, {0, y0, heading ? frame.canvas.width : frame.gutter - 1, y1}, frame.colours.accent.rgb(), 36);
        fill(frame.canvas, {0, y0, frame.px(3), y1}, frame.colours.accent.rgb());
    }
    int x = frame.px(8 + 12 * std::max(0, row.level));
    if (row.toggles()) {
        const Pointing pointing = row.folded ? Pointing::right : row.kind == RowKind::more ? Pointing::up : Pointing::down;
        triangle(frame.canvas, x + frame.px(4), (y0 + y1) / 2, frame.px(4), pointing, frame.colours.muted.rgb());
    }
    x += frame.px(13);
    LabelCache& titles = row.kind == RowKind::process || (row.kind == RowKind::layer && row.level == 1) ? bold_ : labels_;
    const int y = y0 + (y1 - y0 - titles.height()) / 2;
    const bool quiet = row.kind == RowKind::more;
    if (!row.title.isEmpty()) {
        x += titles.draw(frame.canvas, x, y, right - x, row.title, quiet ? frame.colours.muted.rgb() : frame.text);
        x += frame.px(8);
    }
    if (!row.detail.isEmpty() && right - x > frame.px(30))
        labels_.draw(frame.canvas, x, y, right - x, row.detail, frame.colours.muted.rgb());
}

}  // namespace faultline
