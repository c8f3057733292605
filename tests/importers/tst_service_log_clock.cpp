// What stamps mean as epoch time: years, days and zones that the log leaves out. All stamps are made up.
#include <QTest>

#include "importers/service_log/log_clock.h"
#include "importers/service_log/log_parser.h"
#include "importers/service_log/log_text.h"

using namespace faultline;
using namespace faultline::service_log;

namespace {

constexpr TimeNs clock_time(int h, int m, int s) { return (h * 3600 + m * 60 + s) * kSecond; }

std::int64_t at(int year, unsigned month, unsigned day, int h, int m, int s) { return day_ns(year, month, day) + clock_time(h, m, s); }

/// A vLLM line with this stamp.
std::string line(std::string_view stamp) { return "INFO " + std::string(stamp) + " [a.py:1] x"; }

Result<LogClock> place(const std::vector<std::string>& lines, const ImportContext& context = {},
                       std::int64_t now = at(2026, 6, 1, 0, 0, 0)) {
    LogParser parser;
    for (std::size_t i = 0; i < lines.size(); ++i) parser.line(lines[i], i);
    parser.finish();
    return place_messages(parser.messages(), context, now);
}

bool has(const LogClock& clock, std::string_view code, Severity severity) {
    for (const HealthFinding& f : clock.findings)
        if (f.code == code && f.severity == severity) return true;
    return false;
}

QString rule(const LogClock& clock) { return QString::fromStdString(clock.rule); }

}  // namespace

