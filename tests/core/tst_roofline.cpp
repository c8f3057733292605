// Lines through the P99 of latency: what is expected of a step, and when it is slow.
#include <QTest>

#include "core/own_time.h"
#include "core/roofline.h"

using namespace faultline;

namespace {

Step step_of(std::int64_t id, StepPhase phase, std::optional<std::int64_t> tokens, TimeNs duration) {
    Step s;
    s.id = StepId{id};
    s.phase = phase;
    s.tokens = tokens;
    s.batch = tokens;
    s.start = id * 100'000'000;
    s.end = s.start + duration;
    s.instance = "host/engine";
    s.kernels = 40;
    return s;
}

/// 2 ms and 10 us a token, with up to 3 % that follow the number of the step.
TimeNs usual(std::int64_t i, std::int64_t tokens) { return (2'000'000 + 10'000 * tokens) * (1000 + (i * 7919) % 31) / 1000; }

std::vector<Step> decode_steps(std::int64_t count, std::int64_t sizes) {
    std::vector<Step> steps;
    for (std::int64_t i = 0; i < count; ++i) {
        const std::int64_t tokens = 2 + i % sizes;
        steps.push_back(step_of(i + 1, StepPhase::decode, tokens, usual(i, tokens)));
    }
    return steps;
}

bool is_slow(const Step& s, const StepExpectation& e) { return e.expected && !e.cold && s.end - s.start > e.slow_beyond; }

std::size_t count_slow(const std::vector<Step>& steps, const Rooflines& r) {
    std::size_t slow = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) slow += is_slow(steps[i], r.expectations[i]);
    return slow;
}

}  // namespace

class TestRoofline : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void buckets() {
        std::vector<std::pair<std::int64_t, TimeNs>> values;
        for (int i = 0; i < 100; ++i) values.emplace_back(4, 1'000 + i);
        values.emplace_back(4, 50'000);  // far off: no part of the P99
        values.emplace_back(9, 3'000);
        values.emplace_back(9, 9'000);
        const std::vector<LatencyBucket> b = latency_buckets(values);
        QCOMPARE(b.size(), std::size_t{2});
        QCOMPARE(b[0].minimum, TimeNs{1'000});
        QCOMPARE(b[0].median, TimeNs{1'050});
        QCOMPARE(b[0].p99, TimeNs{1'098});
        QCOMPARE(b[0].steps, std::int64_t{101});
        QCOMPARE(b[1].p99, TimeNs{3'000});
    }

    void a_line_over_tokens() {
        std::vector<Step> steps = decode_steps(120, 12);
        steps[70].end += 6'000'000;
        const Rooflines r = fit_rooflines(steps, {});
        QCOMPARE(r.lines.size(), std::size_t{1});
        QCOMPARE(r.lines[0].rule, std::string("p99-ransac"));
        QCOMPARE(r.lines[0].steps, std::int64_t{119});
        QCOMPARE(r.lines[0].buckets, std::int64_t{12});
        QVERIFY(r.lines[0].intercept_ns > 1'950'000 && r.lines[0].intercept_ns < 2'100'000);
        QVERIFY(r.lines[0].slope_ns > 8'000 && r.lines[0].slope_ns < 12'500);
        QVERIFY(r.lines[0].r2 > 0.9);
        QCOMPARE(count_slow(steps, r), std::size_t{1});
        QVERIFY(is_slow(steps[70], r.expectations[70]));
        QCOMPARE(r.expectations[3].rule, std::string("p99-ransac"));
        QVERIFY(std::abs(static_cast<double>(*r.expectations[3].expected) / 2'090'000 - 1) < 0.05);
    }

    void single_samples_a_size() {
        std::vector<Step> steps;
        for (std::int64_t i = 0; i < 30; ++i) {
            const std::int64_t tokens = 100 + 97 * i;
            steps.push_back(step_of(i + 1, StepPhase::prefill, tokens, usual(i, tokens)));
        }
        steps[11].end += 20'000'000;
        steps[17].end += 15'000'000;
        const Rooflines r = fit_rooflines(steps, {});
        QCOMPARE(r.lines.at(0).rule, std::string("p99-ransac"));
        QCOMPARE(count_slow(steps, r), std::size_t{2});
        QVERIFY(is_slow(steps[11], r.expectations[11]));
        QVERIFY(is_slow(steps[17], r.expectations[17]));
    }

    void many_slow_steps_do_not_raise_the_line() {
        std::vector<Step> steps = decode_steps(150, 10);
        std::size_t planted = 0;
        for (std::size_t i = 1; i < steps.size(); i += 3) {
            steps[i].end += 4'000'000;
            ++planted;
        }
        const Rooflines r = fit_rooflines(steps, {});
        QCOMPARE(count_slow(steps, r), planted);
    }

    void repeatable() {
        std::vector<Step> steps;
        for (std::int64_t i = 0; i < 400; ++i) steps.push_back(step_of(i + 1, StepPhase::prefill, 100 + 13 * i, usual(i, 100 + 13 * i)));
        const Rooflines a = fit_rooflines(steps, {}), b = fit_rooflines(steps, {});
        QCOMPARE(a.lines.at(0).intercept_ns, b.lines.at(0).intercept_ns);
        QCOMPARE(a.lines.at(0).slope_ns, b.lines.at(0).slope_ns);
        QCOMPARE(count_slow(steps, a), std::size_t{0});
    }

    void more_work_is_never_expected_to_be_shorter() {
        std::vector<Step> steps = decode_steps(60, 6);
        for (Step& s : steps) s.end = s.start + 3'000'000 - 5'000 * *s.tokens;
        const Rooflines r = fit_rooflines(steps, {});
        QCOMPARE(r.lines.at(0).slope_ns, 0.0);
        QCOMPARE(count_slow(steps, r), std::size_t{0});
    }

    void few_steps_follow_the_median() {
        std::vector<Step> steps = decode_steps(12, 3);
        steps[6].end += 5'000'000;
        const Rooflines r = fit_rooflines(steps, {});
        QCOMPARE(r.lines.at(0).rule, std::string("median"));
        QCOMPARE(r.lines.at(0).r2, 0.0);
        QVERIFY(r.expectations[6].rule.starts_with("median of "));
        QCOMPARE(count_slow(steps, r), std::size_t{1});
        QVERIFY(is_slow(steps[6], r.expectations[6]));
    }

    void other_amounts_of_work_are_no_measure() {
        // Seven prompts of 50 tokens say nothing about one of 4,000.
        std::vector<Step> steps;
        for (std::int64_t i = 0; i < 8; ++i) steps.push_back(step_of(i + 1, StepPhase::prefill, 50 + i, 3'000'000));
        steps.push_back(step_of(9, StepPhase::prefill, 4'000, 60'000'000));
        const Rooflines r = fit_rooflines(steps, {});
        QVERIFY(!r.expectations[8].expected);
        QCOMPARE(r.expectations[8].rule, std::string("too few steps"));
        QVERIFY(r.expectations[4].expected);
    }

    void too_few_steps() {
        std::vector<Step> steps = decode_steps(6, 2);
        steps[3].end += 100'000'000;
        const Rooflines r = fit_rooflines(steps, {});
        QVERIFY(r.lines.empty());
        for (const StepExpectation& e : r.expectations) {
            QVERIFY(!e.expected);
            QCOMPARE(e.rule, std::string("too few steps"));
        }
    }

    void the_first_step_is_cold() {
        std::vector<Step> steps = decode_steps(60, 6);
        steps[0].end += 80'000'000;
        const Rooflines r = fit_rooflines(steps, {});
        QVERIFY(r.expectations[0].cold);
        QVERIFY(!r.expectations[1].cold);
        QCOMPARE(count_slow(steps, r), std::size_t{0});
    }

    void instances_and_phases_have_lines_of_their_own() {
        std::vector<Step> steps = decode_steps(60, 6);
        for (std::int64_t i = 0; i < 60; ++i) {
            Step s = step_of(1'000 + i, StepPhase::decode, 2 + i % 6, 3 * usual(i, 2 + i % 6));
            s.instance = "host/slower";
            steps.push_back(s);
        }
        const Rooflines r = fit_rooflines(steps, {});
        QCOMPARE(r.lines.size(), std::size_t{2});
        QCOMPARE(count_slow(steps, r), std::size_t{0});
        QVERIFY(r.lines[1].intercept_ns > 2.5 * r.lines[0].intercept_ns);
    }

    void overlapping_steps_are_judged_by_their_own_time() {
        // The host runs sixteen steps ahead: each lasts 500 ms, of which 31 ms are its own.
        std::vector<Step> steps;
        TimeNs end = 0;
        for (std::int64_t i = 0; i < 60; ++i) {
            Step s = step_of(i + 1, StepPhase::decode, 4, 0);
            end += 31'000'000;
            s.end = end;
            s.start = std::max<TimeNs>(0, end - 500'000'000);
            steps.push_back(s);
        }
        const std::vector<TimeRange> own = own_ranges(steps);
        QCOMPARE(own[40].duration(), TimeNs{31'000'000});
        QCOMPARE(own[0].duration(), TimeNs{31'000'000});
        QCOMPARE(fit_rooflines(steps, {}).expectations[40].expected, std::optional<TimeNs>(31'000'000));
    }

    void steps_beside_each_other_both_own_their_time() {
        std::vector<Step> steps{step_of(1, StepPhase::decode, 4, 0), step_of(2, StepPhase::decode, 4, 0)};
        steps[0].start = 0;
        steps[0].end = 29'000'000;
        steps[1].start = 60'000;
        steps[1].end = 29'080'000;
        QCOMPARE(own_ranges(steps)[1].duration(), TimeNs{29'020'000});
    }

    void a_step_behind_a_slow_one_is_excused() {
        // Each step is launched while the one before runs, and ends 2 ms after it.
        std::vector<Step> steps;
        TimeNs end = 0;
        for (std::int64_t i = 0; i < 60; ++i) {
            Step s = step_of(i + 1, StepPhase::decode, 4, 0);
            s.start = end;
            end += 2'000'000 + (i == 30 ? 12'000'000 : 0);
            s.end = end + 2'000'000;
            steps.push_back(s);
        }
        const Rooflines r = fit_rooflines(steps, {});
        const std::vector<TimeRange> own = own_ranges(steps);
        std::vector<std::size_t> slow;
        for (std::size_t i = 0; i < steps.size(); ++i)
            if (!r.expectations[i].cold && own[i].duration() > r.expectations[i].slow_beyond) slow.push_back(i);
        QCOMPARE(slow, std::vector<std::size_t>{30});
    }

    void nothing() {
        const Rooflines r = fit_rooflines({}, {});
        QVERIFY(r.lines.empty());
        QVERIFY(r.expectations.empty());
    }
};

QTEST_APPLESS_MAIN(TestRoofline)
#include "tst_roofline.moc"
