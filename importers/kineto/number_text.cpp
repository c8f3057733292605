#include "importers/kineto/number_text.h"

#include <charconv>
#include <cmath>
#include <limits>

namespace faultline::kineto {

namespace {

constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
constexpr std::uint64_t kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

/// value * 10 + digit, or false where it leaves 63 bits.
constexpr bool add_digit(std::uint64_t& value, unsigned digit) noexcept {
    if (value > (kMost - digit) / 10) return false;
    value = value * 10 + digit;
    return true;
}

struct Decimal {
    bool negative = false;
    std::string_view whole, fraction;
    int exponent = 0;
};

/// The parts of a JSON number; nothing where it is none. Exponents past ±1000 are cut there: the value is 0 or out of range anyway.
std::optional<Decimal> split(std::string_view text) noexcept {
    Decimal d;
    std::size_t i = 0;
    if (i < text.size() && text[i] == '-') d.negative = ++i != 0;
    const auto digits = [&] {
        const std::size_t from = i;
        while (i < text.size() && is_digit(text[i])) ++i;
        return text.substr(from, i - from);
    };
    d.whole = digits();
    if (d.whole.empty()) return std::nullopt;
    if (i < text.size() && text[i] == '.') {
        ++i;
        d.fraction = digits();
        if (d.fraction.empty()) return std::nullopt;
    }
    if (i < text.size() && (text[i] == 'e' || text[i] == 'E')) {
        ++i;
        const bool minus = i < text.size() && text[i] == '-';
        if (minus || (i < text.size() && text[i] == '+')) ++i;
        const std::string_view power = digits();
        if (power.empty()) return std::nullopt;
        for (const char c : power)
            if (d.exponent < 1000) d.exponent = d.exponent * 10 + (c - '0');
        if (minus) d.exponent = -d.exponent;
    }
    if (i != text.size()) return std::nullopt;
    return d;
}

/// Any decimal number times 10^3, rounded half up.
std::optional<std::int64_t> scaled_general(std::string_view text) noexcept {
    const std::optional<Decimal> d = split(text);
    if (!d) return std::nullopt;
    // The point stands after `point` digits of whole+fraction once microseconds became nanoseconds.
    const std::int64_t point = static_cast<std::int64_t>(d->whole.size()) + d->exponent + 3;
    const std::int64_t count = static_cast<std::int64_t>(d->whole.size() + d->fraction.size());
    const auto digit_at = [&](std::int64_t i) -> unsigned {
        if (i < 0 || i >= count) return 0;
        const auto at = static_cast<std::size_t>(i);
        const char c = at < d->whole.size() ? d->whole[at] : d->fraction[at - d->whole.size()];
        return static_cast<unsigned>(c - '0');
    };
    std::uint64_t value = 0;
    for (std::int64_t i = 0; i < point; ++i) {
        if (i >= count && value == 0) break;  // only zeros follow
        if (!add_digit(value, digit_at(i))) return std::nullopt;
    }
    if (digit_at(point) >= 5) {
        if (value == kMost) return std::nullopt;
        ++value;
    }
    const auto magnitude = static_cast<std::int64_t>(value);
    return d->negative ? -magnitude : magnitude;
}

}  // namespace

std::optional<std::int64_t> microseconds_to_ns(std::string_view text) noexcept {
    // What nearly every producer writes: up to 16 digits (an epoch in microseconds), and at most three decimals.
    constexpr std::size_t kFastDigits = 16;
    constexpr std::int64_t kFastMost = 9'000'000'000'000'000;
    std::size_t i = 0;
    std::int64_t value = 0;
    while (i < text.size() && i <= kFastDigits && is_digit(text[i])) value = value * 10 + (text[i++] - '0');
    if (i == 0 || i > kFastDigits || value > kFastMost) return scaled_general(text);
    if (i == text.size()) return value * 1000;
    const std::size_t decimals = text.size() - i - 1;
    if (text[i] != '.' || decimals == 0 || decimals > 3) return scaled_general(text);
    std::int64_t scale = 1000;
    for (++i; i < text.size(); ++i) {
        if (!is_digit(text[i])) return scaled_general(text);
        scale /= 10;
        value = value * 10 + (text[i] - '0');
    }
    return value * scale;
}

std::optional<std::int64_t> whole_number(std::string_view text) noexcept {
    constexpr std::size_t kMostDigits = 20, kSafeDigits = 18;  // of 64 bits; of what cannot overflow
    const bool negative = !text.empty() && text.front() == '-';
    if (negative) text.remove_prefix(1);
    if (text.empty() || text.size() > kMostDigits) return std::nullopt;
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (!is_digit(text[i])) return std::nullopt;
        const auto digit = static_cast<unsigned>(text[i] - '0');
        if (i >= kSafeDigits && value > (std::numeric_limits<std::uint64_t>::max() - digit) / 10) return std::nullopt;
        value = value * 10 + digit;
    }
    if (negative) {
        if (value > kMost) return std::nullopt;
        return -static_cast<std::int64_t>(value);
    }
    if (value == kMost + 1) return std::nullopt;
    return static_cast<std::int64_t>(value);
}

std::optional<double> real_number(std::string_view text) noexcept {
    if (!text.empty() && text.front() == '+') text.remove_prefix(1);
    double value = 0;
    const auto [end, code] = std::from_chars(text.data(), text.data() + text.size(), value);  // knows nan, inf and infinity in any case
    if (end != text.data() + text.size() || text.empty()) return std::nullopt;
    if (code == std::errc::result_out_of_range) return std::nullopt;
    return value;
}

}  // namespace faultline::kineto
