// What truth.json says of requests that were held outside of steps, of hangs that have no kernel to point at: against the run and its logs.
#include <QTest>

#include <string>

#include "tests/ml/simulated_truth.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::test::SimulatedTruth;
using faultline::test::small_run;

namespace {

QString text(const QJsonObject& object, const char* key) { return object[QLatin1String(key)].toString(); }
QJsonArray list(const QJsonObject& object, const char* key) { return object[QLatin1String(key)].toArray(); }

RunOptions busy_run(Engine engine, double seconds) {
    RunOptions options = small_run(engine);
    options.duration_s = seconds;
    return options;
}

}  // namespace

class TestSimulationTruth : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_request_that_was_held_has_suspects_and_numbers_data();
    void a_request_that_was_held_has_suspects_and_numbers();
    void a_transfer_that_failed_is_computed_again_or_ends_its_request_data();
    void a_transfer_that_failed_is_computed_again_or_ends_its_request();
    void a_skipped_dummy_step_is_seen_at_the_exchange_of_the_busy_rank();
};

void TestSimulationTruth::a_request_that_was_held_has_suspects_and_numbers_data() {
    QTest::addColumn<QString>("id");
    QTest::addColumn<int>("engine");
    for (const char* id : {"D8", "D9", "E9", "E13"}) {
        for (const Engine engine : {Engine::vllm_v1_online, Engine::sglang}) {
            QTest::newRow((std::string(id) + " " + std::string(engine_name(engine))).c_str()) << QString(id) << static_cast<int>(engine);
        }
    }
}

void TestSimulationTruth::a_request_that_was_held_has_suspects_and_numbers() {
    QFETCH(QString, id);
    QFETCH(int, engine);
    const SimulatedTruth run(busy_run(static_cast<Engine>(engine), 4), FaultChoice{.info = fault_named(id.toStdString()), .intensity = 0.2});
    QVERIFY2(run.summary, run.summary ? "" : run.summary.error().sentence.c_str());
    int held = 0;
    for (const QJsonObject& request : run.labelled("requests")) {
        if (text(request, "explanation").isEmpty()) continue;  // its steps say it
        ++held;
        QVERIFY2(!list(request, "suspects").isEmpty(), qPrintable(text(request, "id")));
        for (const QJsonValue suspect : list(request, "suspects")) {
            QVERIFY(!text(suspect.toObject(), "file").isEmpty() && !text(suspect.toObject(), "name").isEmpty());
            QVERIFY(suspect.toObject()[QLatin1String("process")].toInteger() > 0);
        }
        QVERIFY(text(request, "explanation").contains(text(request, "id")) && text(request, "explanation").contains(QLatin1String(" ms ")));
    }
    QVERIFY(held > 0);
}

void TestSimulationTruth::a_transfer_that_failed_is_computed_again_or_ends_its_request_data() {
    QTest::addColumn<int>("engine");
    for (const Engine engine : {Engine::vllm_v1_online, Engine::sglang}) QTest::newRow(std::string(engine_name(engine)).c_str()) << static_cast<int>(engine);
}

void TestSimulationTruth::a_transfer_that_failed_is_computed_again_or_ends_its_request() {
    QFETCH(int, engine);
    const bool sglang = static_cast<Engine>(engine) == Engine::sglang;
    const SimulatedTruth run(busy_run(static_cast<Engine>(engine), 5), FaultChoice{.info = fault_named("D9"), .intensity = 0.02});
    QVERIFY(run.summary);
    const QString logs = run.logs();
    int failed = 0, again = 0, named = 0;
    for (const QJsonObject& request : run.labelled("requests")) {
        if (text(request, "end") == QLatin1String("failed")) ++failed;
        const QString said = sglang ? QStringLiteral("Prefill bootstrap failed for request rank=0 req.rid='%1'").arg(text(request, "id"))
                                    : QStringLiteral("pulling kv_caches for ['%1'] failed: Timeout waiting for P side ready").arg(text(request, "id"));
        if (logs.contains(said)) ++named;
    }
    for (const QJsonObject& step : run.labelled("steps")) {
        if (step[QLatin1String("instance")].toInt() != 1) continue;
        QVERIFY(text(step, "phase") != QLatin1String("decode"));
        again += list(step, "suspects").isEmpty() ? 0 : 1;
    }
    QVERIFY(failed > 0);
    QVERIFY(again > 0);
    QVERIFY(named > 0);
}

void TestSimulationTruth::a_skipped_dummy_step_is_seen_at_the_exchange_of_the_busy_rank() {
    RunOptions options = small_run(Engine::vllm_v1_online, 1);
    options.duration_s = 6;
    const SimulatedTruth run(options, FaultChoice{.info = fault_named("D10")});
    QVERIFY(run.summary);
    QVERIFY(run.summary->stuck);
    bool busy = false;
    for (const QJsonObject& step : run.labelled("steps")) {
        QVERIFY(!list(step, "culprit_ranks").isEmpty());
        const QJsonArray suspects = list(step, "suspects");
        busy = busy || !suspects.isEmpty();
        if (!suspects.isEmpty()) QVERIFY(text(step, "explanation").contains(QLatin1String("no kernels at all")));
    }
    QVERIFY(busy);
}

QTEST_APPLESS_MAIN(TestSimulationTruth)
#include "tst_simulation_truth.moc"
