// Idle stretches of devices and what the host did under them.
#include <QTest>

#include "core/analyse_capture.h"
#include "core/bubbles.h"
#include "core/device_busy.h"
#include "tests/core/small_capture.h"
#include "tests/support/analysed_service.h"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr TimeNs kUs = 1'000;

/// Two kernels with a gap of 100 us between them, the second launched at its end; what else the host did is the test's.
void two_kernels(SmallCapture::Fill& f, TimeNs launch = 190 * kUs) {
    f.host(SpanKind::runtime_call, "cudaLaunchKernel", 10 * kUs, 15 * kUs, 1);
    f.device(SpanKind::kernel, "first", 50 * kUs, 100 * kUs, 1);
    f.host(SpanKind::runtime_call, "cudaLaunchKernel", launch, launch + 5 * kUs, 2);
    f.device(SpanKind::kernel, "second", 200 * kUs, 300 * kUs, 2);
}

std::vector<Bubble> bubbles_of(const SmallCapture& c, TimeNs least = 20 * kUs) {
    AnalysisOptions options;
    options.bubble_least_ns = least;
    const auto analysis = analyse_capture(*c.reader, *c.index, LayerRules::built_in(), {}, options);
    return analysis ? analysis->bubbles : std::vector<Bubble>{};
}

}  // namespace

