// Rows of the comparison that say nothing about the simulator: that they are told apart, with the reason, whatever wrote the capture.
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/layer_rules.h"
#include "core/request_rules.h"
#include "core/step_grammar.h"
#include "importers/import_capture.h"
#include "ml/simulator/check/check.h"
#include "ml/simulator/check/comparable.h"
#include "ml/simulator/check/obstacles.h"
#include "tests/support/made_export.h"

using namespace faultline;
using namespace faultline::simulator;
using nlohmann::json;

namespace {

/// What a small trace of five decode steps is like.
struct Made {
    std::string gpu = "NVIDIA H100 80GB HBM3", api = "cuda";
    bool frames = true;
    double gap = 1.5;  ///< us between kernels
    int layers = 12;
};

class Trace {
public:
    explicit Trace(const Made& made) : made_(made) {
        double at = 1'000'000;
        for (int step = 0; step < 5; ++step) at = add_step(at) + 300;
    }
    [[nodiscard]] std::string text() const {
        return json{{"schemaVersion", 1}, {"deviceProperties", {{{"id", 0}, {"name", made_.gpu}}}}, {"traceEvents", events_}}.dump();
    }

private:
    void add(const char* category, const std::string& name, int pid, int tid, double at, double length, json args) {
        events_.push_back(
            {{"ph", "X"}, {"cat", category}, {"name", name}, {"pid", pid}, {"tid", tid}, {"ts", at}, {"dur", length}, {"args", std::move(args)}});
    }
    double add_step(double at) {
        const double length = 40.0 * made_.layers + 100;
        add("user_annotation", "execute_context_0(0)_generation_4(4)", 10, 10, at, length, json{{"External id", ++id_}});
        if (made_.frames) add("python_function", "worker.py(5): execute_model", 10, 10, at + 1, length - 2, json{{"Python id", id_}});
        double device = at + 20;
        for (int layer = 0; layer < made_.layers; ++layer) {
            for (const char* kernel : {"void norm_kernel", "ampere_bf16_s16816gemm_tn"}) {
                ++correlation_;
                add("cuda_runtime", made_.api + "LaunchKernel", 10, 10, at + 10 + 15 * layer, 4, json{{"correlation", correlation_}});
                add("kernel", kernel, 0, 7, device, 6, json{{"correlation", correlation_}, {"device", 0}, {"stream", 7}});
                device += 6 + made_.gap;
            }
        }
        return at + length;
    }

    Made made_;
    json events_ = json::array();
    int correlation_ = 0, id_ = 0;
};

const CheckRow* row_of(const CheckTable& table, std::string_view measure) {
    const auto found = std::find_if(table.rows.begin(), table.rows.end(), [&](const CheckRow& r) { return r.measure == measure; });
    return found == table.rows.end() ? nullptr : &*found;
}

QString why(const CheckTable& table, std::string_view measure) {
    const CheckRow* const row = row_of(table, measure);
    return row == nullptr ? QStringLiteral("no such row") : QString::fromStdString(row->not_comparable);
}

}  // namespace

class TestSimulatorCheckObstacles : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    int made_ = 0;

    std::unique_ptr<CaptureReader> imported(const std::string& input) {
        ImportRequest request;
        request.inputs = {input};
        request.capture = dir_.filePath(QStringLiteral("%1.faultline").arg(++made_)).toStdString();
        const StepGrammar grammar = StepGrammar::built_in();
        const LayerRules layers = LayerRules::built_in();
        if (const auto done = import_capture(request, {grammar, layers, RequestRules::built_in()}, {}); !done) {
            qWarning("%s", done.error().sentence.c_str());
            return nullptr;
        }
        auto reader = CaptureReader::open(request.capture);
        return reader ? std::move(*reader) : nullptr;
    }
    std::unique_ptr<CaptureReader> capture(const Made& made) {
        QFile file(dir_.filePath(QStringLiteral("%1.json").arg(++made_)));
        if (!file.open(QIODevice::WriteOnly)) return nullptr;
        file.write(Trace(made).text().c_str());
        file.close();
        return imported(file.fileName().toStdString());
    }
    Result<CheckTable> table(const Made& real, const Made& simulated) {
        const auto a = capture(real), b = capture(simulated);
        if (!a || !b) return fail(ErrorCode::unusable_input, "no capture", "");
        return check_likeness(*a, *b);
    }

