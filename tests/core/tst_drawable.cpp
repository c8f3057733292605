// fold() and occupancy() against the plain definitions, on random lanes with fixed seeds.
#include <QTest>
#include <algorithm>
#include <cmath>
#include <random>

#include "core/drawable.h"

using namespace faultline;

namespace {

/// Spans with random gaps and lengths (zero lengths too); some of them no device work.
Lane random_lane(unsigned seed, int spans, TimeNs longest_gap, TimeNs longest, TimeNs origin = 0) {
    std::mt19937_64 random(seed);
    Lane lane;
    TimeNs t = origin;
    for (int i = 0; i < spans; ++i) {
        t += std::uniform_int_distribution<TimeNs>(0, longest_gap)(random);
        TimeNs length = std::uniform_int_distribution<TimeNs>(0, longest)(random);
        if (random() % 50 == 0) length *= 200;
        const SpanKind kind = random() % 9 == 0 ? SpanKind::sync : random() % 5 == 0 ? SpanKind::memory_copy : SpanKind::kernel;
        lane.append(t, t + length, NameId{static_cast<std::uint32_t>(i % 7)}, kind, static_cast<std::uint32_t>(i));
        t += length;
    }
    lane.seal_busy();
    lane.seal_levels();
    return lane;
}

bool touches(const Lane& lane, std::size_t i, TimeRange range) {
    if (lane.starts[i] >= range.end) return false;
    return lane.ends[i] > range.start || (lane.starts[i] == lane.ends[i] && lane.starts[i] >= range.start);
}

/// The definition: one span after the other.
std::vector<FoldItem> plain_fold(const Lane& lane, TimeRange range, int width, double min_px) {
    std::vector<FoldItem> out;
    const auto narrow = std::max<TimeNs>(1, std::llround(min_px * static_cast<double>(range.duration()) / width));
    bool open = false;
    for (std::size_t i = 0; i < lane.size(); ++i) {
        if (!touches(lane, i, range)) continue;
        const bool joins = open && lane.ends[i] - lane.ends[i - 1] < narrow;
        if (joins) {
            ++out.back().count;
            out.back().end = lane.ends[i];
        } else {
            out.push_back({i, 1, lane.starts[i], lane.ends[i]});
            open = lane.ends[i] - lane.starts[i] < narrow;
        }
    }
    return out;
}

std::vector<double> plain_occupancy(const Lane& lane, TimeRange range, int width) {
    std::vector<double> out(static_cast<std::size_t>(width), 0.0);
    const double column = static_cast<double>(range.duration()) / width;
    for (std::size_t i = 0; i < lane.size(); ++i) {
        if (!touches(lane, i, range) || !is_device_work(lane.kinds[i])) continue;
        const double from = std::max(0.0, static_cast<double>(lane.starts[i] - range.start));
        const double to = std::min(static_cast<double>(range.duration()), static_cast<double>(lane.ends[i] - range.start));
        for (int x = std::max(0, static_cast<int>(from / column) - 1); x < width && x * column < to; ++x) {
            const double part = std::min(to, (x + 1) * column) - std::max(from, x * column);
            if (part > 0) out[static_cast<std::size_t>(x)] += part / column;
        }
    }
    return out;
}

struct Window {
    TimeRange range;
    int width;
};

std::vector<Window> windows(const Lane& lane, unsigned seed) {
    std::mt19937_64 random(seed);
    const TimeNs first = lane.starts.front();
    const TimeNs length = lane.ends.back() - first;
    std::vector<Window> out{{{first, first + length}, 1920}, {{first - length, first + 2 * length}, 700}, {{first + 1, first + 2}, 100}};
    for (int i = 0; i < 25; ++i) {
        const TimeNs zoom = std::max<TimeNs>(10, length >> (random() % 18));
        const TimeNs start = first + static_cast<TimeNs>(random() % static_cast<std::uint64_t>(length));
        out.push_back({{start, start + zoom}, 1 + static_cast<int>(random() % 2000)});
    }
    return out;
}

}  // namespace

