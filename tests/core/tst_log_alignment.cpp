// Which log lines belong to which steps: by request before by time, tolerance by clock, ties, and the union of both for one step.
#include <QTest>
#include <random>

#include "core/log_alignment.h"
#include "core/requests.h"

using namespace faultline;

namespace {

constexpr TimeNs kMs = 1'000'000, kSecond = 1'000 * kMs;
constexpr SourceId kTrace{1}, kLog{2};

Step step(std::int64_t id, TimeNs start, TimeNs end) {
    Step s;
    s.id = StepId{id};
    s.start = start;
    s.end = end;
    return s;
}

LogLine line(std::int64_t id, std::optional<TimeNs> time, TimeNs resolution = 1) {
    LogLine l;
    l.id = id;
    l.source = kLog;
    l.time = time;
    l.resolution_ns = resolution;
    return l;
}

Request request(std::int64_t id, const char* name, std::vector<std::int64_t> steps) {
    Request r;
    r.id = id;
    r.name = name;
    for (const std::int64_t s : steps) r.steps.push_back(StepId{s});
    return r;
}

QString words(const LogAlignment& a) {
    return QStringLiteral("%1 %2 step %3 distance %4")
        .arg(QString::fromStdString(a.request.empty() ? "-" : a.request), QString::fromStdString(std::string(align_method_name(a.method))),
             a.step ? QString::number(index_of(*a.step)) : QStringLiteral("-"),
             a.distance_ns ? QString::number(*a.distance_ns) : QStringLiteral("-"));
}

QString words(const std::vector<AlignedLine>& lines) {
    QStringList list;
    for (const AlignedLine& l : lines)
        list << QStringLiteral("%1:%2:%3")
                    .arg(l.line)
                    .arg(QString::fromStdString(std::string(align_method_name(l.method))))
                    .arg(l.distance_ns);
    return list.join(' ');
}

/// What align_logs() must give, the slow way.
std::optional<TimeNs> nearest_by_hand(const LogLine& l, const std::vector<Step>& steps, StepId& at) {
    std::optional<TimeNs> best;
    bool best_apart = false;
    const TimeNs first = *l.time, last = *l.time + std::max<TimeNs>(l.resolution_ns, 1) - 1;
    for (const Step& s : steps) {  // by start, then id
        const bool apart = !(first < s.end && last >= s.start);
        const TimeNs here = !apart ? 0 : first >= s.end ? first - s.end : s.start - (last > first ? last + 1 : last);
        if (best && (apart != best_apart ? apart : here >= *best)) continue;
        best = here;
        best_apart = apart;
        at = s.id;
    }
    return best;
}

}  // namespace

