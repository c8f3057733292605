#include "views/timeline/log_marks.h"

#include <QPainter>
#include <QPolygonF>
#include <algorithm>

#include "core/drawable.h"
#include "views/logs/log_filter.h"
#include "views/timeline/time_axis.h"

namespace faultline {

LogMarks::LogMarks(const LoadedCapture& capture) {
    for (std::size_t i = capture.first_timed_log(); i < capture.logs.size(); ++i) {
        const LogLine& line = capture.logs[i];
        const LogLevel level = log_level(line);
        lines_.push_back(*line.time);
        if (level == LogLevel::warning) warnings_.push_back(*line.time);
        if (level >= LogLevel::error) errors_.push_back(*line.time);
    }
}

std::vector<LogMark> LogMarks::columns(TimeRange range, int width) const {
    std::vector<LogMark> out(static_cast<std::size_t>(std::max(width, 0)), LogMark::none);
    if (out.empty() || lines_.empty() || range.empty()) return out;
    const TimeAxis axis{range, static_cast<double>(width)};
    const auto mark = [&](const std::vector<TimeNs>& times, LogMark as) {
        std::size_t at = static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), range.start) - times.begin());
        for (int x = 0; x < width && at < times.size(); ++x) {
            const std::size_t next = first_not_less(times, at, axis.time(x + 1));
            if (next > at) out[static_cast<std::size_t>(x)] = as;
            at = next;
        }
    };
    mark(lines_, LogMark::line);
    mark(warnings_, LogMark::warning);
    mark(errors_, LogMark::error);
    return out;
}

void paint_log_marks(QPainter& painter, const std::vector<LogMark>& marks, double left, double top, double apart, const QColor& line,
                     const QColor& warning, const QColor& error) {
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    for (std::size_t x = 0; x < marks.size(); ++x) {
        if (marks[x] != LogMark::none) painter.fillRect(QRectF(left + static_cast<double>(x), top, 1, 3), line);
    }
    painter.setRenderHint(QPainter::Antialiasing);
    const auto shapes = [&](LogMark which, const QColor& colour, bool solid) {
        double last = -1e9;
        painter.setPen(QPen(colour, 1));
        painter.setBrush(solid ? QBrush(colour) : QBrush(Qt::NoBrush));
        for (std::size_t i = 0; i < marks.size(); ++i) {
            const double x = left + static_cast<double>(i) + 0.5;
            if (marks[i] != which || x - last < apart) continue;
            last = x;
            painter.drawPolygon(QPolygonF({{x - 3.5, top + 0.5}, {x + 3.5, top + 0.5}, {x, top + 6.5}}));
        }
    };
    shapes(LogMark::warning, warning, false);
    shapes(LogMark::error, error, true);
    painter.restore();
}

}  // namespace faultline
