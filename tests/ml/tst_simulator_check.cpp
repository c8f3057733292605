// Is a simulated capture like a real one: the distances, on captures whose differences are known.
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <cmath>

#include "core/layer_rules.h"
#include "core/request_rules.h"
#include "core/step_grammar.h"
#include "importers/import_capture.h"
#include "ml/simulator/check/capture_shape.h"
#include "ml/simulator/check/check.h"
#include "ml/simulator/check/comparable.h"
#include "tests/support/planted_service.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::test::make_service;
using faultline::test::Plant;
using faultline::test::ServiceOptions;
using faultline::test::write_service;

namespace {

std::unique_ptr<CaptureReader> imported(const std::vector<std::string>& inputs, const std::string& capture) {
    ImportRequest request;
    request.inputs = inputs;
    request.capture = capture;
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    if (const auto done = import_capture(request, {grammar, layers, RequestRules::built_in()}, {}); !done) {
        qWarning("%s", done.error().sentence.c_str());
        return nullptr;
    }
    auto reader = CaptureReader::open(capture);
    return reader ? std::move(*reader) : nullptr;
}

const CheckRow* row_of(const CheckTable& table, const std::string& phase, const std::string& measure) {
    const auto found =
        std::find_if(table.rows.begin(), table.rows.end(), [&](const CheckRow& r) { return r.phase == phase && r.measure == measure; });
    return found == table.rows.end() ? nullptr : &*found;
}

/// Two cards, so that this test depends on no catalogue.
std::vector<ModelCard> two_models() {
    ModelCard small, large;
    small.name = "small";
    small.layers = 3;
    large.name = "large";
    large.layers = 36;
    return {large, small};
}

std::vector<GpuCard> two_gpus() {
    GpuCard h20, h200;
    h20.name = "h20";
    h200.name = "h200";
    return {h20, h200};
}

}  // namespace

class TestSimulatorCheck : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;

    std::unique_ptr<CaptureReader> service(const ServiceOptions& options, const char* name) {
        auto made = make_service(options);
        const std::string folder = dir_.filePath(QString::fromUtf8(name)).toStdString();
        QDir().mkpath(QString::fromStdString(folder));
        if (!write_service(made, folder)) return nullptr;
        return imported({folder}, folder + ".faultline");
    }

private Q_SLOTS:
    void a_capture_is_like_itself();
    void another_seed_is_nearer_than_another_model();
    void slow_kernels_stretch_kernels_and_leave_counts();
    void collectives_show_as_a_family();
    void rows_come_worst_first();
    void layers_are_what_repeats_data();
    void layers_are_what_repeats();
    void log_lines_of_one_shape_are_one();
    void the_comparable_run_follows_the_capture();
    void dialects_follow_the_rule_of_the_steps();
    void without_steps_there_is_nothing_to_compare();
    void real_captures_differ_where_they_should();
};

void TestSimulatorCheck::a_capture_is_like_itself() {
    const auto capture = service({}, "itself");
    QVERIFY(capture);
    const auto table = check_likeness(*capture, *capture);
    QVERIFY2(table, table ? "" : table.error().sentence.c_str());
    QVERIFY(table->rows.size() > 30);
    for (const CheckRow& row : table->rows) QVERIFY2(row.distance == 0, (row.phase + ": " + row.measure).c_str());
    QCOMPARE(table->mean_distance, 0.0);
    const CheckRow* kernels = row_of(*table, "decode", "kernels per step");
    QVERIFY(kernels != nullptr && kernels->real && *kernels->real > 30);
    QVERIFY(row_of(*table, "", "log line shapes: names in common") != nullptr);
}

void TestSimulatorCheck::another_seed_is_nearer_than_another_model() {
    const auto one = service({}, "one"), seed = service({.seed = 2, .planted = {}}, "seed"),
               model = service({.layers = 12, .planted = {}}, "model");
    QVERIFY(one && seed && model);
    const auto near = check_likeness(*one, *seed), far = check_likeness(*one, *model);
    QVERIFY(near && far);
    QVERIFY(near->mean_distance < 0.2);
    QVERIFY(far->mean_distance > 2 * near->mean_distance);
    // Four times the layers: kernels per step show it, kernels per layer hardly.
    const CheckRow* per_step = row_of(*far, "decode", "kernels per step");
    QVERIFY(per_step != nullptr);
    QVERIFY(per_step->distance > std::log(2.5));
    QVERIFY(row_of(*near, "decode", "kernels per step")->distance < 0.05);
}

