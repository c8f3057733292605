// The scripts of packaging/ are sound, and the list of packages says why each is there.
#include <QFile>
#include <QProcess>
#include <QSet>
#include <QTemporaryDir>
#include <QTest>

namespace {

const QString kRoot = QStringLiteral(FAULTLINE_SOURCE_DIR);

struct Run {
    int status = -1;
    QByteArray out;
    QByteArray err;
};

Run bash(const QString& command) {
    QProcess process;
    process.setWorkingDirectory(QStringLiteral("/"));
    process.start(QStringLiteral("bash"), {QStringLiteral("-c"), command});
    if (!process.waitForFinished(60'000)) return {};
    return {process.exitCode(), process.readAllStandardOutput(), process.readAllStandardError()};
}

QStringList lines_of(const QString& path) {
    QFile file(kRoot + path);
    if (!file.open(QIODevice::ReadOnly)) return {};
    return QString::fromUtf8(file.readAll()).split(QLatin1Char('\n'));
}

/// Package names of a section as packaging/setup.sh reads them.
QStringList packages_of(const QString& section) {
    const Run run = bash(QStringLiteral("source '%1/packaging/setup.sh'; packages_of %2").arg(kRoot, section));
    return QString::fromUtf8(run.out).split(QLatin1Char('\n'), Qt::SkipEmptyParts);
}

}  // namespace

class TestPackaging : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void scripts_parse_data();
    void scripts_parse();
    void every_package_has_a_reason();
    void sections_are_read();
    void wrong_use_is_one_sentence_data();
    void wrong_use_is_one_sentence();
};

void TestPackaging::scripts_parse_data() {
    QTest::addColumn<QString>("script");
    for (const char* script : {"/packaging/run", "/packaging/test", "/packaging/setup.sh", "/.ci/run"}) {
        QTest::newRow(script) << QString::fromLatin1(script);
    }
}

void TestPackaging::scripts_parse() {
    QFETCH(QString, script);
    const Run run = bash(QStringLiteral("bash -n '%1'").arg(kRoot + script));
    QCOMPARE(run.err, QByteArray());
    QCOMPARE(run.status, 0);
    if (!script.endsWith(QStringLiteral(".sh"))) QVERIFY(QFile::permissions(kRoot + script) & QFile::ExeOwner);
}

void TestPackaging::every_package_has_a_reason() {
    QSet<QString> seen;
    for (const QString& line : lines_of(QStringLiteral("/packaging/dependencies.txt"))) {
        if (line.isEmpty() || line.startsWith(QLatin1Char('#')) || line.startsWith(QLatin1Char('['))) continue;
        const auto hash = line.indexOf(QLatin1Char('#'));
        QVERIFY2(hash > 0 && line.mid(hash + 1).trimmed().size() > 2, qPrintable(line));
        const QString name = line.left(hash).trimmed();
        QVERIFY2(!seen.contains(name), qPrintable(name));
        seen.insert(name);
    }
    QVERIFY(seen.size() > 20);
}

void TestPackaging::sections_are_read() {
    const QStringList build = packages_of(QStringLiteral("build"));
    QVERIFY(build.contains(QStringLiteral("qt6-base-dev")));
    QVERIFY(!build.contains(QStringLiteral("clang-16")));
    QVERIFY(packages_of(QStringLiteral("develop")).contains(QStringLiteral("clang-16")));
    QCOMPARE(packages_of(QStringLiteral("nothing")), QStringList());
    QCOMPARE(packages_of(QStringLiteral("build test")).size(), build.size() + packages_of(QStringLiteral("test")).size());
}

void TestPackaging::wrong_use_is_one_sentence_data() {
    QTest::addColumn<QString>("command");
    QTest::addColumn<QByteArray>("sentence");
    QTest::newRow("run, no file") << QStringLiteral("/packaging/run /nowhere/trace.json")
                                  << QByteArray("run: there is no file /nowhere/trace.json.\n");
    QTest::newRow("run, option") << QStringLiteral("/packaging/run --fast")
                                 << QByteArray("run: it takes files only, not --fast: packaging/run [FILE…]\n");
    QTest::newRow("test, argument") << QStringLiteral("/packaging/test tst_nesting")
                                    << QByteArray("test: it takes no arguments; to run some tests only: ctest --preset release -R NAME\n");
}

void TestPackaging::wrong_use_is_one_sentence() {
    QFETCH(QString, command);
    QFETCH(QByteArray, sentence);
    const Run run = bash(kRoot + command);
    QCOMPARE(run.err, sentence);
    QCOMPARE(run.out, QByteArray());
    QCOMPARE(run.status, 1);
}

QTEST_GUILESS_MAIN(TestPackaging)
#include "tst_packaging.moc"
