#include "views/timeline/painter.h"

#include <algorithm>
#include <cmath>

#include "views/timeline/painter_frame.h"

namespace faultline {

namespace {

constexpr std::size_t kMostGeometries = 1024;

QRgb mixed(QRgb a, QRgb b, double share) {
    const auto part = [share](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * share)); };
    return qRgb(part(qRed(a), qRed(b)), part(qGreen(a), qGreen(b)), part(qBlue(a), qBlue(b)));
}

}  // namespace

TimelinePainter::TimelinePainter() : styles_(false, Qt::white) {}
TimelinePainter::~TimelinePainter() = default;

void TimelinePainter::set_theme(const QPalette& palette, const QFont& label_font) {
    palette_ = palette;
    font_ = label_font;
    styles_ = SpanStyles(is_dark(palette), palette.color(QPalette::Base));
}

void TimelinePainter::set_capture(const LoadedCapture* capture) {
    capture_ = capture;
    geometry_.clear();
    names_ = capture != nullptr ? std::make_unique<SpanNames>(capture->reader.get()) : nullptr;
    bubbles_ = capture != nullptr ? BubbleRows(*capture) : BubbleRows();
}

const LaneGeometry& TimelinePainter::geometry(const Row& row, const TimelineView& view) {
    if (geometry_.size() > kMostGeometries) geometry_.clear();
    LaneGeometry& kept = geometry_[row.lane];
    const int width = view.device_width();
    if (!kept.fits(view.range, width)) kept = lane_geometry(*row.lane, row.kind == RowKind::device, view.range, width);
    return kept;
}

QRectF TimelinePainter::block_rect(const Row& row, const Block& block, const TimelineView& view) {
    return {view.gutter + block.x0 / view.dpr, static_cast<double>(row.top - view.scroll), (block.x1 - block.x0) / view.dpr,
            static_cast<double>(row.height)};
}

void TimelinePainter::set_selection(const Session& session, const RequestLanes& requests) {
    const SpanChain& chain = session.lit();
    lit_.clear();
    lit_.reserve(chain.ancestors.size() + chain.launched.size());
    for (const SpanId id : chain.ancestors) lit_.push_back(id.value);
    for (const SpanId id : chain.launched) lit_.push_back(id.value);
    std::sort(lit_.begin(), lit_.end());
    selected_.reset();
    if (const auto span = session.selected_span()) selected_ = span->value;
    request_lanes_ = &requests;
    selected_request_ = session.selected_request();
    lit_requests_ = session.selected_step() ? requests.of_step(*session.selected_step()) : std::vector<std::uint32_t>();
}

const QImage& TimelinePainter::paint(const TimelineView& view, const RowLayout& layout, const Session& session) {
    const QSize size(std::max(1, static_cast<int>(std::lround(view.width * view.dpr))),
                     std::max(1, static_cast<int>(std::lround(view.height * view.dpr))));
    if (image_.size() != size) image_ = QImage(size, QImage::Format_RGB32);
    image_.setDevicePixelRatio(view.dpr);
    QFont font = font_;
    font.setPixelSize(std::max(6, static_cast<int>(std::lround(QFontInfo(font_).pixelSize() * view.dpr))));
    labels_.set_font(font);
    font.setWeight(QFont::DemiBold);
    bold_.set_font(font);

    const Canvas canvas(image_);
    const int gutter = static_cast<int>(std::lround(view.gutter * view.dpr));
    Frame frame{view,
                layout,
                session,
                canvas,
                canvas.clipped(gutter, 0, size.width(), size.height()),
                gutter,
                chrome(styles_.dark()),
                palette_.color(QPalette::Base).rgb(),
                palette_.color(QPalette::Text).rgb()};
    paint_ground(frame);
    const auto [first, last] = layout.visible(view.scroll, view.scroll + view.height);
    for (int i = first; i < last; ++i) paint_row(frame, layout.rows()[static_cast<std::size_t>(i)]);
    paint_arrows(frame);
    for (int i = first; i < last; ++i) paint_gutter(frame, layout.rows()[static_cast<std::size_t>(i)]);
    return image_;
}

