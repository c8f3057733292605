#include "importers/service_log/log_clock.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>

#include "importers/service_log/log_zone.h"
#include "importers/service_log/stamp_days.h"

namespace faultline::service_log {

namespace {

struct StampCounts {
    std::size_t with_zone = 0, without_zone = 0, time_only = 0, uptime = 0, none = 0, kernel_dates = 0;
};

StampCounts count_stamps(std::span<const LogMessage> messages) {
    StampCounts n;
    for (const LogMessage& m : messages) {
        switch (m.stamp.kind) {
            case Stamp::Kind::none:
            case Stamp::Kind::impossible: ++n.none; break;
            case Stamp::Kind::absolute: ++n.with_zone; break;
            case Stamp::Kind::uptime: ++n.uptime; break;
            case Stamp::Kind::local:
                ++n.without_zone;
                n.time_only += !m.stamp.has_date;
                n.kernel_dates += m.shape == Shape::kernel && m.stamp.has_year;
                break;
        }
    }
    return n;
}

/// A log that runs backwards was put together from several, or its clock was set.
void find_disorder(std::span<const LogMessage> messages, const LogClock& clock, std::vector<HealthFinding>& findings) {
    constexpr TimeNs kFar = 10 * kMinute;
    std::optional<std::int64_t> latest;
    std::size_t jumps = 0;
    std::uint64_t first_at = 0;
    for (std::size_t i = 0; i < messages.size(); ++i) {
        if (!clock.times[i]) continue;
        if (latest && *clock.times[i] < *latest - kFar) {
            if (jumps++ == 0) first_at = messages[i].offset;
            latest = clock.times[i];  // the jump is counted once
        }
        latest = latest ? std::max(*latest, *clock.times[i]) : clock.times[i];
    }
    if (jumps == 0) return;
    findings.push_back(
        {"logs.order", Severity::info,
         fmt::format("The times of the log go back by more than ten minutes at {} {} (first at byte {}): it holds the output of "
                     "several runs or writers, or its clock was set.",
                     jumps, jumps == 1 ? "place" : "places", first_at)});
}

void say_year(const DatedStamps& dated, LogClock& clock) {
    if (!dated.inferred_year) return;
    std::optional<std::int64_t> first;
    for (const auto& t : dated.times)
        if (t && (!first || *t < *first)) first = t;
    const std::chrono::sys_days day{std::chrono::floor<std::chrono::days>(
        std::chrono::sys_time<std::chrono::nanoseconds>{std::chrono::nanoseconds{first.value_or(0)}})};
    const int year = static_cast<int>(std::chrono::year_month_day{day}.year());
    clock.rule += fmt::format("; year {} {}", year, dated.year_rule);
    if (dated.sure)
        clock.findings.push_back(
            {"logs.year", Severity::info, fmt::format("The log names no year; it begins in {}, {}.", year, dated.year_rule)});
    else
        clock.findings.push_back(
            {"logs.year", Severity::warning,
             fmt::format("The log names no year. It was taken to begin in {}: {}. Import the log together with a trace of the "
                         "same run, or keep the date of the file when it is copied.",
                         year, dated.year_rule)});
}

/// No stamp has a date. Beside a trace whose wall clock is known, times that cannot be laid on it would only mislead: they are left out.
LogClock relative_clock(DatedStamps dated, const StampCounts& n, bool beside_trace) {
    LogClock clock;
    clock.times = std::move(dated.times);
    if (beside_trace) std::fill(clock.times.begin(), clock.times.end(), std::nullopt);
    if (n.time_only + n.uptime == 0) {
        clock.rule = "no times in the log";
        clock.findings.push_back(
            {"logs.no-time", Severity::warning,
             "No line of the log carries a time that is known, so its messages cannot be laid beside the steps. Switch on "
             "time stamps (NCCL: NCCL_DEBUG_TIMESTAMP_LEVELS=ALL; containers: kubectl logs --timestamps)."});
        return clock;
    }
    const bool uptime = n.uptime > n.time_only;
    clock.rule = uptime ? "seconds since boot; the wall clock is not known" : "times of day without a date; the wall clock is not known";
    clock.findings.push_back(
        {"logs.no-date", Severity::warning,
         uptime ? "The log counts seconds since boot, so it cannot be laid beside the steps. Take it with dmesg -T or "
                  "journalctl -k -o json."
                : "The log has times of day but no date, so it cannot be laid beside the steps. Import it with a trace of "
                  "the same day and with --time-zone, or take it with full dates."});
    return clock;
}

}  // namespace

Result<LogClock> place_messages(std::span<const LogMessage> messages, const ImportContext& given, std::int64_t now_ns) {
    ImportContext context = given;
    if (context.wall && (context.wall->start < 0 || context.wall->end < context.wall->start || context.wall->end > day_ns(2191, 1, 1)))
        context.wall.reset();  // no wall clock that a log could have
    std::optional<LogZone> known_zone;
    if (context.utc_offset_seconds) known_zone = LogZone(*context.utc_offset_seconds);
    if (!context.time_zone.empty()) {
        const Result<LogZone> zone = LogZone::parse(context.time_zone);
        if (!zone) return tl::unexpected<Error>(zone.error());
        known_zone = *zone;
    }
    std::optional<std::int64_t> local_wall;
    if (known_zone && context.wall) local_wall = known_zone->to_local(context.wall->start + context.wall->duration() / 2);
    const StampCounts n = count_stamps(messages);
    DatedStamps dated = date_stamps(messages, context, now_ns, local_wall);
    if (!dated.dated) return relative_clock(std::move(dated), n, context.wall.has_value());

    LogClock clock;
    clock.wall = true;
    if (n.without_zone == 0) {
        clock.rule = "the stamps carry their zone";
        clock.times = std::move(dated.times);
    } else {
        const Result<FoundZone> found = find_zone(messages, dated.times, context);
        if (!found) return tl::unexpected<Error>(found.error());
        clock.times = dated.times;
        for (std::size_t i = 0; i < messages.size(); ++i)
            if (clock.times[i] && messages[i].stamp.kind == Stamp::Kind::local) clock.times[i] = found->zone.to_utc(*clock.times[i]);
        clock.rule = "local stamps, zone " + found->rule;
        if (found->assumed || found->fitted || n.kernel_dates > 0) clock.uncertainty_ns = kSecond;
        if (found->assumed)
            clock.findings.push_back(
                {"logs.zone", Severity::warning,
                 "The log does not say in which time zone its stamps are; UTC was assumed. If its lines do not fit the steps, "
                 "import it again with --time-zone (for example --time-zone +08:00)."});
        else
            clock.findings.push_back({"logs.zone", Severity::info, fmt::format("Time zone of the log: {}.", found->rule)});
    }
    if (dated.inferred_day) {
        clock.rule += "; the day is that of the trace";
        clock.findings.push_back({"logs.no-date", Severity::info, "The log has times of day but no date; the day of the trace was taken."});
    }
    say_year(dated, clock);
    find_disorder(messages, clock, clock.findings);
    return clock;
}

}  // namespace faultline::service_log
