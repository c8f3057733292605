#include "views/timeline/ruler.h"

#include <QApplication>
#include <QHelpEvent>
#include <QLocale>
#include <QMouseEvent>
#include <QPainter>
#include <QToolTip>
#include <algorithm>
#include <cmath>

#include "views/format.h"
#include "views/palette.h"
#include "views/timeline/span_names.h"

namespace faultline {

namespace {

constexpr double kTickPixels = 90;

/// The unit in which steps of this size are counted, and the larger one at whose multiples the whole time is written.
struct Unit {
    TimeNs ns;
    TimeNs whole;
    const char* symbol;
    int decimals;  ///< of the whole time in seconds
};

Unit unit_of(TimeNs step) {
    if (step < 1'000) return {1, 1'000, "ns", 6};
    if (step < 1'000'000) return {1'000, 1'000'000, "µs", 3};
    if (step < 1'000'000'000) return {1'000'000, 1'000'000'000, "ms", 0};
    return {1'000'000'000, 1'000'000'000, "s", 0};
}

QString whole_text(TimeNs t, const Unit& unit) {
    // Integers all the way: a double would lose the nanoseconds that the text is about.
    const bool negative = t < 0;
    const auto size = negative ? ~static_cast<std::uint64_t>(t) + 1 : static_cast<std::uint64_t>(t);
    QString text = QLocale().toString(static_cast<qulonglong>(size / 1'000'000'000));
    if (unit.decimals > 0) {
        const QString fraction = QStringLiteral("%1").arg(size % 1'000'000'000, 9, 10, QLatin1Char('0'));
        text += QLocale().decimalPoint() + fraction.left(unit.decimals);
    }
    return (negative ? QLocale().negativeSign() : QString()) + text + QChar(0x00a0) + QLatin1Char('s');
}

/// What a bar of the band says: phase, tokens and requests where they are known, else the name.
QString step_label(const Step& step) {
    QStringList parts;
    if (step.kind == StepKind::stall) return Ruler::tr("stall %1").arg(duration_text(step.end - step.start));
    if (step.phase != StepPhase::other) parts << phase_text(step.phase);
    if (step.tokens) parts << (*step.tokens == 1 ? Ruler::tr("1 token") : Ruler::tr("%1 tokens").arg(count_text(*step.tokens)));
    if (step.batch) parts << (*step.batch == 1 ? Ruler::tr("1 request") : Ruler::tr("%1 requests").arg(count_text(*step.batch)));
    if (parts.isEmpty()) parts << short_name(SpanKind::python, step.name);
    return parts.join(QStringLiteral(" · "));
}

}  // namespace

TimeNs tick_anchor(TimeNs t, TimeNs step) { return floor_to(t, unit_of(step).whole); }

TickText tick_text(TimeNs t, TimeNs step) {
    const Unit unit = unit_of(step);
    const TimeNs anchor = floor_to(t, unit.whole);
    if (t == anchor) return {whole_text(t, unit), true};
    return {QLatin1Char('+') + QLocale().toString(static_cast<qlonglong>((t - anchor) / unit.ns)) + QChar(0x00a0) +
                QString::fromUtf8(unit.symbol),
            false};
}

Ruler::Ruler(Session& session, QWidget* parent) : QWidget(parent), session_(session) {
    setObjectName(QStringLiteral("ruler"));
    setAccessibleName(tr("Time and steps"));
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setMouseTracking(true);
    for (const auto signal : {&Session::capture_changed, &Session::range_changed, &Session::selection_changed, &Session::marked_changed,
                              &Session::log_changed}) {
        connect(&session_, signal, this, qOverload<>(&QWidget::update));
    }
    connect(&session_, &Session::capture_changed, this,
            [this] { log_marks_ = session_.capture() != nullptr ? LogMarks(*session_.capture()) : LogMarks(); });
    apply_theme();
}

void Ruler::apply_theme() {
    metrics_ = TimelineMetrics::of(*this);
    setFixedHeight(metrics_.ruler + metrics_.steps);
    update();
}

void Ruler::set_right_margin(int px) {
    right_margin_ = px;
    update();
}

QSize Ruler::sizeHint() const { return {600, metrics_.ruler + metrics_.steps}; }

TimeAxis Ruler::axis() const { return {session_.range(), static_cast<double>(std::max(1, width() - right_margin_ - metrics_.gutter))}; }

void Ruler::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    metrics_.gutter = TimelineMetrics::of(*this).gutter;
}

void Ruler::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange)
        apply_theme();
}

void Ruler::paintEvent(QPaintEvent*) {
    QPainter painter(this);
    painter.fillRect(rect(), palette().color(QPalette::Window));
    if (session_.capture() == nullptr) return;
    painter.setFont(metrics_.label_font);
    paint_ticks(painter);
    paint_steps(painter);
    paint_log(painter);
    const QColor border = chrome(is_dark(palette())).border;
    painter.fillRect(QRect(0, height() - 1, width(), 1), border);
    painter.fillRect(QRect(metrics_.gutter - 1, 0, 1, height()), border);
}

void Ruler::paint_ticks(QPainter& painter) {
    const Chrome& colours = chrome(is_dark(palette()));
    const TimeAxis a = axis();
    const QFontMetrics font(metrics_.label_font);
    const TimeNs step = nice_step(a.ns_per_px(), kTickPixels);
    const int baseline = (metrics_.ruler - font.height()) / 2 + font.ascent() - 1;
    painter.save();
    painter.setClipRect(QRect(metrics_.gutter, 0, static_cast<int>(a.width), height()));
    int lines = 0;
    for (TimeNs t = floor_to(a.range.start, step); t < a.range.end && lines < 400; t = time_plus(t, static_cast<double>(step)), ++lines) {
        const double x = metrics_.gutter + std::floor(a.x(t));
        const TickText text = tick_text(t, step);
        painter.fillRect(QRectF(x, metrics_.ruler - (text.strong ? 9 : 5), 1, text.strong ? 9 : 5),
                         text.strong ? palette().color(QPalette::Text) : colours.muted);
        if (t < a.range.start) continue;  // half of its text would lie left of the edge
        QFont own = metrics_.label_font;
        own.setWeight(text.strong ? QFont::DemiBold : QFont::Normal);
        painter.setFont(own);
        painter.setPen(text.strong ? palette().color(QPalette::Text) : colours.muted);
        painter.drawText(QPointF(x + 4, baseline), text.text);
    }
    painter.restore();
    // The gutter says from where the "+" is counted, and the wall clock of the left edge where it is known.
    const CaptureReader* reader = session_.capture()->reader.get();
    const auto zero = reader != nullptr ? reader->zero_wall_ns() : std::nullopt;
    painter.setPen(palette().color(QPalette::Text));
    QRect place(10, 0, metrics_.gutter - 18, metrics_.ruler);
    const TimeNs anchor = tick_anchor(a.range.start, step);
    const QString from = step < 1'000'000'000 && anchor < a.range.start ? tick_text(anchor, step).text : QString();
    painter.drawText(place, Qt::AlignRight | Qt::AlignVCenter, from);
    if (zero) {
        std::int64_t wall = 0;
        if (__builtin_add_overflow(*zero, a.range.start, &wall)) return;
        const QString clock = wall_text(wall).section(QLatin1Char(' '), 1, 1).left(12);
        painter.setPen(colours.muted);
        painter.drawText(place, Qt::AlignLeft | Qt::AlignVCenter, clock);
    }
}

void Ruler::paint_steps(QPainter& painter) {
    const Chrome& colours = chrome(is_dark(palette()));
    const TimeAxis a = axis();
    const int top = metrics_.ruler;
    const int high = metrics_.steps - 3;
    painter.setPen(colours.muted);
    painter.setFont(metrics_.label_font);
    painter.drawText(QRect(10, top, metrics_.gutter - 18, high), Qt::AlignLeft | Qt::AlignVCenter, tr("Steps"));
    painter.save();
    painter.setClipRect(QRect(metrics_.gutter, top, static_cast<int>(a.width), metrics_.steps));
    // What is lit comes last, on top: intervals of steps may overlap.
    for (const bool lit : {false, true}) paint_band(painter, lit);
    painter.restore();
}

void Ruler::paint_band(QPainter& painter, bool lit) {
    const TimeAxis a = axis();
    const LoadedCapture& capture = *session_.capture();
    double drawn_to = -1;
    for (std::size_t at = 0; at < capture.steps.size(); ++at) {
        const Step& step = capture.steps[at];
        if (step.end <= a.range.start || step.start >= a.range.end || session_.step_lit(step.id) != lit) continue;
        const double x0 = std::floor(std::max(-2.0, a.x(step.start)));
        const double x1 = std::max(x0 + 1, std::floor(std::min(a.width + 2, a.x(step.end))));
        const bool outlier = at < capture.verdicts.size() && capture.verdicts[at].outlier;
        const bool special = outlier || lit || step.kind == StepKind::stall;
        if (!special && x1 <= drawn_to) continue;  // nothing of it would be seen: a thousand steps cost a thousand pixels
        if (step.kind == StepKind::step) drawn_to = std::max(drawn_to, x1);
        // A name ends where the next step begins.
        double until = x1;
        if (!lit && at + 1 < capture.steps.size() && capture.steps[at + 1].start > step.start)
            until = std::clamp(a.x(capture.steps[at + 1].start), x0, x1);
        paint_step(painter, step, x0, x1, until, at % 2 == 1);
    }
}

void Ruler::paint_step(QPainter& painter, const Step& step, double x0, double x1, double until, bool even) {
    const Chrome& colours = chrome(is_dark(palette()));
    const QFontMetrics font(metrics_.label_font);
    const QColor text = palette().color(QPalette::Text);
    const int top = metrics_.ruler;
    const int high = metrics_.steps - 3;
    const bool lit = session_.step_lit(step.id);
    const bool outlier = session_.capture()->outlier(step.id);
    const bool stall = step.kind == StepKind::stall;
    const QRectF bar(metrics_.gutter + x0, top, std::max(1.0, x1 - x0 - 1), high);
    QColor ground = lit ? colours.accent : text;
    if (!lit) ground.setAlphaF(even ? 0.10F : 0.17F);
    painter.fillRect(bar, ground);
    if (stall) painter.fillRect(bar, QBrush(lit ? text_on(colours.accent) : colours.error, Qt::BDiagPattern));
    if (bar.width() >= 5 || lit) painter.fillRect(QRectF(bar.left(), top, 1, high), lit ? text : colours.muted);
    if (step.inferred)
        painter.fillRect(QRectF(bar.left(), top + high - 2, bar.width(), 1), colours.muted);  // a line under what was inferred
    if (outlier && !stall) {  // a triangle that stands on the band, at the step's start: seen however narrow the step is
        const double x = std::max(bar.left(), static_cast<double>(metrics_.gutter)) + 0.5;
        painter.save();
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setPen(QPen(palette().color(QPalette::Window), 1));
        painter.setBrush(colours.error);
        painter.drawPolygon(QPolygonF({{x - 1, top + high + 1.0}, {x + 10, top + high + 1.0}, {x + 4.5, top + high - 10.0}}));
        painter.restore();
    }
    const double right = metrics_.gutter + until;
    if (right - bar.left() < 40) return;
    const double left = std::max(bar.left(), static_cast<double>(metrics_.gutter)) + (outlier && !stall ? 13 : 5);
    const QRectF room(left, top, right - left - 4, high);
    const QString name = step_label(step);
    const int fits = static_cast<int>(room.width() / std::max(1, font.averageCharWidth()));
    const QString shown = name.size() <= fits ? name : name.left(std::max(0, fits - 1)) + QStringLiteral("…");
    if (stall)  // a plate under the name, or the hatching would run through it
        painter.fillRect(QRectF(left - 2, top, std::min(room.width(), font.horizontalAdvance(shown) + 6.0), high),
                         lit ? colours.accent : palette().color(QPalette::Window));
    painter.setPen(lit ? text_on(colours.accent) : text);
    painter.drawText(room, Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine, shown);
}

void Ruler::paint_log(QPainter& painter) {
    const Chrome& colours = chrome(is_dark(palette()));
    const TimeAxis a = axis();
    if (!log_marks_.empty())
        paint_log_marks(painter, log_marks_.columns(a.range, static_cast<int>(a.width)), metrics_.gutter, 0, 8, colours.muted,
                        colours.warning, colours.error);
    const auto log = session_.selected_log();
    if (!log || !session_.capture()->logs[*log].time) return;
    const double x = a.x(*session_.capture()->logs[*log].time);
    if (x < 0 || x > a.width) return;
    const double at = metrics_.gutter + std::floor(x);
    painter.fillRect(QRectF(at, 0, 1, metrics_.ruler + metrics_.steps), palette().color(QPalette::Text));
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(Qt::NoPen);
    painter.setBrush(palette().color(QPalette::Text));
    painter.drawPolygon(QPolygonF({{at - 5, 0}, {at + 6, 0}, {at + 0.5, 8}}));
    painter.restore();
}

std::optional<StepId> Ruler::step_at(QPoint at) const {
    if (session_.capture() == nullptr || at.y() < metrics_.ruler || at.x() < metrics_.gutter) return std::nullopt;
    const TimeNs t = axis().time(at.x() - metrics_.gutter + 0.5);
    const Step* best = nullptr;
    for (const Step& step : session_.capture()->steps) {  // intervals may overlap: the shortest is the hardest to hit otherwise
        if (t < step.start || t >= step.end) continue;
        if (best == nullptr || step.end - step.start < best->end - best->start) best = &step;
    }
    return best != nullptr ? std::optional(best->id) : std::nullopt;
}

void Ruler::mousePressEvent(QMouseEvent* event) {
    if (event->button() != Qt::LeftButton || session_.capture() == nullptr) return;
    press_at_ = event->position().toPoint();
    press_ = axis().time(press_at_.x() - metrics_.gutter);
    dragging_ = false;
}

void Ruler::mouseMoveEvent(QMouseEvent* event) {
    const QPoint at = event->position().toPoint();
    if (!press_) {
        setCursor(step_at(at) ? Qt::PointingHandCursor : Qt::ArrowCursor);
        return;
    }
    if (!dragging_ && (at - press_at_).manhattanLength() < QApplication::startDragDistance()) return;
    dragging_ = true;
    const TimeNs t = axis().time(std::clamp(at.x() - metrics_.gutter, 0, static_cast<int>(axis().width)));
    session_.set_marked(TimeRange{std::min(*press_, t), std::max(*press_, t)});
}

void Ruler::mouseReleaseEvent(QMouseEvent* event) {
    if (!press_) return;
    press_.reset();
    if (dragging_) return;
    if (const auto step = step_at(event->position().toPoint())) session_.select_step(step);
}

bool Ruler::event(QEvent* event) {
    if (event->type() == QEvent::ToolTip) {
        auto* help = static_cast<QHelpEvent*>(event);
        const auto id = step_at(help->pos());
        const Step* step = id ? session_.capture()->step(*id) : nullptr;
        QString text;
        if (step != nullptr) {
            text =
                QStringLiteral("<b>%1</b><br>").arg(QString::fromStdString(step->name).toHtmlEscaped()) +
                tr("%1 · %2 · starts at %3").arg(phase_text(step->phase), duration_text(step->end - step->start), time_text(step->start));
            const StepVerdict* judged = session_.capture()->verdict(step->id);
            if (judged != nullptr && judged->outlier)
                text += QStringLiteral("<br>") + tr("outlier: %1").arg(QString::fromStdString(judged->sentence).toHtmlEscaped());
            if (step->inferred) text += QStringLiteral("<br>") + tr("inferred from repetition");
        }
        QToolTip::showText(help->globalPos(), text, this);
        return true;
    }
    return QWidget::event(event);
}

}  // namespace faultline
