#include "views/timeline/overview.h"

#include <QKeyEvent>
#include <QMouseEvent>
#include <QPainter>
#include <QWheelEvent>
#include <algorithm>
#include <cmath>
#include <map>

#include "core/drawable.h"
#include "views/format.h"
#include "views/palette.h"
#include "views/timeline/log_marks.h"
#include "views/timeline/raster.h"

namespace faultline {

namespace {

constexpr double kEdge = 5;  ///< how near an edge of the handle is taken hold of
constexpr double kLeastHandle = 6;

/// Adds, per column, the share that outermost spans of a host lane cover; from folded items, so small gaps inside them count as covered.
void add_cover(const Lane& lane, TimeRange extent, std::vector<float>& into) {
    const TimeAxis axis{extent, static_cast<double>(into.size())};
    for (const FoldItem& item : fold(lane, extent, static_cast<int>(into.size()), 1.0)) {
        const double x0 = std::clamp(axis.x(item.start), 0.0, axis.width);
        const double x1 = std::clamp(axis.x(item.end), 0.0, axis.width);
        for (auto x = static_cast<std::size_t>(x0); x < into.size() && static_cast<double>(x) < x1; ++x) {
            const double part = std::min(x1, static_cast<double>(x) + 1) - std::max(x0, static_cast<double>(x));
            into[x] = std::max(into[x], static_cast<float>(part));
        }
    }
}

}  // namespace

OverviewShares overview_shares(const SpanIndex& index, TimeRange extent, int columns) {
    OverviewShares out;
    if (columns <= 0 || extent.empty()) return out;
    const auto width = static_cast<std::size_t>(columns);
    std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<float>> devices;
    for (const TrackLanes& track : index.tracks()) {
        if (track.track.kind == TrackKind::device) {
            const auto key = std::pair(index_of(track.track.source), track.track.device ? index_of(*track.track.device) : 0xffffffffU);
            std::vector<float>& busiest = devices[key];
            busiest.resize(width, 0.0F);
            for (const Lane& lane : track.lanes) {
                const std::vector<float> shares = occupancy(lane, extent, columns);
                for (std::size_t x = 0; x < shares.size(); ++x) busiest[x] = std::max(busiest[x], shares[x]);
            }
        } else if (track.track.kind == TrackKind::host && !track.lanes.empty()) {
            out.host.resize(width, 0.0F);
            add_cover(track.lanes.front(), extent, out.host);
        }
    }
    if (devices.empty()) return out;
    out.device.assign(width, 0.0F);
    for (const auto& [key, shares] : devices) {
        for (std::size_t x = 0; x < width; ++x) out.device[x] += shares[x] / static_cast<float>(devices.size());
    }
    return out;
}

Overview::Overview(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
    setObjectName(QStringLiteral("overview"));
    setFocusPolicy(Qt::StrongFocus);
    setMouseTracking(true);
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setAccessibleName(tr("Overview"));
    setAccessibleDescription(tr("The whole capture and the part that is shown. Arrow keys move it, plus and minus zoom."));
    settle_.setSingleShot(true);
    settle_.setInterval(350);
    connect(&settle_, &QTimer::timeout, this, [this] { session_.set_range(session_.range(), false); });
    connect(&session_, &Session::capture_changed, this, &Overview::forget);
    connect(&session_, &Session::range_changed, this, qOverload<>(&QWidget::update));
    connect(&session_, &Session::marked_changed, this, qOverload<>(&QWidget::update));
    connect(&session_, &Session::selection_changed, this, qOverload<>(&QWidget::update));
    connect(&session_, &Session::log_changed, this, qOverload<>(&QWidget::update));
    apply_theme();
}

void Overview::apply_theme() {
    metrics_ = TimelineMetrics::of(*this);
    setFixedHeight(metrics_.overview);
    forget();
}

void Overview::forget() {
    strip_ = QImage();
    update();
}

void Overview::set_right_margin(int px) {
    if (px == right_margin_) return;
    right_margin_ = px;
    forget();
}

void Overview::resizeEvent(QResizeEvent*) {
    metrics_.gutter = TimelineMetrics::of(*this).gutter;
    forget();
}

void Overview::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange)
        apply_theme();
}

