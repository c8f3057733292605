#include "importers/nsys/process_streams.h"

#include <fmt/format.h>

#include <utility>
#include <vector>

#include "importers/service_log/log_text.h"

namespace faultline::nsys {

namespace {

/// The last part of `/tmp/…/streams/pid_55055_stdout.log`.
std::string_view file_name(std::string_view path) noexcept {
    const std::size_t slash = path.rfind('/');
    return slash == std::string_view::npos ? path : path.substr(slash + 1);
}

bool is_output(std::string_view name) noexcept { return name.ends_with("_stdout.log") || name.ends_with("_stderr.log"); }

/// What the stamps of the lines are compared with: the session's own clock and zone.
void set_context(SourceBuilder& source, std::optional<TimeNs> duration) {
    if (!source.has_wall_clock) return;
    constexpr TimeNs kHour = 3'600'000'000'000;
    source.context.wall = TimeRange{source.clock_base_ns, source.clock_base_ns + duration.value_or(kHour)};
    if (source.utc_offset_seconds) source.context.utc_offset_seconds = source.utc_offset_seconds;
}

void add_lines(Session& s, std::int64_t process, std::string_view stream, std::string_view content) {
    std::vector<LogLine> lines =
        service_log::read_log_text(content, s.source, s.places.process(process), s.ledger, fmt::format("{} ", stream));
    for (LogLine& line : lines) {
        line.source = s.source.source.id;
        if (line.logger.empty()) line.logger = stream.ends_with("_stderr.log") ? "stderr" : "stdout";
        if (!s.source.has_wall_clock) line.time.reset();
        s.source.logs.push_back(std::move(line));
    }
}

}  // namespace

void read_process_streams(Session& session) {
    set_context(session.source, session.duration);
    TableScan row = session.rows_of("ProcessStreams", {"globalPid", "filenameId", "contentId"}, {{}, {}, TableScan::Losses::noted});
    while (row.next()) {
        session.ledger.add_metadata();
        const std::string path = session.strings.text(row.integer_or_zero(1));
        // Settings of the profiler are kept there too.
        if (!is_output(path)) continue;
        if (row.is_null(2) || !session.strings.has(row.integer(2))) {
            session.ledger.note("nsys.no-output", "The output of a process is named, but what it wrote is not in the export", row.place());
            continue;
        }
        add_lines(session, row.integer(0), file_name(path), session.strings.text(row.integer(2)));
    }
}

}  // namespace faultline::nsys
