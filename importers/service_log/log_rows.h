// From messages to what a source holds: processes, log lines and the counters of status lines.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "core/import_ledger.h"
#include "core/log_line.h"
#include "core/source_builder.h"
#include "importers/service_log/log_message.h"

namespace faultline::service_log {

/// Puts the ranks of pipeline stages in: the global rank is stage * tensor ranks + tensor rank. For all messages of a log at once.
void complete_ranks(std::span<LogMessage> messages);

/// Counts the messages as read, and what was repaired or is missing of them; `place` stands before the offsets ("" or "FILE ").
void account_messages(std::span<const LogMessage> messages, ImportLedger& ledger, std::string_view place);

/// One log line for each message; the texts are moved out. `times` (ns since the epoch or since some start, one a message) minus `base_ns`
/// are the lines' times. Processes and counters go into `source` where it is given.
[[nodiscard]] std::vector<LogLine> make_lines(std::span<LogMessage> messages, std::span<const std::optional<std::int64_t>> times,
                                              std::int64_t base_ns, SourceBuilder* source, std::optional<ProcessId> fallback = {});

}  // namespace faultline::service_log