class TestServiceLogClock : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void rolls_over_the_year() {
        ImportContext context;
        context.time_zone = "UTC";
        context.modified_wall_ns = at(2026, 1, 1, 0, 0, 9);
        const auto clock = place({line("12-31 23:59:58"), line("01-01 00:00:03"), line("12-31 23:59:59"), line("01-01 00:00:05")}, context);
        QVERIFY(clock);
        QCOMPARE(clock->times[0], std::optional(at(2025, 12, 31, 23, 59, 58)));
        QCOMPARE(clock->times[1], std::optional(at(2026, 1, 1, 0, 0, 3)));
        QCOMPARE(clock->times[2], std::optional(at(2025, 12, 31, 23, 59, 59)));  // a writer that came late
        QCOMPARE(clock->times[3], std::optional(at(2026, 1, 1, 0, 0, 5)));
        QVERIFY(clock->wall);
        QVERIFY(has(*clock, "logs.year", Severity::info));
    }

    void takes_the_year_of_the_file() {
        ImportContext context;
        context.time_zone = "UTC";
        context.modified_wall_ns = at(2026, 3, 1, 0, 0, 0);
        const auto old = place({line("11-05 10:00:00")}, context);  // not in the future of the file
        QVERIFY(old);
        QCOMPARE(old->times[0], std::optional(at(2025, 11, 5, 10, 0, 0)));
        QVERIFY2(has(*old, "logs.year", Severity::warning), "116 days lie between the last line and the file");
        const auto fresh = place({line("02-28 23:00:00")}, context);
        QCOMPARE(fresh->times[0], std::optional(at(2026, 2, 28, 23, 0, 0)));
        QVERIFY(has(*fresh, "logs.year", Severity::info));
        const auto leap = place({line("02-29 12:00:00")}, context);  // no such day in 2026 or 2025: kept as the day after
        QVERIFY(leap->times[0].has_value());
    }

    void takes_the_year_of_the_trace_before_that_of_the_file() {
        ImportContext context;
        context.time_zone = "UTC";
        context.wall = TimeRange{at(2023, 1, 1, 0, 0, 0), at(2023, 1, 1, 0, 1, 0)};
        context.modified_wall_ns = at(2026, 3, 1, 0, 0, 0);
        const auto clock = place({line("12-31 23:59:58"), line("01-01 00:00:30")}, context);
        QCOMPARE(clock->times[0], std::optional(at(2022, 12, 31, 23, 59, 58)));
        QCOMPARE(clock->times[1], std::optional(at(2023, 1, 1, 0, 0, 30)));
    }

    void takes_the_year_of_full_dates_in_the_log() {
        ImportContext context;
        context.time_zone = "UTC";
        const auto clock = place({line("12-31 10:00:00"), "[2024-01-02 10:00:00] x", line("01-03 10:00:00")}, context);
        QCOMPARE(clock->times[0], std::optional(at(2023, 12, 31, 10, 0, 0)));
        QCOMPARE(clock->times[2], std::optional(at(2024, 1, 3, 10, 0, 0)));
        QVERIFY(has(*clock, "logs.year", Severity::info));
    }

    void a_leap_day_tells_the_year() {
        ImportContext context;
        context.time_zone = "UTC";
        const auto begins = place({line("02-29 10:00:00"), line("03-01 10:00:00")}, context);
        QCOMPARE(begins->times[0], std::optional(at(2024, 2, 29, 10, 0, 0)));
        QCOMPARE(begins->times[1], std::optional(at(2024, 3, 1, 10, 0, 0)));
        context.modified_wall_ns = at(2021, 5, 1, 0, 0, 0);
        const auto inside = place({line("12-31 10:00:00"), line("02-28 10:00:00"), line("02-29 10:00:00")}, context);
        QCOMPARE(inside->times[0], std::optional(at(2019, 12, 31, 10, 0, 0)));
        QCOMPARE(inside->times[2], std::optional(at(2020, 2, 29, 10, 0, 0)));
        context.wall = TimeRange{at(2027, 2, 28, 0, 0, 0), at(2027, 3, 2, 0, 0, 0)};
        const auto near = place({line("02-28 23:59:59"), line("02-29 00:00:01")}, context);
        QCOMPARE(near->times[0], std::optional(at(2028, 2, 28, 23, 59, 59)));
        QCOMPARE(near->times[1], std::optional(at(2028, 2, 29, 0, 0, 1)));
        const auto beside = place({"2025-03-01 10:00:00 full", line("02-29 10:00:00")}, context);
        QCOMPARE(beside->times[1], std::optional(at(2024, 2, 29, 10, 0, 0)));
    }

    void takes_the_given_zone() {
        ImportContext context;
        const std::string stamp = "[2026-07-01 12:00:00] x";
        for (const auto& [name, hours] : {std::pair{"UTC", 0}, std::pair{"+08:00", 8}, std::pair{"-0500", -5}, std::pair{"UTC+2", 2}}) {
            context.time_zone = name;
            const auto clock = place({stamp}, context);
            QVERIFY(clock);
            QCOMPARE(clock->times[0], std::optional(at(2026, 7, 1, 12, 0, 0) - hours * kHour));
            QVERIFY(rule(*clock).contains(QStringLiteral("as given on import")));
            QCOMPARE(clock->uncertainty_ns, std::int64_t{0});
        }
    }

    void knows_zones_by_name() {
        ImportContext context;
        context.time_zone = "Europe/Berlin";
        const auto clock = place({"[2026-07-01 12:00:00] x", "[2026-12-01 12:00:00] x"}, context);
        if (!clock) QSKIP("no time zone database on this machine");
        QCOMPARE(clock->times[0], std::optional(at(2026, 7, 1, 10, 0, 0)));  // summer
        QCOMPARE(clock->times[1], std::optional(at(2026, 12, 1, 11, 0, 0)));
    }

    void refuses_zones_that_are_none() {
        ImportContext context;
        for (const char* name : {"Mars/Phobos", "+25:00", "08:00", "../etc/passwd", "+08:0x"}) {
            context.time_zone = name;
            const auto clock = place({"[2026-07-01 12:00:00] x"}, context);
            QVERIFY2(!clock, name);
            QCOMPARE(static_cast<int>(clock.error().code), static_cast<int>(ErrorCode::wrong_usage));
            QVERIFY(!clock.error().hint.empty());
        }
    }

    void finds_the_zone_from_pairs_in_a_line() {
        const auto clock = place({"2026-08-31T16:43:37.5Z stdout F INFO 09-01 00:43:37 [a.py:1] x", line("09-01 00:43:40")});
        QCOMPARE(clock->times[0], std::optional(at(2026, 8, 31, 16, 43, 37) + 500'000'000));
        QCOMPARE(clock->times[1], std::optional(at(2026, 8, 31, 16, 43, 40)));
        QVERIFY(has(*clock, "logs.zone", Severity::info));
        QVERIFY(rule(*clock).contains(QStringLiteral("+08:00")));
    }

    void finds_the_zone_from_neighbours() {
        const auto clock = place({line("11-05 16:56:50"), "E0000 00:00:1762342011.351652   18908 dnn.cc:85] no", line("11-05 16:56:55")});
        QCOMPARE(clock->times[0], std::optional(at(2025, 11, 5, 11, 26, 50)));
        QVERIFY(rule(*clock).contains(QStringLiteral("+05:30")));
    }

    void takes_the_zone_of_the_host() {
        ImportContext context;
        context.utc_offset_seconds = -7 * 3600;
        const auto clock = place({"[2026-07-01 12:00:00] x"}, context);
        QCOMPARE(clock->times[0], std::optional(at(2026, 7, 1, 19, 0, 0)));
    }

    void fits_the_zone_to_the_trace() {
        ImportContext context;
        context.wall = TimeRange{at(2026, 7, 1, 4, 0, 0), at(2026, 7, 1, 4, 0, 30)};
        const auto clock =
            place({"[2026-07-01 12:00:01] x", "[2026-07-01 12:00:11] x", "[2026-07-01 12:00:21] x", "[2026-07-01 12:09:00] x"}, context);
        QCOMPARE(clock->times[0], std::optional(at(2026, 7, 1, 4, 0, 1)));
        QVERIFY(rule(*clock).contains(QStringLiteral("3 of 4 stamps inside")));
        QCOMPARE(clock->uncertainty_ns, std::int64_t{kSecond});
    }

    void does_not_fit_what_fits_everywhere() {
        ImportContext context;
        context.wall = TimeRange{at(2026, 7, 1, 4, 0, 0), at(2026, 7, 1, 4, 0, 30)};
        std::vector<std::string> lines;  // a line every ten seconds for three hours: every offset has three inside
        for (int i = 0; i < 1080; ++i)
            lines.push_back(QStringLiteral("[2026-07-01 %1:%2:%3] x")
                                .arg(3 + i / 360, 2, 10, QLatin1Char('0'))
                                .arg(i / 6 % 60, 2, 10, QLatin1Char('0'))
                                .arg(i % 6 * 10, 2, 10, QLatin1Char('0'))
                                .toStdString());
        const auto clock = place(lines, context);
        QVERIFY(has(*clock, "logs.zone", Severity::warning));
        QVERIFY(rule(*clock).contains(QStringLiteral("assumed to be UTC")));
    }

    void needs_no_zone_where_every_stamp_has_one() {
        const auto clock = place({"2026-08-31T16:43:37.5Z stdout F hello there", "2026-08-31T18:43:38+02:00 stdout F hello"});
        QCOMPARE(clock->times[1], std::optional(at(2026, 8, 31, 16, 43, 38)));
        QCOMPARE(clock->rule, std::string("the stamps carry their zone"));
        QVERIFY(clock->findings.empty());
    }

    void times_of_day_run_on_over_midnight() {
        const auto clock = place({"[23:59:59 TP0] a", "[00:00:02 TP0] b", "no time"});
        QVERIFY(!clock->wall);
        QCOMPARE(*clock->times[1] - *clock->times[0], 3 * kSecond);
        QVERIFY(!clock->times[2].has_value());
        QVERIFY(has(*clock, "logs.no-date", Severity::warning));
    }

    void times_of_day_take_the_day_of_the_trace() {
        ImportContext context;
        context.wall = TimeRange{at(2026, 7, 1, 4, 0, 0), at(2026, 7, 1, 4, 0, 30)};
        const auto alone = place({"[12:00:01 TP0] a"}, context);
        QVERIFY(!alone->wall);
        QVERIFY2(!alone->times[0].has_value(), "a time that lies anywhere must not be laid beside a trace");
        context.time_zone = "+08:00";
        const auto clock = place({"[12:00:01 TP0] a", "[12:00:02 TP0] a"}, context);
        QVERIFY(clock->wall);
        QCOMPARE(clock->times[0], std::optional(at(2026, 7, 1, 4, 0, 1)));
    }

    void uptime_is_relative() {
        const auto clock = place({"[   12.500000] NVRM: Xid (PCI:0000:01:00): 31", "[   13.500000] x"});
        QVERIFY(!clock->wall);
        QCOMPARE(*clock->times[1] - *clock->times[0], kSecond);
    }

    void says_when_a_log_runs_backwards() {
        ImportContext context;
        context.time_zone = "UTC";
        const auto clock = place({"[2026-07-01 12:00:00] x", "[2026-07-01 11:00:00] y", "[2026-07-01 11:00:01] y"}, context);
        QVERIFY(has(*clock, "logs.order", Severity::info));
        const auto late = place({"[2026-07-01 12:00:00] x", "[2026-07-01 11:59:00] y"}, context);
        QVERIFY(!has(*late, "logs.order", Severity::info));
    }

    void reads_a_text_in_memory() {
        ImportContext context;
        context.utc_offset_seconds = 2 * 3600;
        const std::int64_t base = at(2026, 7, 1, 10, 0, 0);
        context.wall = TimeRange{base, base + kMinute};
        const std::vector<LogLine> lines = read_log_text("INFO 07-01 12:00:05 [a.py:1] Added request r-1.\nplain\n  more\n", context, base);
        QCOMPARE(lines.size(), std::size_t{2});
        QCOMPARE(lines[0].time, std::optional<TimeNs>(5 * kSecond));
        QCOMPARE(lines[0].resolution_ns, kSecond);
        QCOMPARE(lines[0].text, std::string("Added request r-1."));
        QVERIFY(!lines[1].time);
        QCOMPARE(lines[1].text, std::string("plain\n  more"));
        QCOMPARE(lines[1].offset, std::uint64_t{48});
        QVERIFY(read_log_text("", context, base).empty());
    }
};

QTEST_APPLESS_MAIN(TestServiceLogClock)
#include "tst_service_log_clock.moc"
