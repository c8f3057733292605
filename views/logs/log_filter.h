// What the log dock is filtered by: a least level, and words that a line must or must not hold.
//
// A value; matching is case-insensitive for ASCII, byte for byte otherwise, and allocates nothing.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/log_line.h"

namespace faultline {

/// A line without a level counts as INFO.
enum class LogLevel : std::uint8_t { debug = 0, info = 1, warning = 2, error = 3, critical = 4 };
[[nodiscard]] LogLevel log_level(const LogLine& line) noexcept;

class LogFilter {
public:
    LogFilter() = default;
    /// `words` as typed: every word must be there, every "-word" must not; "a phrase" in quotes is one word.
    LogFilter(LogLevel least, std::string_view words);
    [[nodiscard]] bool accepts(const LogLine& line) const;
    [[nodiscard]] bool everything() const noexcept { return least_ == LogLevel::debug && wanted_.empty() && unwanted_.empty(); }

private:
    LogLevel least_ = LogLevel::debug;
    std::vector<std::string> wanted_, unwanted_;  ///< lower case
};

}  // namespace faultline
