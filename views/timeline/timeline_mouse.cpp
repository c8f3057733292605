// The pointer over the timeline: wheel, touchpad, dragging, clicking, hovering, and what is drawn over the painted rows for it.
#include <QApplication>
#include <QHelpEvent>
#include <QMouseEvent>
#include <QNativeGestureEvent>
#include <QPainter>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>

#include "views/format.h"
#include "views/palette.h"
#include "views/timeline/timeline_widget.h"

namespace faultline {

namespace {

constexpr double kNotch = 120;  ///< angle of one step of a wheel

/// How far the wheel went: pixels where the device says them, else three lines a notch.
QPointF wheel_pixels(const QWheelEvent& event, double line) {
    if (!event.pixelDelta().isNull()) return event.pixelDelta();
    return QPointF(event.angleDelta()) / kNotch * 3 * line;
}

}  // namespace

void TimelineWidget::wheelEvent(QWheelEvent* event) {
    event->accept();
    if (laid_out_ == nullptr) return;
    const double line = metrics_.rows.lane;
    const QPointF moved = wheel_pixels(*event, line);
    if (event->modifiers() & Qt::ControlModifier) {
        // A notch of a wheel is 0.8; a touchpad's small moves add up to the same.
        const double notches = event->pixelDelta().isNull() ? event->angleDelta().y() / kNotch : event->pixelDelta().y() / (3 * line);
        if (notches != 0)
            zoom_at(std::clamp(event->position().x() - metrics_.gutter, 0.0, static_cast<double>(view().content_width())),
                    std::pow(0.8, notches));
        return;
    }
    if (event->modifiers() & Qt::ShiftModifier) {
        const double px = moved.y() != 0 ? moved.y() : moved.x();
        if (px != 0) pan_by(-px);
        return;
    }
    if (moved.x() != 0 && std::abs(moved.x()) > std::abs(moved.y())) {
        pan_by(-moved.x());
        return;
    }
    verticalScrollBar()->setValue(verticalScrollBar()->value() - static_cast<int>(std::lround(moved.y())));
}

bool TimelineWidget::viewportEvent(QEvent* event) {
    switch (event->type()) {
        case QEvent::NativeGesture: {
            auto* gesture = static_cast<QNativeGestureEvent*>(event);
            if (gesture->gestureType() != Qt::ZoomNativeGesture || laid_out_ == nullptr) break;
            zoom_at(std::max(0.0, gesture->position().x() - metrics_.gutter), 1 / std::max(0.1, 1 + gesture->value()));
            return true;
        }
        case QEvent::ToolTip: {  // what is under the pointer for people whose pointer rests; moving shows it sooner
            const QPoint at = static_cast<QHelpEvent*>(event)->pos();
            QToolTip::showText(viewport()->mapToGlobal(at), hover_text(at), viewport());
            return true;
        }
        case QEvent::Leave: clear_hover(); break;
        default: break;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

void TimelineWidget::mousePressEvent(QMouseEvent* event) {
    if (laid_out_ == nullptr || drag_ != Drag::none) return;
    const QPoint at = event->position().toPoint();
    button_ = event->button();
    if (button_ != Qt::LeftButton && button_ != Qt::MiddleButton) return;
    press_ = at;
    press_time_ = view().axis().time(at.x() - metrics_.gutter);
    drag_time_ = press_time_;
    press_range_ = session_.range();
    press_scroll_ = verticalScrollBar()->value();
    drag_ = Drag::pressed;
    if (button_ == Qt::LeftButton && (event->modifiers() & Qt::ShiftModifier)) {
        drag_ = Drag::pan;
        viewport()->setCursor(Qt::ClosedHandCursor);
    }
}

void TimelineWidget::mouseMoveEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    if (drag_ == Drag::none)
        set_hover(at);
    else
        drag_to(at);
}

void TimelineWidget::mouseReleaseEvent(QMouseEvent* event) {
    if (drag_ == Drag::none || event->button() != button_) return;
    end_drag(event->position().toPoint());
}

void TimelineWidget::mouseDoubleClickEvent(QMouseEvent* event) {
    if (laid_out_ == nullptr || event->button() != Qt::LeftButton) return;
    const Hit found = hit(event->position().toPoint());
    if (found) session_.set_range(framed(found.span->range(), 0.6));
}

void TimelineWidget::drag_to(QPoint at) {
    if (drag_ == Drag::pressed) {
        if (press_.x() < metrics_.gutter || (at - press_).manhattanLength() < QApplication::startDragDistance()) return;
        drag_ = button_ == Qt::MiddleButton ? Drag::zoom : Drag::mark;
        clear_hover();
    }
    if (drag_ == Drag::pan) {
        const TimeAxis axis{press_range_, static_cast<double>(view().content_width())};
        pass_through(panned(axis, press_.x() - at.x()));
        verticalScrollBar()->setValue(press_scroll_ + press_.y() - at.y());
        return;
    }
    const double x = std::clamp(at.x() - metrics_.gutter, 0, view().content_width());
    drag_time_ = view().axis().time(x);
    if (drag_ == Drag::mark)
        session_.set_marked(drag_range());
    else
        viewport()->update();
}

TimeRange TimelineWidget::drag_range() const { return {std::min(press_time_, drag_time_), std::max(press_time_, drag_time_)}; }

void TimelineWidget::end_drag(QPoint at) {
    const Drag ended = drag_;
    drag_ = Drag::none;
    button_ = Qt::NoButton;
    viewport()->unsetCursor();
    viewport()->update();
    const bool cancelled = at.x() < 0 && at.y() < 0;
    if (cancelled) {
        if (ended == Drag::mark) session_.set_marked(std::nullopt);
        if (ended == Drag::pan) session_.set_range(press_range_, true);
        return;
    }
    if (ended == Drag::zoom) {
        if (!drag_range().empty()) session_.set_range(drag_range());
    } else if (ended == Drag::pan) {
        settle();
    } else if (ended == Drag::pressed) {
        click(at);
    }
}

void TimelineWidget::click(QPoint at) {
    const Hit found = hit(at);
    if (found.row >= 0) {
        const Row& row = layout_.rows()[static_cast<std::size_t>(found.row)];
        set_current_row(found.row);
        const bool heading = row.heading();
        if (row.toggles() && (heading || at.x() < metrics_.gutter)) {
            toggle_row(found.row);
            return;
        }
        if (heading || at.x() < metrics_.gutter) return;
    }
    own_selection_ = true;
    if (found) {
        session_.select_span(found.span->id());
        anchor_ = view().axis().time(at.x() - metrics_.gutter);
    } else if (found.request) {
        session_.select_request(found.request);
    } else if (found.bubble != nullptr) {
        session_.set_marked(TimeRange{found.bubble->start, found.bubble->start + found.bubble->duration});
    } else {
        session_.select_span(std::nullopt);
        session_.set_marked(std::nullopt);
    }
    own_selection_ = false;
}

QString TimelineWidget::hover_at(const Hit& found, QPoint at) {
    if (at.x() < metrics_.gutter || laid_out_ == nullptr) return {};
    if (found.request) return request_text(*found.request);
    if (found.bubble == nullptr) return {};
    QString host;
    if (found.bubble->host_span.valid() && laid_out_->index && painter_.names() != nullptr) {
        if (const auto place = laid_out_->index->place(found.bubble->host_span))
            host = painter_.names()->full(place->lane->names[place->at]);
    }
    return bubble_text(*found.bubble, host);
}

QRect TimelineWidget::hover_area(const Hit& found) const {
    if (found.row < 0) return {};
    const Row& row = layout_.rows()[static_cast<std::size_t>(found.row)];
    if (found.block != nullptr) return TimelinePainter::block_rect(row, *found.block, view()).toAlignedRect();
    if (found.request) return request_rect(*found.request);
    if (found.bubble == nullptr) return {};
    const TimelineView v = view();
    const double x0 = v.gutter + std::clamp(v.axis().x(found.bubble->start), -4.0, v.content_width() + 4.0);
    const double x1 = v.gutter + std::clamp(v.axis().x(found.bubble->start + found.bubble->duration), -4.0, v.content_width() + 4.0);
    return QRectF(x0, row.top - v.scroll, std::max(1.0, x1 - x0), row.height).toAlignedRect();
}

QString TimelineWidget::hover_text(QPoint at) {
    const Hit found = hit(at);
    if (const QString text = hover_at(found, at); !text.isEmpty()) return text;
    if (!found || painter_.names() == nullptr) {
        const bool gutter = found.row >= 0 && at.x() < metrics_.gutter;
        return gutter ? row_text(layout_.rows()[static_cast<std::size_t>(found.row)]) : QString();
    }
    const SpanPlace span = *found.span;
    const SpanKind kind = span.lane->kinds[span.at];
    QString name = painter_.names()->full(span.lane->names[span.at]);
    if (name.size() > 300) name = name.left(300) + QStringLiteral("…");
    QString text =
        QStringLiteral("<p style='white-space:pre-wrap'><b>%1</b></p>").arg(name.isEmpty() ? tr("(no name)") : name.toHtmlEscaped());
    text += tr("%1 · %2").arg(kind_text(kind), kind == SpanKind::instant ? tr("no duration") : duration_text(span.range().duration()));
    text += QStringLiteral("<br>") + tr("starts at %1").arg(time_text(span.range().start));
    if (found.block->count > 1) {
        const Lane& lane = *span.lane;
        const TimeRange all{lane.starts[found.block->first], lane.ends[found.block->first + found.block->count - 1]};
        text += QStringLiteral("<br>") + tr("%1 spans in %2 are shown as one here; zoom in to tell them apart")
                                             .arg(count_text(static_cast<std::int64_t>(found.block->count)), duration_text(all.duration()));
        if (found.block->kind == BlockKind::busy && all.duration() > 0) {
            const double share = static_cast<double>(lane.busy_in(all)) / static_cast<double>(all.duration());
            text += QStringLiteral("<br>") + tr("busy %1").arg(percent_text(share));
        }
    }
    return text;
}

void TimelineWidget::set_hover(QPoint at) {
    pointer_ = at;
    const Hit found = laid_out_ != nullptr ? hit(at) : Hit();
    const QRect rect = hover_area(found);
    if (found && found.block != nullptr) {
        // Inside a block of many the place of the pointer decides what the text says, so the text follows it.
        if (found.block->count > 1) QToolTip::hideText();
    }
    if (found.row >= 0) {
        const Row& row = layout_.rows()[static_cast<std::size_t>(found.row)];
        const bool hand = row.toggles() && (row.heading() || at.x() < metrics_.gutter);
        viewport()->setCursor(hand ? Qt::PointingHandCursor : Qt::ArrowCursor);
    }
    if (rect != hover_rect_) {
        viewport()->update(hover_rect_.adjusted(-2, -2, 2, 2));
        hover_rect_ = rect;
        viewport()->update(hover_rect_.adjusted(-2, -2, 2, 2));
        if (rect.isNull()) QToolTip::hideText();
    }
    if (!rect.isNull())
        hover_timer_.start();
    else
        hover_timer_.stop();
}

void TimelineWidget::show_hover() {
    if (hover_rect_.isNull() || drag_ != Drag::none) return;
    const QString text = hover_text(pointer_);
    if (!text.isEmpty()) QToolTip::showText(viewport()->mapToGlobal(pointer_), text, viewport());
}

void TimelineWidget::clear_hover() {
    hover_timer_.stop();
    if (hover_rect_.isNull()) return;
    viewport()->update(hover_rect_.adjusted(-2, -2, 2, 2));
    hover_rect_ = {};
    QToolTip::hideText();
}

void TimelineWidget::paint_overlay(QPainter& painter) {
    const Chrome& colours = chrome(is_dark(palette()));
    const QRect content(metrics_.gutter, 0, viewport()->width() - metrics_.gutter, viewport()->height());
    if (!hover_rect_.isNull()) {
        painter.save();
        painter.setClipRect(content);
        painter.setPen(palette().color(QPalette::Text));
        painter.drawRect(hover_rect_.adjusted(0, 0, -1, -1));
        painter.restore();
    }
    paint_log_marker(painter);
    if (drag_ == Drag::zoom)
        paint_range(painter, drag_range(), true);
    else if (session_.marked())
        paint_range(painter, *session_.marked(), false);
    if (hasFocus()) {
        painter.setPen(QPen(colours.accent, 2));
        painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
    }
}

void TimelineWidget::paint_log_marker(QPainter& painter) {
    const auto log = session_.selected_log();
    if (!log || laid_out_ == nullptr || !laid_out_->logs[*log].time) return;
    const LogLine& line = laid_out_->logs[*log];
    const TimelineView v = view();
    const double x = v.axis().x(*line.time);
    const double until = v.axis().x(*line.time + line.resolution_ns);
    if (until < 0 || x > v.content_width()) return;
    painter.save();
    painter.setClipRect(QRect(v.gutter, 0, v.content_width(), v.height));
    const QColor ink = palette().color(QPalette::Text);
    if (until - x >= 3) {  // a stamp of a whole second means all of it
        QColor band = ink;
        band.setAlpha(16);
        painter.fillRect(QRectF(v.gutter + x, 0, until - x, v.height), band);
    }
    painter.setPen(QPen(ink, 1, Qt::DashLine));
    const double at = v.gutter + std::floor(x) + 0.5;
    painter.drawLine(QPointF(at, 0), QPointF(at, v.height));
    painter.restore();
}

void TimelineWidget::paint_range(QPainter& painter, TimeRange range, bool zooming) {
    const TimelineView v = view();
    if (!range.overlaps(v.range)) return;
    const double x0 = v.gutter + std::clamp(v.axis().x(range.start), -10.0, v.content_width() + 10.0);
    const double x1 = v.gutter + std::clamp(v.axis().x(range.end), -10.0, v.content_width() + 10.0);
    QColor shade = chrome(is_dark(palette())).accent;
    painter.save();
    painter.setClipRect(QRect(v.gutter, 0, v.content_width(), v.height));
    const QColor line = shade;
    shade.setAlpha(zooming ? 60 : 26);
    painter.fillRect(QRectF(x0, 0, x1 - x0, v.height), shade);
    painter.fillRect(QRectF(x0, 0, 1, v.height), line);
    painter.fillRect(QRectF(x1 - 1, 0, 1, v.height), line);
    const QString text = zooming ? tr("zoom to %1").arg(duration_text(range.duration())) : duration_text(range.duration());
    painter.setFont(metrics_.label_font);
    const QFontMetrics font(metrics_.label_font);
    QRectF badge(0, 6, font.horizontalAdvance(text) + 16, font.height() + 6);
    badge.moveCenter(QPointF((x0 + x1) / 2, badge.center().y()));
    // At the side of the middle that is in sight.
    badge.moveLeft(std::clamp(badge.left(), v.gutter + 4.0, std::max(v.gutter + 4.0, v.width - badge.width() - 4.0)));
    painter.fillRect(badge, line);
    painter.setPen(text_on(line));
    painter.drawText(badge, Qt::AlignCenter, text);
    painter.restore();
}

}  // namespace faultline