void TimelinePainter::paint_ground(Frame& frame) {
    const int height = frame.canvas.height;
    fill(frame.canvas, {0, 0, frame.canvas.width, height}, frame.base);
    fill(frame.canvas, {0, 0, frame.gutter - 1, height}, palette_.color(QPalette::Window).rgb());
    fill(frame.canvas, {frame.gutter - 1, 0, frame.gutter, height}, frame.colours.border.rgb());
    const auto [first, last] = frame.layout.visible(frame.view.scroll, frame.view.scroll + frame.view.height);
    for (int i = first; i < last; ++i) {
        const Row& row = frame.layout.rows()[static_cast<std::size_t>(i)];
        const bool heading = row.kind == RowKind::process || row.kind == RowKind::layer;
        if (row.kind == RowKind::process)
            fill(frame.canvas, {0, frame.top(row), frame.canvas.width, frame.bottom(row)}, frame.colours.group.rgb());
        else if (!heading && row.band % 2 == 0)
            fill(frame.content, {frame.gutter, frame.top(row), frame.canvas.width, frame.bottom(row)}, frame.colours.lane.rgb());
    }
    const TimeNs step = nice_step(frame.view.axis().ns_per_px(), 90);
    int lines = 0;
    for (TimeNs t = floor_to(frame.view.range.start, step); t < frame.view.range.end && lines < 400;
         t = time_plus(t, static_cast<double>(step)), ++lines) {
        const int x = frame.x(t);
        fill(frame.content, {x, 0, x + 1, height}, frame.colours.grid.rgb());
    }
    if (const auto id = frame.session.selected_step(); id && capture_ != nullptr) {
        if (const Step* chosen = capture_->step(*id)) {
            const int x0 = frame.x(chosen->start);
            const int x1 = std::max(frame.x(chosen->end), x0 + 1);
            blend(frame.content, {x0, 0, x1, height}, frame.colours.accent.rgb(), styles_.dark() ? 26 : 12);
            blend(frame.content, {x0, 0, x0 + 1, height}, frame.colours.accent.rgb(), 190);
            blend(frame.content, {x1 - 1, 0, x1, height}, frame.colours.accent.rgb(), 190);
        }
    }
}

void TimelinePainter::paint_row(Frame& frame, const Row& row) {
    if (row.kind == RowKind::process || (row.kind == RowKind::layer && row.level == 1)) {
        const int y = row.kind == RowKind::process ? frame.top(row) : frame.bottom(row) - 1;
        fill(frame.canvas, {0, y, frame.canvas.width, y + 1}, frame.colours.border.rgb());
    }
    if (row.kind == RowKind::request) paint_requests(frame, row);
    if (row.lane == nullptr) return;
    if (row.kind == RowKind::device) paint_bubbles(frame, row);
    if (row.kind == RowKind::counter)
        paint_counter(frame, row);
    else
        paint_blocks(frame, row);
}

void TimelinePainter::paint_blocks(Frame& frame, const Row& row) {
    const LaneGeometry& lane_blocks = geometry(row, frame.view);
    const Lane& lane = *row.lane;
    const int y0 = frame.top(row) + 1;
    const int y1 = frame.bottom(row) - 1;
    for (const Block& block : lane_blocks.blocks) {
        const SpanKind kind = lane.kinds[block.first];
        const ShownName& name = names_->shown(kind, lane.names[block.first]);
        const SpanStyle& style = styles_.style(kind, name.collective, block.kind == BlockKind::span ? name.shade : 0);
        PixelRect rect{frame.gutter + block.x0, y0, frame.gutter + block.x1, y1};
        if (rect.x1 - rect.x0 >= 3 && block.x1 < lane_blocks.width) --rect.x1;  // a hairline between neighbours
        switch (block.kind) {
            case BlockKind::span:
                fill(frame.content, rect, style.fill, style.second, style.pattern);
                paint_label(frame, block, rect, name.label, style);
                break;
            case BlockKind::folded: paint_folded(frame, row, block, lane_blocks); break;
            case BlockKind::busy: paint_busy(frame, row, block, lane_blocks); break;
            case BlockKind::instant: {
                const int cap = std::max(1, frame.px(2));
                fill(frame.content, {rect.x0, y0, rect.x0 + std::max(1, frame.px(1)), y1}, style.fill);
                fill(frame.content, {rect.x0 - cap, y0, rect.x0 + cap + 1, y0 + 2 * cap}, style.fill);
                break;
            }
        }
        if (!lit_.empty() || selected_) paint_marks_of_block(frame, row, block, rect);
    }
}