class TestBubbles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void union_over_streams() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            f.device(SpanKind::kernel, "a", 0, 100, kNull, 7);
            f.device(SpanKind::memory_copy, "copy", 80, 150, kNull, 13);
            f.device(SpanKind::kernel, "b", 150, 200, kNull, 7);
            f.device(SpanKind::kernel, "inside", 160, 170, kNull, 13);
            f.device(SpanKind::kernel, "c", 260, 300, kNull, 20);
            f.device(SpanKind::sync, "waiting is no work", 200, 260, kNull, 20);
        });
        QVERIFY(c.good());
        const TimeNs times[] = {-5, 0, 50, 200, 230, 280, 1'000};
        const std::vector<DeviceBusy> busy = device_busy(*c.index, 10, times);
        QCOMPARE(busy.size(), std::size_t{1});
        QCOMPARE(busy[0].gaps.size(), std::size_t{1});
        QCOMPARE(busy[0].gaps[0].start, TimeNs{200});
        QCOMPARE(busy[0].gaps[0].end, TimeNs{260});
        QCOMPARE(c.name(busy[0].gaps[0].before), std::string("b"));
        QCOMPARE(c.name(busy[0].gaps[0].after), std::string("c"));
        QCOMPARE(busy[0].busy_until, (std::vector<TimeNs>{0, 0, 50, 200, 200, 220, 240}));
        QCOMPARE(busy[0].first_start, TimeNs{0});
        QCOMPARE(busy[0].last_end, TimeNs{300});
        QVERIFY(device_busy(*c.index, 61, {}).at(0).gaps.empty());
    }

    void host_work() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            two_kernels(f);
            f.host(SpanKind::range, "sample", 60 * kUs, 188 * kUs);
            f.host(SpanKind::python, "utils.py(7): pad", 90 * kUs, 180 * kUs);
        });
        QVERIFY(c.good());
        const std::vector<Bubble> bubbles = bubbles_of(c);
        QCOMPARE(bubbles.size(), std::size_t{1});
        QCOMPARE(bubbles[0].start, 90 * kUs);  // zero of the capture is the first launch
        QCOMPARE(bubbles[0].duration, 100 * kUs);
        QCOMPARE(bubbles[0].cause, BubbleCause::cpu);
        QCOMPARE(c.name(bubbles[0].host_span), std::string("utils.py(7): pad"));
        QCOMPARE(bubbles[0].id, std::int64_t{1});
        QVERIFY(bubbles_of(c, 101 * kUs).empty());
    }

    void synchronization() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            two_kernels(f);
            f.host(SpanKind::runtime_call, "cudaDeviceSynchronize", 20 * kUs, 180 * kUs, 3);
        });
        const std::vector<Bubble> bubbles = bubbles_of(c);
        QCOMPARE(bubbles.size(), std::size_t{1});
        QCOMPARE(bubbles[0].cause, BubbleCause::sync);
        QCOMPARE(c.name(bubbles[0].host_span), std::string("cudaDeviceSynchronize"));
    }

    void a_short_synchronization_is_not_the_cause() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            two_kernels(f);
            f.host(SpanKind::runtime_call, "cudaStreamSynchronize", 20 * kUs, 104 * kUs, 3);
            f.host(SpanKind::range, "bookkeep", 105 * kUs, 185 * kUs);
        });
        const std::vector<Bubble> bubbles = bubbles_of(c);
        QCOMPARE(bubbles.size(), std::size_t{1});
        QCOMPARE(bubbles[0].cause, BubbleCause::cpu);
        QCOMPARE(c.name(bubbles[0].host_span), std::string("bookkeep"));
    }

    void communication_of_the_host() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            two_kernels(f);
            f.host(SpanKind::op, "gloo:broadcast", 90 * kUs, 185 * kUs);
        });
        const std::vector<Bubble> bubbles = bubbles_of(c);
        QCOMPARE(bubbles.size(), std::size_t{1});
        QCOMPARE(bubbles[0].cause, BubbleCause::communication);
        QCOMPARE(c.name(bubbles[0].host_span), std::string("gloo:broadcast"));
    }

    void waiting_for_the_engine() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            two_kernels(f);
            f.host(SpanKind::python, "vllm/distributed/device_communicators/shm_broadcast.py(505): dequeue", 90 * kUs, 185 * kUs);
        });
        const std::vector<Bubble> bubbles = bubbles_of(c);
        QCOMPARE(bubbles.size(), std::size_t{1});
        QCOMPARE(bubbles[0].cause, BubbleCause::communication);
        QVERIFY(c.name(bubbles[0].host_span).find("dequeue") != std::string::npos);
        QVERIFY(is_queue_wait("queue.py(154): get"));
        QVERIFY(!is_queue_wait("vllm/core/request_queue.py(20): add"));
    }

    void late_without_anything_recorded() {
        const SmallCapture c([](SmallCapture::Fill& f) { two_kernels(f); });
        const std::vector<Bubble> bubbles = bubbles_of(c);
        QCOMPARE(bubbles.size(), std::size_t{1});
        QCOMPARE(bubbles[0].cause, BubbleCause::cpu);  // the launch came late, whatever the host did
        QVERIFY(!bubbles[0].host_span.valid());
    }

    void launched_long_before() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            two_kernels(f, 20 * kUs);
            f.host(SpanKind::range, "elsewhere", 90 * kUs, 210 * kUs);
        });
        const std::vector<Bubble> bubbles = bubbles_of(c);
        QCOMPARE(bubbles.size(), std::size_t{1});
        QCOMPARE(bubbles[0].cause, BubbleCause::unknown);
        QVERIFY(!bubbles[0].host_span.valid());
    }

    void no_host_at_all() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            f.device(SpanKind::kernel, "first", 50 * kUs, 100 * kUs);
            f.device(SpanKind::kernel, "second", 200 * kUs, 300 * kUs);
        });
        const std::vector<Bubble> bubbles = bubbles_of(c);
        QCOMPARE(bubbles.size(), std::size_t{1});
        QCOMPARE(bubbles[0].cause, BubbleCause::unknown);
    }

    void a_graph_whose_kernels_are_not_there() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            two_kernels(f);
            f.host(SpanKind::runtime_call, "cudaGraphLaunch", 102 * kUs, 120 * kUs, 9);
        });
        const std::vector<Bubble> bubbles = bubbles_of(c);
        QCOMPARE(bubbles.size(), std::size_t{1});
        QCOMPARE(bubbles[0].cause, BubbleCause::unknown);
    }

    void graphs_seen_as_one_row() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            f.host(SpanKind::range, "execute_context_0(0)_generation_1(1)", 0, 500 * kUs);
            f.host(SpanKind::runtime_call, "cudaLaunchKernel", 10 * kUs, 15 * kUs, 1);
            f.device(SpanKind::kernel, "first", 50 * kUs, 60 * kUs, 1);
            f.host(SpanKind::runtime_call, "cudaGraphLaunch", 20 * kUs, 40 * kUs, 2);
            f.device(SpanKind::graph, "CUDA graph", 60 * kUs, 480 * kUs, 2);
        });
        QVERIFY(c.good());
        const auto analysis = analyse_capture(*c.reader, *c.index, LayerRules::built_in(), {});
        QVERIFY(analysis);
        QCOMPARE(analysis->verdicts.size(), std::size_t{1});
        QCOMPARE(analysis->verdicts[0].bound, StepBound::unknown);  // what is inside the graph is not seen
        QVERIFY(analysis->bubbles.empty());
    }

    void stack_under_it() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            two_kernels(f);
            f.stack("main;before", 40 * kUs);
            f.stack("main;early", 110 * kUs);
            f.stack("main;middle", 145 * kUs);
            f.stack("main;after", 250 * kUs);
        });
        QVERIFY(c.good());
        const std::vector<Bubble> bubbles = bubbles_of(c);
        QCOMPARE(bubbles.size(), std::size_t{1});
        QVERIFY(bubbles[0].stack.has_value());
        const auto stacks = c.reader->stack_samples();
        QVERIFY(stacks);
        for (const StackSample& s : *stacks)
            if (s.id == *bubbles[0].stack) QCOMPARE(s.stack, std::string("main;middle"));
    }

    void calls_that_wait() {
        for (const char* name :
             {"cudaStreamSynchronize", "cudaEventSynchronize", "hipDeviceSynchronize", "cuCtxSynchronize", "cudaMemcpy", "cuMemcpyDtoH_v2"})
            QVERIFY2(is_sync_call(name), name);
        for (const char* name : {"cudaMemcpyAsync", "cudaLaunchKernel", "cudaMalloc", "cuMemcpyDtoHAsync_v2", "cudaEventRecord"})
            QVERIFY2(!is_sync_call(name), name);
    }

    void of_a_service() {
        ServiceOptions options;
        options.planted = {{Plant::host_stall, 40}, {Plant::long_sync, 55}};
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        int stalled = 0, waiting = 0;
        TimeNs before = std::numeric_limits<TimeNs>::min();
        for (const Bubble& b : service->analysis.bubbles) {
            QVERIFY(b.start >= before);
            before = b.start;
            if (b.duration < 10'000'000) continue;
            stalled += b.step == service->steps[40].id && b.cause == BubbleCause::cpu;
            waiting += b.step == service->steps[55].id && b.cause == BubbleCause::sync;
        }
        QCOMPARE(stalled, 1);
        QCOMPARE(waiting, 1);
    }
};

QTEST_GUILESS_MAIN(TestBubbles)
#include "tst_bubbles.moc"
