// `faultline simulate` as a script sees it: what is listed, written and refused, and what a signal leaves behind.
#include <QDir>
#include <QDirIterator>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QMap>
#include <QProcess>
#include <QRegularExpression>
#include <QSet>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>

namespace {

struct Outcome {
    int status = -1;
    QByteArray out, err;
    [[nodiscard]] QJsonObject json() const { return QJsonDocument::fromJson(out).object(); }
};

Outcome simulate(const QString& arguments, const QString& command = QStringLiteral("simulate")) {
    QProcess process;
    QStringList list{command};
    list += arguments.split(QLatin1Char(' '), Qt::SkipEmptyParts);
    process.start(QStringLiteral(FAULTLINE_PROGRAM), list);
    if (!process.waitForFinished(120'000)) return {};
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1, process.readAllStandardOutput(),
            process.readAllStandardError()};
}

const QSet<QString> kReserved{QStringLiteral("A9"), QStringLiteral("B10"), QStringLiteral("C3"),
                              QStringLiteral("D6"), QStringLiteral("E10"), QStringLiteral("E12")};
const QString kSmall = QStringLiteral(" --model qwen1.5-0.5b --duration 1 --arrival-rate 20 --output-tokens 12");

/// Paths below a folder with what is in the files.
QMap<QString, QByteArray> contents(const QString& folder) {
    QMap<QString, QByteArray> files;
    QDirIterator it(folder, QDir::Files, QDirIterator::Subdirectories);
    while (it.hasNext()) {
        QFile file(it.next());
        if (file.open(QIODevice::ReadOnly)) files[QDir(folder).relativeFilePath(file.fileName())] = file.readAll();
    }
    return files;
}

}  // namespace

class TestSimulateCommand : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;

    [[nodiscard]] QString folder(const char* name) const { return dir_.filePath(QString::fromUtf8(name)); }

private Q_SLOTS:
    void lists_enough_of_each_class();
    void lists_a_line_a_scenario();
    void wrong_usage_says_what_to_do_data();
    void wrong_usage_says_what_to_do();
    void help_says_what_is_measured_computed_and_assumed();
    void writes_a_run_that_imports();
    void what_a_run_lacks_is_said_data();
    void what_a_run_lacks_is_said();
    void the_same_seed_writes_the_same_bytes();
    void names_of_files_do_not_tell_the_fault();
    void nothing_that_is_imported_names_the_fault();
    void a_folder_with_something_in_it_is_left_alone();
    void a_signal_leaves_nothing();
    void a_real_capture_is_compared_with_a_run_like_it();
};

void TestSimulateCommand::lists_enough_of_each_class() {
    const Outcome list = simulate(QStringLiteral("--list --json"));
    QCOMPARE(list.status, 0);
    QVERIFY(list.err.isEmpty());
    const QJsonArray rows = QJsonDocument::fromJson(list.out).array();
    QMap<QString, int> classes;
    QSet<QString> names;
    for (const QJsonValue& value : rows) {
        const QJsonObject row = value.toObject();
        ++classes[row[QStringLiteral("class")].toString()];
        names.insert(row[QStringLiteral("name")].toString());
        QVERIFY(!kReserved.contains(row[QStringLiteral("id")].toString()));
        QVERIFY(row[QStringLiteral("sentence")].toString().size() > 20);
        QVERIFY(!row[QStringLiteral("engines")].toArray().isEmpty());
    }
    QCOMPARE(names.size(), rows.size());
    QCOMPARE(classes[QStringLiteral("look-alike")], 20);
    QVERIFY(rows.size() - 20 >= 45);
    for (const char* c : {"memory_resource", "cuda_kernel", "runtime_driver", "communication_network", "scheduling_software"}) {
        QVERIFY2(classes[QString::fromUtf8(c)] >= 8, c);
    }
    const QJsonArray all = QJsonDocument::fromJson(simulate(QStringLiteral("--list --reserved --json")).out).array();
    QCOMPARE(all.size(), rows.size() + kReserved.size());
}