private Q_SLOTS:
    void likeCapturesHaveNoObstacles();
    void whatOneSideDoesNotRecordIsNoDistance();
    void timesOfAnotherGpuAreNoDistance_data();
    void timesOfAnotherGpuAreNoDistance();
    void gapsThatAClockDoesNotShowAreNoDistance();
    void namesOfAnotherApiAreNoDistance();
    void stepsWithoutLaunchesSayNothingOfTheHost();
    void whereNothingRepeatsThereAreNoLayers();
    void whatCannotBeComparedStandsLast();
    void aModelIsChosenThatFits();
    void anExportIsComparedWithAnExport();
    void realExportsAreComparable_data();
    void realExportsAreComparable();
};

void TestSimulatorCheckObstacles::likeCapturesHaveNoObstacles() {
    const auto same = table({}, {});
    QVERIFY2(same, same ? "" : same.error().sentence.c_str());
    QVERIFY(same->rows.size() > 20);
    QCOMPARE(same->compared, same->rows.size());
    for (const CheckRow& row : same->rows) QCOMPARE(row.distance, 0.0);
    QVERIFY(row_of(*same, "events per step") != nullptr);
    QCOMPARE(*row_of(*same, "layers")->real, 12.0);
}

void TestSimulatorCheckObstacles::whatOneSideDoesNotRecordIsNoDistance() {
    Made without;
    without.frames = false;
    const auto there = table({}, without), here = table(without, {});
    QVERIFY(there && here);
    QCOMPARE(why(*there, "Python frames per step"), QStringLiteral("the simulated capture records no Python frames"));
    QCOMPARE(why(*here, "Python frames per step"), QStringLiteral("the real capture records no Python frames"));
    QCOMPARE(why(*here, "nesting of frames, deepest"), QStringLiteral("the real capture records no Python frames"));
    QCOMPARE(row_of(*here, "Python frames per step")->distance, 0.0);
    QCOMPARE(*row_of(*here, "Python frames per step")->simulated, 1.0);
    // The sum leaves them out, and so does the mean: all else is the same.
    QCOMPARE(row_of(*here, "events per step"), nullptr);
    const CheckRow* const sum = row_of(*here, "events per step, of kinds that can be compared");
    QVERIFY(sum != nullptr);
    QCOMPARE(*sum->real, *sum->simulated);
    QCOMPARE(here->mean_distance, 0.0);
    QCOMPARE(why(*here, "kernels per step"), QString());
    QCOMPARE(why(*here, "nesting, deepest"), QString());
}

void TestSimulatorCheckObstacles::timesOfAnotherGpuAreNoDistance_data() {
    QTest::addColumn<QString>("gpu");
    QTest::addColumn<QString>("reason");
    QTest::newRow("the same, otherwise named") << QStringLiteral("NVIDIA H100 PCIe") << QString();
    QTest::newRow("another") << QStringLiteral("NVIDIA GeForce RTX 3070 Ti") << QStringLiteral("the GPUs are 3070 and H100");
    QTest::newRow("another maker") << QStringLiteral("AMD Instinct MI300X") << QStringLiteral("the GPUs are MI300X and H100");
    QTest::newRow("none") << QString() << QStringLiteral("the real capture does not name its GPU");
}

void TestSimulatorCheckObstacles::timesOfAnotherGpuAreNoDistance() {
    QFETCH(QString, gpu);
    QFETCH(QString, reason);
    Made other;
    other.gpu = gpu.toStdString();
    const auto compared = table(other, {});
    QVERIFY(compared);
    QCOMPARE(why(*compared, "length of a step"), reason);
    QCOMPARE(why(*compared, "mean kernel: gemm"), reason);
    QCOMPARE(why(*compared, "kernel time: gemm"), QString());
    QCOMPARE(why(*compared, "kernels: names in common"), QString());
}

