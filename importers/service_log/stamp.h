// The stamp of a log line as it is written: a date with or without year, a time with or without zone, or seconds since boot
// (FORMATS §7.1). What it means is found for the log as a whole (log_clock.h).
#pragma once

#include <cstdint>
#include <optional>

#include "core/types.h"
#include "importers/service_log/text_scan.h"

namespace faultline::service_log {

inline constexpr TimeNs kSecond = 1'000'000'000;
inline constexpr TimeNs kMinute = 60 * kSecond;
inline constexpr TimeNs kHour = 60 * kMinute;
inline constexpr TimeNs kDay = 24 * kHour;

struct Stamp {
    enum class Kind : std::uint8_t {
        none,
        absolute,    ///< `ns` is epoch time: the stamp names its zone, or is a count of seconds
        local,       ///< `ns` is the time since midnight of a day whose zone is not written
        uptime,      ///< `ns` is the time since the machine was started
        impossible,  ///< written as a stamp, of a day that no calendar has: no time
    };
    Kind kind = Kind::none;
    bool has_date = false;  ///< local only
    bool has_year = false;  ///< local only
    std::int16_t year = 0;
    std::uint8_t month = 0, day = 0;
    TimeNs ns = 0;
    TimeNs resolution = 0;  ///< the stamp means [ns, ns + resolution)

    [[nodiscard]] bool known() const noexcept { return kind != Kind::none; }
    friend bool operator==(const Stamp&, const Stamp&) = default;
};

/// Days of a month; February has 29 without a year.
[[nodiscard]] unsigned days_in_month(std::optional<int> year, unsigned month) noexcept;

/// Epoch nanoseconds of a date at midnight, as if it were UTC. Days beyond the month's end run into the next month.
[[nodiscard]] std::int64_t day_ns(int year, unsigned month, unsigned day) noexcept;

// Each reads its shape at the scan's place and moves behind it, or moves nothing and returns false.

/// "HH:MM[:SS[.fraction]]", the fraction after a point or a comma, up to nine digits.
[[nodiscard]] bool read_time(TextScan& scan, Stamp& stamp);
/// "YYYY-MM-DD" or "YYYY/MM/DD", then blanks, 'T' or '_' and a time, then an optional zone ("Z", "+08:00", " +0800", " UTC").
[[nodiscard]] bool read_full(TextScan& scan, Stamp& stamp);
/// "MM/DD/YYYY-HH:MM:SS" of TensorRT-LLM
[[nodiscard]] bool read_month_first(TextScan& scan, Stamp& stamp);
/// "MM-DD HH:MM[:SS[.fraction]]"
[[nodiscard]] bool read_month_day(TextScan& scan, Stamp& stamp);
/// "Feb  3 05:03:41[.fraction]", or the month as in a Chinese or Japanese locale ("6月 10 16:45:05").
[[nodiscard]] bool read_syslog(TextScan& scan, Stamp& stamp);
/// "Sun Feb 23 16:24:18 2025"
[[nodiscard]] bool read_ctime(TextScan& scan, Stamp& stamp);
/// "820 11:47:24.069865760" (month of one or two digits and day), "20240820 11:47:24.06", or absl's "0000 00:00:1762342011.351652".
[[nodiscard]] bool read_glog(TextScan& scan, Stamp& stamp);
/// "   12.345678"
[[nodiscard]] bool read_uptime(TextScan& scan, Stamp& stamp);

}  // namespace faultline::service_log
