// What the user is looking at: the capture, the time range, the selection (a span, a step or a request), the chosen log line. Every
// view listens to it and to nothing else; no view calls another. Lives in the GUI thread.
#pragma once

#include <QObject>
#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

#include "core/call_chain.h"
#include "core/types.h"
#include "views/loaded_capture.h"

namespace faultline {

class Session : public QObject {
    Q_OBJECT
public:
    explicit Session(QObject* parent = nullptr);
    ~Session() override;

    [[nodiscard]] const LoadedCapture* capture() const noexcept { return capture_.get(); }
    [[nodiscard]] std::shared_ptr<const LoadedCapture> shared_capture() const noexcept { return capture_; }  ///< for jobs, to outlive it
    [[nodiscard]] TimeRange range() const noexcept { return range_; }                                        ///< what the timeline shows
    [[nodiscard]] std::optional<SpanId> selected_span() const noexcept { return span_; }
    [[nodiscard]] std::optional<StepId> selected_step() const noexcept { return step_; }
    [[nodiscard]] std::optional<std::size_t> selected_request() const noexcept { return request_; }  ///< position in its requests
    [[nodiscard]] std::optional<std::size_t> selected_log() const noexcept { return log_; }          ///< position in its logs
    /// Chain of the selected span; the ranges of the chosen step; the ranges of the steps of the selected request.
    [[nodiscard]] const SpanChain& lit() const noexcept { return lit_; }
    /// Steps that belong to the selection: the chosen one, or those of the selected request. Ascending.
    [[nodiscard]] const std::vector<StepId>& lit_steps() const noexcept { return lit_steps_; }
    [[nodiscard]] bool step_lit(StepId id) const noexcept;
    [[nodiscard]] std::optional<TimeRange> marked() const noexcept { return marked_; }  ///< range marked by dragging
    /// Whether the mark was made after the last choice of a span, a step or a request: what is asked about is what came last.
    [[nodiscard]] bool mark_is_latest() const noexcept { return marked_.has_value() && mark_is_latest_; }
    /// What the range is clamped to: where the traces lie; a log far away from them does not widen it. Without spans of a thread or a
    /// device, everything.
    [[nodiscard]] TimeRange extent() const noexcept { return extent_; }
    [[nodiscard]] bool can_go_back() const noexcept;
    [[nodiscard]] bool can_go_forward() const noexcept;
    /// Capture time of a span of the capture; empty where there is no such span.
    [[nodiscard]] std::optional<TimeRange> span_time(SpanId span) const;

public Q_SLOTS:
    /// The capture before it stays alive until capture_changed() has been delivered, so models may hold it by pointer till then.
    void set_capture(std::shared_ptr<const LoadedCapture> capture);
    void close_capture();
    /// Clamped to the capture and to at least 10 ns; remembered for back() and forward() unless `transient`.
    void set_range(faultline::TimeRange range, bool transient = false);
    /// Lights the chain of the span and chooses its step (or none); does not move the range.
    void select_span(std::optional<faultline::SpanId> span);
    /// Chooses a step, lights its ranges and zooms to it with a margin; the span selection is cleared.
    void select_step(std::optional<faultline::StepId> step);
    /// Lights the steps of a request, by its position; span and step selection are cleared. Does not move the range.
    void select_request(std::optional<std::size_t> request);
    /// Chooses a log line, by its position: the marker on the timeline. Leaves the rest of the selection as it is.
    void select_log(std::optional<std::size_t> log);
    /// Moves the range, keeping its length, so that `time` is in its middle.
    void centre(faultline::TimeNs time);
    /// Moves the range where needed so that `range` is in sight, with a margin.
    void show_range(faultline::TimeRange range);
    void set_marked(std::optional<faultline::TimeRange> range);
    void back();
    void forward();
    void show_all();
    /// Moves the range, keeping its length where the span fits, so that the span is in sight.
    void reveal(faultline::SpanId span);

Q_SIGNALS:
    void capture_changed();
    void range_changed();
    void selection_changed();  ///< span, lit chain, step or request
    void log_changed();        ///< the chosen log line
    void marked_changed();

private:
    [[nodiscard]] TimeRange clamped(TimeRange range) const noexcept;
    [[nodiscard]] TimeRange whole_extent() const;
    void clear_selection();

    std::shared_ptr<const LoadedCapture> capture_;
    TimeRange extent_;
    TimeRange range_;
    std::optional<SpanId> span_;
    std::optional<StepId> step_;
    std::optional<std::size_t> request_;
    std::optional<std::size_t> log_;
    std::vector<StepId> lit_steps_;
    std::optional<TimeRange> marked_;
    bool mark_is_latest_ = false;
    SpanChain lit_;
    std::vector<TimeRange> history_;
    std::size_t history_at_ = 0;
};

}  // namespace faultline