void TestSimulatorCheckObstacles::gapsThatAClockDoesNotShowAreNoDistance() {
    Made touching, wide;
    touching.gap = 0.001;
    wide.gap = 3;
    const auto none = table(touching, {}), both = table(touching, touching), more = table(wide, {});
    QVERIFY(none && both && more);
    QCOMPARE(why(*none, "gap between kernels, p50"), QStringLiteral("kernels of the real capture follow one another without a gap that its clock shows"));
    QCOMPARE(why(*none, "gap between kernels, p99"), why(*none, "gap between kernels, p50"));
    QCOMPARE(why(*both, "gap between kernels, p50"), QString());
    QCOMPARE(why(*more, "gap between kernels, p50"), QString());
    QVERIFY(row_of(*more, "gap between kernels, p50")->distance > 0.5);
}

void TestSimulatorCheckObstacles::namesOfAnotherApiAreNoDistance() {
    Made hip;
    hip.api = "hip";
    const auto compared = table(hip, {});
    QVERIFY(compared);
    for (const char* row : {"kernels: names in common", "runtime calls: names in common", "runtime calls: share of the real under common names"})
        QCOMPARE(why(*compared, row), QStringLiteral("the APIs are hip and cuda"));
    QCOMPARE(why(*compared, "ranges: names in common"), QString());
    QCOMPARE(why(*compared, "runtime calls per step"), QString());
}

void TestSimulatorCheckObstacles::stepsWithoutLaunchesSayNothingOfTheHost() {
    const auto any = capture({});
    QVERIFY(any);
    const auto steps = any->steps();
    QVERIFY(steps);
    const auto usual = shape_of(*any, *steps);
    QVERIFY(usual);
    QCOMPARE(usual->launches, 24.0);
    QVERIFY(obstacles(*any, *usual, *any, *usual).host.empty());
    StepShape without = *usual;  // steps that were found by kernels that recur
    without.launches = 0;
    const Obstacles found = obstacles(*any, without, *any, *usual);
    const std::string reason = "steps of the real capture hold the kernels, not the calls that launch them";
    for (const SpanKind kind : {SpanKind::range, SpanKind::op, SpanKind::python, SpanKind::runtime_call, SpanKind::driver_call})
        QCOMPARE(found.to(kind), reason);
    QCOMPARE(found.launches, reason);
    QCOMPARE(found.nesting, reason);
    QVERIFY(found.times.empty() && found.gaps.empty() && found.layers.empty() && found.names.empty());
    without.graph_launches = 1;
    QVERIFY(obstacles(*any, without, *any, *usual).host.empty());
}

void TestSimulatorCheckObstacles::whereNothingRepeatsThereAreNoLayers() {
    Made flat;
    flat.layers = 3;
    const auto compared = table(flat, {});
    QVERIFY(compared);
    QCOMPARE(why(*compared, "layers"), QStringLiteral("nothing repeats inside steps of the real capture"));
    QCOMPARE(row_of(*compared, "kernels per layer"), nullptr);
    QVERIFY(row_of(*compared, "kernels per step")->distance > 1);
}

void TestSimulatorCheckObstacles::whatCannotBeComparedStandsLast() {
    Made other;
    other.gpu = "AMD Instinct MI300X";
    other.api = "hip";
    other.frames = false;
    other.layers = 16;
    const auto compared = table(other, {});
    QVERIFY(compared);
    QVERIFY(compared->compared < compared->rows.size());
    double sum = 0;
    for (std::size_t i = 0; i < compared->rows.size(); ++i) {
        const CheckRow& row = compared->rows[i];
        QCOMPARE(row.not_comparable.empty(), i < compared->compared);
        if (i > 0 && i < compared->compared) QVERIFY(row.distance <= compared->rows[i - 1].distance);
        sum += row.distance;
    }
    QVERIFY(std::abs(compared->mean_distance - sum / static_cast<double>(compared->compared)) < 1e-9);
}

