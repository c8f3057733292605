#include "views/session.h"

#include <algorithm>
#include <set>
#include <utility>

namespace faultline {

namespace {

constexpr TimeNs kShortestRange = 10;
constexpr std::size_t kHistory = 200;

/// Of the sources that hold spans of threads or devices, with their counters and marks: a log's own counters are left out.
TimeRange traces_extent(const SpanIndex& index) {
    std::set<SourceId> traces;
    for (const TrackLanes& track : index.tracks()) {
        if (track.track.kind == TrackKind::counter || track.track.kind == TrackKind::marks) continue;
        if (std::any_of(track.lanes.begin(), track.lanes.end(), [](const Lane& lane) { return lane.size() > 0; }))
            traces.insert(track.track.source);
    }
    std::optional<TimeRange> all;
    for (const TrackLanes& track : index.tracks()) {
        if (!traces.contains(track.track.source)) continue;
        for (const Lane& lane : track.lanes) {
            if (lane.size() == 0) continue;
            const TimeRange here{lane.starts.front(), lane.ends.back()};
            all = all ? TimeRange{std::min(all->start, here.start), std::max(all->end, here.end)} : here;
        }
    }
    return all.value_or(TimeRange{});
}

}  // namespace

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
    extent_ = capture_ ? whole_extent() : TimeRange{};
    if (extent_.duration() < kShortestRange) extent_.end = extent_.start + kShortestRange;
    clear_selection();
    log_.reset();
    marked_.reset();
    range_ = capture_ ? extent_ : TimeRange{};
    history_.assign(capture_ ? 1 : 0, range_);
    history_at_ = 0;
    Q_EMIT capture_changed();
    Q_EMIT range_changed();
    Q_EMIT selection_changed();
    Q_EMIT log_changed();
    Q_EMIT marked_changed();
}

TimeRange Session::whole_extent() const {
    TimeRange all = capture_->index ? traces_extent(*capture_->index) : TimeRange{};
    if (all.empty()) all = capture_->index ? capture_->index->extent() : capture_->reader ? capture_->reader->extent() : TimeRange{};
    for (const Step& step : capture_->steps) {  // a stall may begin or end where nothing else was recorded
        if (step.kind != StepKind::stall) continue;
        all = all.empty() ? TimeRange{step.start, step.end} : TimeRange{std::min(all.start, step.start), std::max(all.end, step.end)};
    }
    const std::size_t timed = capture_->first_timed_log();
    if (all.empty() && timed < capture_->logs.size()) all = {*capture_->logs[timed].time, *capture_->logs.back().time + 1};
    return all;
}

void Session::clear_selection() {
    span_.reset();
    step_.reset();
    request_.reset();
    lit_ = {};
    lit_steps_.clear();
}

bool Session::step_lit(StepId id) const noexcept { return std::binary_search(lit_steps_.begin(), lit_steps_.end(), id); }

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
    if (span == span_ && !(span && mark_is_latest()) && (span || (!step_ && !request_ && lit_.ancestors.empty()))) return;
    clear_selection();
    span_ = span;
    if (span_) {
        mark_is_latest_ = false;
        if (auto chain = span_chain(*capture_->reader, *span_, capture_->launches.get())) lit_ = std::move(*chain);
        step_ = lit_.step;
        if (step_) lit_steps_ = {*step_};
    }
    Q_EMIT selection_changed();
}

void Session::select_step(std::optional<StepId> step) {
    const Step* found = step && capture_ ? capture_->step(*step) : nullptr;
    clear_selection();
    if (found != nullptr) {
        mark_is_latest_ = false;
        step_ = found->id;
        lit_steps_ = {found->id};
        lit_.step = found->id;
        lit_.ancestors = found->spans;
    }
    Q_EMIT selection_changed();
    if (found == nullptr) return;
    const TimeNs margin = std::max<TimeNs>((found->end - found->start) / 20, 1);
    set_range({found->start - margin, found->end + margin});
}

void Session::select_request(std::optional<std::size_t> request) {
    if (request && (!capture_ || *request >= capture_->requests.size())) request.reset();
    if (request == request_ && !(request && mark_is_latest()) && (request || (!span_ && !step_))) return;
    clear_selection();
    request_ = request;
    if (request_) {
        mark_is_latest_ = false;
        lit_steps_ = capture_->requests[*request_].steps;
        std::sort(lit_steps_.begin(), lit_steps_.end());
        for (const StepId id : lit_steps_) {
            if (const Step* step = capture_->step(id)) lit_.ancestors.insert(lit_.ancestors.end(), step->spans.begin(), step->spans.end());
        }
    }
    Q_EMIT selection_changed();
}

void Session::select_log(std::optional<std::size_t> log) {
    if (log && (!capture_ || *log >= capture_->logs.size())) log.reset();
    if (log == log_) return;
    log_ = log;
    Q_EMIT log_changed();
}

void Session::centre(TimeNs time) {
    const TimeNs length = range_.duration();
    set_range({time - length / 2, time - length / 2 + length});
}

void Session::show_range(TimeRange range) {
    if (!capture_ || range.empty() || (range.start >= range_.start && range.end <= range_.end)) return;
    const TimeNs length = std::max(range_.duration(), range.duration() + range.duration() / 4);
    const TimeNs middle = range.start + range.duration() / 2;
    set_range({middle - length / 2, middle - length / 2 + length});
}

void Session::set_marked(std::optional<TimeRange> range) {
    if (range && range->empty()) range.reset();
    if (range == marked_ && mark_is_latest_ == marked_.has_value()) return;
    marked_ = range;
    mark_is_latest_ = marked_.has_value();
    Q_EMIT marked_changed();
}

void Session::reveal(SpanId span) {
    const auto time = span_time(span);
    if (time) show_range({time->start, std::max(time->end, time->start + 1)});
}

}  // namespace faultline
