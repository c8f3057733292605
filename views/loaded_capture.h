// Everything that the views read of an open capture: loaded off the GUI thread, const afterwards.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/capture_reader.h"
#include "core/launch_index.h"
#include "core/log_alignment.h"
#include "core/span_index.h"
#include "core/types.h"

namespace faultline {

/// `reader` is the GUI thread's own. What is derived (verdicts, rooflines, bubbles, requests) is empty where the capture has none.
struct LoadedCapture {
    std::string path;
    std::shared_ptr<const CaptureReader> reader;
    std::shared_ptr<const SpanIndex> index;
    std::shared_ptr<const LaunchIndex> launches;  ///< built beside the index (LaunchIndex::build); span_chain() is slow without it
    std::vector<Step> steps;                      ///< the items of the step list: the steps by id, then the stalls
    std::vector<StepVerdict> verdicts;            ///< by position in `steps`, or none at all
    std::vector<RooflineLine> rooflines;
    std::vector<Bubble> bubbles;  ///< by device and start
    std::vector<Request> requests;
    std::vector<LogLine> logs;                            ///< by time, those without a time first
    std::vector<std::vector<std::size_t>> line_requests;  ///< positions in `requests` that each line names
    AlignmentOptions alignment;
    std::vector<SourceLedger> ledger;
    std::vector<HealthFinding> health;
    std::uint64_t kernels = 0;          ///< device kernels
    std::uint64_t unbound_kernels = 0;  ///< those without a launch

    [[nodiscard]] const Step* step(StepId id) const noexcept;  ///< null where there is none
    [[nodiscard]] const StepVerdict* verdict(StepId id) const noexcept;
    [[nodiscard]] const Bubble* bubble(std::int64_t id) const noexcept;
    [[nodiscard]] std::optional<std::size_t> log_position(std::int64_t id) const noexcept;
    /// Position of the first line with a time.
    [[nodiscard]] std::size_t first_timed_log() const noexcept;
    [[nodiscard]] bool outlier(StepId id) const noexcept;
};

/// Fills everything of `capture` that is plain rows: steps to findings. Any thread, with a reader of its own.
[[nodiscard]] Result<void> load_rows(const CaptureReader& reader, LoadedCapture& capture);

/// From the arrival of a request, or its first step, to its end, or its last step. Empty where neither is known.
[[nodiscard]] TimeRange request_range(const LoadedCapture& capture, const Request& request);

/// Positions of the outliers in `steps`, worst first: stalls by length, then by how far a step is beyond what was expected, then the
/// others by how they came.
[[nodiscard]] std::vector<std::size_t> outliers_worst_first(const LoadedCapture& capture);

}  // namespace faultline
