// What the user is looking at: the capture, the time range, the selection, the chosen step. Every view listens to it and to nothing
// else; no view calls another. Lives in the GUI thread.
#pragma once

#include <QObject>
#include <memory>
#include <optional>
#include <vector>

#include "core/call_chain.h"
#include "core/capture_reader.h"
#include "core/launch_index.h"
#include "core/span_index.h"
#include "core/types.h"

namespace faultline {

/// Everything the views read, loaded off the GUI thread and const afterwards. `reader` is the GUI thread's own.
struct LoadedCapture {
    std::string path;
    std::shared_ptr<const CaptureReader> reader;
    std::shared_ptr<const SpanIndex> index;
    std::shared_ptr<const LaunchIndex> launches;  ///< built beside the index (LaunchIndex::build); span_chain() is slow without it
    std::vector<Step> steps;
    std::vector<SourceLedger> ledger;
    std::vector<HealthFinding> health;
    std::uint64_t kernels = 0;          ///< device kernels
    std::uint64_t unbound_kernels = 0;  ///< those without a launch

    [[nodiscard]] const Step* step(StepId id) const noexcept;  ///< null where there is none
};

class Session : public QObject {
    Q_OBJECT
public:
    explicit Session(QObject* parent = nullptr);
    ~Session() override;

    [[nodiscard]] const LoadedCapture* capture() const noexcept { return capture_.get(); }
    [[nodiscard]] TimeRange range() const noexcept { return range_; }  ///< what the timeline shows
    [[nodiscard]] std::optional<SpanId> selected_span() const noexcept { return span_; }
    [[nodiscard]] std::optional<StepId> selected_step() const noexcept { return step_; }
    [[nodiscard]] const SpanChain& lit() const noexcept { return lit_; }                ///< chain of the selected span
    [[nodiscard]] std::optional<TimeRange> marked() const noexcept { return marked_; }  ///< range marked by dragging
    [[nodiscard]] TimeRange extent() const noexcept { return extent_; }                 ///< what the range is clamped to
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
    void set_marked(std::optional<faultline::TimeRange> range);
    void back();
    void forward();
    void show_all();
    /// Moves the range, keeping its length where the span fits, so that the span is in sight.
    void reveal(faultline::SpanId span);

Q_SIGNALS:
    void capture_changed();
    void range_changed();
    void selection_changed();  ///< span, lit chain or step
    void marked_changed();

private:
    [[nodiscard]] TimeRange clamped(TimeRange range) const noexcept;

    std::shared_ptr<const LoadedCapture> capture_;
    TimeRange extent_;
    TimeRange range_;
    std::optional<SpanId> span_;
    std::optional<StepId> step_;
    std::optional<TimeRange> marked_;
    SpanChain lit_;
    std::vector<TimeRange> history_;
    std::size_t history_at_ = 0;
};

}  // namespace faultline
