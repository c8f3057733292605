// Ranges projected on the devices: nesting, several streams, sub-lanes, other threads, and what is no work.
#include <QTest>

#include "core/launch_binding.h"
#include "core/nesting.h"
#include "core/range_projection.h"

using namespace faultline;

namespace {

struct Fixture {
    InternedNames names;
    InternedTexts texts;
    SourceBuilder source{SourceId{1}, {1, 1, 1, 1}, names, texts};
    ImportLedger ledger;

    TrackBuffer& host(int tid, int part = 0) { return source.host_track(source.thread(source.process(1), tid), part); }
    void range(std::string_view name, TimeNs start, TimeNs end, int tid = 1, SpanKind kind = SpanKind::range, int part = 0) {
        host(tid, part).append(start, end - start, names.intern(name), kind);
    }
    void call(std::int64_t correlation, TimeNs start, TimeNs end, int tid = 1, int part = 0) {
        TrackBuffer& t = host(tid, part);
        t.set(t.append(start, end - start, names.intern("cudaLaunchKernel"), SpanKind::runtime_call), Column::correlation, correlation);
    }
    void work(std::int64_t correlation, TimeNs start, TimeNs end, std::int64_t stream = 7, SpanKind kind = SpanKind::kernel) {
        TrackBuffer& t = source.device_track(source.device(0), stream, source.process(1));
        t.set(t.append(start, end - start, names.intern("work"), kind), Column::correlation, correlation);
    }
    void run() {
        sort_and_nest(source, ledger, {});
        static_cast<void>(bind_launches(source, ledger));
        project_ranges(source);
    }
    struct Projected {
        std::int64_t start, duration, busy, count;
        friend bool operator==(const Projected&, const Projected&) = default;
    };
    /// Of the range with this name; all null where it launched nothing.
    Projected of(std::string_view name) {
        for (const TrackBuffer& t : source.tracks())
            for (std::uint32_t i = 0; i < t.size(); ++i)
                if (names.text(t.names[i]) == name) {
                    const std::int64_t delay = t.get(i, Column::device_delay);
                    return {delay == kNull ? kNull : t.starts[i] + delay, t.get(i, Column::device_duration), t.get(i, Column::device_busy),
                            t.get(i, Column::device_count)};
                }
        return {0, 0, 0, -1};
    }
};

constexpr Fixture::Projected kNothing{kNull, kNull, kNull, kNull};

}  // namespace

