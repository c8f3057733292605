// The keyboard of the timeline: time (zoom, pan, whole, back), the selection (spans, rows), folding.
#include <QKeyEvent>
#include <QScrollBar>
#include <algorithm>
#include <cmath>

#include "views/timeline/timeline_widget.h"

namespace faultline {

namespace {

constexpr double kZoomStep = 0.8;
constexpr double kPanShare = 0.1;

}  // namespace

void TimelineWidget::pass_through(TimeRange range) {
    clear_hover();
    session_.set_range(range, true);
    settle_.start();
}

void TimelineWidget::settle() {
    settle_.stop();
    session_.set_range(session_.range(), false);
}

void TimelineWidget::zoom_at(double x, double factor) { pass_through(zoomed(view().axis(), x, factor)); }

void TimelineWidget::pan_by(double px) { pass_through(panned(view().axis(), px)); }

bool TimelineWidget::event(QEvent* event) {
    // Plain letters belong to the timeline while it has the focus, even where a menu uses them as a shortcut.
    if (event->type() == QEvent::ShortcutOverride) {
        auto* key = static_cast<QKeyEvent*>(event);
        if (key->modifiers() == Qt::NoModifier && key->key() != Qt::Key_F1) {
            switch (key->key()) {
                case Qt::Key_W:
                case Qt::Key_S:
                case Qt::Key_A:
                case Qt::Key_D:
                case Qt::Key_F:
                case Qt::Key_R:
                case Qt::Key_0:
                case Qt::Key_Period:
                case Qt::Key_Comma:
                case Qt::Key_Backspace:
                case Qt::Key_Escape:
                case Qt::Key_Space:
                case Qt::Key_Left:
                case Qt::Key_Right:
                case Qt::Key_Up:
                case Qt::Key_Down: event->accept(); return true;
                default: break;
            }
        }
    }
    return QAbstractScrollArea::event(event);
}

void TimelineWidget::keyPressEvent(QKeyEvent* event) {
    if (laid_out_ == nullptr || (!key_time(*event) && !key_selection(*event))) {
        QAbstractScrollArea::keyPressEvent(event);
        return;
    }
    event->accept();
}

bool TimelineWidget::key_time(const QKeyEvent& event) {
    const double width = view().content_width();
    const Qt::KeyboardModifiers modifiers = event.modifiers() & ~Qt::KeypadModifier;
    if (modifiers == Qt::AltModifier) {
        if (event.key() == Qt::Key_Left)
            session_.back();
        else if (event.key() == Qt::Key_Right)
            session_.forward();
        else
            return false;
        return true;
    }
    if (modifiers == Qt::ShiftModifier && event.key() == Qt::Key_Z) {
        if (session_.selected_span()) {
            if (const auto place = laid_out_->index->place(*session_.selected_span())) session_.set_range(framed(place->range(), 0.9));
        }
        return true;
    }
    const bool plus = event.key() == Qt::Key_Plus || event.key() == Qt::Key_Equal;
    if (modifiers != Qt::NoModifier && !plus) return false;
    switch (event.key()) {
        case Qt::Key_W:
        case Qt::Key_Plus:
        case Qt::Key_Equal: zoom_at(width / 2, kZoomStep); return true;
        case Qt::Key_S:
        case Qt::Key_Minus: zoom_at(width / 2, 1 / kZoomStep); return true;
        case Qt::Key_A: pan_by(-width * kPanShare); return true;
        case Qt::Key_D: pan_by(width * kPanShare); return true;
        case Qt::Key_0:
            settle();
            session_.show_all();
            return true;
        case Qt::Key_Backspace:
            settle();
            session_.back();
            return true;
        case Qt::Key_Home: pass_through({session_.extent().start, session_.extent().start + session_.range().duration()}); return true;
        case Qt::Key_End: pass_through({session_.extent().end - session_.range().duration(), session_.extent().end}); return true;
        case Qt::Key_F: centre_or_fit(); return true;
        default: return false;
    }
}

bool TimelineWidget::key_selection(const QKeyEvent& event) {
    const Qt::KeyboardModifiers modifiers = event.modifiers() & ~Qt::KeypadModifier;
    const int key = event.key();
    if (modifiers == Qt::ShiftModifier) {
        // "Shift+." arrives as the character above it on many layouts.
        if (key == Qt::Key_Period || key == Qt::Key_Greater || key == Qt::Key_Colon || key == Qt::Key_Right)
            extend_mark(1);
        else if (key == Qt::Key_Comma || key == Qt::Key_Less || key == Qt::Key_Semicolon || key == Qt::Key_Left)
            extend_mark(-1);
        else
            return false;
        return true;
    }
    if (modifiers != Qt::NoModifier) return false;
    switch (key) {
        case Qt::Key_Period: move_span(1); return true;
        case Qt::Key_Comma: move_span(-1); return true;
        case Qt::Key_Right:
            if (!fold_by_key(false)) move_span(1);
            return true;
        case Qt::Key_Left:
            if (!fold_by_key(true)) move_span(-1);
            return true;
        case Qt::Key_Up: move_row(-1); return true;
        case Qt::Key_Down: move_row(1); return true;
        case Qt::Key_PageUp: verticalScrollBar()->triggerAction(QAbstractSlider::SliderPageStepSub); return true;
        case Qt::Key_PageDown: verticalScrollBar()->triggerAction(QAbstractSlider::SliderPageStepAdd); return true;
        case Qt::Key_Return:
        case Qt::Key_Enter:
        case Qt::Key_Space: toggle_row(current_row_); return true;
        case Qt::Key_R:
            if (session_.selected_span()) {
                if (const auto place = laid_out_->index->place(*session_.selected_span())) session_.set_marked(place->range());
            }
            return true;
        case Qt::Key_Escape:
            if (drag_ != Drag::none)
                end_drag({-1, -1});
            else if (session_.marked())
                session_.set_marked(std::nullopt);
            else if (session_.selected_span() || session_.selected_step() || session_.selected_request())
                session_.select_span(std::nullopt);
            else if (session_.selected_log())
                session_.select_log(std::nullopt);
            else
                return false;
            return true;
        default: return false;
    }
}

void TimelineWidget::centre_or_fit() {
    std::optional<TimeRange> target;
    if (session_.selected_span()) {
        if (const auto place = laid_out_->index->place(*session_.selected_span())) target = place->range();
    }
    if (const auto request = session_.selected_request(); request && !target)
        target = request_range(*laid_out_, laid_out_->requests[*request]);
    if (!target) target = session_.marked();
    if (!target && session_.selected_step()) {
        if (const Step* step = laid_out_->step(*session_.selected_step())) target = TimeRange{step->start, step->end};
    }
    if (!target) return;
    const TimeAxis axis = view().axis();
    const double off = axis.x(target->start) / 2 + axis.x(target->end) / 2 - axis.width / 2;
    if (std::abs(off) > 2) {
        const TimeRange before = session_.range();
        session_.set_range(panned(axis, off));
        if (!(session_.range() == before)) return;  // at the edge of the capture it cannot be centred: fit at once
    }
    session_.set_range(framed(*target, 0.6));
}

void TimelineWidget::select(SpanPlace place) {
    own_selection_ = true;
    session_.select_span(place.id());
    own_selection_ = false;
    reveal_row(layout_.row_of(place.lane));
    // Into sight by the shortest way, with a margin; a span longer than the range is in sight as soon as it touches it.
    const TimeRange range = session_.range();
    const TimeRange span = place.range();
    const double length = time_difference(range.end, range.start);
    const double margin = std::min(length * 0.08, (length - time_difference(span.end, span.start)) / 2);
    if (margin < 0) {
        if (!span.overlaps(range)) pass_through({span.start, time_plus(span.start, length)});
        return;
    }
    if (span.start < range.start)
        pass_through({time_plus(span.start, -margin), time_plus(span.start, length - margin)});
    else if (span.end > range.end)
        pass_through({time_plus(span.end, margin - length), time_plus(span.end, margin)});
}

void TimelineWidget::select_near(const Lane& lane, TimeNs t) {
    if (lane.size() == 0) return;
    Block all;
    all.count = lane.size();
    select({&lane, span_under(lane, all, t)});
}

void TimelineWidget::move_span(int direction) {
    if (current_row_ < 0) return;
    if (const RequestLane* requests = layout_.rows()[static_cast<std::size_t>(current_row_)].requests)
        return move_request(*requests, direction);
    const Lane* lane = layout_.rows()[static_cast<std::size_t>(current_row_)].lane;
    if (lane == nullptr || lane->size() == 0 || !lane->values.empty()) return;
    const auto selected = session_.selected_span() ? laid_out_->index->place(*session_.selected_span()) : std::nullopt;
    if (!selected || selected->lane != lane) {
        const TimeRange range = session_.range();
        select_near(*lane, range.contains(anchor_) ? anchor_ : range.start + range.duration() / 2);
        return;
    }
    if (direction < 0 && selected->at == 0) return;
    if (direction > 0 && selected->at + 1 >= lane->size()) return;
    select({lane, direction < 0 ? selected->at - 1 : selected->at + 1});
}

void TimelineWidget::move_row(int direction) {
    const int next = current_row_ + direction;
    if (next < 0 || next >= static_cast<int>(layout_.rows().size())) return;
    const TimeNs anchor = anchor_;
    set_current_row(next);
    reveal_row(next);
    const Row& row = layout_.rows()[static_cast<std::size_t>(next)];
    if (row.requests != nullptr) {
        const TimeRange range = session_.range();
        const auto bar = row.requests->bar_at(range.contains(anchor) ? anchor : range.start + range.duration() / 2, range.duration() / 2);
        if (bar) select_request(*row.requests, *bar);
        return;
    }
    if (row.lane == nullptr || !row.lane->values.empty()) return;
    // Where the row shows nothing at all the selection stays: going through empty rows must not move the view.
    const TimeRange range = session_.range();
    const auto [first, last] = row.lane->find(range);
    if (first == last) return;
    Block shown;
    shown.first = first;
    shown.count = last - first;
    select({row.lane, span_under(*row.lane, shown, range.contains(anchor) ? anchor : range.start + range.duration() / 2)});
    anchor_ = anchor;
}

void TimelineWidget::select_request(const RequestLane& lane, std::size_t bar) {
    own_selection_ = true;
    session_.select_request(lane.bars[bar].request);
    own_selection_ = false;
    reveal_row(layout_.row_of(&lane));
    const TimeRange range = session_.range();
    const TimeRange found{lane.bars[bar].start, lane.bars[bar].end};
    if (found.overlaps(range)) return;
    const TimeNs length = range.duration();
    pass_through({found.start - length / 10, found.start - length / 10 + length});
}

void TimelineWidget::move_request(const RequestLane& lane, int direction) {
    if (lane.bars.empty()) return;
    const auto place = session_.selected_request() ? requests_.find(*session_.selected_request()) : std::nullopt;
    if (!place || &requests_.lanes[place->first] != &lane) {
        const TimeRange range = session_.range();
        const TimeNs middle = range.start + range.duration() / 2;
        select_request(lane, lane.bar_at(middle, session_.extent().duration()).value_or(0));
        return;
    }
    if (direction < 0 && place->second == 0) return;
    if (direction > 0 && place->second + 1 >= lane.bars.size()) return;
    select_request(lane, direction < 0 ? place->second - 1 : place->second + 1);
}

void TimelineWidget::extend_mark(int direction) {
    const auto selected = session_.selected_span() ? laid_out_->index->place(*session_.selected_span()) : std::nullopt;
    if (!selected) return;
    TimeRange range = session_.marked().value_or(selected->range());
    move_span(direction);
    const auto next = session_.selected_span() ? laid_out_->index->place(*session_.selected_span()) : std::nullopt;
    if (!next) return;
    range.start = std::min(range.start, next->range().start);
    range.end = std::max(range.end, next->range().end);
    session_.set_marked(range);
}

bool TimelineWidget::fold_by_key(bool folded) {
    if (current_row_ < 0) return true;
    const Row& row = layout_.rows()[static_cast<std::size_t>(current_row_)];
    if (!row.heading()) return false;
    if (row.toggles() && row.folded != folded)
        toggle_row(current_row_);
    else if (folded && row.parent >= 0)
        set_current_row(row.parent);
    return true;
}

}  // namespace faultline
