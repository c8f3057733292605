// Numbers as they stand in JSON text, read exactly (FORMATS §2.2): no number of a trace ever passes through a double.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace faultline::kineto {

/// Decimal microseconds to integer nanoseconds. Digits beyond the third decimal round half up; exponents are legal.
/// Nothing where the text is no JSON number or the time does not fit 63 bits.
[[nodiscard]] std::optional<std::int64_t> microseconds_to_ns(std::string_view text) noexcept;

/// A whole number; above 2^63 it must fit 64 bits unsigned and comes back by its bits. Nothing for fractions, exponents and -2^63
/// (and +2^63, whose bits mean "absent" in a column).
[[nodiscard]] std::optional<std::int64_t> whole_number(std::string_view text) noexcept;

/// A real number, also as "nan" or "inf" in any spelling that producers use. Nothing where the text is none.
[[nodiscard]] std::optional<double> real_number(std::string_view text) noexcept;

/// The text without quotes around it, where it has them.
[[nodiscard]] constexpr std::string_view unquoted(std::string_view token) noexcept {
    return token.size() >= 2 && token.front() == '"' && token.back() == '"' ? token.substr(1, token.size() - 2) : token;
}

}  // namespace faultline::kineto
