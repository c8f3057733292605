#include "importers/service_log/stamp_days.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdlib>

namespace faultline::service_log {

namespace {

constexpr std::int64_t kLatestZone = 26 * kHour;  // a local time can be so far ahead of the wall clock, and a file is closed a little later

int year_of(std::int64_t ns) {
    const std::chrono::sys_days day{std::chrono::days{ns / kDay - (ns % kDay < 0 ? 1 : 0)}};
    return static_cast<int>(std::chrono::year_month_day{day}.year());
}

std::int64_t midnight(std::int64_t ns) { return ns - ((ns % kDay) + kDay) % kDay; }

std::int64_t in_year(const Stamp& stamp, int year) { return day_ns(year, stamp.month, stamp.day) + stamp.ns; }

constexpr unsigned kFebruary = 2, kLeapDay = 29;

bool is_leap_day(const Stamp& stamp) { return stamp.month == kFebruary && stamp.day == kLeapDay; }

/// Whether the year has the day: most have no 29 February.
bool is_in_year(const Stamp& stamp, int year) { return !is_leap_day(stamp) || std::chrono::year{year}.is_leap(); }

/// The candidate nearest to `near`.
template <std::size_t N>
std::int64_t nearest(const std::array<std::int64_t, N>& candidates, std::int64_t near) {
    return *std::min_element(candidates.begin(), candidates.end(),
                             [near](std::int64_t a, std::int64_t b) { return std::llabs(a - near) < std::llabs(b - near); });
}

/// The moment that a stamp without year or without day means, nearest to `near`.
std::int64_t place_near(const Stamp& stamp, std::int64_t near) {
    if (!stamp.has_date) {
        const std::int64_t day = midnight(near);
        return nearest(std::array{day - kDay + stamp.ns, day + stamp.ns, day + kDay + stamp.ns}, near);
    }
    const int year = year_of(near);
    if (!is_leap_day(stamp)) return nearest(std::array{in_year(stamp, year - 1), in_year(stamp, year), in_year(stamp, year + 1)}, near);
    std::optional<std::int64_t> best;
    constexpr int kBetweenLeapYears = 8;  // at most, over the turn of a century
    for (int y = year - kBetweenLeapYears; y <= year + kBetweenLeapYears; ++y)
        if (is_in_year(stamp, y) && (!best || std::llabs(in_year(stamp, y) - near) < std::llabs(*best - near))) best = in_year(stamp, y);
    return best.value_or(near);
}

class StampDater {
public:
    StampDater(std::span<const LogMessage> messages, const ImportContext& context, std::int64_t now_ns,
               std::optional<std::int64_t> local_wall)
        : messages_(messages), context_(context), now_ns_(now_ns), local_wall_(local_wall) {
        out_.times.resize(messages.size());
    }

    DatedStamps run() {
        take_full_dates();
        if (!any_full_ && any_date_) anchor_year();
        if (!any_full_ && !any_date_) {
            place_relative();
            return std::move(out_);
        }
        out_.dated = true;
        spread();
        return std::move(out_);
    }

private:
    [[nodiscard]] const Stamp& stamp(std::size_t i) const { return messages_[i].stamp; }

    void take_full_dates() {
        for (std::size_t i = 0; i < messages_.size(); ++i) {
            const Stamp& s = stamp(i);
            if (s.kind == Stamp::Kind::absolute) out_.times[i] = s.ns;
            if (s.kind == Stamp::Kind::local && s.has_year) out_.times[i] = in_year(s, s.year);
            any_full_ |= out_.times[i].has_value();
            any_date_ |= s.kind == Stamp::Kind::local && s.has_date;
            out_.inferred_year |= s.kind == Stamp::Kind::local && s.has_date && !s.has_year;
        }
        if (any_full_ && out_.inferred_year) out_.year_rule = "from the full dates in the log";
    }

    /// Whether a log that begins in this year comes to each 29 February in a year that has one.
    [[nodiscard]] bool fits(int year) const {
        constexpr std::int64_t kHalfYear = 190 * kDay;
        std::optional<std::int64_t> previous;
        for (const LogMessage& m : messages_) {
            if (m.stamp.kind != Stamp::Kind::local || !m.stamp.has_date) continue;
            if (!previous && !is_in_year(m.stamp, year)) return false;
            const std::int64_t at = previous ? place_near(m.stamp, *previous) : in_year(m.stamp, year);
            if (previous && std::llabs(at - *previous) > kHalfYear) return false;
            previous = at;
        }
        return true;
    }

    /// The years in which the log can begin, from `latest` back, one at least.
    [[nodiscard]] std::vector<int> possible_years(int latest) const {
        const bool leaps = std::any_of(messages_.begin(), messages_.end(), [](const LogMessage& m) {
            return m.stamp.kind == Stamp::Kind::local && m.stamp.has_date && is_leap_day(m.stamp);
        });
        constexpr int kYears = 16;
        std::vector<int> years;
        for (int year = latest; year > std::max(latest - kYears, 1971); --year)
            if (!leaps || fits(year)) years.push_back(year);
        if (years.empty()) years.push_back(std::max(latest / 4 * 4, 1972));
        return years;
    }