/// Without the shade of the name: where many spans share a block, shades would only flicker.
const SpanStyle& TimelinePainter::style_at(const Lane& lane, std::size_t at) {
    return styles_.style(lane.kinds[at], names_->shown(lane.kinds[at], lane.names[at]).collective, 0);
}

void TimelinePainter::paint_folded(Frame& frame, const Row& row, const Block& block, const LaneGeometry& lane_blocks) {
    const int y0 = frame.top(row) + 1;
    const int y1 = frame.bottom(row) - 1;
    const int right = block.x1 - block.x0 >= 3 && block.x1 < lane_blocks.width ? block.x1 - 1 : block.x1;
    for (int x = block.x0; x < right;) {
        const SpanStyle& style = style_at(*row.lane, lane_blocks.sample[static_cast<std::size_t>(x)]);
        int end = x + LaneGeometry::kSlice;
        while (end < right && &style_at(*row.lane, lane_blocks.sample[static_cast<std::size_t>(end)]) == &style)
            end += LaneGeometry::kSlice;
        end = std::min(end, right);
        fill(frame.content, {frame.gutter + x, y0, frame.gutter + end, y1}, style.fill, style.second, Pattern::more);
        x = end;
    }
}

void TimelinePainter::paint_busy(Frame& frame, const Row& row, const Block& block, const LaneGeometry& lane_blocks) {
    if (lane_blocks.busy.empty()) return;
    const int height = frame.bottom(row) - frame.top(row) - 2;
    const auto width = static_cast<std::size_t>(block.x1 - block.x0);
    column_fill_.resize(width);
    column_quiet_.resize(width);
    column_bar_.resize(width);
    const SpanStyle* style = nullptr;
    for (std::size_t i = 0; i < width; ++i) {
        const std::size_t x = static_cast<std::size_t>(block.x0) + i;
        const double share = static_cast<double>(lane_blocks.busy[x]);
        if (i % LaneGeometry::kSlice == 0) style = &style_at(*row.lane, lane_blocks.sample[x]);
        column_fill_[i] = style->fill;
        column_quiet_[i] = style->quiet;
        column_bar_[i] = share <= 0 ? 0 : std::clamp(static_cast<int>(share * height + 0.5), 1, height);
    }
    columns(frame.content, frame.gutter + block.x0, frame.top(row) + 1, height, column_bar_, column_fill_, column_quiet_);
}

void TimelinePainter::paint_counter(Frame& frame, const Row& row) {
    const LaneGeometry& levels = geometry(row, frame.view);
    const SpanStyle& style = styles_.style(SpanKind::counter, false, 0);
    const int bottom = frame.bottom(row) - 1;
    const int height = bottom - frame.top(row) - 2;
    const QRgb area = mixed(frame.base, style.fill, 0.30);
    const int line = std::max(1, frame.px(1.5));
    for (int x = 0; x < static_cast<int>(levels.level.size()); ++x) {
        const float level = levels.level[static_cast<std::size_t>(x)];
        if (level < 0.0F) continue;
        const int y = bottom - static_cast<int>(std::lround(static_cast<double>(level) * height));
        const int left = frame.gutter + x;
        fill(frame.content, {left, y, left + 1, bottom}, area);
        fill(frame.content, {left, y - line, left + 1, y}, style.fill);
    }
}

void TimelinePainter::paint_label(Frame& frame, const Block& block, PixelRect rect, const QString& text, const SpanStyle& style) {
    const int pad = frame.px(block.starts_before ? 3 : 4);
    const int room = rect.x1 - rect.x0 - 2 * pad;
    if (room < frame.px(18)) return;
    const int y = rect.y0 + (rect.y1 - rect.y0 - labels_.height()) / 2;
    labels_.draw(frame.content.clipped(rect.x0, rect.y0, rect.x1, rect.y1), rect.x0 + pad, y, room, text, style.text);
}

}  // namespace faultline