TimeAxis Overview::axis() const { return {session_.extent(), static_cast<double>(std::max(1, width() - right_margin_ - metrics_.gutter))}; }

QRectF Overview::handle() const {
    if (session_.capture() == nullptr) return {};
    const TimeAxis a = axis();
    double x0 = a.x(session_.range().start);
    double x1 = a.x(session_.range().end);
    if (x1 - x0 < kLeastHandle) {  // a deep zoom still leaves something to take hold of
        const double middle = std::clamp((x0 + x1) / 2, kLeastHandle / 2, std::max(kLeastHandle / 2, a.width - kLeastHandle / 2));
        x0 = middle - kLeastHandle / 2;
        x1 = middle + kLeastHandle / 2;
    }
    return {metrics_.gutter + x0, static_cast<double>(strip_top() - 3), x1 - x0, static_cast<double>(strip_bottom() - strip_top() + 5)};
}

void Overview::paint_strip() {
    const double dpr = devicePixelRatioF();
    const TimeAxis a = axis();
    const int columns = std::max(1, static_cast<int>(std::lround(a.width * dpr)));
    const int rows = std::max(1, static_cast<int>(std::lround((strip_bottom() - strip_top()) * dpr)));
    strip_ = QImage(columns, rows, QImage::Format_RGB32);
    strip_.setDevicePixelRatio(dpr);
    const bool dark = is_dark(palette());
    const Chrome& colours = chrome(dark);
    const Canvas canvas(strip_);
    fill(canvas, {0, 0, columns, rows}, palette().color(QPalette::Base).rgb());
    const LoadedCapture& capture = *session_.capture();
    if (!capture.index) return;
    const OverviewShares shares = overview_shares(*capture.index, session_.extent(), columns);
    const int host = shares.host.empty() ? 0 : std::max(3, rows / 7);
    const int bottom = rows - host - (host > 0 ? 1 : 0);
    const int top = std::max(2, rows / 8);
    const auto blend_towards = [&](QRgb colour, float share) {
        const QColor base = palette().color(QPalette::Base);
        const QColor full = QColor::fromRgb(colour);
        const auto part = [share](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * static_cast<double>(share))); };
        return qRgb(part(base.red(), full.red()), part(base.green(), full.green()), part(base.blue(), full.blue()));
    };
    const QRgb busy = kind_colour(SpanKind::kernel, false, dark).rgb();
    for (int x = 0; x < static_cast<int>(shares.device.size()); ++x) {
        const float share = shares.device[static_cast<std::size_t>(x)];
        if (share <= 0.0F) continue;
        const int bar = std::max(1, static_cast<int>(std::lround(static_cast<double>(share) * (bottom - top))));
        fill(canvas, {x, bottom - bar, x + 1, bottom}, busy);
    }
    const QRgb op = kind_colour(SpanKind::op, false, dark).rgb();
    for (int x = 0; x < static_cast<int>(shares.host.size()); ++x) {
        fill(canvas, {x, rows - host, x + 1, rows}, blend_towards(op, shares.host[static_cast<std::size_t>(x)] * 0.85F));
    }
    int last_tick = -1000;
    for (const Step& step : capture.steps) {
        if (step.kind == StepKind::stall) continue;
        const int x = static_cast<int>(std::floor(a.x(step.start) * dpr));
        if (x - last_tick < std::lround(3 * dpr)) continue;  // closer ones would be a bar that says nothing
        last_tick = x;
        fill(canvas, {x, 0, x + 1, top}, colours.muted.rgb());
    }
    paint_findings(a);
}

