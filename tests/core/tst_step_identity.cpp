// The same step on several ranks is one step.
#include <QTest>

#include "../support/steps_fixture.h"

using namespace faultline;
using namespace faultline::test;
using Fixture = StepsFixture;

class TestStepIdentity : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void ranks_of_one_capture_share_their_steps() {
        Fixture first(1, 1);
        decode_steps(first, 3, 0, 0);
        const FoundSteps a = first.find({}, 1);
        Fixture second(2, 100);
        decode_steps(second, 3, 5, 1);
        const FoundSteps b = second.find(a.steps, 4);
        QCOMPARE(ids(b), (std::vector<std::int64_t>{1, 2, 3}));
        QCOMPARE(b.steps[0].ranks, (std::vector<std::int64_t>{0, 1}));
        QCOMPARE(b.steps[0].start, TimeNs{0});
        QCOMPARE(b.steps[0].end, TimeNs{905});
        QCOMPARE(b.steps[0].kernels, std::int64_t{2});
        QCOMPARE(b.steps[0].kernel_busy_ns, TimeNs{1760});
        QCOMPARE(b.steps[0].spans.size(), std::size_t{2});
        QCOMPARE(second.step_at("gemm", 1025), std::int64_t{2});
    }

    void a_rank_that_starts_later_is_shifted_by_time() {
        Fixture first(1, 1);
        decode_steps(first, 5, 0, 0);
        const FoundSteps a = first.find({}, 1);
        Fixture second(2, 100);
        decode_steps(second, 4, 2003, 1);  // its first step is the third of rank 0, its last goes beyond
        const FoundSteps b = second.find(a.steps, 6);
        QCOMPARE(ids(b), (std::vector<std::int64_t>{3, 4, 5, 6}));
        QCOMPARE(b.steps[3].ranks, std::vector<std::int64_t>{1});
    }

    void numbers_tell_steps_of_ranks_apart_from_order() {
        Fixture first(1, 1), second(2, 100);
        first.source.source.rank = 0;
        second.source.source.rank = 1;
        for (int n = 3; n < 6; ++n) first.range("ProfilerStep#" + std::to_string(n), 1000 * n, 1000 * n + 900);
        for (int n = 4; n < 7; ++n) second.range("ProfilerStep#" + std::to_string(n), 1000 * n, 1000 * n + 900);
        const FoundSteps a = first.find({}, 1);
        const FoundSteps b = second.find(a.steps, 4);
        QCOMPARE(ids(b), (std::vector<std::int64_t>{2, 3, 4}));
    }

    void unknown_or_equal_ranks_and_other_times_do_not_join() {
        Fixture first(1, 1);
        decode_steps(first, 2, 0, 0);
        const FoundSteps a = first.find({}, 1);
        for (const auto& [rank, start] : {std::pair{std::optional<std::int64_t>{}, TimeNs{0}},
                                          {std::optional<std::int64_t>{0}, TimeNs{0}},
                                          {std::optional<std::int64_t>{1}, TimeNs{3'600'000'000'000}}}) {
            Fixture other(2, 100);
            decode_steps(other, 2, start, rank);
            QCOMPARE(ids(other.find(a.steps, 3)), (std::vector<std::int64_t>{3, 4}));
        }
        Fixture no_clock(2, 100);  // without a wall clock order alone decides
        decode_steps(no_clock, 2, 3'600'000'000'000, 1);
        no_clock.source.has_wall_clock = false;
        QCOMPARE(ids(no_clock.find(a.steps, 3)), (std::vector<std::int64_t>{1, 2}));
    }

    void processes_of_one_source_with_their_ranks_share_steps() {
        Fixture f;
        for (const int pid : {1, 2}) {
            f.source.process_row(f.source.process(pid)).rank = pid - 1;
            for (const TimeNs t : {TimeNs{0}, TimeNs{1000}}) {
                f.range(kDecode, t + pid, t + 100, pid, 1);
                f.launch(t + 10, {{t + 20, t + 900, "gemm", SpanKind::kernel, pid}}, pid, 1);
            }
        }
        const FoundSteps found = f.find();
        QCOMPARE(ids(found), (std::vector<std::int64_t>{1, 2}));
        QCOMPARE(found.steps[1].ranks, (std::vector<std::int64_t>{0, 1}));
        QCOMPARE(found.steps[1].kernels, std::int64_t{2});
    }
};

QTEST_APPLESS_MAIN(TestStepIdentity)
#include "tst_step_identity.moc"
