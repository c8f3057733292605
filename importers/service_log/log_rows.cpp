#include "importers/service_log/log_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "importers/service_log/status_line.h"

namespace faultline::service_log {

namespace {

std::optional<ProcessId> process_of(const LogMessage& message, SourceBuilder& source) {
    if (!message.pid && message.process.empty()) return std::nullopt;
    const ProcessId id = message.pid ? source.process(*message.pid) : source.process(0, message.process);
    Process& row = source.process_row(id);
    if (row.name.empty()) row.name = message.process;
    if (!row.rank) row.rank = message.rank;
    return id;
}

void add_counters(const LogLine& line, SourceBuilder& source) {
    for (const StatusValue& status : read_status(line.text)) {
        TrackBuffer& track = source.counter_track(line.process, status.name);
        const std::uint32_t at = track.append(*line.time, 0, source.name(status.name), SpanKind::counter);
        track.set(at, Column::value, std::bit_cast<std::int64_t>(status.value));
    }
}

}  // namespace

void complete_ranks(std::span<LogMessage> messages) {
    std::int64_t tensor_ranks = 0;
    bool staged = false;
    for (const LogMessage& m : messages) {
        if (m.pipeline_rank && m.rank) tensor_ranks = std::max(tensor_ranks, *m.rank + 1);
        staged |= m.pipeline_rank.value_or(0) > 0;
    }
    if (!staged) return;
    for (LogMessage& m : messages) {
        if (!m.pipeline_rank) continue;
        // A stage without tensor ranks in its name has one rank.
        m.rank = tensor_ranks == 0 ? *m.pipeline_rank : *m.pipeline_rank * tensor_ranks + m.rank.value_or(0);
    }
}

void account_messages(std::span<const LogMessage> messages, ImportLedger& ledger, std::string_view place) {
    ledger.add_read(messages.size());
    for (const LogMessage& m : messages) {
        if (!m.cut && !m.repaired && m.stamp.kind != Stamp::Kind::impossible) continue;
        const std::string at = fmt::format("{}byte {}", place, m.offset);
        if (m.cut) ledger.repaired("log.cut-message", "A message holds a line that was too long and was cut", at);
        if (m.repaired) ledger.repaired("log.bytes", "A message holds bytes that are no UTF-8 text; they were replaced", at, m.cut);
        if (m.stamp.kind == Stamp::Kind::impossible)
            ledger.note("log.impossible-date", "A stamp names a day that no calendar has; its message has no time", at);
    }
}

std::vector<LogLine> make_lines(std::span<LogMessage> messages, std::span<const std::optional<std::int64_t>> times, std::int64_t base_ns,
                                SourceBuilder* source, std::optional<ProcessId> fallback) {
    std::vector<LogLine> lines;
    lines.reserve(messages.size());
    for (std::size_t i = 0; i < messages.size(); ++i) {
        LogMessage& m = messages[i];
        LogLine& line = lines.emplace_back();
        if (times[i]) {
            line.time = *times[i] - base_ns;
            line.resolution_ns = m.stamp.resolution;
        }
        line.rank = m.rank;
        line.level = m.level;
        line.logger = std::move(m.logger);
        line.text = std::move(m.text);
        line.offset = m.offset;
        if (source == nullptr) continue;
        line.source = source->source.id;
        line.process = process_of(m, *source);
        if (!line.process) line.process = fallback;
        if (line.time) add_counters(line, *source);
    }
    return lines;
}

}  // namespace faultline::service_log