void TestSimulatorCheckObstacles::aModelIsChosenThatFits() {
    ModelCard small, large;
    small.name = "small";
    small.layers = 3;
    small.hidden = 1'024;
    small.vocabulary = 1'000;
    large = small;
    large.name = "large";
    large.layers = 12;
    large.vocabulary = 30'000'000;  // more than a hundred GB
    GpuCard h100;
    h100.name = "h100";
    h100.memory_gib = 80;
    const auto real = capture({});
    QVERIFY(real);
    const auto fitting = comparable_run(*real, {large, small}, {h100});
    QVERIFY(fitting);
    QCOMPARE(QString::fromStdString(fitting->options.deployment.model), QStringLiteral("small"));
    h100.memory_gib = 400;
    const auto roomy = comparable_run(*real, {large, small}, {h100});
    QVERIFY(roomy);
    QCOMPARE(QString::fromStdString(roomy->options.deployment.model), QStringLiteral("large"));
    QCOMPARE(static_cast<int>(roomy->format), static_cast<int>(TraceFormat::kineto));
}

void TestSimulatorCheckObstacles::anExportIsComparedWithAnExport() {
    QCOMPARE(QString::fromStdString(gpu_model("NVIDIA A100-SXM4-80GB")), QStringLiteral("A100"));
    QCOMPARE(QString::fromStdString(gpu_model("Tesla V100-SXM2-32GB")), QStringLiteral("V100"));
    QCOMPARE(QString::fromStdString(gpu_model("(empty)")), QString());
    // An export without steps: the sentence names the file that was given, not the capture made of it.
    const std::string path = dir_.filePath(QStringLiteral("bare.sqlite")).toStdString();
    QVERIFY(faultline::test::make_database(path, std::string(faultline::test::schema_3_28()) +
                                                     "INSERT INTO StringIds VALUES (1, 'cudaMalloc_v3020');"
                                                     "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, \"end\", eventClass, globalTid, correlationId, nameId, "
                                                     "returnValue) VALUES (10, 20, 0, 281474976710657, 1, 1, 0);"));
    const auto bare = imported(path);
    QVERIFY(bare);
    const auto run = comparable_run(*bare, {}, {});
    QVERIFY(!run);
    QCOMPARE(exit_status(run.error().code), 3);
    QVERIFY(run.error().sentence.find("bare.sqlite holds no steps") != std::string::npos);
}

void TestSimulatorCheckObstacles::realExportsAreComparable_data() {
    QTest::addColumn<QString>("name");
    for (const char* name : {"n01-nsys-h100-2gpu-1s", "n02-nsys-mfu-2gpu-before", "n06-nsys-cs336-llm-jsun", "n07-nsys-cs336-2p7b-nvtx"})
        QTest::newRow(name) << QString::fromLatin1(name);
}

void TestSimulatorCheckObstacles::realExportsAreComparable() {
    QFETCH(QString, name);
    const QString given = qEnvironmentVariable("FAULTLINE_SHARED_DATA");
    const QString files = given.isEmpty() ? QStringLiteral(FAULTLINE_SOURCE_DIR "/../shared/data/files") : given;
    const QString path = QStringLiteral("%1/%2.sqlite").arg(files, name);
    if (!QFile::exists(path)) QSKIP("no real traces here");
    const auto real = imported(path.toStdString());
    QVERIFY(real);
    const auto run = comparable_run(*real, model_cards(), gpu_cards());
    QVERIFY2(run, run ? "" : run.error().sentence.c_str());
    QCOMPARE(static_cast<int>(run->format), static_cast<int>(TraceFormat::nsys));
    const ModelCard* const model = model_named(run->options.deployment.model);
    QVERIFY(model != nullptr);
    const GpuCard* const gpu = gpu_named(run->options.deployment.gpu);
    QVERIFY(gpu != nullptr);
    QVERIFY(model->weight_bytes() / run->options.deployment.tp < (std::int64_t{gpu->memory_gib} << 30));
    QVERIFY(!run->options.recording.python);
    const auto itself = check_likeness(*real, *real);
    QVERIFY(itself);
    QCOMPARE(itself->mean_distance, 0.0);
}

QTEST_APPLESS_MAIN(TestSimulatorCheckObstacles)
#include "tst_simulator_check_obstacles.moc"
