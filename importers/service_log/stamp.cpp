#include "importers/service_log/stamp.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <iterator>
#include <optional>
#include <span>

namespace faultline::service_log {

namespace {

constexpr std::array<std::string_view, 12> kMonths{"Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"};
constexpr std::array<std::string_view, 7> kDays{"Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun"};
constexpr std::int64_t kLatestSecond = 7'000'000'000;    // in the year 2191
constexpr std::string_view kMonthSign = "\xE6\x9C\x88";  // 月

/// A fraction of a second, and what its last digit is worth.
bool read_fraction(TextScan& scan, TimeNs& ns, TimeNs& resolution) {
    const std::size_t from = scan.at();
    TimeNs value = 0;
    TimeNs worth = kSecond;
    while (is_digit(scan.peek()) && worth > 1) {
        value = value * 10 + (scan.peek() - '0');
        worth /= 10;
        scan.go(scan.at() + 1);
    }
    if (scan.at() == from) return false;
    while (is_digit(scan.peek())) scan.go(scan.at() + 1);  // finer than a nanosecond
    ns = value * worth;
    resolution = worth;
    return true;
}

bool set_date(Stamp& stamp, std::optional<std::int64_t> year, std::int64_t month, std::int64_t day) {
    if (month < 1 || month > 12 || day < 1 || day > 31) return false;
    if (year && (*year < 1970 || *year > 2200)) return false;
    stamp.has_date = true;
    stamp.has_year = year.has_value();
    stamp.year = static_cast<std::int16_t>(year.value_or(0));
    stamp.month = static_cast<std::uint8_t>(month);
    stamp.day = static_cast<std::uint8_t>(day);
    const std::optional<int> of = year ? std::optional(static_cast<int>(*year)) : std::nullopt;
    if (stamp.day > days_in_month(of, stamp.month)) stamp.kind = Stamp::Kind::impossible;
    return true;
}

/// "Z", " UTC", "+08:00", "+0800", "+08", " +0800" in seconds.
std::optional<std::int64_t> read_zone(TextScan& scan) {
    const std::size_t from = scan.at();
    if (scan.eat('Z') || scan.eat(" UTC") || scan.eat(" Z")) {
        if (!is_letter(scan.peek()) && !is_digit(scan.peek())) return 0;
        scan.go(from);
        return std::nullopt;
    }
    (void)scan.eat(' ');
    const char sign = scan.peek();
    std::int64_t hours = 0;
    std::int64_t minutes = 0;
    if (sign == '+' || sign == '-') {
        scan.go(scan.at() + 1);
        if (scan.digits(2, hours)) {
            const bool colon = scan.eat(':');
            const bool rest = scan.digits(2, minutes);
            if ((rest || !colon) && !is_digit(scan.peek()) && hours <= 14 && minutes < 60)
                return (sign == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
        }
    }
    scan.go(from);
    return std::nullopt;
}

bool eat_word(TextScan& scan, std::span<const std::string_view> words, std::int64_t& index) {
    const auto it = std::find_if(words.begin(), words.end(), [&](std::string_view w) { return scan.rest().starts_with(w); });
    if (it == words.end()) return false;
    scan.go(scan.at() + it->size());
    index = std::distance(words.begin(), it);
    return true;
}

}  // namespace

unsigned days_in_month(std::optional<int> year, unsigned month) noexcept {
    constexpr int kSomeLeapYear = 2024;
    const std::chrono::year_month_day_last last{std::chrono::year{year.value_or(kSomeLeapYear)},
                                                std::chrono::month_day_last{std::chrono::month{month}}};
    return static_cast<unsigned>(last.day());
}

std::int64_t day_ns(int year, unsigned month, unsigned day) noexcept {
    const std::chrono::sys_days first{std::chrono::year{year} / std::chrono::month{month} / 1};
    return (std::int64_t{first.time_since_epoch().count()} + std::int64_t{day} - 1) * kDay;
}

bool read_time(TextScan& scan, Stamp& stamp) {
    const std::size_t from = scan.at();
    std::int64_t h = 0;
    std::int64_t m = 0;
    std::int64_t s = 0;
    TimeNs fraction = 0;
    TimeNs resolution = kMinute;
    const auto back = [&] {
        scan.go(from);
        return false;
    };
    if (!scan.digits(2, h) || !scan.eat(':') || !scan.digits(2, m) || h > 23 || m > 59) return back();
    if (scan.eat(':')) {
        if (!scan.digits(2, s) || s > 60 || is_digit(scan.peek())) return back();
        resolution = kSecond;
        const std::size_t point = scan.at();
        if ((scan.eat('.') || scan.eat(',')) && !read_fraction(scan, fraction, resolution)) scan.go(point);
    } else if (is_digit(scan.peek())) {
        return back();
    }
    stamp.kind = Stamp::Kind::local;
    stamp.ns = (h * 3600 + m * 60 + s) * kSecond + fraction;
    stamp.resolution = resolution;
    return true;
}

bool read_full(TextScan& scan, Stamp& stamp) {
    const std::size_t from = scan.at();
    Stamp out;
    std::int64_t y = 0;
    std::int64_t m = 0;
    std::int64_t d = 0;
    const auto back = [&] {
        scan.go(from);
        return false;
    };
    if (!scan.digits(4, y)) return back();
    const char mark = scan.peek();
    if ((mark != '-' && mark != '/') || !scan.eat(mark) || !scan.digits(2, m) || !scan.eat(mark) || !scan.digits(2, d)) return back();
    if (!scan.eat('T') && !scan.eat('_') && scan.blanks() == 0) return back();
    if (!read_time(scan, out)) return back();
    if (!set_date(out, y, m, d)) {  // the shape leaves no doubt that a date is meant
        out.kind = Stamp::Kind::impossible;
        out.has_date = out.has_year = true;
    }
    if (const auto zone = read_zone(scan); zone && out.kind == Stamp::Kind::local) {
        out.kind = Stamp::Kind::absolute;
        out.ns += day_ns(out.year, out.month, out.day) - *zone * kSecond;
    }
    stamp = out;
    return true;
}

bool read_month_first(TextScan& scan, Stamp& stamp) {
    const std::size_t from = scan.at();
    Stamp out;
    std::int64_t y = 0;
    std::int64_t m = 0;
    std::int64_t d = 0;
    if (scan.digits(2, m) && scan.eat('/') && scan.digits(2, d) && scan.eat('/') && scan.digits(4, y) && scan.eat('-') &&
        read_time(scan, out) && set_date(out, y, m, d)) {
        stamp = out;
        return true;
    }
    scan.go(from);
    return false;
}

bool read_month_day(TextScan& scan, Stamp& stamp) {
    const std::size_t from = scan.at();
    Stamp out;
    std::int64_t m = 0;
    std::int64_t d = 0;
    if (scan.digits(2, m) && scan.eat('-') && scan.digits(2, d) && scan.blanks() > 0 && read_time(scan, out) && set_date(out, {}, m, d)) {
        stamp = out;
        return true;
    }
    scan.go(from);
    return false;
}

bool read_syslog(TextScan& scan, Stamp& stamp) {
    const std::size_t from = scan.at();
    Stamp out;
    std::int64_t month = 0;
    std::int64_t day = 0;
    bool named = eat_word(scan, kMonths, month);
    if (named)
        ++month;
    else
        named = scan.number(1, 2, month) && scan.eat(kMonthSign);
    if (named && scan.blanks() > 0 && scan.number(1, 2, day) && scan.blanks() > 0 && read_time(scan, out) &&
        set_date(out, {}, month, day)) {
        stamp = out;
        return true;
    }
    scan.go(from);
    return false;
}

bool read_ctime(TextScan& scan, Stamp& stamp) {
    const std::size_t from = scan.at();
    Stamp out;
    std::int64_t weekday = 0;
    std::int64_t month = 0;
    std::int64_t day = 0;
    std::int64_t year = 0;
    if (eat_word(scan, kDays, weekday) && scan.blanks() > 0 && eat_word(scan, kMonths, month) && scan.blanks() > 0 &&
        scan.number(1, 2, day) && scan.blanks() > 0 && read_time(scan, out) && scan.blanks() > 0 && scan.number(4, 4, year) &&
        set_date(out, year, month + 1, day)) {
        stamp = out;
        return true;
    }
    scan.go(from);
    return false;
}

bool read_glog(TextScan& scan, Stamp& stamp) {
    const std::size_t from = scan.at();
    Stamp out;
    std::int64_t date = 0;
    const auto back = [&] {
        scan.go(from);
        return false;
    };
    if (!scan.number(3, 8, date) || scan.blanks() == 0) return back();
    const std::size_t digits = scan.at() - from;
    std::int64_t seconds = 0;
    if (date == 0 && scan.eat("00:00:") && scan.number(9, 10, seconds) &&
        seconds < kLatestSecond) {  // absl before its flags are parsed: no date, epoch seconds
        out.kind = Stamp::Kind::absolute;
        out.ns = seconds * kSecond;
        out.resolution = kSecond;
        TimeNs fraction = 0;
        if (scan.eat('.') && read_fraction(scan, fraction, out.resolution)) out.ns += fraction;
        stamp = out;
        return true;
    }
    const std::optional<std::int64_t> year = digits > 6 ? std::optional(date / 10000) : std::nullopt;
    if (!read_time(scan, out) || out.resolution > kSecond || !set_date(out, year, date / 100 % 100, date % 100)) return back();
    stamp = out;
    return true;
}

bool read_uptime(TextScan& scan, Stamp& stamp) {
    const std::size_t from = scan.at();
    std::int64_t seconds = 0;
    TimeNs fraction = 0;
    TimeNs resolution = 0;
    (void)scan.blanks();
    if (scan.number(1, 9, seconds) && scan.eat('.') && read_fraction(scan, fraction, resolution) && resolution == 1'000) {
        stamp = Stamp{};
        stamp.kind = Stamp::Kind::uptime;
        stamp.ns = seconds * kSecond + fraction;
        stamp.resolution = resolution;
        return true;
    }
    scan.go(from);
    return false;
}

}  // namespace faultline::service_log
