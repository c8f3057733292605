// Stretches without progress: with live requests, with a kernel that never ends, with a scheduler that turns; and idleness, which is none.
#include <QTest>

#include "core/analyse_capture.h"
#include "tests/core/small_capture.h"
#include "tests/support/analysed_service.h"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr int kAt = 40;
constexpr TimeNs kSecond = 1'000'000'000;

std::unique_ptr<AnalysedService> with(Plant plant, int ranks = 1, bool log = true) {
    ServiceOptions options;
    options.ranks = ranks;
    options.planted = {{plant, kAt}};
    return analyse_service(options, log);
}

Request live(TimeNs arrival, std::optional<TimeNs> end, const char* name = "a") {
    Request r;
    r.id = 1;
    r.name = name;
    r.arrival = arrival;
    r.end = end;
    return r;
}

/// Two decode steps of 1 ms, five seconds apart.
void two_steps(SmallCapture::Fill& f) {
    for (const TimeNs t : {TimeNs{0}, 5 * kSecond}) {
        f.host(SpanKind::range, "execute_context_0(0)_generation_1(1)", t, t + 1'000'000);
        f.host(SpanKind::runtime_call, "cudaLaunchKernel", t + 10'000, t + 20'000, 1 + t);
        f.device(SpanKind::kernel, "gemm", t + 100'000, t + 900'000, 1 + t);
    }
}

std::vector<Step> stalls_of(const SmallCapture& c, std::vector<Request> requests) {
    const auto analysis = analyse_capture(*c.reader, *c.index, LayerRules::built_in(), requests);
    return analysis ? analysis->stalls : std::vector<Step>{};
}

}  // namespace

class TestStalls : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void live_requests_and_no_step() {
        const auto service = with(Plant::stall);
        QVERIFY2(service->reader, service->error.c_str());
        QCOMPARE(service->analysis.stalls.size(), std::size_t{1});
        const Step& stall = service->analysis.stalls[0];
        QVERIFY(stall.start >= service->steps[kAt].end);
        QVERIFY(stall.end <= service->steps[kAt + 1].start);
        QVERIFY(stall.end - stall.start > 2'900'000'000);
        QCOMPARE(stall.instance, service->steps[kAt].instance);
        QVERIFY(service->analysis.verdicts.back().sentence.find("live") != std::string::npos);
        QCOMPARE(service->outliers(), std::vector<int>{});
    }

    void idleness_is_no_stall() {
        const auto service = with(Plant::idle);
        QVERIFY2(service->reader, service->error.c_str());
        QVERIFY(service->analysis.stalls.empty());
        QCOMPARE(service->outliers(), std::vector<int>{});
    }

    void without_a_log_a_gap_is_idleness() {
        const auto service = with(Plant::stall, 1, false);
        QVERIFY2(service->reader, service->error.c_str());
        QVERIFY(service->analysis.stalls.empty());
    }

    void a_scheduler_that_turns_without_a_step() {
        const auto service = with(Plant::empty_schedule, 1, false);
        QVERIFY2(service->reader, service->error.c_str());
        QCOMPARE(service->analysis.stalls.size(), std::size_t{1});
        QVERIFY(service->analysis.verdicts.back().sentence.find("scheduler") != std::string::npos);
    }

    void a_kernel_that_runs_on() {
        const auto service = with(Plant::endless_kernel);
        QVERIFY2(service->reader, service->error.c_str());
        QCOMPARE(service->analysis.stalls.size(), std::size_t{1});
        QVERIFY(service->analysis.stalls[0].end - service->analysis.stalls[0].start >= 30 * kSecond);
        QCOMPARE(service->analysis.stalls[0].kernels, std::int64_t{1});
    }

    void a_collective_that_never_ends_is_one_stall_of_both_ranks() {
        const auto service = with(Plant::endless_kernel, 2);
        QVERIFY2(service->reader, service->error.c_str());
        QCOMPARE(service->analysis.stalls.size(), std::size_t{1});
        QCOMPARE(service->analysis.stalls[0].ranks, (std::vector<std::int64_t>{0, 1}));
        QVERIFY(service->analysis.verdicts.back().sentence.find("cross_device_reduce") != std::string::npos);
    }

    void a_kernel_without_an_end() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            f.host(SpanKind::runtime_call, "cudaLaunchKernel", 10'000, 20'000, 1);
            f.device(SpanKind::kernel, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", 100'000, 100'000, 1);
            f.flag_last_device(flag_unfinished);
            f.host(SpanKind::runtime_call, "cudaStreamSynchronize", 30'000, 30 * kSecond, 2);
        });
        QVERIFY(c.good());
        const std::vector<Step> stalls = stalls_of(c, {});
        QCOMPARE(stalls.size(), std::size_t{1});
        QCOMPARE(stalls[0].start, TimeNs{90'000});  // zero is the first launch
        QVERIFY(stalls[0].end >= 29 * kSecond);
    }

    void who_was_live_data() {
        QTest::addColumn<qint64>("arrival");
        QTest::addColumn<qint64>("end");  // -1: none
        QTest::addColumn<int>("stalls");
        QTest::newRow("all along") << qint64{-kSecond} << qint64{6 * kSecond} << 1;
        QTest::newRow("ended before") << qint64{-kSecond} << qint64{1'000'000} << 0;
        QTest::newRow("came after") << qint64{5 * kSecond - 1'000'000} << qint64{6 * kSecond} << 0;
        QTest::newRow("came in the middle and waited") << qint64{2 * kSecond} << qint64{6 * kSecond} << 1;
        QTest::newRow("came late") << qint64{4 * kSecond} << qint64{6 * kSecond} << 0;
        QTest::newRow("no end, and none of any other") << qint64{-kSecond} << qint64{-1} << 0;
    }

    void who_was_live() {
        QFETCH(qint64, arrival);
        QFETCH(qint64, end);
        QFETCH(int, stalls);
        const SmallCapture c(two_steps);
        QVERIFY(c.good());
        const std::optional<TimeNs> ended = end < 0 ? std::nullopt : std::optional<TimeNs>(end);
        QCOMPARE(static_cast<int>(stalls_of(c, {live(arrival, ended)}).size()), stalls);
    }

    void a_request_whose_end_never_came() {
        const SmallCapture c(two_steps);
        QVERIFY(c.good());
        // The log tells ends of others, so this one is live still.
        QCOMPARE(stalls_of(c, {live(-kSecond, std::nullopt, "a"), live(-kSecond, 500'000, "b")}).size(), std::size_t{1});
    }

    void a_busy_device_is_progress() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            two_steps(f);
            for (TimeNs t = 1; t < 49; ++t)
                f.device(SpanKind::kernel, "warm-up", t * kSecond / 10, t * kSecond / 10 + 90'000'000, kNull, 9);
        });
        QVERIFY(c.good());
        QVERIFY(stalls_of(c, {live(-kSecond, 6 * kSecond)}).empty());
    }

    void nothing_at_all() {
        const SmallCapture c([](SmallCapture::Fill& f) { f.host(SpanKind::op, "aten::add", 0, 1'000); });
        QVERIFY(c.good());
        QVERIFY(stalls_of(c, {live(0, 10 * kSecond)}).empty());
    }
};

QTEST_GUILESS_MAIN(TestStalls)
#include "tst_stalls.moc"
