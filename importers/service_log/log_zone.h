// The zone that stamps without one are written in (see log_clock.h). Values in, values out; any thread.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"
#include "core/source_builder.h"
#include "importers/service_log/log_message.h"

namespace date {
class time_zone;
}

namespace faultline::service_log {

/// A fixed offset or a zone of the tz database.
class LogZone {
public:
    LogZone() = default;
    explicit LogZone(std::int64_t offset_seconds) : offset_seconds_(offset_seconds) {}
    /// "UTC", "Z", "+08:00", "-0530", "+8", or a name of the tz database ("Asia/Shanghai"); fails with wrong_usage.
    [[nodiscard]] static Result<LogZone> parse(std::string_view text);

    /// Epoch time of a local time; of two that a clock change makes the earlier.
    [[nodiscard]] std::int64_t to_utc(std::int64_t local_ns) const;
    [[nodiscard]] std::int64_t to_local(std::int64_t utc_ns) const;
    [[nodiscard]] std::string name() const;

private:
    std::int64_t offset_seconds_ = 0;
    const date::time_zone* zone_ = nullptr;
};

struct FoundZone {
    LogZone zone;
    std::string rule;      ///< in words
    bool assumed = false;  ///< nothing speaks for it
    bool fitted = false;   ///< found by comparing with the trace
};

/// `local` holds the time of each message as date_stamps() gives it.
[[nodiscard]] Result<FoundZone> find_zone(std::span<const LogMessage> messages, std::span<const std::optional<std::int64_t>> local,
                                          const ImportContext& context);

}  // namespace faultline::service_log
