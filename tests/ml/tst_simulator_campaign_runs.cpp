// The runs of a campaign: made, stopped, gone on with; and the request traces that are taken from them.
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>

#include "ml/simulator/campaign/request_traces.h"
#include "ml/simulator/campaign/run_campaign.h"

using namespace faultline;
using namespace faultline::simulator;

namespace {

CampaignPlan paper_plan(std::uint64_t seed = 1) { return plan_campaign({CampaignSize::paper, seed, false, {}}, fault_catalogue()); }

/// A truth of 40 steps: request r takes part in steps 4r to 4r + 7; steps from 20 on are faulty where `type` is not normal.
void write_truth(const QString& path, FaultClass type) {
    QJsonArray steps, requests;
    const auto name = [](FaultClass c) { return QString::fromStdString(std::string(fault_class_name(c))); };
    for (int s = 0; s < 40; ++s) {
        QJsonArray of_step;
        for (int r = 0; r < 9; ++r) {
            if (s >= 4 * r && s < 4 * r + 8) of_step.append(QStringLiteral("request-%1").arg(r));
        }
        steps.append(QJsonObject{{QStringLiteral("id"), s + 1},
                                 {QStringLiteral("label"), name(s < 20 ? FaultClass::normal : type)},
                                 {QStringLiteral("requests"), of_step}});
    }
    for (int r = 0; r < 9; ++r) {
        requests.append(QJsonObject{{QStringLiteral("id"), QStringLiteral("request-%1").arg(r)},
                                    {QStringLiteral("label"), name(4 * r + 7 < 20 ? FaultClass::normal : type)}});
    }
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) return;
    file.write(QJsonDocument(QJsonObject{{QStringLiteral("steps"), steps}, {QStringLiteral("requests"), requests}}).toJson());
}

/// Stands in for simulate(): a folder with a truth.
struct FakeMaker {
    int* made;
    int stop_after = 1000;
    std::stop_source* stop = nullptr;
    bool fail_then = false;

    Result<SimulationSummary> operator()(const SimulationJob& job, const Progress&) const {
        QDir().mkpath(QString::fromStdString(job.folder));
        if (*made == stop_after) {
            if (fail_then) return fail(ErrorCode::unwritable_output, "The disk is full");
            stop->request_stop();
            return fail(ErrorCode::cancelled, "The simulation was stopped");
        }
        ++*made;
        const bool injected = job.fault && job.fault->inject && !job.fault->info->look_alike;
        write_truth(QString::fromStdString(job.folder + "/truth.json"), injected ? job.fault->info->type : FaultClass::normal);
        SimulationSummary summary;
        summary.events = 10;
        return summary;
    }
};

/// Makes `count` runs of the campaign; it is stopped in the next.
Result<CampaignSummary> stop_after(int count, const CampaignPlan& plan, const QString& folder, int& made) {
    std::stop_source stop;
    return run_campaign(plan, folder.toStdString(), FakeMaker{&made, count, &stop}, {stop.get_token(), {}});
}

QJsonObject manifest_in(const QString& folder) {
    QFile file(folder + QStringLiteral("/manifest.json"));
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(file.readAll()).object();
}

}  // namespace

class TestSimulatorCampaignRuns : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_campaign_writes_its_manifest();
    void a_campaign_goes_on_where_it_stopped();
    void a_campaign_stopped_at_once_leaves_nothing();
    void another_campaign_is_not_mixed_in();
    void a_failed_run_is_named();
    void request_traces_hold_the_fault();
    void what_a_killed_program_left_is_made_again();
};

void TestSimulatorCampaignRuns::a_campaign_writes_its_manifest() {
    QTemporaryDir dir;
    const QString folder = dir.filePath(QStringLiteral("campaign"));
    const CampaignPlan plan = paper_plan();
    int made = 0;
    std::size_t reported = 0;
    const auto summary = run_campaign(plan, folder.toStdString(), FakeMaker{&made}, {}, [&](std::size_t position, const CampaignRun&) {
        QCOMPARE(position, reported);
        ++reported;
    });
    QVERIFY2(summary, summary ? "" : summary.error().sentence.c_str());
    QCOMPARE(summary->made, plan.runs.size());
    QCOMPARE(reported, plan.runs.size());
    QCOMPARE(summary->traces, std::size_t{300});
    QCOMPARE(summary->faulty_traces, std::size_t{127});
    QVERIFY(summary->short_runs.empty());
    const QJsonObject manifest = manifest_in(folder);
    QVERIFY(manifest[QStringLiteral("simulated")].toBool() && manifest[QStringLiteral("complete")].toBool());
    const QJsonArray runs = manifest[QStringLiteral("runs")].toArray();
    QCOMPARE(static_cast<std::size_t>(runs.size()), plan.runs.size());
    for (int i = 0; i < runs.size(); ++i) {
        const QJsonObject run = runs[i].toObject();
        QVERIFY(QFile::exists(folder + QLatin1Char('/') + run[QStringLiteral("dir")].toString() + QStringLiteral("/truth.json")));
        for (const char* field : {"dir", "split", "engine", "class", "kind", "seed"}) QVERIFY(run.contains(QLatin1String(field)));
        QCOMPARE(run[QStringLiteral("class")].toString() == QLatin1String("normal"), run[QStringLiteral("kind")].isNull());
        QVERIFY(!run[QStringLiteral("request_traces")].toArray().isEmpty());
    }
    QCOMPARE(QDir(folder).entryList(QDir::Dirs | QDir::NoDotAndDotDot).size(), runs.size());
}

