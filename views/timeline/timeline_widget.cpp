#include "views/timeline/timeline_widget.h"

#include <QAccessible>
#include <QEvent>
#include <QFontInfo>
#include <QFontMetrics>
#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "views/format.h"
#include "views/palette.h"
#include "views/timeline/timeline_accessible.h"

namespace faultline {

TimelineMetrics TimelineMetrics::of(const QWidget& widget) {
    TimelineMetrics m;
    m.label_font = widget.font();
    m.label_font.setPixelSize(std::max(9, static_cast<int>(std::lround(QFontInfo(widget.font()).pixelSize() * 0.88))));
    const QFontMetrics font(m.label_font);
    const int line = font.height();
    m.rows.lane = line + 4;
    m.rows.device = line + 9;
    m.rows.counter = line * 2 + 8;
    m.rows.heading = line + 12;
    m.rows.layer = line + 8;
    m.rows.gap = std::max(4, line / 3);
    m.gutter = std::clamp(widget.width() / 5, font.averageCharWidth() * 22, font.averageCharWidth() * 34);
    m.ruler = line + 10;
    m.steps = line + 6;
    m.overview = line * 3 + 16;
    return m;
}

TimelineWidget::TimelineWidget(Session& session, QWidget* parent) : QAbstractScrollArea(parent), session_(session) {
    install_timeline_accessibility();
    setObjectName(QStringLiteral("timeline"));
    setFocusPolicy(Qt::StrongFocus);
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    // Always there: a bar that comes and goes would change the width and with it the time scale.
    setVerticalScrollBarPolicy(Qt::ScrollBarAlwaysOn);
    viewport()->setMouseTracking(true);
    viewport()->setAttribute(Qt::WA_OpaquePaintEvent);
    setAccessibleName(tr("Timeline"));
    setAccessibleDescription(
        tr("Threads, device streams and counters over time. Arrow keys move between spans and rows, W and S zoom, A and D move."));
    settle_.setSingleShot(true);
    settle_.setInterval(350);
    connect(&settle_, &QTimer::timeout, this, &TimelineWidget::settle);
    hover_timer_.setSingleShot(true);
    hover_timer_.setInterval(250);
    connect(&hover_timer_, &QTimer::timeout, this, &TimelineWidget::show_hover);
    connect(&session_, &Session::capture_changed, this, &TimelineWidget::load_capture);
    connect(&session_, &Session::range_changed, this, &TimelineWidget::repaint_all);
    connect(&session_, &Session::selection_changed, this, &TimelineWidget::on_selection);
    connect(&session_, &Session::marked_changed, this, [this] { viewport()->update(); });
    connect(&session_, &Session::log_changed, this, [this] { viewport()->update(); });
    apply_theme();
    load_capture();
}

TimelineWidget::~TimelineWidget() = default;

void TimelineWidget::apply_theme() {
    metrics_ = TimelineMetrics::of(*this);
    painter_.set_theme(palette(), metrics_.label_font);
    if (laid_out_ != nullptr) relayout();
    repaint_all();
}

void TimelineWidget::load_capture() {
    laid_out_ = session_.capture();
    requests_ = laid_out_ != nullptr ? RequestLanes::build(*laid_out_) : RequestLanes();
    painter_.set_capture(laid_out_);
    painter_.set_selection(session_, requests_);
    current_row_ = -1;
    choices_ = {};
    clear_hover();
    relayout();
    verticalScrollBar()->setValue(0);
    for (int i = 0; i < static_cast<int>(layout_.rows().size()) && current_row_ < 0; ++i) {
        if (layout_.rows()[static_cast<std::size_t>(i)].lane != nullptr) current_row_ = i;
    }
    anchor_ = session_.range().start;
    repaint_all();
}

void TimelineWidget::relayout() {
    // The current row stays what it was, by what it shows.
    std::string group;
    const Lane* lane = nullptr;
    const RequestLane* requests = nullptr;
    if (current_row_ >= 0 && current_row_ < static_cast<int>(layout_.rows().size())) {
        const Row& row = layout_.rows()[static_cast<std::size_t>(current_row_)];
        group = row.group;
        requests = row.requests;
        if (group.empty()) lane = row.lane;
    }
    layout_ = laid_out_ != nullptr ? RowLayout::build(*laid_out_, metrics_.rows, choices_, &requests_) : RowLayout();
    const auto& rows = layout_.rows();
    const auto same = std::find_if(rows.begin(), rows.end(), [&](const Row& row) {
        if (requests != nullptr) return row.requests == requests;
        return lane != nullptr ? row.lane == lane : row.group == group && !group.empty();
    });
    if (same != rows.end())
        current_row_ = static_cast<int>(same - rows.begin());
    else
        current_row_ = std::min(current_row_, static_cast<int>(rows.size()) - 1);
    update_scroll_bar();
    repaint_all();
}

void TimelineWidget::update_scroll_bar() {
    const int page = viewport()->height();
    verticalScrollBar()->setPageStep(page);
    verticalScrollBar()->setSingleStep(metrics_.rows.lane * 3);
    verticalScrollBar()->setRange(0, std::max(0, layout_.height() - page));
}

TimelineView TimelineWidget::view() const {
    TimelineView v;
    v.range = session_.range();
    v.width = viewport()->width();
    v.height = viewport()->height();
    v.gutter = metrics_.gutter;
    v.scroll = verticalScrollBar()->value();
    v.dpr = viewport()->devicePixelRatioF();
    v.current_row = current_row_;
    v.focus = hasFocus();
    return v;
}

void TimelineWidget::repaint_all() {
    stale_ = true;
    viewport()->update();
}

void TimelineWidget::on_selection() {
    painter_.set_selection(session_, requests_);
    if (const auto request = session_.selected_request(); request && !own_selection_) {
        if (const auto place = requests_.find(*request)) {
            if (layout_.row_of(&requests_.lanes[place->first]) < 0) {
                reveal_requests(place->first, choices_);
                relayout();
            }
            set_current_row(layout_.row_of(&requests_.lanes[place->first]));
            reveal_row(current_row_);
        }
    }
    if (laid_out_ != nullptr && laid_out_->index && session_.selected_span()) {
        if (const auto place = laid_out_->index->place(*session_.selected_span())) {
            anchor_ = place->range().start;
            if (layout_.row_of(place->lane) < 0 && reveal_lane(*laid_out_, place->lane, choices_)) relayout();
            set_current_row(layout_.row_of(place->lane));
            if (!own_selection_) reveal_row(current_row_);
            QAccessibleEvent focus(this, QAccessible::Focus);
            focus.setChild(timeline_accessible_span_child(*this));
            QAccessible::updateAccessibility(&focus);
        }
    }
    repaint_all();
}

void TimelineWidget::set_current_row(int row) {
    if (row < 0 || row >= static_cast<int>(layout_.rows().size()) || row == current_row_) return;
    current_row_ = row;
    repaint_all();
}

void TimelineWidget::reveal_row(int index) {
    if (index < 0 || index >= static_cast<int>(layout_.rows().size())) return;
    const Row& row = layout_.rows()[static_cast<std::size_t>(index)];
    QScrollBar* bar = verticalScrollBar();
    const int page = viewport()->height();
    const int margin = metrics_.rows.lane * 2;
    if (row.top - margin < bar->value())
        bar->setValue(row.top - margin);
    else if (row.bottom() + margin > bar->value() + page)
        bar->setValue(row.bottom() + margin - page);
}

void TimelineWidget::toggle_row(int index) {
    if (index < 0 || index >= static_cast<int>(layout_.rows().size())) return;
    const Row row = layout_.rows()[static_cast<std::size_t>(index)];
    if (!row.toggles()) return;
    current_row_ = index;
    choices_.toggle(row);
    relayout();
}

void TimelineWidget::fold_all(bool folded) {
    choices_ = {};
    if (folded) {
        for (const Row& row : layout_.rows()) {
            if (row.kind == RowKind::layer && row.level == 1) choices_.folded.insert(row.group);
        }
    }
    relayout();
}

TimelineWidget::Hit TimelineWidget::hit(QPoint at) {
    Hit found;
    const TimelineView v = view();
    if (at.y() < 0 || at.y() >= v.height) return found;
    found.row = layout_.row_at(at.y() + v.scroll);
    if (found.row < 0 || at.x() < v.gutter) return found;
    const Row& row = layout_.rows()[static_cast<std::size_t>(found.row)];
    if (at.y() + v.scroll < row.top) return found;
    if (row.requests != nullptr) {
        const TimeAxis axis = v.axis();
        const auto bar = row.requests->bar_at(axis.time(at.x() - v.gutter + 0.5), static_cast<TimeNs>(axis.ns_per_px() * 2));
        if (bar) found.request = row.requests->bars[*bar].request;
        return found;
    }
    if (row.lane == nullptr || row.kind == RowKind::counter) return found;
    const int column = static_cast<int>(std::floor((at.x() - v.gutter) * v.dpr));
    found.block = block_at(painter_.geometry(row, v), column, static_cast<int>(std::lround(2 * v.dpr)));
    if (found.block == nullptr) {
        if (row.kind == RowKind::device)
            found.bubble = bubble_at(painter_.bubbles().of(*row.track), v.axis().time(at.x() - v.gutter + 0.5));
        return found;
    }
    found.span = SpanPlace{row.lane, span_under(*row.lane, *found.block, v.axis().time(at.x() - v.gutter + 0.5))};
    return found;
}

QRect TimelineWidget::span_rect(SpanId span) {
    if (laid_out_ == nullptr || !laid_out_->index) return {};
    const auto place = laid_out_->index->place(span);
    const int at = place ? layout_.row_of(place->lane) : -1;
    if (at < 0) return {};
    const TimelineView v = view();
    const Row& row = layout_.rows()[static_cast<std::size_t>(at)];
    for (const Block& block : painter_.geometry(row, v).blocks) {
        if (place->at < block.first || place->at >= block.first + block.count) continue;
        QRectF rect = TimelinePainter::block_rect(row, block, v);
        if (block.count > 1) {
            const double x0 = v.gutter + v.axis().x(place->range().start);
            rect.setLeft(std::clamp(x0, rect.left(), rect.right()));
            rect.setWidth(std::max(1.0, v.gutter + v.axis().x(place->range().end) - rect.left()));
        }
        return rect.toAlignedRect();
    }
    return {};
}

QRect TimelineWidget::request_rect(std::size_t request) const {
    const auto place = requests_.find(request);
    const int at = place ? layout_.row_of(&requests_.lanes[place->first]) : -1;
    if (at < 0) return {};
    const TimelineView v = view();
    const Row& row = layout_.rows()[static_cast<std::size_t>(at)];
    const RequestBar& bar = requests_.lanes[place->first].bars[place->second];
    const double x0 = v.gutter + std::clamp(v.axis().x(bar.start), 0.0, static_cast<double>(v.content_width()));
    const double x1 = v.gutter + std::clamp(v.axis().x(bar.end), 0.0, static_cast<double>(v.content_width()));
    return QRectF(x0, row.top - v.scroll, std::max(1.0, x1 - x0), row.height).toAlignedRect();
}

void TimelineWidget::paintEvent(QPaintEvent* event) {
    QPainter painter(viewport());
    if (laid_out_ == nullptr || layout_.rows().empty()) {
        painter.fillRect(event->rect(), palette().color(QPalette::Base));
        painter.setPen(chrome(is_dark(palette())).muted);
        const QString text = laid_out_ == nullptr ? tr("No capture is open.") : tr("This capture has no spans.");
        painter.drawText(viewport()->rect(), Qt::AlignCenter, text);
        return;
    }
    if (stale_) {
        painter_.paint(view(), layout_, session_);
        stale_ = false;
    }
    const QImage& image = painter_.image();
    const QRect part = event->rect();
    const double dpr = image.devicePixelRatio();
    painter.drawImage(QRectF(part), image, QRectF(part.x() * dpr, part.y() * dpr, part.width() * dpr, part.height() * dpr));
    paint_overlay(painter);
}

void TimelineWidget::resizeEvent(QResizeEvent* event) {
    QAbstractScrollArea::resizeEvent(event);
    metrics_.gutter = TimelineMetrics::of(*this).gutter;
    update_scroll_bar();
    repaint_all();
}

void TimelineWidget::scrollContentsBy(int, int) {
    clear_hover();
    repaint_all();
}

void TimelineWidget::changeEvent(QEvent* event) {
    QAbstractScrollArea::changeEvent(event);
    const QEvent::Type type = event->type();
    if (type == QEvent::PaletteChange || type == QEvent::FontChange || type == QEvent::StyleChange || type == QEvent::ApplicationFontChange)
        apply_theme();
}

void TimelineWidget::focusInEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusInEvent(event);
    repaint_all();
}

void TimelineWidget::focusOutEvent(QFocusEvent* event) {
    QAbstractScrollArea::focusOutEvent(event);
    repaint_all();
}

}  // namespace faultline
