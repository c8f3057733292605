// The sample is made the same every time, and captures of it hold what its truth says.
#include <QCryptographicHash>
#include <QDirIterator>
#include <QFile>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QProcess>
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
    void imports_whole_in_two_formats();
    void steps_have_phase_and_tokens_of_the_truth();
    void what_is_out_of_line_is_what_was_injected();
    void the_worst_step_is_explained_by_what_was_put_into_it();
    void requests_and_log_lie_on_the_axis_of_the_trace();
    void a_graph_launch_binds_its_kernels();

private:
    [[nodiscard]] QString path(const char* name) const { return folder_.filePath(QString::fromLatin1(name)); }
    [[nodiscard]] QJsonArray query(const char* sql) const;

    QTemporaryDir folder_;
    QString maker_ = QStringLiteral(FAULTLINE_SOURCE_DIR "/resources/sample/make_sample");
    QString program_ = QStringLiteral(FAULTLINE_PROGRAM);
    QJsonObject imported_, truth_;
};

void TestSample::initTestCase() {
    QVERIFY(folder_.isValid());
    QVERIFY(!output_of(maker_, {program_, path("a")}).isEmpty());
    for (const char* run : {"faulty", "normal"}) {
        const QByteArray answer = output_of(program_, {QStringLiteral("import"), QStringLiteral("--json"), QStringLiteral("-o"),
                                                       path(run) + QStringLiteral(".faultline"), path("a") + QLatin1Char('/') + QLatin1String(run)});
        imported_[QLatin1String(run)] = QJsonDocument::fromJson(answer).object();
        QVERIFY(!answer.isEmpty());
    }
    QFile file(path("a") + QStringLiteral("/faulty/truth.json"));
    QVERIFY(file.open(QIODevice::ReadOnly));
    truth_ = QJsonDocument::fromJson(file.readAll()).object();
}

QJsonArray TestSample::query(const char* sql) const {
    const QByteArray answer = output_of(program_, {QStringLiteral("query"), QStringLiteral("--format"), QStringLiteral("json"),
                                                   path("faulty.faultline"), QString::fromLatin1(sql)});
    return QJsonDocument::fromJson(answer).array();
}

void TestSample::is_made_the_same_every_time() {
    QVERIFY(!output_of(maker_, {program_, path("b")}).isEmpty());
    qint64 bytes = 0;
    int files = 0;
    for (QDirIterator at(path("a"), QDir::Files, QDirIterator::Subdirectories); at.hasNext(); ++files) {
        const QString file = at.next();
        bytes += QFileInfo(file).size();
        QCOMPARE(hash_of(path("b") + file.mid(path("a").size())), hash_of(file));
    }
    QCOMPARE(files, 15);
    QVERIFY(bytes < 5'000'000);
}

