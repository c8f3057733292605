// The capture of made_capture.h with everything that an analysis would add, made by hand: verdicts, a stall, bubbles, requests, a log.
#pragma once

#include <QString>
#include <memory>

#include "views/session.h"

namespace faultline::test {

inline constexpr int kSlowStep = 5;        ///< position: slow, with the hole on stream 7
inline constexpr int kOddStep = 8;         ///< position: other structure, not slow
inline constexpr std::size_t kItems = 13;  ///< twelve steps and a stall
inline constexpr std::size_t kRequests = 4;
inline constexpr std::size_t kLogLines = 8;

/// Null where the capture could not be written. One device bubble over kHole (CPU) and one of unknown cause; request "req-b" named by two
/// lines; a line without a time; an error in the slow step.
[[nodiscard]] std::shared_ptr<LoadedCapture> made_analysis(const QString& folder);
/// The log made `lines` long (the times spread over the capture), for tests of size.
void lengthen_log(LoadedCapture& capture, std::size_t lines);

}  // namespace faultline::test