class TestRangeProjection : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void work_counts_for_every_range_around_its_call() {
        Fixture f;
        f.range("step", 0, 1000);
        f.range("layer", 100, 400);
        f.range("operator", 150, 300, 1, SpanKind::op);
        f.range("after", 500, 600);
        f.call(1, 200, 210);
        f.call(2, 350, 360);
        f.call(3, 700, 710);
        f.work(1, 1000, 1100);
        f.work(2, 1200, 1250);
        f.work(3, 1250, 1300);
        f.run();
        QCOMPARE(f.of("layer"), (Fixture::Projected{1000, 250, 150, 2}));
        QCOMPARE(f.of("step"), (Fixture::Projected{1000, 300, 200, 3}));
        QCOMPARE(f.of("after"), kNothing);
        QCOMPARE(f.of("operator"), kNothing);  // only ranges are projected
    }

    void streams_may_overlap_and_work_may_begin_before_the_range() {
        Fixture f;
        f.range("step", 100, 200);
        f.call(1, 110, 120);
        f.call(2, 130, 140);
        f.work(1, 90, 300);  // clocks differ by a little
        f.work(2, 150, 250, 8, SpanKind::memory_copy);
        f.run();
        QCOMPARE(f.of("step"), (Fixture::Projected{90, 210, 310, 2}));
    }

    void waits_are_no_work() {
        Fixture f;
        f.range("step", 100, 200);
        f.call(1, 110, 120);
        f.work(1, 130, 150, 7, SpanKind::sync);
        f.run();
        QCOMPARE(f.of("step"), kNothing);
    }

    void a_graph_launch_counts_with_all_of_its_kernels() {
        Fixture f;
        f.range("decode", 0, 50);
        f.call(1, 10, 20);
        for (int i = 0; i < 4; ++i) f.work(1, 100 + 20 * i, 110 + 20 * i);
        f.run();
        QCOMPARE(f.of("decode"), (Fixture::Projected{100, 70, 40, 4}));
    }

    void crossing_ranges_have_what_began_inside_them() {
        Fixture f;
        f.range("first", 0, 10'000);
        f.range("crossing", 5'000, 15'000);
        f.call(1, 1'000, 1'100);
        f.call(2, 6'000, 6'100);
        f.call(3, 12'000, 12'100);
        f.call(4, 16'000, 16'100);
        for (int i = 1; i <= 4; ++i) f.work(i, 20'000 + 100 * i, 20'050 + 100 * i);
        f.run();
        QCOMPARE(f.of("first"), (Fixture::Projected{20'100, 150, 100, 2}));
        QCOMPARE(f.of("crossing"), (Fixture::Projected{20'200, 150, 100, 2}));
    }

    void a_call_on_a_lane_beside_counts_for_the_range_it_began_in() {
        Fixture f;
        f.range("outer", 0, 30'000);
        f.range("inner", 1'000, 10'000);
        f.call(1, 5'000, 20'000);  // runs on past the range that it began in
        f.work(1, 40'000, 40'100);
        f.run();
        QCOMPARE(f.of("inner"), (Fixture::Projected{40'000, 100, 100, 1}));
        QCOMPARE(f.of("outer"), (Fixture::Projected{40'000, 100, 100, 1}));
    }

    void threads_and_their_parts_keep_to_themselves() {
        Fixture f;
        f.range("one", 0, 100, 1);
        f.range("two", 0, 100, 2);
        f.range("part", 0, 100, 1, SpanKind::range, 1);
        f.call(1, 10, 20, 1);
        f.work(1, 200, 210);
        f.run();
        QCOMPARE(f.of("one"), (Fixture::Projected{200, 10, 10, 1}));
        QCOMPARE(f.of("two"), kNothing);
        QCOMPARE(f.of("part"), kNothing);
    }

    void many_crossing_ranges_agree_with_counting_each() {
        Fixture f;
        std::vector<TimeRange> ranges;
        std::uint64_t state = 7;
        const auto next = [&](std::uint64_t most) {
            return static_cast<TimeNs>((state = state * 6364136223846793005ULL + 1442695040888963407ULL) >> 33) % static_cast<TimeNs>(most);
        };
        for (int i = 0; i < 60; ++i) {
            const TimeNs start = 2'000 * next(450);  // on a grid: crossings of up to 1 us would be clipped
            ranges.push_back({start, start + 4'000 + 2'000 * next(45)});
            f.range("r" + std::to_string(i), ranges.back().start, ranges.back().end);
        }
        std::vector<TimeNs> calls;
        for (int i = 0; i < 200; ++i) {
            calls.push_back(5'000 * i + 1);
            f.call(i + 1, calls.back(), calls.back() + 1);
            f.work(i + 1, 2'000'000 + 100 * i, 2'000'000 + 100 * i + 10);
        }
        f.run();
        for (std::size_t r = 0; r < ranges.size(); ++r) {
            std::int64_t first = -1, last = -1, count = 0;
            for (std::size_t c = 0; c < calls.size(); ++c) {
                if (!ranges[r].contains(calls[c])) continue;
                if (first < 0) first = 2'000'000 + 100 * static_cast<std::int64_t>(c);
                last = 2'000'000 + 100 * static_cast<std::int64_t>(c) + 10;
                ++count;
            }
            const Fixture::Projected expected = count == 0 ? kNothing : Fixture::Projected{first, last - first, 10 * count, count};
            QCOMPARE(f.of("r" + std::to_string(r)), expected);
        }
    }
};

QTEST_GUILESS_MAIN(TestRangeProjection)
#include "tst_range_projection.moc"