void Overview::paint_findings(const TimeAxis& a) {
    const Chrome& colours = chrome(is_dark(palette()));
    const LoadedCapture& capture = *session_.capture();
    QPainter painter(&strip_);
    painter.setRenderHint(QPainter::Antialiasing);
    const double high = strip_.height() / strip_.devicePixelRatio();
    for (const Step& step : capture.steps) {  // a stall covers its whole length, hatched
        if (step.kind == StepKind::stall)
            painter.fillRect(QRectF(a.x(step.start), 0, std::max(2.0, a.x(step.end) - a.x(step.start)), high),
                             QBrush(colours.error, Qt::BDiagPattern));
    }
    painter.setPen(QPen(palette().color(QPalette::Base), 1));
    painter.setBrush(colours.error);
    double last = -1e9;
    for (std::size_t i = 0; i < capture.verdicts.size(); ++i) {
        if (!capture.verdicts[i].outlier || capture.steps[i].kind == StepKind::stall) continue;
        const double x = a.x(capture.steps[i].start);
        if (x - last < 6) continue;
        last = x;
        painter.drawPolygon(QPolygonF({{x - 5.5, high}, {x + 5.5, high}, {x, high - 9}}));
    }
    // Every line as a tick would be a bar; the warnings and errors are what is looked for.
    std::vector<LogMark> marks = LogMarks(capture).columns(session_.extent(), static_cast<int>(a.width));
    for (LogMark& mark : marks) mark = mark == LogMark::line ? LogMark::none : mark;
    paint_log_marks(painter, marks, 0, 0, 8, colours.muted, colours.warning, colours.error);
}

void Overview::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    const Chrome& colours = chrome(is_dark(palette()));
    painter.fillRect(rect(), palette().color(QPalette::Window));
    painter.fillRect(QRect(0, height() - 1, width(), 1), colours.border);
    if (session_.capture() == nullptr) return;
    if (strip_.isNull()) paint_strip();
    const TimeAxis a = axis();
    const QRectF strip(metrics_.gutter, strip_top(), a.width, strip_bottom() - strip_top());
    painter.drawImage(strip.topLeft(), strip_);
    if (const auto log = session_.selected_log(); log && session_.capture()->logs[*log].time) {
        const double x = a.x(*session_.capture()->logs[*log].time);
        if (x >= 0 && x <= a.width)
            painter.fillRect(QRectF(metrics_.gutter + std::floor(x), strip.top(), 1, strip.height()), palette().color(QPalette::Text));
    }
    for (const StepId id : session_.lit_steps()) {
        if (const Step* step = session_.capture()->step(id)) {
            QColor band = colours.accent;
            band.setAlpha(60);
            const double x = a.x(step->start);
            painter.fillRect(QRectF(metrics_.gutter + x, strip.top(), std::max(2.0, a.x(step->end) - x), strip.height()), band);
        }
    }
    const QRectF grip = handle();
    QColor veil = palette().color(QPalette::Window);
    veil.setAlpha(150);
    painter.fillRect(QRectF(strip.left(), strip.top(), std::max(0.0, grip.left() - strip.left()), strip.height()), veil);
    painter.fillRect(QRectF(grip.right(), strip.top(), std::max(0.0, strip.right() - grip.right()), strip.height()), veil);
    painter.setPen(QPen(colours.accent, hasFocus() ? 2 : 1));
    painter.drawRect(grip.adjusted(0.5, 0.5, -0.5, -0.5));
    if (grip.width() >= 14)
        for (const double x : {grip.left() - 1, grip.right() - 2})
            painter.fillRect(QRectF(x, grip.center().y() - 7, 3, 14), colours.accent);
    painter.setFont(metrics_.label_font);
    const QRect place(10, 0, metrics_.gutter - 18, height() - 2);
    painter.setPen(palette().color(QPalette::Text));
    painter.drawText(place.adjusted(0, 0, 0, -place.height() / 2 + 2), Qt::AlignLeft | Qt::AlignBottom, tr("Overview"));
    painter.setPen(colours.muted);
    painter.drawText(place.adjusted(0, place.height() / 2 + 1, 0, 0), Qt::AlignLeft | Qt::AlignTop,
                     tr("%1 of %2").arg(duration_text(session_.range().duration()), duration_text(session_.extent().duration())));
    if (hasFocus()) {
        painter.setPen(QPen(colours.accent, 2));
        painter.drawRect(rect().adjusted(1, 1, -1, -1));
    }
}

Overview::Grip Overview::grip_at(QPointF at) const {
    const QRectF grip = handle();
    if (std::abs(at.x() - grip.left()) <= kEdge && at.x() < grip.center().x()) return Grip::left;
    if (std::abs(at.x() - grip.right()) <= kEdge && at.x() > grip.center().x()) return Grip::right;
    return grip.contains(QPointF(at.x(), grip.center().y())) ? Grip::move : Grip::none;
}

