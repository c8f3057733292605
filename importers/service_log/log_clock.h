// What the stamps of a log mean as epoch time: the day and year they leave out, and the zone they are written in (FORMATS §7.1).
//
// Year and day: each stamp lies nearest to the dated one before it, so that a log runs on from December to January and over midnight. The
// first year comes from full dates in the log itself, else from the wall clock that the traces cover, else from when the file was last
// changed. Zone, first that is known: the one given; stamps with a zone that stand beside stamps without; the host of the trace; the
// quarter-hour offset that alone lays the log over the trace; UTC, which is then said to be an assumption. Functions of values; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/model.h"
#include "core/result.h"
#include "core/source_builder.h"
#include "importers/service_log/log_message.h"

namespace faultline::service_log {

struct LogClock {
    std::vector<std::optional<std::int64_t>>
        times;          ///< one for each message: ns since the epoch, or since the first where there is no wall clock
    bool wall = false;  ///< the times are epoch times
    std::string rule;   ///< how they were found, in words
    /// How far the clock may be off if the rule is right: 0 where zone and day are known, 1 s where they were found by comparing, and for
    /// kernel times as dates (`dmesg -T`), which drift. A wrong zone would be off by whole quarters of an hour, and no tolerance helps
    /// there.
    std::int64_t uncertainty_ns = 0;
    std::vector<HealthFinding> findings;
};

/// Fails with wrong_usage where context.time_zone names no zone. `now_ns` is the wall clock, used where nothing else tells the year.
[[nodiscard]] Result<LogClock> place_messages(std::span<const LogMessage> messages, const ImportContext& context, std::int64_t now_ns);

}  // namespace faultline::service_log
