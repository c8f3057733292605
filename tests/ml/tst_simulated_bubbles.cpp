// The gaps that truth.json lists are those that the import finds, on the same device, at the same time and for the same reason.
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <map>

#include "core/capture_reader.h"
#include "importers/import_capture.h"
#include "ml/simulator/serving/simulation.h"
#include "tests/ml/simulated_run.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::test::small_run;

namespace {

constexpr TimeNs kLong = 1'000'000;  // the tests are about gaps that somebody would look at

struct Gap {
    std::int64_t device = 0;
    TimeNs start = 0, end = 0;
    BubbleCause cause = BubbleCause::unknown;
};

BubbleCause cause_named(const QString& word) {
    for (const BubbleCause cause : {BubbleCause::cpu, BubbleCause::sync, BubbleCause::communication}) {
        const std::string_view name = bubble_cause_name(cause);
        if (word == QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()))) return cause;
    }
    return BubbleCause::unknown;
}

/// In the clock of the only node, as the writers give it.
std::vector<Gap> gaps_of_truth(const QJsonObject& truth, std::int64_t zero) {
    const QJsonObject clock = truth[QLatin1String("clocks")].toArray().at(0).toObject();
    const std::int64_t origin = clock[QLatin1String("origin_ns")].toInteger(), offset = clock[QLatin1String("offset_ns")].toInteger();
    const double drift = static_cast<double>(clock[QLatin1String("drift_ppb")].toInteger()) * 1e-9;
    std::vector<Gap> gaps;
    for (const QJsonValue value : truth[QLatin1String("bubbles")].toArray()) {
        const QJsonObject b = value.toObject();
        const std::int64_t start = b[QLatin1String("start_ns")].toInteger(), length = b[QLatin1String("duration_ns")].toInteger();
        const std::int64_t here = start + offset + static_cast<std::int64_t>(static_cast<double>(start - origin) * drift) - zero;
        gaps.push_back({b[QLatin1String("device")].toInteger(), here, here + length, cause_named(b[QLatin1String("cause")].toString())});
    }
    return gaps;
}

std::vector<Gap> gaps_of(const CaptureReader& capture) {
    std::vector<Gap> gaps;
    const auto analysis = capture.analysis();
    if (!analysis) return gaps;
    std::map<DeviceId, std::int64_t> ordinals;
    for (const Device& d : capture.devices()) ordinals[d.id] = d.ordinal;
    for (const Bubble& b : analysis->bubbles) gaps.push_back({ordinals[b.device], b.start, b.start + b.duration, b.cause});
    return gaps;
}

/// The gap of `others` that covers most of this one and little else; null where none does.
const Gap* same_gap(const Gap& gap, const std::vector<Gap>& others) {
    for (const Gap& other : others) {
        const TimeNs common = std::min(gap.end, other.end) - std::max(gap.start, other.start);
        const TimeNs either = std::max(gap.end, other.end) - std::min(gap.start, other.start);
        if (gap.device == other.device && common > 0 && 10 * common >= 8 * either) return &other;
    }
    return nullptr;
}

}  // namespace

class TestSimulatedBubbles : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void gaps_of_truth_are_those_of_the_capture_data();
    void gaps_of_truth_are_those_of_the_capture();
};

void TestSimulatedBubbles::gaps_of_truth_are_those_of_the_capture_data() {
    QTest::addColumn<QString>("id");
    for (const char* id : {"A5", "C1", "C2", "E3"}) QTest::newRow(id) << QString::fromLatin1(id);
}

void TestSimulatedBubbles::gaps_of_truth_are_those_of_the_capture() {
    QFETCH(QString, id);
    const FaultInfo& info = *fault_named(id.toStdString());
    QTemporaryDir folder;
    SimulationJob job;
    job.options = small_run(Engine::vllm_v1_online);
    job.fault = FaultChoice{.info = &info};
    job.folder = folder.filePath(QStringLiteral("run")).toStdString();
    job.gzip = false;
    const auto summary = simulate(job);
    QVERIFY2(summary, summary ? "" : summary.error().sentence.c_str());
    ImportRequest request;
    request.inputs = {job.folder};
    request.capture = folder.filePath(QStringLiteral("run.faultline")).toStdString();
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    const RequestRules requests = RequestRules::built_in();
    const auto imported = import_capture(request, BuildRules{grammar, layers, requests}, {});
    QVERIFY2(imported, imported ? "" : imported.error().sentence.c_str());
    const auto capture = CaptureReader::open(request.capture);
    QVERIFY(capture && (*capture)->zero_wall_ns());
    QFile file(folder.filePath(QStringLiteral("run/truth.json")));
    QVERIFY(file.open(QIODevice::ReadOnly));
    const std::vector<Gap> told = gaps_of_truth(QJsonDocument::fromJson(file.readAll()).object(), *(*capture)->zero_wall_ns());
    const std::vector<Gap> found = gaps_of(**capture);

    int looked = 0, same = 0, reasons = 0, seen = 0, known = 0;
    for (const Gap& gap : told) {
        if (gap.end - gap.start < kLong) continue;
        ++looked;
        const Gap* other = same_gap(gap, found);
        if (other == nullptr) continue;
        ++same;
        reasons += other->cause == gap.cause ? 1 : 0;
    }
    for (const Gap& gap : found) {
        if (gap.end - gap.start < kLong) continue;
        ++seen;
        known += same_gap(gap, told) != nullptr ? 1 : 0;
    }
    const QByteArray figures = QStringLiteral("%1 told, %2 of them found, %3 for the same reason; %4 found, %5 of them told")
                                   .arg(looked).arg(same).arg(reasons).arg(seen).arg(known).toUtf8();
    qInfo("%s", figures.constData());
    QVERIFY2(looked > 0 && seen > 0, figures.constData());
    QVERIFY2(20 * same >= 19 * looked, figures.constData());
    QVERIFY2(20 * known >= 19 * seen, figures.constData());
    QVERIFY2(5 * reasons >= 4 * same, figures.constData());
}

QTEST_APPLESS_MAIN(TestSimulatedBubbles)
#include "tst_simulated_bubbles.moc"
