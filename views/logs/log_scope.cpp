#include "views/logs/log_scope.h"

#include <QCoreApplication>
#include <algorithm>
#include <limits>

#include "views/format.h"

namespace faultline {

namespace {

/// Between the instant of a line and a range; 0 where they touch.
TimeNs distance(const LogLine& line, TimeRange range) {
    const TimeNs start = *line.time;
    const TimeNs end = start + std::max<TimeNs>(line.resolution_ns, 1);
    if (end <= range.start) return range.start - end + 1;
    return start >= range.end ? start - range.end + 1 : 0;
}

/// By id first, each part in the order of time.
void ids_first(std::vector<ScopedLine>& lines) {
    std::stable_partition(lines.begin(), lines.end(), [](const ScopedLine& l) { return l.method == AlignMethod::request; });
}

}  // namespace

LogScope scope_of(const Session& session) {
    if (session.mark_is_latest()) return LogScope::marked;
    if (session.selected_request()) return LogScope::request;
    if (session.selected_step()) return LogScope::step;
    return session.marked() ? LogScope::marked : LogScope::whole;
}

std::vector<ScopedLine> whole_log(const LoadedCapture& capture) {
    std::vector<ScopedLine> lines;
    lines.reserve(capture.logs.size());
    for (std::size_t i = 0; i < capture.logs.size(); ++i)
        lines.push_back({i, capture.logs[i].method, capture.logs[i].distance_ns.value_or(0)});
    return lines;
}

std::vector<ScopedLine> lines_of(const LoadedCapture& capture, const Step& step) {
    std::vector<ScopedLine> lines;
    for (const AlignedLine& line : lines_of_step(capture.logs, capture.line_requests, step, capture.requests, capture.alignment))
        lines.push_back({line.line, line.method, line.distance_ns});
    ids_first(lines);
    return lines;
}

std::vector<ScopedLine> lines_of(const LoadedCapture& capture, std::size_t request) {
    std::vector<ScopedLine> lines;
    const TimeRange range = request < capture.requests.size() ? request_range(capture, capture.requests[request]) : TimeRange{};
    for (std::size_t i = 0; i < capture.line_requests.size(); ++i) {
        const std::vector<std::size_t>& named = capture.line_requests[i];
        if (std::find(named.begin(), named.end(), request) == named.end()) continue;
        const LogLine& line = capture.logs[i];
        lines.push_back({i, AlignMethod::request, line.time && !range.empty() ? distance(line, range) : 0});
    }
    return lines;
}

std::vector<ScopedLine> lines_of(const LoadedCapture& capture, TimeRange range) {
    std::vector<bool> inside(capture.requests.size(), false);
    for (std::size_t r = 0; r < capture.requests.size(); ++r) {
        const auto& steps = capture.requests[r].steps;
        inside[r] = std::any_of(steps.begin(), steps.end(), [&](StepId id) {
            const Step* step = capture.step(id);
            return step != nullptr && TimeRange{step->start, step->end}.overlaps(range);
        });
    }
    std::vector<ScopedLine> lines;
    for (std::size_t i = 0; i < capture.logs.size(); ++i) {
        const LogLine& line = capture.logs[i];
        const auto& named = capture.line_requests[i];
        const TimeNs far = line.time ? distance(line, range) : 0;
        if (std::any_of(named.begin(), named.end(), [&](std::size_t r) { return r < inside.size() && inside[r]; }))
            lines.push_back({i, AlignMethod::request, far});
        else if (line.time && far <= tolerance(capture, line) - line.resolution_ns)
            lines.push_back({i, AlignMethod::time, far});
    }
    ids_first(lines);
    return lines;
}

TimeNs tolerance(const LoadedCapture& capture, const LogLine& line) {
    const auto known = capture.alignment.uncertainty_ns.find(index_of(line.source));
    return line.resolution_ns + capture.alignment.lag_ns + (known == capture.alignment.uncertainty_ns.end() ? 0 : known->second);
}

std::optional<NearestLine> nearest_line(const LoadedCapture& capture, TimeRange range) {
    std::optional<NearestLine> best;
    for (std::size_t i = capture.first_timed_log(); i < capture.logs.size(); ++i) {
        const TimeNs far = distance(capture.logs[i], range);
        if (!best || far < best->distance_ns) best = NearestLine{i, far, *capture.logs[i].time < range.start};
    }
    return best;
}

QString method_text(const LoadedCapture& capture, const ScopedLine& line) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("LogModel", text); };
    switch (line.method) {
        case AlignMethod::request: return tr("by request");
        case AlignMethod::time: return tr("by time ±%1").arg(duration_text(tolerance(capture, capture.logs[line.position])));
        case AlignMethod::none: break;
    }
    return QString(QChar(0x2013));
}

}  // namespace faultline