class TestLogAlignment : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_line_falls_into_the_step_of_its_time() {
        const std::vector<Step> steps{step(1, 0, 10 * kMs), step(2, 20 * kMs, 30 * kMs), step(3, 30 * kMs, 40 * kMs)};
        const std::vector<LogLine> lines{line(1, 5 * kMs),  line(2, 30 * kMs), line(3, 14 * kMs),
                                         line(4, 16 * kMs), line(5, 46 * kMs), line(6, {})};
        const auto all = align_logs(lines, std::vector<std::vector<std::size_t>>(lines.size()), steps, {}, {});
        QCOMPARE(all.size(), lines.size());
        QCOMPARE(words(all[0]), QStringLiteral("- time step 1 distance 0"));
        QCOMPARE(words(all[1]), QStringLiteral("- time step 3 distance 0"));  // where one step ends the next has begun
        QCOMPARE(words(all[2]), QStringLiteral("- time step 1 distance 4000000"));
        QCOMPARE(words(all[3]), QStringLiteral("- time step 2 distance 4000000"));
        QCOMPARE(words(all[4]), QStringLiteral("- none step - distance -"));  // 6 ms after the end, 5 ms are allowed
        QCOMPARE(words(all[5]), QStringLiteral("- none step - distance -"));
        for (std::size_t i = 0; i < lines.size(); ++i) QCOMPARE(all[i].log, lines[i].id);
    }

    void the_earlier_step_wins_where_two_are_as_near() {
        const std::vector<Step> steps{step(1, 0, 10), step(2, 20, 30)};
        const std::vector<LogLine> lines{line(1, 15), line(2, 0, kSecond)};
        const auto all = align_logs(lines, {{}, {}}, steps, {}, {});
        QCOMPARE(words(all[0]), QStringLiteral("- time step 1 distance 5"));
        QCOMPARE(words(all[1]), QStringLiteral("- time step 1 distance 0"));
    }

    void a_stamp_of_a_second_covers_the_second() {
        const std::vector<Step> steps{step(1, 300 * kMs, 310 * kMs), step(2, 3 * kSecond, 3 * kSecond + kMs)};
        const std::vector<LogLine> lines{line(1, 0, kSecond), line(2, kSecond, kSecond), line(3, 2 * kSecond, kSecond)};
        const auto all = align_logs(lines, {{}, {}, {}}, steps, {}, {});
        QCOMPARE(words(all[0]), QStringLiteral("- time step 1 distance 0"));
        QCOMPARE(words(all[1]), QStringLiteral("- none step - distance -"));
        QCOMPARE(words(all[2]), QStringLiteral("- time step 2 distance 0"));  // it touches
    }

    void the_uncertainty_of_a_clock_widens_the_step() {
        Source trace, log;
        trace.id = kTrace;
        log.id = kLog;
        log.clock_uncertainty_ns = kSecond;
        const std::vector<Source> sources{trace, log};
        const std::vector<Step> steps{step(1, 0, 10 * kMs)};
        const std::vector<LogLine> lines{line(1, kSecond), line(2, 2 * kSecond)};
        const auto all = align_logs(lines, {{}, {}}, steps, {}, alignment_options(sources));
        QCOMPARE(words(all[0]), QStringLiteral("- time step 1 distance 990000000"));
        QCOMPARE(words(all[1]), QStringLiteral("- none step - distance -"));
    }

    void a_request_goes_before_the_time() {
        const std::vector<Step> steps{step(1, 0, 10 * kMs), step(2, 20 * kMs, 30 * kMs), step(3, 40 * kMs, 50 * kMs)};
        const std::vector<Request> requests{request(1, "a", {1, 3}), request(2, "b", {2}), request(3, "c", {})};
        const std::vector<LogLine> lines{line(1, 25 * kMs), line(2, 26 * kMs), line(3, 25 * kMs),
                                         line(4, 25 * kMs), line(5, {}),       line(6, 5 * kSecond)};
        const auto all = align_logs(lines, {{0}, {0}, {2}, {2, 0, 1}, {0}, {1}}, steps, requests, {});
        QCOMPARE(words(all[0]), QStringLiteral("a request step 1 distance 15000000"));  // as near to step 3: the earlier
        QCOMPARE(words(all[1]), QStringLiteral("a request step 3 distance 14000000"));
        QCOMPARE(words(all[2]), QStringLiteral("c time step 2 distance 0"));  // no step names c
        QCOMPARE(words(all[3]), QStringLiteral("c request step 2 distance 0"));
        QCOMPARE(words(all[4]), QStringLiteral("a request step 1 distance -"));           // no time: the first
        QCOMPARE(words(all[5]), QStringLiteral("b request step 2 distance 4970000000"));  // however far
    }

    void nothing_to_align_with() {
        const std::vector<LogLine> lines{line(1, 5), line(2, {})};
        const auto all = align_logs(lines, {{}, {}}, {}, {}, {});
        QCOMPARE(words(all[0]), QStringLiteral("- none step - distance -"));
        QCOMPARE(words(all[1]), QStringLiteral("- none step - distance -"));
        QVERIFY(align_logs({}, {}, {}, {}, {}).empty());
    }

    void overlapping_steps_agree_with_a_search_by_hand() {
        std::mt19937 random(7);
        const auto up_to = [&](int n) { return static_cast<TimeNs>(random() % static_cast<unsigned>(n)); };
        for (int round = 0; round < 200; ++round) {
            std::vector<Step> steps;
            TimeNs start = 0;
            for (std::int64_t i = 1; i <= 12; ++i) {
                start += 1 + up_to(20);
                steps.push_back(step(i, start, start + 1 + up_to(60)));
            }
            std::vector<LogLine> lines;
            for (std::int64_t i = 1; i <= 30; ++i) lines.push_back(line(i, up_to(400) - 40, i % 3 == 0 ? 25 : 1));
            const auto all = align_logs(lines, std::vector<std::vector<std::size_t>>(lines.size()), steps, {}, {});
            for (std::size_t i = 0; i < lines.size(); ++i) {
                StepId expected{};
                const auto away = nearest_by_hand(lines[i], steps, expected);
                QCOMPARE(all[i].distance_ns, away);
                QCOMPARE(index_of(*all[i].step), index_of(expected));
            }
        }
    }

    void lines_of_a_step_are_the_union() {
        const Step s = step(2, 20 * kMs, 30 * kMs);
        const std::vector<Request> requests{request(1, "a", {1, 2}), request(2, "b", {2, 3}), request(3, "c", {3})};
        const std::vector<LogLine> lines{line(1, {}),       line(2, 0),        line(3, 22 * kMs), line(4, 23 * kMs),
                                         line(5, 24 * kMs), line(6, 90 * kMs), line(7, 91 * kMs)};
        const std::vector<std::vector<std::size_t>> names{{0}, {0}, {}, {2}, {1}, {1, 2}, {2}};
        QCOMPARE(words(lines_of_step(lines, names, s, requests, {})),
                 QStringLiteral("0:request:0 1:request:20000000 2:time:0 3:time:0 4:request:0 5:request:60000000"));
        // As b sees it: what names a or c only is left out; what names no request stays.
        QCOMPARE(words(lines_of_step(lines, names, s, requests, {}, 1)), QStringLiteral("2:time:0 4:request:0 5:request:60000000"));
    }

    void lines_of_a_request_are_those_of_all_its_steps() {
        const std::vector<Step> steps{step(1, 0, 10 * kMs), step(2, 20 * kMs, 30 * kMs), step(3, 60 * kMs, 70 * kMs)};
        const std::vector<Request> requests{request(1, "a", {1, 3}), request(2, "b", {2})};
        const std::vector<LogLine> lines{line(1, 5 * kMs), line(2, 25 * kMs), line(3, 65 * kMs), line(4, 66 * kMs), line(5, 100 * kMs)};
        const std::vector<std::vector<std::size_t>> names{{}, {}, {1}, {}, {0}};
        QCOMPARE(words(lines_of_request(lines, names, steps, requests, 0, {})), QStringLiteral("0:time:0 3:time:0 4:request:30000000"));
        QCOMPARE(words(lines_of_request(lines, names, steps, requests, 1, {})), QStringLiteral("1:time:0 2:request:35000000"));
    }

    void a_line_belongs_to_the_requests_of_all_its_spellings() {
        std::vector<RequestMention> mentions(3);
        mentions[0].request = "cmpl-1";
        mentions[0].log = 7;
        mentions[1].request = "cmpl-1-0-0123abcd";
        mentions[1].log = 8;
        mentions[2].request = "b";
        mentions[2].log = 8;
        const std::vector<Request> requests = find_requests(mentions, {});
        QCOMPARE(requests.size(), std::size_t{2});
        const std::vector<LogLine> lines{line(7, 1), line(8, 2), line(9, 3)};
        const auto named = requests_of_lines(lines, mentions, requests);
        QCOMPARE(named, (std::vector<std::vector<std::size_t>>{{0}, {0, 1}, {}}));
    }
};

QTEST_APPLESS_MAIN(TestLogAlignment)
#include "tst_log_alignment.moc"
