// What steps are made of, operator by operator.
#include <QTest>

#include "core/step_profile.h"
#include "tests/core/small_capture.h"
#include "tests/support/analysed_service.h"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr TimeNs kUs = 1'000;

/// One step: range > frame > operator > operator > two launches, and two streams.
void one_step(SmallCapture::Fill& f, TimeNs t, std::int64_t c, bool swapped = false) {
    f.host(SpanKind::range, "execute_context_0(0)_generation_2(2)", t, t + 100 * kUs);
    f.host(SpanKind::python, "model.py(1): forward", t + 5 * kUs, t + 90 * kUs);
    f.host(SpanKind::op, "aten::linear", t + 10 * kUs, t + 80 * kUs);
    f.host(SpanKind::op, "aten::mm", t + 20 * kUs, t + 70 * kUs);
    f.host(SpanKind::runtime_call, "cudaLaunchKernel", t + 30 * kUs, t + 35 * kUs, c);
    f.host(SpanKind::runtime_call, "cudaLaunchKernel", t + 40 * kUs, t + 50 * kUs, c + 1);
    f.host(SpanKind::runtime_call, "cudaLaunchKernel", t + 92 * kUs, t + 95 * kUs, c + 2);
    f.device(SpanKind::kernel, swapped ? "norm" : "gemm", t + 40 * kUs, t + 80 * kUs, c);
    f.device(SpanKind::kernel, swapped ? "gemm" : "norm", t + 80 * kUs, t + 90 * kUs, c + 1);
    f.device(SpanKind::kernel, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", t + 100 * kUs, t + 130 * kUs, c + 2, 20);
}

const OperatorTotal* find(const SmallCapture& c, const StepProfile& p, std::string_view name) {
    for (const OperatorTotal& o : p.operators)
        if (c.reader->name(o.name) == name) return &o;
    return nullptr;
}

}  // namespace

class TestStepProfile : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void of_one_step() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            one_step(f, 0, 1);
            one_step(f, 500 * kUs, 11);
        });
        QVERIFY(c.good());
        const auto steps = c.reader->steps();
        QVERIFY(steps);
        QCOMPARE(steps->size(), std::size_t{2});
        const auto profiles = profile_steps(*c.reader, LayerRules::built_in(), std::span(*steps).subspan(1));
        QVERIFY(profiles);
        QCOMPARE(profiles->size(), std::size_t{1});
        const StepProfile& p = profiles->front();
        QCOMPARE(p.step, (*steps)[1].id);
        const OperatorTotal* linear = find(c, p, "aten::linear");
        QVERIFY(linear);
        QCOMPARE(linear->count, std::int64_t{1});
        QCOMPARE(linear->total_ns, 70 * kUs);
        QCOMPARE(linear->self_ns, 20 * kUs);
        QCOMPARE(linear->layer, LayerClass::backend);
        QCOMPARE(linear->rank, std::optional<std::int64_t>(0));
        const OperatorTotal* call = find(c, p, "cudaLaunchKernel");
        QVERIFY(call);
        QCOMPARE(call->count, std::int64_t{3});
        QCOMPARE(call->total_ns, 18 * kUs);
        QCOMPARE(call->longest_ns, 10 * kUs);
        QCOMPARE(call->layer, LayerClass::host);
        QCOMPARE(*c.reader->value(call->longest, Column::duration), 10 * kUs);
        QCOMPARE(*c.reader->value(call->first, Column::duration), 5 * kUs);
        const OperatorTotal* range = find(c, p, "execute_context_0(0)_generation_2(2)");
        QVERIFY(range);
        QCOMPARE(range->layer, LayerClass::step);
        QCOMPARE(range->self_ns, 27 * kUs);  // 100 less the operator under the frame and a call
        QVERIFY(!find(c, p, "model.py(1): forward"));
        const OperatorTotal* nccl = find(c, p, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL");
        QVERIFY(nccl);
        QCOMPARE(nccl->layer, LayerClass::comm);
        QCOMPARE(nccl->self_ns, 30 * kUs);
        QCOMPARE(p.collective_ns, 30 * kUs);
        QCOMPARE(p.device_busy_ns, 80 * kUs);
        QCOMPARE(p.device_idle_ns, 50 * kUs);
    }

    void order_of_kernels() {
        const SmallCapture c([](SmallCapture::Fill& f) {
            one_step(f, 0, 1);
            one_step(f, 500 * kUs, 11);
            one_step(f, 1'000 * kUs, 21, true);
        });
        const auto steps = c.reader->steps();
        QVERIFY(steps);
        const auto profiles = profile_steps(*c.reader, LayerRules::built_in(), *steps);
        QVERIFY(profiles);
        QCOMPARE((*profiles)[0].order, (*profiles)[1].order);
        QVERIFY((*profiles)[0].order != (*profiles)[2].order);
        QCOMPARE((*profiles)[0].operators.size(), (*profiles)[2].operators.size());
    }

    void a_part_agrees_with_the_whole() {
        ServiceOptions options;
        options.ranks = 2;
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        const LayerRules layers = LayerRules::built_in();
        const auto all = profile_steps(*service->reader, layers, service->steps);
        QVERIFY(all);
        const std::vector<Step> some = {service->steps[50], service->steps[3]};
        const auto part = profile_steps(*service->reader, layers, some);
        QVERIFY(part);
        QCOMPARE(part->size(), std::size_t{2});
        for (const auto& [of, with] : {std::pair{0, 50}, std::pair{1, 3}}) {
            const StepProfile& a = (*part)[static_cast<std::size_t>(of)];
            const StepProfile& b = (*all)[static_cast<std::size_t>(with)];
            QCOMPARE(a.step, b.step);
            QCOMPARE(a.order, b.order);
            QCOMPARE(a.device_idle_ns, b.device_idle_ns);
            QCOMPARE(a.collective_ns, b.collective_ns);
            QCOMPARE(a.operators.size(), b.operators.size());
            for (std::size_t i = 0; i < a.operators.size(); ++i) {
                QCOMPARE(a.operators[i].name, b.operators[i].name);
                QCOMPARE(a.operators[i].self_ns, b.operators[i].self_ns);
                QCOMPARE(a.operators[i].count, b.operators[i].count);
            }
        }
        std::int64_t kernels = 0;
        for (const OperatorTotal& o : (*all)[50].operators)
            if (o.kind == SpanKind::kernel) kernels += o.count;
        QCOMPARE(kernels, service->steps[50].kernels);
    }

    void of_nothing() {
        const SmallCapture c([](SmallCapture::Fill& f) { one_step(f, 0, 1); });
        const auto profiles = profile_steps(*c.reader, LayerRules::built_in(), {});
        QVERIFY(profiles);
        QVERIFY(profiles->empty());
    }
};

QTEST_GUILESS_MAIN(TestStepProfile)
#include "tst_step_profile.moc"
