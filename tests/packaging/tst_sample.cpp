// The sample trace is made the same every time, and a capture of it says what resources/sample/README.md promises.
#include <QCryptographicHash>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
#include <QStandardPaths>
#include <QTemporaryDir>
#include <QTest>

namespace {

QByteArray output_of(const QString& program, const QStringList& arguments) {
    QProcess process;
    process.start(program, arguments);
    if (!process.waitForFinished(120'000) || process.exitCode() != 0) {
        qWarning("%s failed: %s", qPrintable(program), process.readAllStandardError().constData());
        return {};
    }
    return process.readAllStandardOutput();
}

QByteArray hash_of(const QString& path) {
    QFile file(path);
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QCryptographicHash::hash(file.readAll(), QCryptographicHash::Sha256).toHex();
}

}  // namespace

class TestSample : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase();
    void is_made_the_same_every_time();
    void import_counts_every_record();
    void steps_have_phase_requests_and_tokens();
    void two_steps_are_out_of_line();
    void the_worst_step_is_explained_by_what_was_put_into_it();
    void the_log_lies_on_the_axis_of_the_trace();
    void a_graph_launch_binds_its_kernels();
    void the_collective_of_torch_has_a_size();

private:
    [[nodiscard]] QString path(const char* name) const { return folder_.filePath(QString::fromLatin1(name)); }
    [[nodiscard]] QJsonArray query(const char* sql) const;

    QTemporaryDir folder_;
    QString maker_ = QStringLiteral(FAULTLINE_SOURCE_DIR "/resources/sample/make_sample");
    QString program_ = QStringLiteral(FAULTLINE_PROGRAM);
    QJsonObject imported_;
};

void TestSample::initTestCase() {
    if (QStandardPaths::findExecutable(QStringLiteral("python3")).isEmpty()) QSKIP("python3 makes the sample and is not installed");
    QVERIFY(folder_.isValid());
    QVERIFY(!output_of(maker_, {path("a")}).isEmpty());
    const QByteArray answer = output_of(
        program_, {QStringLiteral("import"), QStringLiteral("--json"), QStringLiteral("-o"), path("a.faultline"), path("a")});
    imported_ = QJsonDocument::fromJson(answer).object();
    QVERIFY(!imported_.isEmpty());
}

QJsonArray TestSample::query(const char* sql) const {
    const QByteArray answer = output_of(program_, {QStringLiteral("query"), QStringLiteral("--format"), QStringLiteral("json"),
                                                   path("a.faultline"), QString::fromLatin1(sql)});
    return QJsonDocument::fromJson(answer).array();
}

void TestSample::is_made_the_same_every_time() {
    QVERIFY(!output_of(maker_, {path("b")}).isEmpty());
    for (const char* name : {"rank0.json.gz", "server.log"}) {
        const QString file = QLatin1Char('/') + QLatin1String(name);
        QVERIFY(QFile(path("a") + file).size() > 0);
        QCOMPARE(hash_of(path("b") + file), hash_of(path("a") + file));
        QVERIFY(QFile(path("a") + file).size() < 5'000'000);
    }
}

