// Time to pixel and back at several zooms and at epoch scale; zooming and panning; ticks.
#include <QTest>
#include <limits>

#include "views/timeline/ruler.h"
#include "views/timeline/time_axis.h"

using namespace faultline;

class TestTimelineAxis : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void there_and_back_data() {
        QTest::addColumn<qlonglong>("start");
        QTest::addColumn<qlonglong>("length");
        QTest::addColumn<double>("width");
        QTest::newRow("whole second") << 0LL << 1'000'000'000LL << 1920.0;
        QTest::newRow("microsecond") << 12'310'481'204LL << 1'000LL << 1600.0;
        QTest::newRow("ten nanoseconds") << 12'310'481'204LL << 10LL << 1920.0;
        QTest::newRow("epoch") << 1'743'521'598'123'456'789LL << 4'000LL << 1024.0;
        QTest::newRow("negative") << -5'000'000'017LL << 333'333LL << 777.0;
        QTest::newRow("an hour") << 0LL << 3'600'000'000'000LL << 300.0;
    }
    void there_and_back() {
        QFETCH(qlonglong, start);
        QFETCH(qlonglong, length);
        QFETCH(double, width);
        const TimeAxis axis{{start, start + length}, width};
        QCOMPARE(axis.x(start), 0.0);
        QCOMPARE(axis.x(start + length), width);
        for (int i = 0; i <= 100; ++i) {
            const TimeNs t = start + length * i / 100;
            QVERIFY(std::abs(axis.time(axis.x(t)) - t) <= std::max<TimeNs>(1, length / 1'000'000'000));
            const double x = width * i / 100;
            QVERIFY(std::abs(axis.x(axis.time(x)) - x) <= 0.5 / axis.ns_per_px() + 1e-9);
        }
    }

    void zooming_keeps_the_place_under_the_pointer_data() { there_and_back_data(); }
    void zooming_keeps_the_place_under_the_pointer() {
        QFETCH(qlonglong, start);
        QFETCH(qlonglong, length);
        QFETCH(double, width);
        if (length < 1000) return;  // a nanosecond is wider than a pixel there
        for (const double x : {0.0, 17.0, width / 2, width}) {
            for (const double factor : {0.8, 1.25, 0.5}) {
                const TimeAxis axis{{start, start + length}, width};
                const TimeAxis after{zoomed(axis, x, factor), width};
                const TimeNs t = axis.time(x);
                QVERIFY2(std::abs(after.x(t) - x) <= std::max(1.0, 1.0 / after.ns_per_px()), qPrintable(QString::number(after.x(t) - x)));
                QVERIFY(std::abs(after.duration() - axis.duration() * factor) <= 1.0);
            }
        }
    }

    void zooming_stops_at_the_shortest_range() {
        const TimeAxis axis{{1000, 1200}, 1000};
        QCOMPARE(zoomed(axis, 500, 0.1).duration(), TimeNs{100});
    }

    void panning_keeps_the_length() {
        const TimeAxis axis{{1'743'521'598'123'456'789, 1'743'521'598'123'556'789}, 1000};
        const TimeRange moved = panned(axis, 10);
        QCOMPARE(moved.start, axis.range.start + 1000);
        QCOMPARE(moved.duration(), axis.range.duration());
        QCOMPARE(panned({moved, 1000}, -10), axis.range);
    }

    void the_ends_of_64_bits_do_not_overflow() {
        constexpr TimeNs kMost = std::numeric_limits<TimeNs>::max();
        const TimeAxis axis{{-kMost, kMost}, 1000};
        QVERIFY(axis.ns_per_px() > 1e16);
        QVERIFY(axis.time(2000) == kMost);
        QVERIFY(zoomed(axis, 500, 2).end > 0);
        QVERIFY(time_plus(kMost, 1e30) == kMost);
        QVERIFY(time_plus(-kMost, -1e30) == -kMost);
    }

    void steps_are_one_two_five() {
        QCOMPARE(nice_step(1.0, 90), TimeNs{100});
        QCOMPARE(nice_step(1.2, 90), TimeNs{200});
        QCOMPARE(nice_step(4.0, 90), TimeNs{500});
        QCOMPARE(nice_step(6.0, 90), TimeNs{1000});
        QCOMPARE(nice_step(0.001, 90), TimeNs{1});
        for (double ns = 0.01; ns < 1e16; ns *= 1.7) QVERIFY(static_cast<double>(nice_step(ns, 90)) >= std::min(ns * 90, 4e18));
    }

    void ticks_are_whole_or_added_to_the_last_whole_one() {
        QLocale::setDefault(QLocale::c());
        const QString nbsp(QChar(0x00a0));
        QCOMPARE(tick_text(12'000'000'000, 1'000'000).text, QStringLiteral("12") + nbsp + QStringLiteral("s"));
        QVERIFY(tick_text(12'000'000'000, 1'000'000).strong);
        QCOMPARE(tick_text(12'310'000'000, 1'000'000).text, QStringLiteral("+310") + nbsp + QStringLiteral("ms"));
        QVERIFY(!tick_text(12'310'000'000, 1'000'000).strong);
        QCOMPARE(tick_text(12'310'481'000, 1'000).text, QStringLiteral("+481") + nbsp + QString::fromUtf8("µs"));
        QCOMPARE(tick_text(12'310'000'000, 1'000).text, QStringLiteral("12.310") + nbsp + QStringLiteral("s"));
        QCOMPARE(tick_text(12'310'481'000, 20).text, QStringLiteral("12.310481") + nbsp + QStringLiteral("s"));
        QCOMPARE(tick_text(-1'500'000'000, 500'000'000).text, QStringLiteral("+500") + nbsp + QStringLiteral("ms"));
        QCOMPARE(tick_anchor(-1'500'000'000, 500'000'000), TimeNs{-2'000'000'000});
        QCOMPARE(tick_text(-2'000'000'000, 500'000'000).text,
                 QLocale::c().negativeSign() + QStringLiteral("2") + nbsp + QStringLiteral("s"));
        QCOMPARE(floor_to(-1, 10), TimeNs{-10});
        QCOMPARE(floor_to(19, 10), TimeNs{10});
    }
};

QTEST_APPLESS_MAIN(TestTimelineAxis)
#include "tst_timeline_axis.moc"
