// Packed columns: what goes in comes out, in the smallest of the three shapes, and damaged bytes are refused.
#include <QTest>
#include <limits>
#include <random>

#include "core/packed_column.h"
#include "core/types.h"

using namespace faultline;

class TestPackedColumn : public QObject {
    Q_OBJECT

    static std::vector<std::int64_t> round_trip(const std::vector<std::int64_t>& values) {
        std::vector<std::byte> packed;
        if (!pack_column(values, packed)) return {};
        std::vector<std::int64_t> out(packed_count(packed));
        return unpack_column(packed, out) ? out : std::vector<std::int64_t>{};
    }

private Q_SLOTS:
    void keeps_every_width() {
        for (const std::int64_t spread :
             {std::int64_t{0}, std::int64_t{200}, std::int64_t{60'000}, std::int64_t{4'000'000'000}, std::int64_t{1} << 60}) {
            std::mt19937_64 random(7);
            std::vector<std::int64_t> values(kChunkSpans);
            for (std::int64_t& v : values)
                v = -123 + (spread ? static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(spread)) : 0);
            QCOMPARE(round_trip(values), values);
        }
    }

    void keeps_extremes() {
        const std::vector<std::int64_t> values{std::numeric_limits<std::int64_t>::max(), kNull + 1, 0, -1, 1};
        QCOMPARE(round_trip(values), values);
    }

    void keeps_absent_values() {
        std::vector<std::int64_t> values(1000, kNull);
        values[3] = 17;
        values[999] = -4;
        QCOMPARE(round_trip(values), values);
    }

    void writes_nothing_for_nothing() {
        std::vector<std::byte> packed;
        QVERIFY(!pack_column(std::vector<std::int64_t>(10, kNull), packed));
        QVERIFY(packed.empty());
    }

    void chooses_differences_for_ascending_values() {
        std::vector<std::int64_t> values(kChunkSpans);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = 1'000'000'000'000'000 + static_cast<std::int64_t>(i) * 1000 + static_cast<std::int64_t>(i % 7);
        std::vector<std::byte> packed;
        QVERIFY(pack_column(values, packed));
        QVERIFY(packed.size() < values.size() * 2);  // one byte a value, not four
        QCOMPARE(round_trip(values), values);
    }

    void refuses_damaged_bytes() {
        std::vector<std::int64_t> values(100);
        for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<std::int64_t>(i * i);
        values[5] = kNull;
        std::vector<std::byte> packed;
        QVERIFY(pack_column(values, packed));
        std::vector<std::int64_t> out(values.size());
        for (std::size_t size = 0; size < packed.size(); ++size) QVERIFY(!unpack_column(std::span(packed).first(size), out));
        packed[1] = std::byte{3};  // no such width
        QCOMPARE(packed_count(packed), std::size_t{0});
    }

    void survives_random_bytes() {
        std::mt19937_64 random(11);
        for (int round = 0; round < 20'000; ++round) {
            std::vector<std::byte> bytes(random() % 64);
            for (std::byte& b : bytes) b = static_cast<std::byte>(random());
            std::vector<std::int64_t> out(packed_count(bytes));
            if (!out.empty()) (void)unpack_column(bytes, out);
        }
        QVERIFY(true);  // the sanitizer builds watch the reads
    }
};

QTEST_APPLESS_MAIN(TestPackedColumn)
#include "tst_packed_column.moc"
