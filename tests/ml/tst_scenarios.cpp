// Every scenario, in both formats: the files import without a drop, and what truth.json names is found in the capture by pid, correlation and name.
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QTest>

#include <algorithm>
#include <set>
#include <tuple>

#include "core/query.h"
#include "core/simulated.h"
#include "importers/import_capture.h"
#include "tests/ml/simulated_run.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::test::small_run;

namespace {

Engine engine_for(const FaultInfo& info) {
    if (info.engines >> static_cast<int>(Engine::vllm_v1_online) & 1) return Engine::vllm_v1_online;
    for (int e = 0; e < kEngineCount; ++e) {
        if (info.engines >> e & 1) return static_cast<Engine>(e);
    }
    return Engine::vllm_v1_online;
}

QJsonObject read_json(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QJsonDocument::fromJson(file.readAll()).object();
}

using Key = std::tuple<std::int64_t, std::int64_t, std::string>;  ///< pid, correlation (or -1), name

/// All spans that a suspect may be, by what identifies them.
std::set<Key> spans_of(const CaptureReader& capture) {
    std::set<Key> keys;
    const auto add = [&](const std::vector<SqlValue>& row) {
        const auto number = [&](std::size_t i) { return std::holds_alternative<std::int64_t>(row[i]) ? std::get<std::int64_t>(row[i]) : -1; };
        const auto& name = std::get<std::string>(row[2]);
        keys.emplace(number(0), number(1), name);
        keys.emplace(number(0), -1, name);
        return true;
    };
    for (const char* table : {"kernels", "api_calls", "memory_copies", "ranges", "ops"}) {
        const std::string columns = std::string(table) == "ranges" || std::string(table) == "ops" ? "pid, -1, name" : "pid, correlation, name";
        (void)run_query(capture, "SELECT DISTINCT " + columns + " FROM " + table, [](const auto&) {}, add);
    }
    return keys;
}

}  // namespace

class TestScenarios : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void imports_whole_and_holds_its_suspects_data();
    void imports_whole_and_holds_its_suspects();
    void the_catalogue_is_large_enough();
};

void TestScenarios::imports_whole_and_holds_its_suspects_data() {
    QTest::addColumn<QString>("name");
    QTest::addColumn<int>("format");
    for (const FaultInfo& f : fault_catalogue()) {
        const QString name = QString::fromUtf8(f.name.data(), static_cast<int>(f.name.size()));
        QTest::newRow(qPrintable(name + QStringLiteral(" kineto"))) << name << static_cast<int>(TraceFormat::kineto);
        QTest::newRow(qPrintable(name + QStringLiteral(" nsys"))) << name << static_cast<int>(TraceFormat::nsys);
    }
}

void TestScenarios::imports_whole_and_holds_its_suspects() {
    QFETCH(QString, name);
    QFETCH(int, format);
    const FaultInfo& info = *fault_named(name.toStdString());
    QTemporaryDir folder;
    SimulationJob job;
    job.options = small_run(engine_for(info), std::max(info.ranks, 1));
    job.fault = FaultChoice{.info = &info};
    job.folder = folder.filePath(QStringLiteral("run")).toStdString();
    job.format = static_cast<TraceFormat>(format);
    job.gzip = false;
    const auto summary = simulate(job);
    QVERIFY2(summary, summary ? "" : (summary.error().sentence + ". " + summary.error().hint).c_str());

    ImportRequest request;
    request.inputs = {job.folder};
    request.capture = folder.filePath(QStringLiteral("run.faultline")).toStdString();
    static const StepGrammar grammar = StepGrammar::built_in();
    static const LayerRules layers = LayerRules::built_in();
    static const RequestRules requests = RequestRules::built_in();
    const auto imported = import_capture(request, BuildRules{grammar, layers, requests}, {});
    QVERIFY2(imported, imported ? "" : imported.error().sentence.c_str());
    QCOMPARE(imported->ledger.dropped, std::uint64_t{0});
    QVERIFY(is_simulated(imported->health));
    QVERIFY(imported->counts.kernels > 0 || summary->stuck);
    QCOMPARE(imported->counts.unbound_kernels, std::uint64_t{0});

    const QJsonObject truth = read_json(folder.filePath(QStringLiteral("run/truth.json")));
    QVERIFY(truth[QLatin1String("simulated")].toBool());
    const auto capture = CaptureReader::open(request.capture);
    QVERIFY(capture);
    const std::set<Key> spans = spans_of(**capture);
    std::size_t faulty = 0, suspects = 0;
    for (const QJsonValue value : truth[QLatin1String("steps")].toArray()) {
        const QJsonObject step = value.toObject();
        if (step[QLatin1String("label")].toString() == QLatin1String("normal")) continue;
        ++faulty;
        QVERIFY(step[QLatin1String("explanation")].toString().size() > 40);
        for (const QJsonValue s : step[QLatin1String("suspects")].toArray()) {
            const QJsonObject suspect = s.toObject();
            ++suspects;
            const Key key{suspect[QLatin1String("process")].toInteger(), suspect[QLatin1String("correlation")].toInteger(-1),
                          suspect[QLatin1String("name")].toString().toStdString()};
            QVERIFY2(spans.contains(key), qPrintable(QJsonDocument(suspect).toJson(QJsonDocument::Compact)));
            QVERIFY(QFile::exists(folder.filePath(QStringLiteral("run/")) + suspect[QLatin1String("file")].toString()));
        }
    }
    if (info.look_alike) {
        QCOMPARE(faulty, std::size_t{0});
    } else {
        QVERIFY(faulty > 0 || summary->faulty_requests > 0);
    }
}

void TestScenarios::the_catalogue_is_large_enough() {
    std::map<int, int> kinds;
    int look_alikes = 0, faults = 0;
    std::set<std::string_view> reserved;
    for (const FaultInfo& f : fault_catalogue()) {
        if (f.look_alike) {
            ++look_alikes;
            continue;
        }
        if (f.reserved) {
            reserved.insert(f.id);
            continue;
        }
        ++faults;
        ++kinds[static_cast<int>(f.type)];
    }
    QVERIFY(faults >= 45);
    QCOMPARE(look_alikes, 20);
    QCOMPARE(kinds.size(), std::size_t{5});
    for (const auto& [type, count] : kinds) QVERIFY(count >= 8);
    QVERIFY((reserved == std::set<std::string_view>{"A9", "B10", "C3", "D6", "E10", "E12"}));
}

QTEST_APPLESS_MAIN(TestScenarios)
#include "tst_scenarios.moc"
