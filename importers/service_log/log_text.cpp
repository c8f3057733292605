#include "importers/service_log/log_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "importers/service_log/line_reader.h"
#include "importers/service_log/log_clock.h"
#include "importers/service_log/log_parser.h"
#include "importers/service_log/log_rows.h"

namespace faultline::service_log {

namespace {

/// Where the messages go beside the lines.
struct Target {
    SourceBuilder* source = nullptr;
    std::optional<ProcessId> process;
    ImportLedger* ledger = nullptr;
    std::string_view place;
};

/// A line that is too long ends at its carriage returns, and is cut where it has none within the limit.
void feed(LogParser& parser, std::string_view text, std::size_t at, const Target& to) {
    while (text.size() > LineReader::kMaxLine) {
        const std::string_view kept = text.substr(0, LineReader::kMaxLine);
        const std::size_t inside = kept.rfind('\r');
        const std::size_t end =
            std::min(inside != std::string_view::npos && inside > 0 ? inside : text.find('\r', kept.size()), text.size());
        const std::size_t lost = end - std::min(end, kept.size());
        parser.line(text.substr(0, end - lost), at, lost > 0);
        if (lost > 0 && to.ledger != nullptr)
            to.ledger->note("log.long-line", "A line is longer than 1 MiB; the rest of it was left out",
                            fmt::format("{}byte {} ({} bytes left out)", to.place, at, lost));
        if (end == text.size()) return;
        text.remove_prefix(end + 1);
        at += end + 1;
    }
    parser.line(text, at);
}

std::vector<LogLine> read_text(std::string_view text, ImportContext context, std::int64_t clock_base_ns, const Target& to) {
    LogParser parser;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t end = std::min(text.find('\n', at), text.size());
        feed(parser, text.substr(at, end - at), at, to);
        at = end + 1;
    }
    parser.finish();
    std::vector<LogMessage>& messages = parser.messages();
    if (to.ledger != nullptr) account_messages(messages, *to.ledger, to.place);
    complete_ranks(messages);
    Result<LogClock> clock = place_messages(messages, context, clock_base_ns);
    if (!clock) {
        context.time_zone.clear();
        clock = place_messages(messages, context, clock_base_ns);
    }
    std::vector<std::optional<std::int64_t>> times(messages.size());
    if (clock && clock->wall) times = std::move(clock->times);
    return make_lines(messages, times, clock_base_ns, to.source, to.process);
}

}  // namespace

std::vector<LogLine> read_log_text(std::string_view text, const ImportContext& context, std::int64_t clock_base_ns) {
    return read_text(text, context, clock_base_ns, {});
}

std::vector<LogLine> read_log_text(std::string_view text, SourceBuilder& source, std::optional<ProcessId> process, ImportLedger& ledger,
                                   std::string_view place) {
    ImportContext context = source.context;
    if (source.utc_offset_seconds) context.utc_offset_seconds = source.utc_offset_seconds;
    return read_text(text, std::move(context), source.clock_base_ns, {&source, process, &ledger, place});
}

}  // namespace faultline::service_log