void TestSimulateCommand::lists_a_line_a_scenario() {
    const QList<QByteArray> lines = simulate(QStringLiteral("--list")).out.trimmed().split('\n');
    QCOMPARE(lines.size(), QJsonDocument::fromJson(simulate(QStringLiteral("--list --json")).out).array().size());
    const QRegularExpression line(QStringLiteral("^[a-z0-9-]+ +[A-EL][0-9]+ +(?:[a-z_]+|look-alike) +[A-Z].*\\.$"));
    for (const QByteArray& text : lines) QVERIFY2(line.match(QString::fromUtf8(text)).hasMatch(), text.constData());
}

void TestSimulateCommand::wrong_usage_says_what_to_do_data() {
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* arguments, const char* says) {
        QTest::newRow(arguments) << QString::fromUtf8(arguments) << QString::fromUtf8(says);
    };
    row("", "-o DIR");
    row("-o DIR --scenario no-such-thing", "simulate --list");
    row("-o DIR --scenario preemtion", "kv-preemption");
    row("-o DIR --scenario x-slow-link-", "simulate --list");
    row("-o DIR --scenario C3", "--reserved");
    row("-o DIR --reserved", "--scenario");
    row("-o DIR --scenario C2 --normal", "--no-fault");
    row("-o DIR --normal --intensity 2", "--intensity");
    row("-o DIR --scenario C2 --tp 2 --fault-ranks 5", "from 0 to 1");
    row("-o DIR --arrival-rate 1e300", "from 0.001 to 10000");
    row("-o DIR --arrival-rate nan", "from 0.001 to 10000");
    row("-o DIR --duration nan", "--duration");
    row("-o DIR --scenario C2 --intensity 1e9", "from 0.001 to 100");
    row("-o DIR --scenario C2 --fault-duration inf", "--fault-duration");
    row("-o DIR --campaign paper --tp 2", "Leave out --tp");
    row("-o DIR --campaign paper --scenario C2", "--scenario");
    row("-o DIR --campaign huge", "paper");
    row("--list -o DIR", "--list");
    row("--check CAPTURE -o DIR", "-o");
    row("-o DIR --model no-such-model", "qwen3-8b");
    row("-o DIR --gpu abacus", "h100");
    row("-o DIR --tp 3", "1,2,4,8");
    row("-o DIR --duration 0", "--duration");
    row("-o DIR --fault-ranks one", "0,2");
    row("-o DIR --format svg", "kineto");
    row("-o DIR --scenario A2 --engine vllm-v0", "--engine");
    row("-o DIR --scenario D7 --tp 1", "--tp 2");
    row("-o DIR --model qwen3-30b-a3b --gpu a40 --tp 1", "--tp");
    row("-o DIR --normal --engine sglang --iteration-log", "Leave out --iteration-log");
    row("-o DIR --normal --engine fsdp --prefill-decode", "Leave out --prefill-decode");
    row("-o DIR --normal --engine fsdp --spec-tokens 3", "Leave out --spec-tokens");
}

void TestSimulateCommand::wrong_usage_says_what_to_do() {
    QFETCH(QString, arguments);
    QFETCH(QString, says);
    const QString out = folder("wrong");
    const Outcome outcome = simulate(arguments.replace(QStringLiteral("DIR"), out));
    QCOMPARE(outcome.status, 2);
    QVERIFY(outcome.out.isEmpty());
    QVERIFY(outcome.err.startsWith("faultline: "));
    QVERIFY2(outcome.err.contains(says.toUtf8()), outcome.err.constData());
    QVERIFY(!QDir(out).exists());
}

void TestSimulateCommand::help_says_what_is_measured_computed_and_assumed() {
    const Outcome help = simulate(QStringLiteral("simulate"), QStringLiteral("help"));
    QCOMPARE(help.status, 0);
    for (const char* word : {"measured", "computed", "assumed", "truth.json", "--campaign", "--fault-ranks"})
        QVERIFY2(help.out.contains(word), word);
    QCOMPARE(simulate(QStringLiteral("--help")).out, help.out);
}

