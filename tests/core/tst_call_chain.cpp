// The tree of a step and the chain of a span, read back from a capture file.
#include <QTemporaryDir>
#include <QTest>

#include "core/build_source.h"
#include "core/call_chain.h"

using namespace faultline;

namespace {

constexpr TimeNs kUnit = 100;  ///< spans that cross by at most 1 us are clipped
constexpr const char* kDecode = "execute_context_0(0)_generation_2(2)";

/// Two decode steps of a worker with everything a chain can hold.
class Fixture {
public:
    Fixture() {
        auto writer = CaptureWriter::create(path());
        if (!writer) return;
        SourceBuilder source = (*writer)->begin_source();
        host_ = &source.host_track(source.thread(source.process(1), 1));
        backward_ = &source.host_track(source.thread(source.process(1), 2));
        device_ = &source.device_track(source.device(0), 7, source.process(1));
        builder_ = &source;
        for (const TimeNs t : {TimeNs{0}, TimeNs{10'000}}) fill(t);
        ImportLedger ledger;
        const StepGrammar grammar = StepGrammar::built_in();
        const LayerRules layers = LayerRules::built_in();
        if (!build_source(source, **writer, ledger, {grammar, layers, RequestRules::built_in()}, {})) return;
        if (!(*writer)->finish()) return;
        if (auto reader = CaptureReader::open(path())) capture = std::move(*reader);
    }

    [[nodiscard]] std::string path() const { return dir_.filePath("chain.faultline").toStdString(); }

    [[nodiscard]] SpanId span(std::string_view name, TimeNs start) const {
        for (const Track& t : capture->tracks()) {
            const auto starts = capture->read_column(t.id, Column::start), names = capture->read_column(t.id, Column::name);
            for (std::size_t i = 0; starts && names && i < starts->size(); ++i)
                if ((*starts)[i] == kUnit * start && capture->name(NameId{static_cast<std::uint32_t>((*names)[i])}) == name)
                    return SpanId::make(t.id, i);
        }
        return {};
    }

    std::unique_ptr<CaptureReader> capture;

private:
    void put(TrackBuffer& track, SpanKind kind, const char* name, TimeNs start, TimeNs end, std::int64_t correlation = kNull) {
        const std::uint32_t at = track.append(kUnit * start, kUnit * (end - start), builder_->name(name), kind);
        if (correlation != kNull) track.set(at, Column::correlation, correlation);
    }
    void fill(TimeNs t) {
        put(*host_, SpanKind::python, "serve.py(3): loop", t, t + 1000);
        put(*host_, SpanKind::range, kDecode, t + 10, t + 900);
        put(*host_, SpanKind::python, "nn.Module: Model", t + 20, t + 500);
        put(*host_, SpanKind::op, "aten::mm", t + 30, t + 100);
        put(*host_, SpanKind::runtime_call, "cudaLaunchKernel", t + 40, t + 50, t + 1);
        put(*host_, SpanKind::range, "nccl:all_reduce", t + 200, t + 300);
        put(*host_, SpanKind::runtime_call, "cudaLaunchKernelExC", t + 210, t + 220, t + 2);
        put(*host_, SpanKind::runtime_call, "cudaGraphLaunch", t + 600, t + 620, t + 3);
        put(*host_, SpanKind::range, "crosses its end", t + 650, t + 9000);  // on a sub-lane
        put(*backward_, SpanKind::op, "autograd", t + 30, t + 60);
        put(*backward_, SpanKind::runtime_call, "cudaLaunchKernel", t + 40, t + 50, t + 4);
        put(*device_, SpanKind::kernel, "gemm", t + 1000, t + 1100, t + 1);
        put(*device_, SpanKind::kernel, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL", t + 1100, t + 1200, t + 2);
        for (int i = 0; i < 3; ++i) put(*device_, SpanKind::kernel, "node", t + 1200 + 100 * i, t + 1300 + 100 * i, t + 3);
        put(*device_, SpanKind::kernel, "backward gemm", t + 1600, t + 1700, t + 4);
    }

    QTemporaryDir dir_;
    SourceBuilder* builder_ = nullptr;
    TrackBuffer* host_ = nullptr;
    TrackBuffer* backward_ = nullptr;
    TrackBuffer* device_ = nullptr;
};

QStringList drawn(const CaptureReader& capture, const CallChain& chain) {
    QStringList lines;
    std::vector<int> depths;
    for (std::size_t i = 0; i < chain.nodes.size(); ++i) {
        const ChainNode& n = chain.nodes[i];
        if (n.parent >= static_cast<std::int64_t>(i)) return {QStringLiteral("a child before its parent")};
        depths.push_back(n.parent < 0 ? 0 : depths[static_cast<std::size_t>(n.parent)] + 1);
        lines << QString(2 * depths.back(), QLatin1Char(' ')) + QString::fromStdString(std::string(capture.name(n.name))) +
                     QStringLiteral(": ") + QString::fromStdString(std::string(layer_class_name(n.layer)));
    }
    return lines;
}

QStringList names(const CaptureReader& capture, const std::vector<SpanId>& spans) {
    QStringList all;
    for (const SpanId s : spans)
        all << QString::fromStdString(
            std::string(capture.name(NameId{static_cast<std::uint32_t>(capture.value(s, Column::name).value_or(0))})));
    return all;
}

}  // namespace

class TestCallChain : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_step_is_a_tree_with_kernels_under_their_launches() {
        const Fixture f;
        QVERIFY(f.capture);
        const auto chain = step_chain(*f.capture, LayerRules::built_in(), StepId{2});
        QVERIFY2(chain.has_value(), chain ? "" : chain.error().sentence.c_str());
        const QStringList expected{
            QStringLiteral("execute_context_0(0)_generation_2(2): step"),
            QStringLiteral("  aten::mm: backend"),
            QStringLiteral("    cudaLaunchKernel: host"),
            QStringLiteral("      gemm: kernel"),
            QStringLiteral("  nccl:all_reduce: comm"),
            QStringLiteral("    cudaLaunchKernelExC: host"),
            QStringLiteral("      ncclDevKernel_AllReduce_Sum_bf16_RING_LL: comm"),
            QStringLiteral("  cudaGraphLaunch: host"),
            QStringLiteral("    node: kernel"),
            QStringLiteral("    node: kernel"),
            QStringLiteral("    node: kernel"),
            QStringLiteral("  crosses its end: backend"),
            QStringLiteral("autograd: backend"),
            QStringLiteral("  cudaLaunchKernel: host"),
            QStringLiteral("    backward gemm: kernel"),
        };
        QCOMPARE(drawn(*f.capture, *chain), expected);
        QCOMPARE(chain->nodes[2].correlation.value(), std::int64_t{10'001});
        QCOMPARE(chain->nodes[0].start, kUnit * 10'010);
        QCOMPARE(chain->nodes[0].duration, kUnit * 890);
        QCOMPARE(chain->step.kernels, std::int64_t{6});
    }

    void python_frames_only_where_asked_for() {
        const Fixture f;
        QVERIFY(f.capture);
        const auto chain = step_chain(*f.capture, LayerRules::built_in(), StepId{1}, {true});
        QVERIFY(chain.has_value());
        const QStringList lines = drawn(*f.capture, *chain);
        QCOMPARE(lines.size(), qsizetype{16});
        QCOMPARE(lines[1], QStringLiteral("  nn.Module: Model: backend"));
        QCOMPARE(lines[2], QStringLiteral("    aten::mm: backend"));
    }

    void a_step_that_is_not_there() {
        const Fixture f;
        QVERIFY(f.capture);
        const auto chain = step_chain(*f.capture, LayerRules::built_in(), StepId{99});
        QVERIFY(!chain);
        QCOMPARE(chain.error().sentence, std::string("the capture has no step 99"));
    }

    void a_kernel_knows_its_launch_and_what_is_around_it() {
        const Fixture f;
        QVERIFY(f.capture);
        const auto chain = span_chain(*f.capture, f.span("gemm", 11'000));
        QVERIFY(chain.has_value());
        QCOMPARE(names(*f.capture, chain->ancestors),
                 (QStringList{QStringLiteral("serve.py(3): loop"), QString::fromLatin1(kDecode), QStringLiteral("nn.Module: Model"),
                              QStringLiteral("aten::mm"), QStringLiteral("cudaLaunchKernel"), QStringLiteral("gemm")}));
        QVERIFY(chain->launched.empty());
        QVERIFY(chain->step == StepId{2});
    }

    void a_range_knows_what_was_launched_in_it() {
        const Fixture f;
        QVERIFY(f.capture);
        const auto launches = LaunchIndex::build(*f.capture);
        QVERIFY(launches.has_value());
        QCOMPARE((*launches)->size(), std::size_t{12});
        for (const LaunchIndex* index : {static_cast<const LaunchIndex*>(nullptr), launches->get()}) {
            const auto step = span_chain(*f.capture, f.span(kDecode, 10'010), index);
            QVERIFY(step.has_value());
            QCOMPARE(names(*f.capture, step->launched),
                     (QStringList{QStringLiteral("gemm"), QStringLiteral("ncclDevKernel_AllReduce_Sum_bf16_RING_LL"),
                                  QStringLiteral("node"), QStringLiteral("node"), QStringLiteral("node")}));
            QCOMPARE(names(*f.capture, step->ancestors).constLast(), QString::fromLatin1(kDecode));
            const auto graph = span_chain(*f.capture, f.span("cudaGraphLaunch", 600), index);
            QVERIFY(graph.has_value());
            QCOMPARE(graph->launched.size(), std::size_t{3});
            QVERIFY(graph->step == StepId{1});
            const auto op = span_chain(*f.capture, f.span("aten::mm", 30), index);
            QVERIFY(op.has_value());
            QCOMPARE(names(*f.capture, op->launched), QStringList{QStringLiteral("gemm")});
            QVERIFY(!op->launched_truncated);
        }
    }

    void a_span_that_is_not_there() {
        const Fixture f;
        QVERIFY(f.capture);
        QVERIFY(!span_chain(*f.capture, SpanId{}));
        QVERIFY(!span_chain(*f.capture, SpanId::make(TrackId{999}, 0)));
        QVERIFY(!span_chain(*f.capture, SpanId::make(f.capture->tracks().front().id, 1'000'000)));
    }
};

QTEST_APPLESS_MAIN(TestCallChain)
#include "tst_call_chain.moc"
