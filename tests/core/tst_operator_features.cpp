// Features of operators of a hand-made step: self time, calls, launched work, bytes and overlap.
#include <QTemporaryDir>
#include <QTest>
#include <cmath>

#include "core/build_source.h"
#include "core/operator_features.h"

using namespace faultline;

namespace {

/// A step of 1 ms: an operator with a nested one and two launches; two kernels on two streams that overlap, and a copy of 4,096 bytes.
std::unique_ptr<CaptureReader> made_capture(const QTemporaryDir& dir) {
    const std::string path = dir.filePath(QStringLiteral("made.faultline")).toStdString();
    auto writer = CaptureWriter::create(path);
    if (!writer) return nullptr;
    SourceBuilder source = (*writer)->begin_source();
    source.source.rank = 3;
    TrackBuffer& host = source.host_track(source.thread(source.process(1), 1));
    const auto put = [&](TrackBuffer& track, SpanKind kind, std::string_view name, TimeNs start, TimeNs duration,
                         std::int64_t correlation = kNull) {
        const std::uint32_t at = track.append(start, duration, source.name(name), kind);
        if (correlation != kNull) track.set(at, Column::correlation, correlation);
        return at;
    };
    put(host, SpanKind::range, "execute_context_0(0)_generation_2(2)", 0, 400'000);
    put(host, SpanKind::op, "outer", 10'000, 200'000);
    put(host, SpanKind::python, "a.py(1): f", 20'000, 100'000);
    put(host, SpanKind::op, "inner", 30'000, 50'000);
    put(host, SpanKind::runtime_call, "cudaLaunchKernel", 40'000, 10'000, 1);
    put(host, SpanKind::runtime_call, "cudaLaunchKernel", 100'000, 10'000, 2);
    put(host, SpanKind::runtime_call, "cudaMemcpyAsync", 220'000, 30'000, 3);
    TrackBuffer& first = source.device_track(source.device(0), 7, source.process(1));
    TrackBuffer& second = source.device_track(source.device(0), 8, source.process(1));
    put(first, SpanKind::kernel, "gemm", 300'000, 100'000, 1);
    put(second, SpanKind::kernel, "gemm", 350'000, 100'000, 2);
    const std::uint32_t copy = put(first, SpanKind::memory_copy, "Memcpy DtoH (Device -> Pinned)", 500'000, 20'000, 3);
    first.set(copy, Column::bytes, 4096);
    ImportLedger ledger;
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    const RequestRules requests = RequestRules::built_in();
    if (!build_source(source, **writer, ledger, {grammar, layers, requests}, {}) || !(*writer)->finish()) return nullptr;
    auto reader = CaptureReader::open(path);
    return reader ? std::move(*reader) : nullptr;
}

const OperatorInstance* find(const CaptureReader& capture, const std::vector<OperatorInstance>& all, std::string_view name,
                             std::uint32_t occurrence = 0) {
    for (const OperatorInstance& x : all)
        if (capture.name(x.name) == name && x.occurrence == occurrence) return &x;
    return nullptr;
}

}  // namespace

class TestOperatorFeatures : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_step_made_by_hand() {
        const QTemporaryDir dir;
        const auto capture = made_capture(dir);
        QVERIFY(capture);
        const auto steps = capture->steps();
        QVERIFY(steps && steps->size() == 1);
        const auto all = operator_instances(*capture, *steps);
        QVERIFY(all.has_value());
        QCOMPARE(all->size(), std::size_t{9});  // the Python frame is no operator

        const OperatorInstance* outer = find(*capture, *all, "outer");
        QVERIFY(outer);
        QCOMPARE(outer->self_ns, TimeNs{140'000});  // without the nested operator and the second launch, past the frame
        QCOMPARE(outer->call_ns, TimeNs{20'000});
        QCOMPARE(outer->calls, std::int64_t{2});
        QCOMPARE(outer->device_ns, TimeNs{200'000});
        QCOMPARE(outer->kernels, std::int64_t{2});
        QCOMPARE(outer->bytes, std::int64_t{0});
        QVERIFY(outer->rank == 3);
        const OperatorInstance* inner = find(*capture, *all, "inner");
        QCOMPARE(inner->self_ns, TimeNs{40'000});
        QCOMPARE(inner->kernels, std::int64_t{1});
        QCOMPARE(capture->name((*all)[static_cast<std::size_t>(inner->parent)].name), std::string_view("outer"));
        const OperatorInstance* step = find(*capture, *all, "execute_context_0(0)_generation_2(2)");
        QCOMPARE(step->bytes, std::int64_t{4096});
        QCOMPARE(step->self_ns, TimeNs{170'000});

        const OperatorInstance* gemm = find(*capture, *all, "gemm", 1);
        QVERIFY(gemm && find(*capture, *all, "gemm", 0));
        QCOMPARE(gemm->overlap_ns, TimeNs{50'000});
        QCOMPARE(gemm->device_ns, TimeNs{100'000});
        QCOMPARE(find(*capture, *all, "Memcpy DtoH (Device -> Pinned)")->overlap_ns, TimeNs{0});
    }

    void features_are_logs() {
        OperatorInstance x;
        x.self_ns = 99;
        x.calls = 1;
        x.bytes = -5;
        const FeatureVector phi = feature_vector(x);
        QCOMPARE(phi[0], std::log1p(99.0));
        QCOMPARE(phi[2], std::log1p(1.0));
        QCOMPARE(phi[5], 0.0);
    }

    void no_step_no_instance() {
        const QTemporaryDir dir;
        const auto capture = made_capture(dir);
        QVERIFY(capture);
        Step unknown;
        unknown.id = StepId{77};
        unknown.end = 1'000'000;
        const auto none = operator_instances(*capture, std::vector<Step>{unknown});
        QVERIFY(none && none->empty());
        std::stop_source stop;
        stop.request_stop();
        const auto cancelled = operator_instances(*capture, std::vector<Step>{unknown}, stop.get_token());
        QVERIFY(!cancelled && cancelled.error().code == ErrorCode::cancelled);
    }

    void robust_scales() {
        std::vector<double> values{5, 1, 3, 100, 2};
        const RobustScale scale = robust_scale(values);
        QCOMPARE(scale.median, 3.0);
        QCOMPARE(scale.spread, 1.4826 * 2);  // deviations 2 2 0 97 1
        std::vector<double> even{4, 1, 3, 2};
        QCOMPARE(median_of(even), 2.5);
        QCOMPARE(median_of({}), 0.0);
    }
};

QTEST_APPLESS_MAIN(TestOperatorFeatures)
#include "tst_operator_features.moc"