void TestSample::import_counts_every_record() {
    const auto number = [&](const char* key) { return imported_[QLatin1String(key)].toInteger(-1); };
    QCOMPARE(number("kernels"), 35'220);
    QCOMPARE(number("bound_kernels"), 35'220);
    QCOMPARE(number("unbound_kernels"), 0);
    QCOMPARE(number("api_calls"), 4'113);
    QCOMPARE(number("ops"), 4'137);
    QCOMPARE(number("ranges"), 420);
    QCOMPARE(number("steps"), 60);
    const QJsonObject ledger = imported_[QLatin1String("ledger")].toObject();
    QCOMPARE(ledger[QLatin1String("read")].toInteger(-1), 84'402 + 45);  // the trace and the log
    QCOMPARE(number("logs"), 45);
    QCOMPARE(number("requests"), 20);
    QCOMPARE(ledger[QLatin1String("metadata")].toInteger(-1), 20);
    // The ranges shown on the device have lost the nanosecond that the profiler adds on both sides.
    QCOMPARE(ledger[QLatin1String("repaired")].toInteger(-1), 60);
    QCOMPARE(ledger[QLatin1String("dropped")].toInteger(-1), 0);
}

void TestSample::steps_have_phase_requests_and_tokens() {
    const QJsonArray rows = query(
        "SELECT phase, count(*) AS n, sum(tokens) AS tokens, sum(batch) AS batch, sum(inferred) AS inferred "
        "FROM steps GROUP BY phase ORDER BY phase");
    QCOMPARE(rows.size(), 3);
    const auto check = [&](int row, const char* phase, int count, int tokens, int batch) {
        const QJsonObject is = rows[row].toObject();
        QCOMPARE(is[QLatin1String("phase")].toString(), QLatin1String(phase));
        QCOMPARE(is[QLatin1String("n")].toInt(), count);
        QCOMPARE(is[QLatin1String("tokens")].toInt(), tokens);
        QCOMPARE(is[QLatin1String("batch")].toInt(), batch);
        QCOMPARE(is[QLatin1String("inferred")].toInt(), 0);
    };
    check(0, "decode", 54, 528, 528);
    check(1, "mixed", 5, 4'254, 52);
    check(2, "prefill", 1, 1'837, 4);
}

void TestSample::two_steps_are_out_of_line() {
    const QJsonArray rows =
        query("SELECT tokens, duration_ns, kernels FROM steps WHERE phase = 'decode' ORDER BY duration_ns DESC LIMIT 3");
    QCOMPARE(rows.size(), 3);
    QCOMPARE(rows[0].toObject()[QLatin1String("tokens")].toInt(), 7);
    QVERIFY(rows[0].toObject()[QLatin1String("duration_ns")].toInt() > 45'000'000);
    QCOMPARE(rows[1].toObject()[QLatin1String("tokens")].toInt(), 12);
    QVERIFY(rows[1].toObject()[QLatin1String("duration_ns")].toInt() > 10'000'000);
    QVERIFY(rows[2].toObject()[QLatin1String("duration_ns")].toInt() < 7'000'000);
}

void TestSample::the_worst_step_is_explained_by_what_was_put_into_it() {
    const QJsonArray outliers = QJsonDocument::fromJson(output_of(program_, {QStringLiteral("steps"), QStringLiteral("--json"),
                                                                             QStringLiteral("--outliers"), path("a.faultline")}))
                                    .array();
    QCOMPARE(outliers.size(), 2);
    QCOMPARE(outliers[0].toObject()[QLatin1String("id")].toInt(), 31);
    QCOMPARE(outliers[0].toObject()[QLatin1String("bound")].toString(), QLatin1String("cpu"));
    QCOMPARE(outliers[1].toObject()[QLatin1String("id")].toInt(), 45);
    QVERIFY(outliers[1].toObject()[QLatin1String("reasons")].toArray().contains(QLatin1String("structure")));
    const QJsonObject answer =
        QJsonDocument::fromJson(output_of(program_, {QStringLiteral("diagnose"), QStringLiteral("--json"), path("a.faultline"),
                                                     QStringLiteral("--step"), QStringLiteral("31")}))
            .object();
    QVERIFY(answer[QLatin1String("abnormal")].toBool());
    QCOMPARE(answer[QLatin1String("fault_type")].toString(), QLatin1String("memory_resource"));
    QVERIFY(answer[QLatin1String("explanation")].toString().contains(QLatin1String("make_ndarray_with_pad")));
    QVERIFY(answer[QLatin1String("evidence")].toArray().size() >= 3);
}

void TestSample::the_log_lies_on_the_axis_of_the_trace() {
    const QJsonArray rows = query("SELECT id, ttft_ns, tpot_ns, json_array_length(steps) AS steps FROM requests ORDER BY start_ns LIMIT 2");
    QCOMPARE(rows.size(), 2);
    // The first request came 1.2 ms before the trace and was answered by the step that read its prompt.
    QVERIFY(std::abs(rows[0].toObject()[QLatin1String("ttft_ns")].toDouble() - 40.6e6) < 1e5);
    QVERIFY(std::abs(rows[0].toObject()[QLatin1String("tpot_ns")].toDouble() - 7.6e6) < 1e5);
    QCOMPARE(rows[0].toObject()[QLatin1String("steps")].toInt(), 59);
    // The second was still being served when the trace ended.
    QVERIFY(rows[1].toObject()[QLatin1String("tpot_ns")].isNull());
    const QJsonArray lines = query("SELECT count(*) AS n, count(step) AS aligned, sum(method = 'request') AS by_request FROM logs");
    QCOMPARE(lines[0].toObject()[QLatin1String("n")].toInt(), 45);
    QVERIFY(lines[0].toObject()[QLatin1String("by_request")].toInt() >= 41);
}

void TestSample::a_graph_launch_binds_its_kernels() {
    const QJsonArray rows = query(
        "SELECT count(*) AS kernels, count(DISTINCT launch) AS launches FROM kernels "
        "WHERE launch IN (SELECT id FROM api_calls WHERE name = 'cudaGraphLaunch')");
    QCOMPARE(rows.size(), 1);
    QCOMPARE(rows[0].toObject()[QLatin1String("kernels")].toInt(), 31'936);
    QCOMPARE(rows[0].toObject()[QLatin1String("launches")].toInt(), 164);
}

void TestSample::the_collective_of_torch_has_a_size() {
    const QJsonArray rows = query(
        "SELECT count(*) AS n, min(bytes) AS least, max(group_size) AS ranks FROM collectives "
        "WHERE name LIKE 'ncclDevKernel_AllGather%'");
    QCOMPARE(rows.size(), 1);
    QCOMPARE(rows[0].toObject()[QLatin1String("n")].toInt(), 60);
    QVERIFY(rows[0].toObject()[QLatin1String("least")].toInt() > 0);
    QCOMPARE(rows[0].toObject()[QLatin1String("ranks")].toInt(), 2);
}

QTEST_GUILESS_MAIN(TestSample)
#include "tst_sample.moc"