void TestSample::imports_whole_in_two_formats() {
    for (const QString& run : {QStringLiteral("faulty"), QStringLiteral("normal")}) {
        const QJsonObject imported = imported_[run].toObject();
        QCOMPARE(imported[QLatin1String("ledger")].toObject()[QLatin1String("dropped")].toInteger(-1), 0);
        QCOMPARE(imported[QLatin1String("unbound_kernels")].toInteger(-1), 0);
        QVERIFY(imported[QLatin1String("kernels")].toInteger() > 5'000);
        QVERIFY(imported[QLatin1String("logs")].toInteger() > 50);
        bool simulated = false;
        for (const QJsonValue finding : imported[QLatin1String("health")].toArray())
            simulated = simulated || finding.toObject()[QLatin1String("code")].toString() == QLatin1String("capture.simulated");
        QVERIFY(simulated);
    }
    QCOMPARE(imported_[QLatin1String("faulty")].toObject()[QLatin1String("steps")].toInteger(), truth_[QLatin1String("steps")].toArray().size());
    QCOMPARE(imported_[QLatin1String("normal")].toObject()[QLatin1String("steps")].toInteger(), 11);
}

void TestSample::steps_have_phase_and_tokens_of_the_truth() {
    const QJsonArray rows = query("SELECT phase, tokens, batch FROM steps ORDER BY start_ns");
    const QJsonArray steps = truth_[QLatin1String("steps")].toArray();
    QCOMPARE(rows.size(), steps.size());
    for (int i = 0; i < rows.size(); ++i) {
        for (const char* key : {"phase", "tokens", "batch"})
            QCOMPARE(rows[i].toObject()[QLatin1String(key)], steps[i].toObject()[QLatin1String(key)]);
    }
}

void TestSample::what_is_out_of_line_is_what_was_injected() {
    const QJsonArray outliers = QJsonDocument::fromJson(output_of(program_, {QStringLiteral("steps"), QStringLiteral("--json"),
                                                                             QStringLiteral("--outliers"), path("faulty.faultline")}))
                                    .array();
    QVERIFY(outliers.size() >= 3);
    const QJsonArray steps = truth_[QLatin1String("steps")].toArray();
    for (const QJsonValue outlier : outliers) {
        const QJsonObject step = steps[outlier.toObject()[QLatin1String("id")].toInt() - 1].toObject();
        QCOMPARE(step[QLatin1String("label")].toString(), QLatin1String("memory_resource"));
    }
}

void TestSample::the_worst_step_is_explained_by_what_was_put_into_it() {
    const QJsonArray worst = query("SELECT id FROM steps ORDER BY outlier DESC, ratio DESC LIMIT 1");
    QCOMPARE(worst.size(), 1);
    const QJsonObject answer =
        QJsonDocument::fromJson(output_of(program_, {QStringLiteral("diagnose"), QStringLiteral("--json"), path("faulty.faultline"), QStringLiteral("--step"),
                                                     QString::number(worst[0].toObject()[QLatin1String("id")].toInt())}))
            .object();
    QVERIFY(answer[QLatin1String("abnormal")].toBool());
    const QJsonArray suspects = answer[QLatin1String("suspects")].toArray();
    QVERIFY(!suspects.isEmpty());
    QCOMPARE(suspects[0].toObject()[QLatin1String("name")].toString(), QLatin1String("sampling_metadata"));
    QCOMPARE(suspects[0].toObject()[QLatin1String("rank")].toInt(-1), 0);
    bool sampled = false;
    for (const QJsonValue evidence : answer[QLatin1String("evidence")].toArray())
        sampled = sampled || evidence.toObject()[QLatin1String("sentence")].toString().contains(QLatin1String("make_ndarray_with_pad"));
    QVERIFY(sampled);
}

void TestSample::requests_and_log_lie_on_the_axis_of_the_trace() {
    const QJsonArray rows = query("SELECT count(*) AS n, count(arrival_ns) AS arrived, count(first_token_ns) AS answered, count(ttft_ns) AS timed FROM requests");
    const QJsonObject counts = rows[0].toObject();
    QCOMPARE(counts[QLatin1String("n")].toInt(), truth_[QLatin1String("requests")].toArray().size());
    QCOMPARE(counts[QLatin1String("arrived")], counts[QLatin1String("n")]);
    QCOMPARE(counts[QLatin1String("answered")], counts[QLatin1String("n")]);
    QCOMPARE(counts[QLatin1String("timed")].toInt(), 0);  // stamps of one second do not resolve a TTFT
    const QJsonArray lines = query("SELECT count(*) AS n, sum(method = 'request') AS by_request FROM logs");
    QVERIFY(lines[0].toObject()[QLatin1String("by_request")].toInt() >= 8);
}

void TestSample::a_graph_launch_binds_its_kernels() {
    const QJsonArray rows = query(
        "SELECT count(*) AS kernels, count(DISTINCT launch) AS launches FROM kernels "
        "WHERE launch IN (SELECT id FROM api_calls WHERE name = 'cudaGraphLaunch')");
    QCOMPARE(rows.size(), 1);
    QVERIFY(rows[0].toObject()[QLatin1String("kernels")].toInt() > 100 * rows[0].toObject()[QLatin1String("launches")].toInt());
}

QTEST_GUILESS_MAIN(TestSample)
#include "tst_sample.moc"