void TestSimulateCommand::writes_a_run_that_imports() {
    const QString out = folder("run");
    const Outcome run = simulate(QStringLiteral("--json -o ") + out + QStringLiteral(" --scenario worker-paused --tp 2") + kSmall);
    QVERIFY2(run.status == 0, run.err.constData());
    const QJsonObject answer = run.json();
    QCOMPARE(answer[QStringLiteral("scenario")].toObject()[QStringLiteral("id")].toString(), QStringLiteral("C2"));
    QVERIFY(answer[QStringLiteral("steps")].toInt() > 10);
    QVERIFY(answer[QStringLiteral("faulty_steps")].toInt() > 0);
    const QJsonArray files = answer[QStringLiteral("files")].toArray();
    QVERIFY(files.size() >= 4);
    for (const QJsonValue& file : files) QVERIFY(QFile::exists(out + QLatin1Char('/') + file.toString()));
    const QString capture = folder("run.faultline");
    const Outcome imported = simulate(QStringLiteral("--json -o ") + capture + QLatin1Char(' ') + out, QStringLiteral("import"));
    QVERIFY2(imported.status == 0, imported.err.constData());
    QCOMPARE(imported.json()[QStringLiteral("ledger")].toObject()[QStringLiteral("dropped")].toInt(-1), 0);
    QVERIFY(imported.json()[QStringLiteral("steps")].toInt() > 10);
    bool said = false;
    for (const QJsonValue& finding : imported.json()[QStringLiteral("health")].toArray()) {
        said = said || finding.toObject()[QStringLiteral("code")].toString() == QStringLiteral("capture.simulated");
    }
    QVERIFY(said);
}

void TestSimulateCommand::what_a_run_lacks_is_said_data() {
    QTest::addColumn<QString>("arguments");
    QTest::addColumn<QString>("says");
    const auto row = [](const char* name, const char* arguments, const char* says) {
        QTest::newRow(name) << QString::fromUtf8(arguments) << QString::fromUtf8(says);
    };
    row("nothing lacks", "--scenario worker-paused --tp 2", "");
    row("no request", "--normal --arrival-rate 0.001", "no request was served");
    row("all steps left out", "--normal --skip-steps 100000", "--skip-steps");
    row("a fault that does not show", "--scenario worker-paused --tp 2 --intensity 0.001", "--intensity");
}

void TestSimulateCommand::what_a_run_lacks_is_said() {
    QFETCH(QString, arguments);
    QFETCH(QString, says);
    const QString out = folder(QByteArray(QTest::currentDataTag()).replace(' ', '-').constData());
    const QString rate = arguments.contains(QStringLiteral("--arrival-rate")) ? QString() : QStringLiteral(" --arrival-rate 20");
    const Outcome run = simulate(arguments + rate + QStringLiteral(" --json --model qwen1.5-0.5b --duration 1 --output-tokens 12 -o ") + out);
    QVERIFY2(run.status == 0, run.err.constData());
    const QJsonArray warnings = run.json()[QStringLiteral("warnings")].toArray();
    QCOMPARE(warnings.isEmpty(), says.isEmpty());
    if (!says.isEmpty()) QVERIFY(warnings[0].toString().contains(says));
}

void TestSimulateCommand::the_same_seed_writes_the_same_bytes() {
    const QString options = QStringLiteral(" --seed 5 --scenario C2") + kSmall;
    QCOMPARE(simulate(QStringLiteral("-o ") + folder("same1") + options).status, 0);
    QCOMPARE(simulate(QStringLiteral("-o ") + folder("same2") + options).status, 0);
    const auto first = contents(folder("same1"));
    QVERIFY(first.size() >= 4);
    QVERIFY(first == contents(folder("same2")));
    QCOMPARE(simulate(QStringLiteral("-o ") + folder("other") + QStringLiteral(" --seed 6 --scenario C2") + kSmall).status, 0);
    QVERIFY(first != contents(folder("other")));
}

void TestSimulateCommand::names_of_files_do_not_tell_the_fault() {
    for (const char* id : {"A4", "B3", "C2", "D7", "E8", "L2"}) {
        const QString with = folder(id) + QStringLiteral("-with"), without = folder(id) + QStringLiteral("-without");
        const QString options = QStringLiteral(" --tp 2 --scenario ") + QString::fromUtf8(id) + kSmall;
        const Outcome injected = simulate(QStringLiteral("-o ") + with + options);
        QVERIFY2(injected.status == 0, injected.err.constData());
        QCOMPARE(simulate(QStringLiteral("-o ") + without + QStringLiteral(" --no-fault") + options).status, 0);
        QVERIFY(contents(with).keys() == contents(without).keys());
    }
}

