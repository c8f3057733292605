// The days and years that stamps leave out, found from their neighbours (see log_clock.h). Values in, values out.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/source_builder.h"
#include "importers/service_log/log_message.h"

namespace faultline::service_log {

struct DatedStamps {
    /// Of each message: nanoseconds since the epoch, read as if they were UTC where the stamp has no zone. Without any date: since some
    /// midnight or since boot.
    std::vector<std::optional<std::int64_t>> times;
    bool dated = false;
    bool inferred_year = false;
    bool inferred_day = false;  ///< the log has times of day alone, and the trace gave the day
    bool sure = true;           ///< false: the year is only what the file's own date suggests
    std::string year_rule;      ///< in words, where a year was inferred
};

/// `local_wall` is what a clock in the log's zone showed in the middle of the trace, where both are known: it dates a log of times of day.
[[nodiscard]] DatedStamps date_stamps(std::span<const LogMessage> messages, const ImportContext& context, std::int64_t now_ns,
                                      std::optional<std::int64_t> local_wall);

}  // namespace faultline::service_log
