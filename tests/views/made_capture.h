// A small serving capture for tests of the views: twelve decode steps with Python frames, operators, launches, kernels on two streams,
// copies and a counter, and one known hole on stream 7. Written, read back and indexed as the program does it.
#pragma once

#include <QString>
#include <memory>
#include <vector>

#include "views/session.h"

namespace faultline::test {

inline constexpr int kSteps = 12;
inline constexpr TimeNs kStepNs = 4'000'000;
inline constexpr int kOps = 20;
/// No kernel of stream 7 runs in it (capture time).
inline constexpr TimeRange kHole{5 * kStepNs + 1'000'000, 5 * kStepNs + 2'000'000};

/// Null where it could not be written.
[[nodiscard]] std::shared_ptr<const LoadedCapture> made_capture(const QString& folder);
/// Opens a capture as the window does.
[[nodiscard]] std::shared_ptr<const LoadedCapture> load_capture(const std::string& path);
/// One track with one lane of spans [start, end), all named 0.
[[nodiscard]] TrackLanes made_track(std::uint32_t id, TrackKind kind, const std::vector<TimeRange>& spans, SpanKind span_kind);
/// The first span with this kind and name; an invalid id where there is none.
[[nodiscard]] SpanId span_named(const LoadedCapture& capture, SpanKind kind, std::string_view name, std::size_t skip = 0);

}  // namespace faultline::test