void TestSimulatorCheck::slow_kernels_stretch_kernels_and_leave_counts() {
    const auto usual = service({}, "usual"), slow = service({.all_slow = true, .planted = {}}, "slow");
    QVERIFY(usual && slow);
    const auto table = check_likeness(*usual, *slow);
    QVERIFY(table);
    QCOMPARE(row_of(*table, "decode", "kernels per step")->distance, 0.0);
    const CheckRow* gemm = row_of(*table, "decode", "mean kernel: gemm");
    QVERIFY(gemm != nullptr);
    QVERIFY(*gemm->simulated > 1.2 * *gemm->real);  // a third of the steps, 2.5 times as long
    QVERIFY(row_of(*table, "decode", "kernel time by family, total variation")->distance < 0.1);
}

void TestSimulatorCheck::collectives_show_as_a_family() {
    const auto one = service({}, "alone"), two = service({.ranks = 2, .planted = {}}, "two");
    QVERIFY(one && two);
    const auto table = check_likeness(*one, *two);
    QVERIFY(table);
    const CheckRow* row = row_of(*table, "decode", "kernel time: collective");
    QVERIFY(row != nullptr);
    QCOMPARE(*row->real, 0.0);
    QVERIFY(*row->simulated > 0.01);
    QCOMPARE(row->distance, *row->simulated);
    // Counts are per rank, so a second rank does not double them.
    QVERIFY(row_of(*table, "decode", "kernels per step")->distance < 0.4);
}

void TestSimulatorCheck::rows_come_worst_first() {
    const auto one = service({}, "first"), model = service({.layers = 9, .planted = {}}, "second");
    QVERIFY(one && model);
    const auto table = check_likeness(*one, *model);
    QVERIFY(table);
    QVERIFY(std::is_sorted(table->rows.begin(), table->rows.end(),
                           [](const CheckRow& a, const CheckRow& b) { return a.distance > b.distance; }));
    QVERIFY(table->rows.front().distance > 0.5);
    QVERIFY(!table->notes.empty());
}

void TestSimulatorCheck::layers_are_what_repeats_data() {
    QTest::addColumn<QList<double>>("counts");
    QTest::addColumn<int>("layers");
    QTest::newRow("one kernel a layer, two norms, a head") << QList<double>{36, 36, 72, 73, 1, 1} << 36;
    QTest::newRow("piecewise: something twelve times") << QList<double>{48, 48, 96, 12} << 48;
    QTest::newRow("nothing repeats") << QList<double>{1, 2, 3} << 0;
    QTest::newRow("measured a little off") << QList<double>{27.9, 28.1, 56.2} << 28;
}

void TestSimulatorCheck::layers_are_what_repeats() {
    QFETCH(QList<double>, counts);
    QFETCH(int, layers);
    std::map<std::string, double> kernels;
    for (int i = 0; i < counts.size(); ++i) kernels["kernel" + std::to_string(i)] = counts[i];
    QCOMPARE(repeats_of(kernels), layers);
}

void TestSimulatorCheck::log_lines_of_one_shape_are_one() {
    QCOMPARE(QString::fromStdString(log_shape("INFO", "Added request cmpl-7f3a9c2d1e40 in 12.5 ms")),
             QStringLiteral("INFO Added request cmpl-# in # ms"));
    QCOMPARE(QString::fromStdString(log_shape("INFO", "Added request cmpl-000fffabcde1 in 7 ms")),
             QStringLiteral("INFO Added request cmpl-# in # ms"));
    QCOMPARE(QString::fromStdString(log_shape("INFO", "cafe decode 5")), QStringLiteral("INFO cafe decode #"));  // words stay words
    std::vector<LogLine> lines(4);
    lines[0].text = "Running: 3 reqs";
    lines[1].text = "Running: 4 reqs";
    lines[2].text = "Running: 12 reqs\ncontinued";
    lines[3].text = "Shutting down";
    const auto shapes = log_shapes(lines);
    QCOMPARE(shapes.size(), std::size_t{2});
    QCOMPARE(shapes.at(" Running: # reqs"), 0.75);
}