void Overview::pass_through(TimeRange range) {
    session_.set_range(range, true);
    settle_.start();
}

void Overview::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || session_.capture() == nullptr || event->position().x() < metrics_.gutter) return;
    grip_ = grip_at(event->position());
    if (grip_ == Grip::none) {
        // Outside the handle: it comes to the pointer, and is then held.
        const TimeNs t = axis().time(event->position().x() - metrics_.gutter);
        const double half = time_difference(session_.range().end, session_.range().start) / 2;
        pass_through({time_plus(t, -half), time_plus(t, half)});
        grip_ = Grip::move;
    }
    press_x_ = event->position().x();
    press_range_ = session_.range();
}

void Overview::mouseMoveEvent(QMouseEvent* event) {
    if (session_.capture() == nullptr) return;
    if (grip_ == Grip::none) {
        const Grip over = grip_at(event->position());
        setCursor(over == Grip::move ? Qt::OpenHandCursor : over == Grip::none ? Qt::ArrowCursor : Qt::SizeHorCursor);
        return;
    }
    const double moved = (event->position().x() - press_x_) * axis().ns_per_px();
    TimeRange range = press_range_;
    if (grip_ != Grip::right) range.start = time_plus(range.start, moved);
    if (grip_ != Grip::left) range.end = time_plus(range.end, moved);
    if (grip_ == Grip::move) {  // kept whole at the ends of the capture
        const TimeRange all = session_.extent();
        if (range.start < all.start) range = {all.start, all.start + press_range_.duration()};
        if (range.end > all.end) range = {all.end - press_range_.duration(), all.end};
    }
    if (range.duration() < 100) return;
    pass_through({std::max(range.start, session_.extent().start), std::min(range.end, session_.extent().end)});
}

void Overview::mouseReleaseEvent(QMouseEvent*) { grip_ = Grip::none; }

void Overview::wheelEvent(QWheelEvent* event) {
    event->accept();
    if (session_.capture() == nullptr || event->angleDelta().y() == 0) return;
    const TimeAxis shown{session_.range(), axis().width};
    const TimeNs t = axis().time(event->position().x() - metrics_.gutter);
    pass_through(zoomed(shown, std::clamp(shown.x(t), 0.0, shown.width), std::pow(0.8, event->angleDelta().y() / 120.0)));
}

void Overview::keyPressEvent(QKeyEvent* event) {
    if (session_.capture() == nullptr) return QWidget::keyPressEvent(event);
    const TimeAxis shown{session_.range(), axis().width};
    const TimeNs length = session_.range().duration();
    switch (event->key()) {
        case Qt::Key_Left:
        case Qt::Key_A: pass_through(panned(shown, -shown.width * 0.1)); break;
        case Qt::Key_Right:
        case Qt::Key_D: pass_through(panned(shown, shown.width * 0.1)); break;
        case Qt::Key_PageUp: pass_through(panned(shown, -shown.width)); break;
        case Qt::Key_PageDown: pass_through(panned(shown, shown.width)); break;
        case Qt::Key_Home: pass_through({session_.extent().start, session_.extent().start + length}); break;
        case Qt::Key_End: pass_through({session_.extent().end - length, session_.extent().end}); break;
        case Qt::Key_Plus:
        case Qt::Key_Equal:
        case Qt::Key_W:
        case Qt::Key_Up: pass_through(zoomed(shown, shown.width / 2, 0.8)); break;
        case Qt::Key_Minus:
        case Qt::Key_S:
        case Qt::Key_Down: pass_through(zoomed(shown, shown.width / 2, 1.25)); break;
        case Qt::Key_0: session_.show_all(); break;
        default: QWidget::keyPressEvent(event);
    }
}

void Overview::focusInEvent(QFocusEvent* event) {
    QWidget::focusInEvent(event);
    update();
}

void Overview::focusOutEvent(QFocusEvent* event) {
    QWidget::focusOutEvent(event);
    update();
}

}  // namespace faultline