void TestSimulateCommand::nothing_that_is_imported_names_the_fault() {
    const QString out = folder("words");
    QCOMPARE(simulate(QStringLiteral("--no-gzip -o ") + out + QStringLiteral(" --tp 2 --scenario worker-paused") + kSmall).status, 0);
    const auto files = contents(out);
    for (auto file = files.begin(); file != files.end(); ++file) {
        if (file.key() == QStringLiteral("truth.json")) {
            QVERIFY(file.value().contains("worker-paused"));
            continue;
        }
        const QByteArray text = file.value().toLower();
        for (const char* word : {"worker-paused", "inject", "scenario", "look-alike", "suspect"}) {
            QVERIFY2(!text.contains(word), qPrintable(file.key() + QStringLiteral(": ") + QString::fromUtf8(word)));
        }
    }
}

void TestSimulateCommand::a_folder_with_something_in_it_is_left_alone() {
    const QString out = folder("occupied");
    QDir().mkpath(out);
    QFile file(out + QStringLiteral("/mine"));
    QVERIFY(file.open(QIODevice::WriteOnly));
    file.write("here");
    file.close();
    for (const QString& what : {QStringLiteral(" --normal") + kSmall, QStringLiteral(" --campaign paper")}) {
        const Outcome refused = simulate(QStringLiteral("-o ") + out + what);
        QCOMPARE(refused.status, 4);
        QVERIFY2(refused.err.contains("not empty") && refused.err.contains("new or empty"), refused.err.constData());
        QCOMPARE(contents(out).size(), 1);
    }
    const Outcome nowhere = simulate(QStringLiteral("-o /dev/null/run --normal") + kSmall);
    QCOMPARE(nowhere.status, 4);
}

void TestSimulateCommand::a_signal_leaves_nothing() {
    const QString out = folder("stopped");
    QProcess process;
    process.start(QStringLiteral(FAULTLINE_PROGRAM),
                  {QStringLiteral("simulate"), QStringLiteral("-o"), out, QStringLiteral("--normal"), QStringLiteral("--duration"),
                   QStringLiteral("100000"), QStringLiteral("--progress")});
    QVERIFY(process.waitForStarted());
    QTRY_VERIFY_WITH_TIMEOUT(QDir(out).exists() && !QDir(out).isEmpty(), 30'000);
    ::kill(static_cast<pid_t>(process.processId()), SIGINT);
    QVERIFY(process.waitForFinished(30'000));
    QCOMPARE(process.exitCode(), 5);
    QVERIFY(!QDir(out).exists());
}

void TestSimulateCommand::a_real_capture_is_compared_with_a_run_like_it() {
    const QString out = folder("real");
    QCOMPARE(simulate(QStringLiteral("-o ") + out + QStringLiteral(" --normal --seed 9") + kSmall).status, 0);
    const QString capture = folder("real.faultline");
    QCOMPARE(simulate(QStringLiteral("-o ") + capture + QLatin1Char(' ') + out, QStringLiteral("import")).status, 0);
    const Outcome check = simulate(QStringLiteral("--json --check ") + capture + QStringLiteral(" --duration 2"));
    QVERIFY2(check.status == 0, check.err.constData());
    const QJsonArray answers = QJsonDocument::fromJson(check.out).array();
    QCOMPARE(answers.size(), 1);
    const QJsonArray rows = answers[0].toObject()[QStringLiteral("rows")].toArray();
    QVERIFY(rows.size() > 20);
    double before = 1e9;
    for (const QJsonValue& row : rows) {
        if (row.toObject()[QStringLiteral("not_comparable")].isString()) break;  // they come last, without a distance
        const double distance = row.toObject()[QStringLiteral("distance")].toDouble(-1);
        QVERIFY(distance >= 0 && distance <= before);
        before = distance;
    }
    QCOMPARE(simulate(QStringLiteral("--check ") + folder("no-such-file.json")).status, 3);
}

QTEST_APPLESS_MAIN(TestSimulateCommand)
#include "tst_simulate_command.moc"
