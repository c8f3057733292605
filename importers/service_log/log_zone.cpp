#include "importers/service_log/log_zone.h"

#include <date/tz.h>
#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <map>
#include <vector>

namespace faultline::service_log {

namespace {

constexpr std::int64_t kQuarter = 15 * kMinute;
constexpr std::int64_t kFirstOffset = -12 * 4;  // quarters of an hour, the zones that exist
constexpr std::int64_t kLastOffset = 14 * 4;

std::string offset_text(std::int64_t seconds) {
    if (seconds == 0) return "UTC";
    const std::int64_t minutes = std::llabs(seconds) / 60;
    return fmt::format("{}{:02}:{:02}", seconds < 0 ? '-' : '+', minutes / 60, minutes % 60);
}

std::optional<std::int64_t> fixed_offset(std::string_view text) {
    if (text == "UTC" || text == "Z" || text == "utc" || text == "GMT") return 0;
    if (text.starts_with("UTC") || text.starts_with("GMT")) text.remove_prefix(3);
    if (text.empty() || (text.front() != '+' && text.front() != '-')) return std::nullopt;
    TextScan scan(text, 1);
    std::int64_t hours = 0;
    std::int64_t minutes = 0;
    if (text.size() == 5 && scan.digits(2, hours)) {
        if (!scan.digits(2, minutes)) return std::nullopt;
    } else if (!scan.number(1, 2, hours) || (scan.eat(':') && !scan.digits(2, minutes))) {
        return std::nullopt;
    }
    if (!scan.done() || hours > 14 || minutes > 59) return std::nullopt;
    return (text.front() == '-' ? -1 : 1) * (hours * 3600 + minutes * 60);
}

/// The offset that pairs of stamps agree on: each pair is one moment (or nearly), once with a zone and once without.
class OffsetVotes {
public:
    void add(std::int64_t local, std::int64_t utc, TimeNs slack) {
        const std::int64_t difference = local - utc;
        const std::int64_t quarters = (difference + (difference < 0 ? -kQuarter / 2 : kQuarter / 2)) / kQuarter;
        if (quarters < kFirstOffset || quarters > kLastOffset || std::llabs(difference - quarters * kQuarter) > slack) {
            ++misfits_;
            return;
        }
        ++votes_[quarters];
        ++count_;
    }
    /// The winner in seconds, where nine of ten agree.
    [[nodiscard]] std::optional<std::int64_t> winner() const {
        const auto best = std::max_element(votes_.begin(), votes_.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
        if (best == votes_.end() || best->second * 10 < (count_ + misfits_ / 4) * 9) return std::nullopt;
        return best->first * kQuarter / kSecond;
    }
    [[nodiscard]] std::size_t count() const { return count_; }

private:
    std::map<std::int64_t, std::size_t> votes_;
    std::size_t count_ = 0, misfits_ = 0;
};

/// Stamps of one and the same line, with a zone and without.
OffsetVotes pairs_in_lines(std::span<const LogMessage> messages) {
    OffsetVotes votes;
    for (const LogMessage& m : messages) {
        if (m.stamp.kind != Stamp::Kind::absolute || !m.local.known()) continue;
        // The year, and where need be the day, follow from the stamp that has them; zones are less than a day apart.
        std::int64_t best = m.stamp.ns;
        std::int64_t distance = 16 * kHour;
        for (std::int64_t shift = -1; shift <= 1; ++shift) {
            const std::int64_t midnight = m.stamp.ns / kDay * kDay + shift * kDay;
            const std::chrono::year_month_day day{std::chrono::sys_days{std::chrono::days{midnight / kDay}}};
            if (m.local.has_date && (unsigned{day.month()} != m.local.month || unsigned{day.day()} != m.local.day)) continue;
            const std::int64_t time = midnight + m.local.ns;
            if (std::llabs(time - m.stamp.ns) >= distance) continue;
            distance = std::llabs(time - m.stamp.ns);
            best = time;
        }
        if (distance < 16 * kHour) votes.add(best, m.stamp.ns, 2 * kMinute);
    }
    return votes;
}

/// Lines with a zone next to lines without.
OffsetVotes pairs_of_neighbours(std::span<const LogMessage> messages, std::span<const std::optional<std::int64_t>> local) {
    OffsetVotes votes;
    std::size_t last = messages.size();
    for (std::size_t i = 0; i < messages.size(); ++i) {
        const Stamp& s = messages[i].stamp;
        if (!local[i] || (s.kind == Stamp::Kind::local && !s.has_date)) continue;
        if (last < messages.size() && messages[last].stamp.kind != s.kind) {
            const bool has_zone = s.kind == Stamp::Kind::absolute;
            votes.add(has_zone ? *local[last] : *local[i], has_zone ? *local[i] : *local[last], kMinute);
        }
        last = i;
    }
    return votes;
}

/// The offset that alone lays the log over the trace: at least three stamps fall into it, and no other offset has half as many.
std::optional<FoundZone> fit(std::span<const LogMessage> messages, std::span<const std::optional<std::int64_t>> local, TimeRange wall) {
    std::vector<std::int64_t> times;
    for (std::size_t i = 0; i < messages.size(); ++i)
        if (local[i] && messages[i].stamp.kind == Stamp::Kind::local) times.push_back(*local[i]);
    std::sort(times.begin(), times.end());
    std::int64_t best = 0;
    std::ptrdiff_t most = 0;
    std::ptrdiff_t second = 0;
    for (std::int64_t offset = kFirstOffset; offset <= kLastOffset; ++offset) {
        const auto from = std::lower_bound(times.begin(), times.end(), wall.start + offset * kQuarter - kSecond);
        const auto to = std::upper_bound(from, times.end(), wall.end + offset * kQuarter + kSecond);
        const std::ptrdiff_t inside = to - from;
        if (inside > most) {
            second = most;
            most = inside;
            best = offset;
        } else {
            second = std::max(second, inside);
        }
    }
    if (most < 3 || second * 2 > most) return std::nullopt;
    const std::int64_t seconds = best * kQuarter / kSecond;
    return FoundZone{LogZone(seconds),
                     fmt::format("{}: it alone lays the log over the trace ({} of {} stamps inside; the next best offset has {})",
                                 offset_text(seconds), most, times.size(), second),
                     false, true};
}

}  // namespace

Result<LogZone> LogZone::parse(std::string_view text) {
    if (const auto offset = fixed_offset(text)) return LogZone(*offset);
    try {
        LogZone zone;
        zone.zone_ = date::locate_zone(std::string(text));
        return zone;
    } catch (const std::exception&) {
        return fail(ErrorCode::wrong_usage, fmt::format("\"{}\" is no time zone that this machine knows", text),
                    "Give --time-zone as an offset (+08:00), as UTC, or as a name of the time zone database (Asia/Shanghai)");
    }
}

std::int64_t LogZone::to_utc(std::int64_t local_ns) const {
    if (zone_ == nullptr) return local_ns - offset_seconds_ * kSecond;
    const date::local_time<std::chrono::nanoseconds> local{std::chrono::nanoseconds{local_ns}};
    const date::local_info info = zone_->get_info(local);
    return local_ns - std::int64_t{info.first.offset.count()} * kSecond;
}

std::int64_t LogZone::to_local(std::int64_t utc_ns) const {
    if (zone_ == nullptr) return utc_ns + offset_seconds_ * kSecond;
    const date::sys_info info = zone_->get_info(date::sys_time<std::chrono::nanoseconds>{std::chrono::nanoseconds{utc_ns}});
    return utc_ns + std::int64_t{info.offset.count()} * kSecond;
}

std::string LogZone::name() const { return zone_ != nullptr ? zone_->name() : offset_text(offset_seconds_); }

Result<FoundZone> find_zone(std::span<const LogMessage> messages, std::span<const std::optional<std::int64_t>> local,
                            const ImportContext& context) {
    if (!context.time_zone.empty()) {
        const Result<LogZone> zone = LogZone::parse(context.time_zone);
        if (!zone) return tl::unexpected<Error>(zone.error());
        return FoundZone{*zone, fmt::format("{}, as given on import (--time-zone)", zone->name()), false, false};
    }
    const OffsetVotes in_lines = pairs_in_lines(messages);
    if (const auto offset = in_lines.winner())
        return FoundZone{LogZone(*offset),
                         fmt::format("{}: {} {} a second stamp with its zone", offset_text(*offset), in_lines.count(),
                                     in_lines.count() == 1 ? "line carries" : "lines carry"),
                         false, false};
    const OffsetVotes neighbours = pairs_of_neighbours(messages, local);
    if (const auto offset = neighbours.winner())
        return FoundZone{LogZone(*offset),
                         fmt::format("{}: {} with a zone next to one without", offset_text(*offset),
                                     neighbours.count() == 1 ? "a stamp" : fmt::format("{} stamps", neighbours.count())),
                         false, false};
    if (context.utc_offset_seconds)
        return FoundZone{LogZone(*context.utc_offset_seconds),
                         fmt::format("{}, as on the host of the trace", offset_text(*context.utc_offset_seconds)), false, false};
    if (context.wall)
        if (auto found = fit(messages, local, *context.wall)) return std::move(*found);
    return FoundZone{LogZone(0), "assumed to be UTC", true, false};
}

}  // namespace faultline::service_log
