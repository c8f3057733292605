// The times of the log's lines as small marks over a time axis: what is worst in each column of pixels.
//
// Built once for a capture; a column costs three short searches.
#pragma once

#include <cstdint>
#include <vector>

#include "core/types.h"
#include "views/loaded_capture.h"

class QPainter;
class QColor;

namespace faultline {

enum class LogMark : std::uint8_t { none, line, warning, error };

class LogMarks {
public:
    LogMarks() = default;
    explicit LogMarks(const LoadedCapture& capture);
    [[nodiscard]] bool empty() const noexcept { return lines_.empty(); }
    /// One answer a column of the range.
    [[nodiscard]] std::vector<LogMark> columns(TimeRange range, int width) const;

private:
    std::vector<TimeNs> lines_, warnings_, errors_;
};

/// Ticks for lines, hollow triangles for warnings, solid ones for errors, hanging from (`left`, `top`); at least `apart` pixels between
/// two of the larger ones.
void paint_log_marks(QPainter& painter, const std::vector<LogMark>& marks, double left, double top, double apart, const QColor& line,
                     const QColor& warning, const QColor& error);

}  // namespace faultline
