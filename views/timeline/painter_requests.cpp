// The part of TimelinePainter that paints requests and the bubbles of devices.
#include <QCoreApplication>
#include <algorithm>

#include "views/format.h"
#include "views/timeline/bubble_rows.h"
#include "views/timeline/painter_frame.h"

namespace faultline {

namespace {

/// First position from `from` on whose item begins at or after `t`.
template <class Item>
std::size_t first_from(const std::vector<Item>& items, std::size_t from, TimeNs t) {
    return static_cast<std::size_t>(std::lower_bound(items.begin() + static_cast<std::ptrdiff_t>(from), items.end(), t,
                                                     [](const Item& item, TimeNs at) { return item.start < at; }) -
                                    items.begin());
}

}  // namespace

void TimelinePainter::paint_requests(Frame& frame, const Row& row) {
    if (row.requests == nullptr) return;
    const RequestLane& lane = *row.requests;
    if (request_lanes_ != nullptr && &lane == request_lanes_->lanes.data() && !request_lanes_->any_in(frame.view.range)) {
        const QString text = QCoreApplication::translate("Timeline", "no request is known to live in this part");
        labels_.draw(frame.content, frame.gutter + frame.px(10), (frame.top(row) + frame.bottom(row) - labels_.height()) / 2,
                     frame.canvas.width - frame.gutter - frame.px(20), text, frame.colours.muted.rgb());
        return;
    }
    const int y0 = frame.top(row) + 1;
    const int y1 = frame.bottom(row) - 1;
    const int middle = (y0 + y1) / 2;
    const int thin = std::max(1, frame.px(1.5));
    const auto time_at = [&](int x) { return frame.view.axis().time((x - frame.gutter) / frame.view.dpr); };
    // While a request lives it has a line; what the engine did for it stands on the line.
    for (std::size_t i = lane.first_bar(frame.view.range.start); i < lane.bars.size() && lane.bars[i].start < frame.view.range.end;) {
        const int x0 = frame.x(lane.bars[i].start);
        const std::size_t next = frame.x(lane.bars[i].end) - x0 < 2 ? std::max(i + 1, first_from(lane.bars, i, time_at(x0 + 2))) : i + 1;
        fill(frame.content, {x0, middle, std::max(x0 + 1, frame.x(lane.bars[next - 1].end)), middle + thin}, frame.colours.muted.rgb());
        i = next;
    }
    for (std::size_t i = lane.first_segment(frame.view.range.start);
         i < lane.segments.size() && lane.segments[i].start < frame.view.range.end;) {
        const RequestSegment& segment = lane.segments[i];
        const int x0 = frame.x(segment.start);
        int x1 = std::max(x0 + 1, frame.x(segment.end));
        std::size_t next = i + 1;
        if (x1 - x0 < 2) {  // too narrow to be told apart: the first of them stands for those that begin in the same two pixels
            next = std::max(next, first_from(lane.segments, i, time_at(x0 + 2)));
            x1 = x0 + 2;
        }
        paint_request_part(frame, segment.part, {x0, y0, x1, y1});
        i = next;
    }
    for (std::size_t i = lane.first_bar(frame.view.range.start); i < lane.bars.size() && lane.bars[i].start < frame.view.range.end;) {
        const RequestBar& bar = lane.bars[i];
        const PixelRect rect{frame.x(bar.start), y0, frame.x(bar.end), y1};
        if (rect.x1 - rect.x0 >= 3) {
            paint_request_marks(frame, bar, rect);
            ++i;
        } else {
            i = std::max(i + 1, first_from(lane.bars, i, time_at(rect.x0 + 3)));
        }
    }
    if (!selected_request_) return;
    // The selected one is seen however narrow it is.
    const std::size_t at = lane.first_bar(request_range(*capture_, capture_->requests[*selected_request_]).start);
    if (at >= lane.bars.size() || lane.bars[at].request != *selected_request_) return;
    const int x0 = frame.x(lane.bars[at].start);
    if (const int x1 = frame.x(lane.bars[at].end); x1 - x0 < 3) paint_request_marks(frame, lane.bars[at], {x0, y0, x0 + 2, y1});
}

void TimelinePainter::paint_request_part(Frame& frame, RequestPart part, PixelRect rect) {
    // Waiting is an empty frame with hatching, prefill a full bar, decode a lower striped one: told apart without their colours.
    switch (part) {
        case RequestPart::waiting:
            stipple(frame.content, rect, frame.colours.muted.rgb(), Pattern::diagonal);
            outline(frame.content, rect, frame.colours.muted.rgb(), 1);
            break;
        case RequestPart::prefill: fill(frame.content, rect, styles_.style(SpanKind::async, false, 0).fill); break;
        case RequestPart::decode: {
            const SpanStyle& style = styles_.style(SpanKind::range, false, 0);
            const int lower = (rect.y1 - rect.y0) / 5;
            if (rect.x1 - rect.x0 >= 3) --rect.x1;
            fill(frame.content, {rect.x0, rect.y0 + lower, rect.x1, rect.y1 - lower}, style.fill, style.second,
                 rect.x1 - rect.x0 >= 6 ? Pattern::horizontal : Pattern::solid);
            break;
        }
    }
}

void TimelinePainter::paint_request_marks(Frame& frame, const RequestBar& bar, PixelRect rect) {
    const Request& request = capture_->requests[bar.request];
    const int line = std::max(1, frame.px(1.5));
    if (bar.first_token) {
        const int x = frame.x(*bar.first_token);
        fill(frame.content, {x, rect.y0, x + line, rect.y1}, frame.text);
        triangle(frame.content, x + line / 2, rect.y0 + frame.px(2), frame.px(4), Pointing::down, frame.text);
    }
    if (bar.end_known) fill(frame.content, {rect.x1 - line, rect.y0, rect.x1, rect.y1}, frame.text);
    if (std::binary_search(lit_requests_.begin(), lit_requests_.end(), bar.request))
        outline(frame.content, rect, frame.colours.lit.rgb(), std::max(1, frame.px(1)));
    if (selected_request_ == std::optional<std::size_t>(bar.request)) {
        outline(frame.content, {rect.x0 - 2, rect.y0 - 1, rect.x1 + 2, rect.y1 + 1}, frame.base, 1);
        outline(frame.content, {rect.x0 - 1, rect.y0 - 1, rect.x1 + 1, rect.y1 + 1}, frame.colours.selected.rgb(),
                std::max(2, frame.px(2)));
    }
    int left = std::max(rect.x0, frame.gutter) + frame.px(3);
    int room = std::min(rect.x1, frame.canvas.width) - left - frame.px(6);
    if (bar.first_token) {  // the name stands on the roomier side of the marker and never over it
        const int before = frame.x(*bar.first_token) - frame.px(6) - left;
        const int after = frame.x(*bar.first_token) + frame.px(7);
        if (before >= 0 && before < room) {
            const int beyond = left + room - after;
            room = std::max(before, beyond);
            if (beyond > before) left = after;
        }
    }
    if (room < frame.px(34)) return;
    QString name = QString::fromStdString(request.name);
    if (request.aborted) name += QStringLiteral(" × ") + QCoreApplication::translate("Timeline", "aborted");
    const auto label = labels_.label(name);
    const int width = std::min(label->width() + frame.px(6), room);
    const int y = (rect.y0 + rect.y1 - labels_.height()) / 2;
    blend(frame.content, {left, y, left + width, y + labels_.height()}, frame.base, 205);  // a plate, so that the name reads on any part
    labels_.draw(frame.content, left + frame.px(3), y, width - frame.px(4), name, frame.text);
}

void TimelinePainter::paint_bubbles(Frame& frame, const Row& row) {
    if (row.track == nullptr || capture_ == nullptr) return;
    const BubbleRange of_device = bubbles_.of(*row.track);
    if (of_device.empty()) return;
    const int index = static_cast<int>(&row - frame.layout.rows().data());
    const bool first_row = index > 0 && frame.layout.rows()[static_cast<std::size_t>(index - 1)].kind == RowKind::layer;
    const int y0 = frame.top(row) + 1;
    const int y1 = frame.bottom(row) - 1;
    const QRgb ink = frame.colours.muted.rgb();
    for (const Bubble* bubble = first_bubble(of_device, frame.view.range.start);
         bubble != of_device.end && bubble->start < frame.view.range.end;) {
        const int x0 = std::max(frame.x(bubble->start), frame.gutter - 8);
        const int x1 = std::min(frame.x(bubble->start + bubble->duration), frame.canvas.width + 8);
        if (x1 - x0 < std::max(3, frame.px(3))) {  // a hairline says nothing: on to the first that begins beyond it
            const TimeNs until = frame.view.axis().time((std::max(x1, x0 + 1) - frame.gutter) / frame.view.dpr);
            bubble =
                std::max(bubble + 1, std::lower_bound(bubble, of_device.end, until, [](const Bubble& b, TimeNs t) { return b.start < t; }));
            continue;
        }
        const PixelRect rect{x0, y0, x1 - 1, y1};
        stipple(frame.content, rect, ink, bubble_pattern(bubble->cause));
        fill(frame.content, {x0, y0, x0 + 1, y1}, ink);
        fill(frame.content, {x1 - 2, y0, x1 - 1, y1}, ink);
        if (first_row) paint_bubble_label(frame, *bubble, rect);
        ++bubble;
    }
}

void TimelinePainter::paint_bubble_label(Frame& frame, const Bubble& bubble, PixelRect rect) {
    const int room = std::min(rect.x1, frame.canvas.width) - std::max(rect.x0, frame.gutter) - frame.px(4);
    // The longest text that fits: cause and length, the cause, its letter.
    for (const QString& text : {bubble_word(bubble.cause) + QStringLiteral(" · ") + duration_text(bubble.duration),
                                bubble_word(bubble.cause), QString(bubble_letter(bubble.cause))}) {
        const int width = labels_.label(text)->width();
        if (width + frame.px(8) > room) continue;
        const int x = (std::max(rect.x0, frame.gutter) + std::min(rect.x1, frame.canvas.width) - width) / 2;
        const int y = (rect.y0 + rect.y1 - labels_.height()) / 2;
        fill(frame.content, {x - frame.px(3), y, x + width + frame.px(3), y + labels_.height()}, frame.base);
        labels_.draw(frame.content, x, y, width + frame.px(2), text, frame.text);
        return;
    }
}

}  // namespace faultline
