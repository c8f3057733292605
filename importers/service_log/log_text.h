// Log messages of a text in memory: what a process wrote to its output, without a file of its own.
#pragma once

#include <cstdint>
#include <string_view>
#include <vector>

#include "core/import_ledger.h"
#include "core/log_line.h"
#include "core/source_builder.h"

namespace faultline::service_log {

/// The messages of `text` in order. Times are those of the caller's clock (epoch minus `clock_base_ns`), for lines whose stamp can be
/// placed: `context` gives the zone (time_zone or utc_offset_seconds) and the year (wall); a line without a stamp has no time. Offsets are
/// within `text`. `process` and `source` are not set. A time zone that is not known counts as not given.
[[nodiscard]] std::vector<LogLine> read_log_text(std::string_view text, const ImportContext& context, std::int64_t clock_base_ns);

/// The same, with processes and counters put into `source`, and every message counted in `ledger`; `place` stands before the offsets there.
/// For lines without a process of their own `process` is taken. Lines have the limit that they have in files (line_reader.h).
[[nodiscard]] std::vector<LogLine> read_log_text(std::string_view text, SourceBuilder& source, std::optional<ProcessId> process,
                                                 ImportLedger& ledger, std::string_view place);

}  // namespace faultline::service_log
