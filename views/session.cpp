#include "views/session.h"

#include <algorithm>
#include <utility>

namespace faultline {

namespace {

constexpr TimeNs kShortestRange = 10;
constexpr std::size_t kHistory = 200;

}  // namespace

const Step* LoadedCapture::step(StepId id) const noexcept {
    const auto it = std::find_if(steps.begin(), steps.end(), [id](const Step& s) { return s.id == id; });
    return it == steps.end() ? nullptr : &*it;
}

Session::Session(QObject* parent) : QObject(parent) {}
Session::~Session() = default;

bool Session::can_go_back() const noexcept { return !history_.empty() && (history_at_ > 0 || !(history_[history_at_] == range_)); }

bool Session::can_go_forward() const noexcept { return history_at_ + 1 < history_.size(); }

std::optional<TimeRange> Session::span_time(SpanId span) const {
    if (!capture_ || !capture_->reader || !span.valid()) return std::nullopt;
    const Track* track = capture_->reader->track(span.track());
    if (track == nullptr || span.ordinal() >= track->spans) return std::nullopt;
    const auto start = capture_->reader->value(span, Column::start);
    const auto duration = capture_->reader->value(span, Column::duration);
    if (!start || !duration) return std::nullopt;
    return TimeRange{*start, *start + *duration};
}

void Session::set_capture(std::shared_ptr<const LoadedCapture> capture) {
    // The old capture lives until every view has let go of it.
    const std::shared_ptr<const LoadedCapture> old = std::exchange(capture_, std::move(capture));
    extent_ = {};
    if (capture_) extent_ = capture_->index ? capture_->index->extent() : capture_->reader ? capture_->reader->extent() : TimeRange{};
    if (extent_.duration() < kShortestRange) extent_.end = extent_.start + kShortestRange;
    span_.reset();
    step_.reset();
    marked_.reset();
    lit_ = {};
    range_ = capture_ ? extent_ : TimeRange{};
    history_.assign(capture_ ? 1 : 0, range_);
    history_at_ = 0;
    Q_EMIT capture_changed();
    Q_EMIT range_changed();
    Q_EMIT selection_changed();
    Q_EMIT marked_changed();
}

void Session::close_capture() { set_capture(nullptr); }

TimeRange Session::clamped(TimeRange range) const noexcept {
    // Saturating: a caller may scroll by any amount.
    const TimeNs length = std::clamp(range.end > range.start ? range.end - range.start : 0, kShortestRange, extent_.duration());
    const TimeNs start = std::clamp(range.start, extent_.start, extent_.end - length);
    return {start, start + length};
}

void Session::set_range(TimeRange range, bool transient) {
    if (!capture_) return;
    range = clamped(range);
    if (!transient && !(history_[history_at_] == range)) {
        history_.resize(history_at_ + 1);
        history_.push_back(range);
        if (history_.size() > kHistory) history_.erase(history_.begin());
        history_at_ = history_.size() - 1;
        range_ = range;
        Q_EMIT range_changed();  // back and forward changed even where the range was shown already
        return;
    }
    if (range == range_) return;
    range_ = range;
    Q_EMIT range_changed();
}

void Session::back() {
    if (!can_go_back()) return;
    // A range that was only passed through (transient) goes back to the last one that was kept.
    if (history_[history_at_] == range_) --history_at_;
    range_ = history_[history_at_];
    Q_EMIT range_changed();
}

void Session::forward() {
    if (!can_go_forward()) return;
    range_ = history_[++history_at_];
    Q_EMIT range_changed();
}

void Session::show_all() { set_range(extent_); }

void Session::select_span(std::optional<SpanId> span) {
    if (span && !span_time(*span)) span.reset();
    if (span == span_ && (span || (!step_ && lit_.ancestors.empty()))) return;
    span_ = span;
    lit_ = {};
    step_.reset();
    if (span_) {
        if (auto chain = span_chain(*capture_->reader, *span_, capture_->launches.get())) lit_ = std::move(*chain);
        step_ = lit_.step;
    }
    Q_EMIT selection_changed();
}

void Session::select_step(std::optional<StepId> step) {
    const Step* found = step && capture_ ? capture_->step(*step) : nullptr;
    span_.reset();
    lit_ = {};
    step_.reset();
    if (found != nullptr) {
        step_ = found->id;
        lit_.step = found->id;
        lit_.ancestors = found->spans;
    }
    Q_EMIT selection_changed();
    if (found == nullptr) return;
    const TimeNs margin = std::max<TimeNs>((found->end - found->start) / 20, 1);
    set_range({found->start - margin, found->end + margin});
}

void Session::set_marked(std::optional<TimeRange> range) {
    if (range && range->empty()) range.reset();
    if (range == marked_) return;
    marked_ = range;
    Q_EMIT marked_changed();
}

void Session::reveal(SpanId span) {
    const auto time = span_time(span);
    if (!time || (time->start >= range_.start && time->end <= range_.end)) return;
    TimeNs length = range_.duration();
    if (time->duration() > length) length = time->duration() + time->duration() / 5;
    const TimeNs middle = time->start + time->duration() / 2;
    set_range({middle - length / 2, middle - length / 2 + length});
}

}  // namespace faultline
