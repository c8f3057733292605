// Numbers as a person reads them.
#include <QLocale>
#include <QTest>
#include <limits>

#include "views/format.h"

using namespace faultline;

class TestFormat : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() { QLocale::setDefault(QLocale(QLocale::English)); }

    void durations_data() {
        QTest::addColumn<qlonglong>("ns");
        QTest::addColumn<QString>("text");
        QTest::newRow("zero") << 0LL << QStringLiteral("0 ns");
        QTest::newRow("ns") << 812LL << QStringLiteral("812 ns");
        QTest::newRow("us") << 41'304LL << QStringLiteral("41.30 µs");
        QTest::newRow("ms") << 1'904'312LL << QStringLiteral("1.904 ms");
        QTest::newRow("never 1000 us") << 999'960LL << QStringLiteral("1.000 ms");
        QTest::newRow("s") << 12'310'481'204LL << QStringLiteral("12.31 s");
        QTest::newRow("min") << 243'400'000'000LL << QStringLiteral("4 min 03 s");
        QTest::newRow("hours") << 18'720'000'000'000LL << QStringLiteral("5 h 12 min");
        QTest::newRow("days") << 17'184'655'584'000'000LL << QStringLiteral("about 199 days");
        QTest::newRow("negative") << -1'500LL << QStringLiteral("-1.500 µs");
    }
    void durations() {
        QFETCH(qlonglong, ns);
        QFETCH(QString, text);
        QCOMPARE(duration_text(ns).replace(QChar(0x00a0), QLatin1Char(' ')), text);
    }

    void times_are_exact() {
        QCOMPARE(time_text(12'310'481'204).replace(QChar(0x00a0), QLatin1Char(' ')), QStringLiteral("12.310481204 s"));
        QCOMPARE(time_text(-1).replace(QChar(0x00a0), QLatin1Char(' ')), QStringLiteral("-0.000000001 s"));
        QVERIFY(!time_text(std::numeric_limits<TimeNs>::min()).isEmpty());
    }

    void the_wall_clock_shows_its_zone() {
        qputenv("TZ", "Asia/Shanghai");
        QVERIFY(wall_text(1'714'543'387'118'042'000).endsWith(QStringLiteral("14:03:07.118042 UTC+08:00")));
        QVERIFY(wall_text(-1).contains(QStringLiteral(".999999")));
    }

    void shares_and_sizes() {
        QCOMPARE(percent_text(0.61).replace(QChar(0x00a0), QLatin1Char(' ')), QStringLiteral("61 %"));
        QCOMPARE(percent_text(0.004).replace(QChar(0x00a0), QLatin1Char(' ')), QStringLiteral("0.4 %"));
        QCOMPARE(count_text(13'508), QStringLiteral("13,508"));
        QCOMPARE(optional_text(std::nullopt), QString(QChar(0x2013)));
        QCOMPARE(bytes_text(1'342'177'280), QStringLiteral("1.25 GiB"));
    }
};

QTEST_GUILESS_MAIN(TestFormat)
#include "tst_format.moc"