    /// No stamp has a year: the first one gets it so that the log as a whole lies where the anchor says.
    void anchor_year() {
        constexpr int kSomeYear = 2028;
        const int some_year = possible_years(kSomeYear).front();
        std::int64_t first = 0;
        std::int64_t previous = 0;
        std::int64_t latest = 0;
        bool met = false;
        const Stamp* first_stamp = nullptr;
        for (std::size_t i = 0; i < messages_.size(); ++i) {
            const Stamp& s = stamp(i);
            if (s.kind != Stamp::Kind::local || !s.has_date) continue;
            previous = met ? place_near(s, previous) : in_year(s, some_year);
            if (!met) {
                first = latest = previous;
                first_stamp = &s;
                first_dated_ = i;
            }
            met = true;
            latest = std::max(latest, previous);
        }
        const std::int64_t length = latest - first;
        const auto year_before = [&](std::int64_t limit) {  // the last year in which the log ends before `limit`
            const std::vector<int> years = possible_years(year_of(limit) + 1);
            const auto found =
                std::find_if(years.begin(), years.end(), [&](int year) { return in_year(*first_stamp, year) + length <= limit; });
            return found == years.end() ? years.back() : *found;
        };
        int year = 0;
        if (context_.wall) {
            const std::int64_t middle = context_.wall->start + (context_.wall->end - context_.wall->start) / 2;
            constexpr int kAround = 8;
            const std::vector<int> years = possible_years(year_of(middle) + kAround);
            const std::int64_t wanted = middle - length / 2;
            year = *std::min_element(years.begin(), years.end(), [&](int a, int b) {
                return std::llabs(in_year(*first_stamp, a) - wanted) < std::llabs(in_year(*first_stamp, b) - wanted);
            });
            out_.year_rule = "from the wall clock of the trace";
        } else if (context_.modified_wall_ns) {
            year = year_before(*context_.modified_wall_ns + kLatestZone);
            const std::int64_t age = *context_.modified_wall_ns - (in_year(*first_stamp, year) + length);
            out_.sure = age < 3 * kDay;
            out_.year_rule = out_.sure ? "from when the file was last changed, right after its last line"
                                       : fmt::format("from when the file was last changed, {} days after its last line", age / kDay);
        } else {
            year = year_before(now_ns_ + kLatestZone);
            out_.sure = false;
            out_.year_rule = "the last one that is not in the future";
        }
        out_.times[first_dated_] = in_year(*first_stamp, year);
    }

    /// From every time that is known to its neighbours, forwards and then backwards for those before the first.
    void spread() {
        bool met = false;
        std::int64_t near = 0;
        const auto fill = [&](std::size_t i) {
            const Stamp& s = stamp(i);
            if (!out_.times[i] && met && s.kind == Stamp::Kind::local) out_.times[i] = place_near(s, near);
            if (!out_.times[i]) return;
            near = *out_.times[i];
            met = true;
        };
        for (std::size_t i = 0; i < messages_.size(); ++i) fill(i);
        met = false;
        for (std::size_t i = messages_.size(); i-- > 0;) fill(i);
    }

    /// No date at all: times of day run on over midnight; seconds since boot are as they are. The kind that is met more often counts.
    void place_relative() {
        std::size_t clocks = 0;
        std::size_t uptimes = 0;
        for (const LogMessage& m : messages_) {
            clocks += m.stamp.kind == Stamp::Kind::local;
            uptimes += m.stamp.kind == Stamp::Kind::uptime;
        }
        const Stamp::Kind kind = clocks >= uptimes ? Stamp::Kind::local : Stamp::Kind::uptime;
        std::int64_t near = 12 * kHour;  // the first one lies on the first day whatever it says
        for (std::size_t i = 0; i < messages_.size(); ++i) {
            const Stamp& s = stamp(i);
            if (s.kind != kind) continue;
            if (kind == Stamp::Kind::local) near = place_near(s, near);
            out_.times[i] = kind == Stamp::Kind::uptime ? s.ns : near;
        }
        if (kind == Stamp::Kind::local && clocks > 0 && local_wall_) shift_to(*local_wall_);
    }

    /// Moves a log of times of day by whole days, so that its middle lies nearest to `wall`.
    void shift_to(std::int64_t wall) {
        std::optional<std::int64_t> first;
        std::optional<std::int64_t> last;
        for (const auto& time : out_.times) {
            if (!time) continue;
            first = std::min(first.value_or(*time), *time);
            last = std::max(last.value_or(*time), *time);
        }
        const std::int64_t middle = *first + (*last - *first) / 2;
        const std::int64_t shift = midnight(wall - middle + kDay / 2);
        for (auto& time : out_.times)
            if (time) *time += shift;
        out_.dated = out_.inferred_day = true;
    }

    std::span<const LogMessage> messages_;
    const ImportContext& context_;
    std::int64_t now_ns_;
    std::optional<std::int64_t> local_wall_;
    DatedStamps out_;
    bool any_full_ = false, any_date_ = false;
    std::size_t first_dated_ = 0;
};

}  // namespace

DatedStamps date_stamps(std::span<const LogMessage> messages, const ImportContext& context, std::int64_t now_ns,
                        std::optional<std::int64_t> local_wall) {
    return StampDater(messages, context, now_ns, local_wall).run();
}

}  // namespace faultline::service_log