void TestSimulatorCheck::the_comparable_run_follows_the_capture() {
    const auto capture = service({.ranks = 2, .planted = {}}, "comparable");
    QVERIFY(capture);
    const auto run = comparable_run(*capture, two_models(), two_gpus());
    QVERIFY2(run, run ? "" : run.error().sentence.c_str());
    QCOMPARE(run->options.deployment.tp, 2);
    QCOMPARE(static_cast<int>(run->options.recording.dialect), static_cast<int>(Dialect::engine_current));
    QVERIFY(run->options.deployment.engine == Engine::vllm_v1_online || run->options.deployment.engine == Engine::vllm_v1_offline);
    QVERIFY(run->options.workload.clients >= 1);
    QCOMPARE(static_cast<int>(run->options.workload.arrivals), static_cast<int>(Arrivals::closed_loop));
    QVERIFY(run->reasons.size() >= 5);
}

void TestSimulatorCheck::dialects_follow_the_rule_of_the_steps() {
    QCOMPARE(static_cast<int>(dialect_of("vllm-0.14")), static_cast<int>(Dialect::engine_current));
    QCOMPARE(static_cast<int>(dialect_of("vllm-0.10")), static_cast<int>(Dialect::engine_older));
    QCOMPARE(static_cast<int>(dialect_of("vllm-detailed")), static_cast<int>(Dialect::engine_detailed));
    QCOMPARE(static_cast<int>(dialect_of("sglang")), static_cast<int>(Dialect::engine_current));
    QCOMPARE(static_cast<int>(dialect_of("python-execute-model")), static_cast<int>(Dialect::none));
}

void TestSimulatorCheck::without_steps_there_is_nothing_to_compare() {
    const std::string folder = dir_.path().toStdString();
    QFile trace(dir_.filePath(QStringLiteral("empty.json")));
    QVERIFY(trace.open(QIODevice::WriteOnly));
    trace.write(R"({"traceEvents": [{"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":1,"dur":5}]})");
    trace.close();
    const auto empty = imported({folder + "/empty.json"}, folder + "/empty.faultline");
    QVERIFY(empty);
    const auto table = check_likeness(*empty, *empty);
    QVERIFY(!table);
    QCOMPARE(exit_status(table.error().code), 3);
    QVERIFY(!table.error().hint.empty());
}

void TestSimulatorCheck::real_captures_differ_where_they_should() {
    const QString given = qEnvironmentVariable("FAULTLINE_SHARED_DATA");
    const std::string files = (given.isEmpty() ? QStringLiteral(FAULTLINE_SOURCE_DIR "/../shared/data/files") : given).toStdString();
    if (!QFile::exists(QString::fromStdString(files + "/k08-vllm-decode-full-exec.json.gz"))) QSKIP("no real traces here");
    const std::string folder = dir_.path().toStdString();
    const auto decode = imported({files + "/k08-vllm-decode-full-exec.json.gz"}, folder + "/k08.faultline");
    const auto mixed = imported({files + "/k06-vllm-prefilldecode-piecewise-exec.json.gz"}, folder + "/k06.faultline");
    QVERIFY(decode && mixed);
    const auto same = check_likeness(*decode, *decode);
    QVERIFY(same);
    QCOMPARE(same->mean_distance, 0.0);
    QVERIFY(row_of(*same, "decode", "layers")->real > 8);
    const auto none = check_likeness(*decode, *mixed);  // no phase in common
    QVERIFY(!none);
    const auto run = comparable_run(*decode, two_models(), two_gpus());
    QVERIFY(run);
    QCOMPARE(static_cast<int>(run->options.deployment.graphs), static_cast<int>(GraphMode::full));
    QCOMPARE(run->options.workload.clients, 32);
}

QTEST_APPLESS_MAIN(TestSimulatorCheck)
#include "tst_simulator_check.moc"
