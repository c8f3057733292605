// The program as a script sees it: exit statuses, what goes where, what is left behind when it is stopped.
#include <QDir>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>
#include <csignal>

namespace {

struct Outcome {
    int status = -1;
    QByteArray out, err;
};

Outcome run(const QString& program, const QStringList& arguments, const QString& standard_output = {}) {
    QProcess process;
    if (!standard_output.isEmpty()) process.setStandardOutputFile(standard_output);
    process.start(program, arguments);
    if (!process.waitForFinished(60'000)) return {};
    return {process.exitStatus() == QProcess::NormalExit ? process.exitCode() : -1, process.readAllStandardOutput(),
            process.readAllStandardError()};
}

Outcome faultline(const QStringList& arguments, const QString& standard_output = {}) {
    return run(QStringLiteral(FAULTLINE_PROGRAM), arguments, standard_output);
}

QByteArray event_text(int number) {
    return QByteArrayLiteral(R"({"ph":"X","cat":"cpu_op","name":"aten::mm","pid":1,"tid":1,"ts":)") + QByteArray::number(number * 10) +
           QByteArrayLiteral(R"(,"dur":5,"args":{"External id":)") + QByteArray::number(number) + QByteArrayLiteral("}}");
}

QByteArray trace(int events) {
    QByteArray text = QByteArrayLiteral("{\"traceEvents\": [\n");
    for (int i = 0; i < events; ++i) text += (i ? ",\n" : "") + event_text(i);
    return text + "\n]}\n";
}

}  // namespace

class TestCommands : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    QString trace_, capture_;

    [[nodiscard]] QString file(const char* name) const { return dir_.filePath(QString::fromUtf8(name)); }

private Q_SLOTS:
    void initTestCase() {
        trace_ = file("trace.json");
        QFile out(trace_);
        QVERIFY(out.open(QIODevice::WriteOnly));
        out.write(trace(1000));
        out.close();
        capture_ = file("capture.faultline");
        QCOMPARE(faultline({QStringLiteral("import"), QStringLiteral("-o"), capture_, trace_}).status, 0);
    }

    // The name of a span moved the cursor of the terminal.
    void control_bytes_of_names_do_not_reach_a_terminal() {
        const QString evil = file("evil.json");
        QFile out(evil);
        QVERIFY(out.open(QIODevice::WriteOnly));
        QByteArray text = trace(3);
        text.replace("aten::mm", "a\\u001b[2Jb");
        out.write(text);
        out.close();
        const QString capture = file("evil.faultline");
        QCOMPARE(faultline({QStringLiteral("import"), QStringLiteral("-o"), capture, evil}).status, 0);
        const Outcome table = faultline({QStringLiteral("query"), capture, QStringLiteral("SELECT name FROM ops LIMIT 1")});
        QCOMPARE(table.status, 0);
        QVERIFY(!table.out.contains('\x1b'));
        QVERIFY2(table.out.contains("a\\x1b[2Jb"), table.out.constData());
    }

    void a_rank_is_a_whole_number() {
        const Outcome refused = faultline({QStringLiteral("import"), QStringLiteral("-o"), file("r.faultline"), trace_,
                                           QStringLiteral("--assign-rank"), QStringLiteral("abc")});
        QCOMPARE(refused.status, 2);
        QVERIFY2(refused.err.contains("must be a whole number, not \"abc\""), refused.err.constData());
    }

    void json_is_one_document_and_nothing_else_data() {
        QTest::addColumn<QStringList>("arguments");
        QTest::newRow("import") << QStringList{QStringLiteral("import"), QStringLiteral("-o"),        file("again.faultline"), trace_,
                                               QStringLiteral("--json"), QStringLiteral("--progress")};
        QTest::newRow("info") << QStringList{QStringLiteral("info"), capture_, QStringLiteral("--json")};
        QTest::newRow("ledger") << QStringList{QStringLiteral("ledger"), capture_, QStringLiteral("--json")};
        QTest::newRow("query") << QStringList{QStringLiteral("query"), capture_, QStringLiteral("SELECT * FROM ops"),
                                              QStringLiteral("--format"), QStringLiteral("json")};
    }

    void json_is_one_document_and_nothing_else() {
        QFETCH(QStringList, arguments);
        const Outcome outcome = faultline(arguments);
        QCOMPARE(outcome.status, 0);
        QJsonParseError error{};
        const QJsonDocument document = QJsonDocument::fromJson(outcome.out, &error);
        QCOMPARE(error.error, QJsonParseError::NoError);
        QVERIFY(document.isObject() || document.array().size() == 1000);
    }

    void import_counts_every_record() {
        const QJsonObject summary = QJsonDocument::fromJson(faultline({QStringLiteral("import"), QStringLiteral("-o"),
                                                                       file("counted.faultline"), trace_, QStringLiteral("--json")})
                                                                .out)
                                        .object();
        QCOMPARE(summary[QStringLiteral("spans")].toInt(), 1000);
        QCOMPARE(summary[QStringLiteral("ops")].toInt(), 1000);
        const QJsonObject ledger = summary[QStringLiteral("ledger")].toObject();
        QCOMPARE(ledger[QStringLiteral("read")].toInt() + ledger[QStringLiteral("dropped")].toInt(), 1000);
        for (const char* field : {"capture", "sources", "kernels", "api_calls", "ranges", "logs", "steps", "requests", "bound_kernels",
                                  "unbound_kernels", "health", "seconds"})
            QVERIFY2(summary.contains(QLatin1String(field)), field);
    }

    void help_and_version_work_everywhere() {
        const Outcome help = faultline({QStringLiteral("--help")});
        QCOMPARE(help.status, 0);
        for (const char* command : {"import", "info", "ledger", "chain", "query", "open", "help"}) {
            QVERIFY2(help.out.contains(command), command);
            const Outcome of_command = faultline({QStringLiteral("help"), QString::fromUtf8(command)});
            QCOMPARE(of_command.status, 0);
            QVERIFY(of_command.out.contains("faultline " + QByteArray(command)));
            QCOMPARE(faultline({QString::fromUtf8(command), QStringLiteral("--help")}).status, 0);
        }
        QVERIFY(faultline({QStringLiteral("--version")}).out.startsWith("faultline "));
        QCOMPARE(faultline({QStringLiteral("nonsense")}).status, 2);
    }

    void says_that_the_answer_cannot_be_written() {
        if (!QFile::exists(QStringLiteral("/dev/full"))) QSKIP("there is no /dev/full");
        const Outcome outcome =
            faultline({QStringLiteral("query"), capture_, QStringLiteral("SELECT * FROM ops")}, QStringLiteral("/dev/full"));
        QCOMPARE(outcome.status, 4);
        QVERIFY(outcome.err.startsWith("faultline: "));
    }

    void a_signal_cancels_and_leaves_nothing_data() {
        QTest::addColumn<int>("signal");
        QTest::addColumn<bool>("waiting");
        QTest::newRow("SIGINT while it reads") << SIGINT << false;
        QTest::newRow("SIGTERM while it reads") << SIGTERM << false;
        QTest::newRow("the terminal closes while it reads") << SIGHUP << false;
        QTest::newRow("SIGINT while it waits for input") << SIGINT << true;
    }

    void a_signal_cancels_and_leaves_nothing() {
        QFETCH(int, signal);
        QFETCH(bool, waiting);
        const QString folder = file(QTest::currentDataTag());
        QVERIFY(QDir().mkpath(folder));
        QProcess process;
        process.start(QStringLiteral(FAULTLINE_PROGRAM),
                      {QStringLiteral("import"), QStringLiteral("-o"), folder + QStringLiteral("/c.faultline"), QStringLiteral("-")});
        QVERIFY(process.waitForStarted());
        process.write("{\"traceEvents\": [\n");
        int number = 0;
        const auto feed = [&process, &number] {
            QByteArray block;
            for (int i = 0; i < 1000; ++i) block += event_text(++number) + ",\n";
            process.write(block);
            process.waitForBytesWritten(1000);
        };
        // The file in work shows that the import has begun.
        while (QDir(folder).isEmpty() && number < 10'000'000) feed();
        QVERIFY(!QDir(folder).isEmpty());
        ::kill(static_cast<pid_t>(process.processId()), signal);
        while (!waiting && process.state() == QProcess::Running && number < 20'000'000) feed();
        QVERIFY(process.state() == QProcess::NotRunning || process.waitForFinished(20'000));
        QCOMPARE(process.exitStatus(), QProcess::NormalExit);
        QCOMPARE(process.exitCode(), 5);
        QVERIFY(process.readAllStandardError().startsWith("faultline: "));
        QCOMPARE(QDir(folder).entryList(QDir::AllEntries | QDir::Hidden | QDir::NoDotAndDotDot), QStringList());
    }

    void the_extension_gives_the_views_to_the_sqlite_tool() {
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
        QSKIP("a library with a sanitizer in it can only be loaded by a program with the same one");
#endif
        const QString sqlite = QStandardPaths::findExecutable(QStringLiteral("sqlite3"));
        if (sqlite.isEmpty()) QSKIP("the sqlite3 tool is not installed");
        const QString load = QStringLiteral(".load ") + QString::fromUtf8(FAULTLINE_EXTENSION).chopped(3);
        const Outcome count =
            run(sqlite, {QStringLiteral("-readonly"), capture_, load, QStringLiteral("SELECT count(*), sum(duration_ns) FROM ops")});
        QCOMPARE(count.out.trimmed(), QByteArrayLiteral("1000|5000000"));
        QCOMPARE(count.status, 0);
        const Outcome nothing = run(sqlite, {QStringLiteral(":memory:"), load, QStringLiteral("SELECT 1")});
        QVERIFY(nothing.err.contains("no capture is open"));
        const Outcome foreign = run(sqlite, {file("other.db"), QStringLiteral("CREATE TABLE t(x)"), load, QStringLiteral("SELECT 1")});
        QVERIFY(foreign.err.contains("faultline: "));
    }

    void the_window_is_refused_where_it_is_not_built() {
#ifdef FAULTLINE_WITH_GUI
        QSKIP("this build has a window");
#else
        for (const QStringList& arguments :
             {QStringList{}, QStringList{QStringLiteral("open")}, QStringList{QStringLiteral("open"), capture_}}) {
            const Outcome outcome = faultline(arguments);
            QCOMPARE(outcome.status, 6);
            QVERIFY(outcome.err.startsWith("faultline: "));
        }
#endif
    }
};

QTEST_GUILESS_MAIN(TestCommands)
#include "tst_commands.moc"
