#include "importers/service_log/log_text.h"

#include <algorithm>

#include "importers/service_log/log_clock.h"
#include "importers/service_log/log_parser.h"
#include "importers/service_log/log_rows.h"

namespace faultline::service_log {

namespace {

std::vector<LogLine> read_text(std::string_view text, ImportContext context, std::int64_t clock_base_ns, SourceBuilder* source,
                               std::optional<ProcessId> process) {
    LogParser parser;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        parser.line(text.substr(at, end - at), at);
        at = end + 1;
    }
    parser.finish();
    std::vector<LogMessage>& messages = parser.messages();
    complete_ranks(messages);
    Result<LogClock> clock = place_messages(messages, context, clock_base_ns);
    if (!clock) {
        context.time_zone.clear();
        clock = place_messages(messages, context, clock_base_ns);
    }
    std::vector<std::optional<std::int64_t>> times(messages.size());
    if (clock && clock->wall) times = std::move(clock->times);
    return make_lines(messages, times, clock_base_ns, source, process);
}

}  // namespace

std::vector<LogLine> read_log_text(std::string_view text, const ImportContext& context, std::int64_t clock_base_ns) {
    return read_text(text, context, clock_base_ns, nullptr, std::nullopt);
}

std::vector<LogLine> read_log_text(std::string_view text, SourceBuilder& source, std::optional<ProcessId> process) {
    ImportContext context = source.context;
    if (source.utc_offset_seconds) context.utc_offset_seconds = source.utc_offset_seconds;
    return read_text(text, std::move(context), source.clock_base_ns, &source, process);
}

}  // namespace faultline::service_log
