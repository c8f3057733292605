#include "views/roofline/roofline_plot.h"

#include <QKeyEvent>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>
#include <unordered_set>

#include "views/format.h"
#include "views/palette.h"

namespace faultline {

namespace {

constexpr double kReach = 10;

/// The smallest of 1, 2, 5 · 10^n that is at least `wanted`.
double nice(double wanted) {
    if (wanted <= 0) return 1;
    const double decade = std::pow(10.0, std::floor(std::log10(wanted)));
    for (const double factor : {1.0, 2.0, 5.0}) {
        if (decade * factor >= wanted * 0.999999) return decade * factor;
    }
    return decade * 10;
}

}  // namespace

RooflinePlot::RooflinePlot(Session* session, QWidget* parent) : QWidget(parent), session_(session) {
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setAccessibleName(tr("Roofline plot"));
    setAccessibleDescription(
        tr("Tokens against duration. Arrow keys move between steps, Page Up and Page Down between outliers, Enter chooses."));
    connect(session_, &Session::selection_changed, this, qOverload<>(&QWidget::update));
}

void RooflinePlot::set_series(RooflineSeries series) {
    series_ = std::move(series);
    current_.reset();
    hover_.reset();
    left_ = 0;
    right_ = 1;
    top_ = 1;
    if (!series_.points.empty()) {
        // From the least tokens on where they all lie far from 0, so that what differs is not squeezed into a corner.
        const double least = series_.points.front().x, most = series_.points.back().x;
        const double spare = std::max((most - least) * 0.06, most * 0.01 + 0.5);
        left_ = least < most * 0.4 ? 0 : std::max(0.0, least - spare);
        right_ = most + spare;
        for (const RooflinePoint& point : series_.points) top_ = std::max(top_, static_cast<double>(point.duration));
        top_ = std::max(top_, series_.expected(right_)) * 1.08;
    }
    forget();
    Q_EMIT current_changed();
}

void RooflinePlot::forget() {
    plot_ = QImage();
    update();
}

QRectF RooflinePlot::area() const {
    const QFontMetrics font = fontMetrics();
    const int left = font.horizontalAdvance(QStringLiteral("888.8 ms")) + 16;
    return QRectF(left, 10, std::max(10, width() - left - 14), std::max(10, height() - 10 - 2 * font.height() - 8));
}

QPointF RooflinePlot::to_pixels(double x, double duration) const {
    const QRectF a = area();
    return {a.left() + (x - left_) / (right_ - left_) * a.width(), a.bottom() - duration / top_ * a.height()};
}

QPointF RooflinePlot::place(std::size_t point) const {
    const RooflinePoint& p = series_.points[point];
    return to_pixels(p.x, static_cast<double>(p.duration));
}

std::optional<std::size_t> RooflinePlot::point_at(QPointF at) const {
    std::optional<std::size_t> best;
    double distance = kReach * kReach;
    for (std::size_t i = 0; i < series_.points.size(); ++i) {
        const QPointF d = place(i) - at;
        const double squared = d.x() * d.x() + d.y() * d.y();
        // Of two at one place the one that is out of line: it is painted above.
        if (squared > distance || (best && squared == distance && !series_.points[i].outlier)) continue;
        best = i;
        distance = squared;
    }
    return best;
}

void RooflinePlot::paint_axes(QPainter& painter, const QRectF& a) {
    const Chrome& colours = chrome(is_dark(palette()));
    const QFontMetrics font = fontMetrics();
    painter.setPen(colours.muted);
    const double step = nice(top_ / std::max(1.0, a.height() / 45));
    for (double y = 0; y <= top_; y += step) {
        const double py = to_pixels(left_, y).y();
        painter.fillRect(QRectF(a.left(), std::floor(py), a.width(), 1), colours.grid);
        painter.drawText(QRectF(0, py - font.height(), a.left() - 8, 2 * font.height()), Qt::AlignRight | Qt::AlignVCenter,
                         y == 0 ? QStringLiteral("0") : duration_text(static_cast<TimeNs>(y)));
    }
    const double across = std::max(1.0, nice((right_ - left_) / std::max(1.0, a.width() / 80)));
    for (double x = std::ceil(left_ / across) * across; x <= right_; x += across) {
        const double px = to_pixels(x, 0).x();
        painter.fillRect(QRectF(std::floor(px), a.bottom(), 1, 4), colours.muted);
        painter.drawText(QRectF(px - 60, a.bottom() + 5, 120, font.height()), Qt::AlignHCenter | Qt::AlignTop,
                         QLocale().toString(static_cast<qlonglong>(std::llround(x))));
    }
    painter.drawText(QRectF(a.left(), height() - font.height() - 2, a.width(), font.height()), Qt::AlignHCenter,
                     series_.by_order ? tr("step of this kind, in order") : tr("tokens of the step"));
    painter.fillRect(QRectF(a.left(), a.top(), 1, a.height()), colours.border);
    painter.fillRect(QRectF(a.left(), a.bottom(), a.width(), 1), colours.border);
}

void RooflinePlot::paint_shape(QPainter& painter, const RooflinePoint& point, QPointF at, double size) const {
    // In line: a ring. Too slow: a solid triangle. Out of line by something else: a solid diamond.
    const Chrome& colours = chrome(is_dark(palette()));
    if (!point.outlier) {
        painter.setPen(QPen(kind_colour(SpanKind::kernel, false, is_dark(palette())), 1.2));
        painter.setBrush(Qt::NoBrush);
        painter.drawEllipse(at, size * 0.7, size * 0.7);
        return;
    }
    painter.setPen(QPen(palette().color(QPalette::Base), 1));
    painter.setBrush(point.slow ? colours.error : colours.warning);
    if (point.slow)
        painter.drawPolygon(QPolygonF({at + QPointF(0, -1.4 * size), at + QPointF(1.3 * size, size), at + QPointF(-1.3 * size, size)}));
    else
        painter.drawPolygon(QPolygonF(
            {at + QPointF(0, -1.4 * size), at + QPointF(1.4 * size, 0), at + QPointF(0, 1.4 * size), at + QPointF(-1.4 * size, 0)}));
}

void RooflinePlot::paint_plot() {
    const double dpr = devicePixelRatioF();
    plot_ = QImage(size() * dpr, QImage::Format_RGB32);
    plot_.setDevicePixelRatio(dpr);
    plot_.fill(palette().color(QPalette::Base));
    QPainter painter(&plot_);
    painter.setFont(font());
    const QRectF a = area();
    paint_axes(painter, a);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setClipRect(a.adjusted(-6, -6, 6, 6));
    if (series_.line) {
        painter.setPen(QPen(chrome(is_dark(palette())).accent, 2, series_.line->rule == "median" ? Qt::DashLine : Qt::SolidLine));
        painter.drawLine(to_pixels(left_, series_.expected(left_)), to_pixels(right_, series_.expected(right_)));
    }
    // A hundred thousand steps share few places: one ring a pixel is enough. Outliers come last, on top.
    std::unordered_set<std::int64_t> taken;
    for (const bool outliers : {false, true}) {
        for (std::size_t i = 0; i < series_.points.size(); ++i) {
            if (series_.points[i].outlier != outliers) continue;
            const QPointF at = place(i);
            const std::int64_t key = std::llround(at.x()) * 100'000 + std::llround(at.y());
            if (!outliers && !taken.insert(key).second) continue;
            paint_shape(painter, series_.points[i], at, 4);
        }
    }
}

void RooflinePlot::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    if (plot_.isNull()) paint_plot();
    painter.drawImage(QPointF(0, 0), plot_);
    painter.setRenderHint(QPainter::Antialiasing);
    const Chrome& colours = chrome(is_dark(palette()));
    for (std::size_t i = 0; session_->capture() != nullptr && i < series_.points.size(); ++i) {
        if (session_->selected_step() != std::optional(session_->capture()->steps[series_.points[i].step].id)) continue;
        const QPointF at = place(i);
        painter.setPen(QPen(colours.selected, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawEllipse(at, 9, 9);
        painter.setPen(QPen(colours.selected, 1, Qt::DotLine));
        painter.drawLine(QPointF(at.x(), at.y() + 9), QPointF(at.x(), area().bottom()));
        painter.drawLine(QPointF(at.x() - 9, at.y()), QPointF(area().left(), at.y()));
    }
    for (const auto& marked : {hover_, hasFocus() ? current_ : std::nullopt}) {
        if (!marked) continue;
        painter.setPen(QPen(palette().color(QPalette::Text), 1.5));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(QRectF(place(*marked) - QPointF(7, 7), QSizeF(14, 14)));
    }
    if (hasFocus()) {
        painter.setRenderHint(QPainter::Antialiasing, false);
        painter.setPen(QPen(colours.accent, 2));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(rect().adjusted(1, 1, -1, -1));
    }
}

void RooflinePlot::set_current(std::optional<std::size_t> point) {
    if (point == current_) return;
    current_ = point;
    update();
    Q_EMIT current_changed();
}

void RooflinePlot::choose(std::size_t point) {
    set_current(point);
    session_->select_step(session_->capture()->steps[series_.points[point].step].id);
}

void RooflinePlot::move(int direction, bool outliers) {
    const auto count = static_cast<std::ptrdiff_t>(series_.points.size());
    std::ptrdiff_t at = current_ ? static_cast<std::ptrdiff_t>(*current_) + direction : direction > 0 ? 0 : count - 1;
    if (!current_ && session_->selected_step() && !outliers) {  // from the chosen step on
        for (std::ptrdiff_t i = 0; i < count; ++i) {
            if (session_->capture()->steps[series_.points[static_cast<std::size_t>(i)].step].id == *session_->selected_step())
                at = i + direction;
        }
    }
    while (outliers && at >= 0 && at < count && !series_.points[static_cast<std::size_t>(at)].outlier) at += direction;
    if (at >= 0 && at < count) set_current(static_cast<std::size_t>(at));
}

void RooflinePlot::keyPressEvent(QKeyEvent* event) {
    if (session_->capture() == nullptr || series_.points.empty()) return QWidget::keyPressEvent(event);
    switch (event->key()) {
        case Qt::Key_Right:
        case Qt::Key_Down: move(1, false); break;
        case Qt::Key_Left:
        case Qt::Key_Up: move(-1, false); break;
        case Qt::Key_PageDown: move(1, true); break;
        case Qt::Key_PageUp: move(-1, true); break;
        case Qt::Key_Home: set_current(0); break;
        case Qt::Key_End: set_current(series_.points.size() - 1); break;
        case Qt::Key_Return:
        case Qt::Key_Enter:
        case Qt::Key_Space:
            if (current_) choose(*current_);
            break;
        default: QWidget::keyPressEvent(event);
    }
}

void RooflinePlot::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || session_->capture() == nullptr) return;
    if (const auto point = point_at(event->position())) choose(*point);
}

void RooflinePlot::mouseMoveEvent(QMouseEvent* event) {
    const auto point = session_->capture() != nullptr ? point_at(event->position()) : std::nullopt;
    setCursor(point ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (point == hover_) return;
    hover_ = point;
    if (point)
        QToolTip::showText(event->globalPosition().toPoint(), point_text(*session_->capture(), series_, series_.points[*point]), this);
    else
        QToolTip::hideText();
    update();
}

void RooflinePlot::leaveEvent(QEvent* event) {
    QWidget::leaveEvent(event);
    hover_.reset();
    update();
}

void RooflinePlot::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    forget();
}

void RooflinePlot::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) forget();
}

void RooflinePlot::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    update();
}

void RooflinePlot::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    update();
}

}  // namespace faultline