void TestSimulatorCampaignRuns::a_campaign_goes_on_where_it_stopped() {
    QTemporaryDir dir;
    const QString folder = dir.filePath(QStringLiteral("campaign"));
    const CampaignPlan plan = paper_plan();
    int made = 0;
    const auto stopped = stop_after(5, plan, folder, made);
    QVERIFY(!stopped);
    QCOMPARE(exit_status(stopped.error().code), 5);
    QVERIFY(stopped.error().sentence.find("5 of") != std::string::npos);
    QCOMPARE(QDir(folder).entryList(QDir::Dirs | QDir::NoDotAndDotDot).size(), 5);  // the unfinished one is gone
    QVERIFY(!manifest_in(folder)[QStringLiteral("complete")].toBool(true));
    const auto done = run_campaign(plan, folder.toStdString(), FakeMaker{&made});
    QVERIFY(done);
    QCOMPARE(done->kept, std::size_t{5});
    QCOMPARE(static_cast<std::size_t>(made), plan.runs.size());
    QVERIFY(manifest_in(folder)[QStringLiteral("complete")].toBool());
}

void TestSimulatorCampaignRuns::a_campaign_stopped_at_once_leaves_nothing() {
    QTemporaryDir dir;
    const QString folder = dir.filePath(QStringLiteral("campaign"));
    int made = 0;
    const auto stopped = stop_after(0, paper_plan(), folder, made);
    QVERIFY(!stopped);
    QVERIFY(!QDir(folder).exists());
}

void TestSimulatorCampaignRuns::another_campaign_is_not_mixed_in() {
    QTemporaryDir dir;
    const QString folder = dir.filePath(QStringLiteral("campaign"));
    int made = 0;
    QVERIFY(run_campaign(paper_plan(), folder.toStdString(), FakeMaker{&made}));
    const int before = made;
    const auto other = run_campaign(paper_plan(2), folder.toStdString(), FakeMaker{&made});
    QVERIFY(!other);
    QCOMPARE(exit_status(other.error().code), 4);
    QVERIFY(!other.error().hint.empty());
    QCOMPARE(made, before);
}

void TestSimulatorCampaignRuns::a_failed_run_is_named() {
    QTemporaryDir dir;
    int made = 0;
    const auto failed =
        run_campaign(paper_plan(), dir.filePath(QStringLiteral("campaign")).toStdString(), FakeMaker{&made, 2, nullptr, true});
    QVERIFY(!failed);
    QCOMPARE(exit_status(failed.error().code), 4);
    QVERIFY(failed.error().sentence.starts_with("run-0003: "));
}

void TestSimulatorCampaignRuns::request_traces_hold_the_fault() {
    QTemporaryDir dir;
    const QString path = dir.filePath(QStringLiteral("truth.json"));
    write_truth(path, FaultClass::cuda_kernel);
    CampaignRun run;
    run.type = FaultClass::cuda_kernel;
    run.faulty_traces = 2;
    run.normal_traces = 2;
    run.steps = 16;
    const auto traces = request_traces(path.toStdString(), run);
    QVERIFY(traces);
    QCOMPARE(traces->size(), std::size_t{4});
    for (const RequestTrace& trace : *traces) {
        QVERIFY(trace.steps.size() >= 3 && trace.steps.size() <= 4);
        QVERIFY(std::is_sorted(trace.steps.begin(), trace.steps.end()));
        const bool faulty = std::any_of(trace.steps.begin(), trace.steps.end(), [](std::int64_t step) { return step > 20; });
        QCOMPARE(faulty, trace.label == "cuda_kernel");
    }
    run.faulty_traces = 30;
    QVERIFY(request_traces(path.toStdString(), run)->size() < 32);  // as many as there are
    QVERIFY(!request_traces(path.toStdString() + "-missing", run));
}

/// A program that was killed leaves the run it was making under another name.
void TestSimulatorCampaignRuns::what_a_killed_program_left_is_made_again() {
    QTemporaryDir dir;
    const QString folder = dir.filePath(QStringLiteral("campaign"));
    const CampaignPlan plan = paper_plan();
    int made = 0;
    QVERIFY(!stop_after(3, plan, folder, made));
    QVERIFY(QDir(folder).mkdir(QStringLiteral("unfinished")));
    write_truth(folder + QStringLiteral("/unfinished/truth.json"), FaultClass::normal);
    const auto done = run_campaign(plan, folder.toStdString(), FakeMaker{&made});
    QVERIFY(done);
    QCOMPARE(done->kept, std::size_t{3});
    QVERIFY(!QDir(folder).exists(QStringLiteral("unfinished")));
}

QTEST_APPLESS_MAIN(TestSimulatorCampaignRuns)
#include "tst_simulator_campaign_runs.moc"