class TestDrawable : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void fold_is_what_its_definition_says_data() { lanes(); }
    void fold_is_what_its_definition_says() {
        const Lane lane = fetched();
        for (const Window& w : windows(lane, 5)) {
            for (const double min_px : {0.5, 1.0, 3.0, 8.0}) {
                const auto expected = plain_fold(lane, w.range, w.width, min_px);
                const auto got = fold(lane, w.range, w.width, min_px);
                QCOMPARE(got.size(), expected.size());
                for (std::size_t i = 0; i < got.size(); ++i) {
                    QCOMPARE(got[i].first, expected[i].first);
                    QCOMPARE(got[i].count, expected[i].count);
                    QCOMPARE(got[i].start, expected[i].start);
                    QCOMPARE(got[i].end, expected[i].end);
                }
            }
        }
    }

    void long_lanes_have_levels_that_hold_every_span() {
        const Lane lane = random_lane(31, 100'000, 30, 200);
        QVERIFY(!lane.levels.empty());
        TimeNs narrow = 0;
        for (const FoldLevel& level : lane.levels) {
            QVERIFY(level.narrow > narrow);
            QVERIFY(level.runs.size() <= lane.size() / 16);
            narrow = level.narrow;
            std::size_t at = 0;
            for (const FoldRun& run : level.runs) {
                QCOMPARE(static_cast<std::size_t>(run.first), at);
                QCOMPARE(run.start, lane.starts[at]);
                at += run.count;
                QCOMPARE(run.end, lane.ends[at - 1]);
            }
            QCOMPARE(at, lane.size());
        }
    }

    void fold_makes_no_more_items_than_pixels_allow() {
        const Lane lane = random_lane(3, 200'000, 40, 30);
        const auto items = fold(lane, {lane.starts.front(), lane.ends.back()}, 1000, 3.0);
        // Two narrow items in a row are at least 3 px apart at their ends, and a wide one is 3 px itself.
        QVERIFY(items.size() <= 1000 / 3 * 2 + 2);
        std::size_t spans = 0;
        for (const FoldItem& item : items) spans += item.count;
        QCOMPARE(spans, lane.size());
    }

    void occupancy_is_exact_data() { lanes(); }
    void occupancy_is_exact() {
        const Lane lane = fetched();
        for (const Window& w : windows(lane, 9)) {
            const auto expected = plain_occupancy(lane, w.range, w.width);
            const auto got = occupancy(lane, w.range, w.width);
            QCOMPARE(got.size(), expected.size());
            for (std::size_t x = 0; x < got.size(); ++x) {
                QVERIFY2(std::abs(static_cast<double>(got[x]) - expected[x]) < 1e-6,
                         qPrintable(QString::fromLatin1("column %1: %2, not %3").arg(x).arg(static_cast<double>(got[x])).arg(expected[x])));
            }
        }
    }

    void occupancy_shows_a_gap_between_dense_kernels() {
        // A million 1 us kernels back to back, and in the middle 2 ms of nothing: folded they would be one solid item.
        Lane lane;
        for (int i = 0; i < 1'000'000; ++i) {
            const TimeNs start = i * 1'000LL + (i >= 500'000 ? 2'000'000 : 0);
            lane.append(start, start + 1'000, NameId{}, SpanKind::kernel, static_cast<std::uint32_t>(i));
        }
        lane.seal_busy();
        const auto shares = occupancy(lane, {0, 1'002'000'000}, 1002);
        for (int x = 0; x < 1002; ++x) QCOMPARE(shares[static_cast<std::size_t>(x)], x == 500 || x == 501 ? 0.0F : 1.0F);
    }

    void nothing_to_draw() {
        const Lane empty;
        QVERIFY(fold(empty, {0, 10}, 10).empty());
        QVERIFY(occupancy(empty, {0, 10}, 10).empty());
        const Lane lane = random_lane(1, 10, 5, 5);
        QVERIFY(fold(lane, {10, 10}, 10).empty());
        QVERIFY(fold(lane, {0, 10}, 0).empty());
        QVERIFY(fold(lane, {-100, -50}, 10).empty());
        QVERIFY(occupancy(lane, {0, 10}, -1).empty());
        Lane host;
        host.append(0, 5, NameId{}, SpanKind::op, 0);
        QVERIFY(occupancy(host, {0, 10}, 10).empty());
    }

    void times_at_the_ends_of_64_bits() {
        constexpr TimeNs kMost = std::numeric_limits<TimeNs>::max();
        Lane lane;
        lane.append(0, 5, NameId{}, SpanKind::kernel, 0);
        lane.append(kMost - 10, kMost, NameId{}, SpanKind::kernel, 1);
        lane.seal_busy();
        QCOMPARE(fold(lane, {0, kMost}, 100).size(), std::size_t{2});
        QCOMPARE(occupancy(lane, {0, kMost}, 100).size(), std::size_t{100});
    }

private:
    static void lanes() {
        QTest::addColumn<unsigned>("seed");
        QTest::addColumn<int>("spans");
        QTest::addColumn<qlonglong>("gap");
        QTest::addColumn<qlonglong>("length");
        QTest::addColumn<qlonglong>("origin");
        QTest::newRow("dense") << 11U << 3000 << 3LL << 40LL << 0LL;
        QTest::newRow("sparse") << 12U << 500 << 5000LL << 40LL << -1'000'000LL;
        QTest::newRow("instants") << 13U << 800 << 2LL << 1LL << 7LL;
        QTest::newRow("epoch") << 14U << 2000 << 300LL << 900LL << 1'743'521'598'000'000'123LL;
        QTest::newRow("long") << 16U << 60'000 << 30LL << 200LL << 5LL;
        QTest::newRow("long and sparse") << 17U << 20'000 << 5000LL << 200LL << 1'743'521'598'000'000'123LL;
        QTest::newRow("one") << 15U << 1 << 0LL << 100LL << 0LL;
    }
    static Lane fetched() {
        QFETCH(unsigned, seed);
        QFETCH(int, spans);
        QFETCH(qlonglong, gap);
        QFETCH(qlonglong, length);
        QFETCH(qlonglong, origin);
        return random_lane(seed, spans, gap, length, origin);
    }
};

QTEST_APPLESS_MAIN(TestDrawable)
#include "tst_drawable.moc"
