// Which log lines a selection concerns, and how each came to it: by a request id, or by its time.
//
// Values in, values out; cheap enough for every change of the selection (linear in the lines).
#pragma once

#include <QString>
#include <optional>
#include <vector>

#include "views/session.h"

namespace faultline {

/// A line of the log dock: its position in the capture's logs, and its alignment to what is asked about.
struct ScopedLine {
    std::size_t position = 0;
    AlignMethod method = AlignMethod::none;
    TimeNs distance_ns = 0;  ///< between its instant and what is asked about
};

enum class LogScope : std::uint8_t {
    whole,    ///< every line, with its stored alignment to the nearest step
    request,  ///< lines that name the selected request
    step,     ///< lines of the chosen step: by request first, then by time
    marked,   ///< lines of the marked range: by request for those in it first, then by time
};

/// What was chosen last: a marked range, else a request, a step, a mark made before, else the whole log.
[[nodiscard]] LogScope scope_of(const Session& session);

[[nodiscard]] std::vector<ScopedLine> whole_log(const LoadedCapture& capture);
[[nodiscard]] std::vector<ScopedLine> lines_of(const LoadedCapture& capture, const Step& step);
[[nodiscard]] std::vector<ScopedLine> lines_of(const LoadedCapture& capture, std::size_t request);
[[nodiscard]] std::vector<ScopedLine> lines_of(const LoadedCapture& capture, TimeRange range);

/// How far off the time of a line may be: its resolution, the uncertainty of its source's clock and the lag of writing.
[[nodiscard]] TimeNs tolerance(const LoadedCapture& capture, const LogLine& line);

/// The timed line that is nearest to a range, and how far it is; empty where no line has a time.
struct NearestLine {
    std::size_t position = 0;
    TimeNs distance_ns = 0;
    bool before = false;
};
[[nodiscard]] std::optional<NearestLine> nearest_line(const LoadedCapture& capture, TimeRange range);

/// "by request", "by time ±5.000 ms" (the words of the command line), or an en dash.
[[nodiscard]] QString method_text(const LoadedCapture& capture, const ScopedLine& line);

}  // namespace faultline
