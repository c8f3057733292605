// Sorting, nesting, clipping and sub-lanes.
#include <QTest>
#include <random>

#include "core/nesting.h"
#include "core/span_place.h"

using namespace faultline;

namespace {

struct Fixture {
    InternedNames names;
    InternedTexts texts;
    SourceBuilder source{SourceId{1}, {1, 1, 1, 1}, names, texts};
    ImportLedger ledger;

    TrackBuffer& host() { return source.host_track(source.thread(source.process(10), 11)); }
    TrackBuffer& stream() { return source.device_track(source.device(0), 7); }
    std::uint32_t add(TrackBuffer& t, TimeNs start, TimeNs end, const char* name, SpanKind kind = SpanKind::op) {
        return t.append(start, end - start, names.intern(name), kind);
    }
    void run() { sort_and_nest(source, ledger, {}); }
    [[nodiscard]] std::string name(const TrackBuffer& t, std::uint32_t i) const { return std::string(names.text(t.names[i])); }
    [[nodiscard]] const LedgerEntry* entry(std::string_view code) const {
        for (const LedgerEntry& e : ledger.entries())
            if (e.code == code) return &e;
        return nullptr;
    }
};

/// Whether spans nest properly inside one track and parent and depth say how.
bool nests(const TrackBuffer& t) {
    std::vector<std::uint32_t> stack;
    for (std::uint32_t i = 0; i < t.size(); ++i) {
        if (i > 0 && t.starts[i] < t.starts[i - 1]) return false;
        while (!stack.empty() && t.end(stack.back()) <= t.starts[i]) stack.pop_back();
        if (!stack.empty() && t.end(i) > t.end(stack.back())) return false;
        const std::int64_t parent = stack.empty() ? kNull : std::int64_t{stack.back()};
        if (t.get(i, Column::parent) != parent || t.get(i, Column::depth) != static_cast<std::int64_t>(stack.size())) return false;
        stack.push_back(i);
    }
    return true;
}

}  // namespace

class TestNesting : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // Five thousand ranges that were never closed made a capture that could not be opened.
    void very_deep_nesting_goes_on_a_lane_of_its_own() {
        InternedNames names;
        InternedTexts texts;
        SourceBuilder source(SourceId{1}, {1, 1, 1, 1}, names, texts);
        TrackBuffer& track = source.host_track(source.thread(source.process(1), 1));
        for (int i = 0; i < 5'000; ++i) track.append(i, 20'000 - i, names.intern("open"), SpanKind::range);
        ImportLedger ledger;
        sort_and_nest(source, ledger, {});
        std::uint64_t spans = 0;
        for (const TrackBuffer& t : source.tracks()) {
            spans += t.size();
            QVERIFY2(t.track.max_depth < 2'000, qPrintable(QString::number(t.track.max_depth)));
        }
        QCOMPARE(spans, std::uint64_t{5'000});
        QCOMPARE(source.tracks().size(), std::size_t{3});
    }

    void sorts_and_nests() {
        Fixture f;
        TrackBuffer& t = f.host();
        f.add(t, 20, 30, "c");
        f.add(t, 0, 100, "a");
        f.add(t, 10, 50, "b");
        f.add(t, 50, 60, "d");  // starts where b ends: a sibling
        f.run();
        QCOMPARE(f.name(t, 0), std::string("a"));
        QCOMPARE(f.name(t, 1), std::string("b"));
        QCOMPARE(f.name(t, 2), std::string("c"));
        QCOMPARE(f.name(t, 3), std::string("d"));
        QCOMPARE(t.get(2, Column::parent), std::int64_t{1});
        QCOMPARE(t.get(3, Column::parent), std::int64_t{0});
        QCOMPARE(t.track.max_depth, 2);
        QVERIFY(nests(t));
    }

    void equal_intervals_nest_by_kind() {
        Fixture f;
        TrackBuffer& t = f.host();
        f.add(t, 0, 10, "call", SpanKind::runtime_call);
        f.add(t, 0, 10, "op", SpanKind::op);
        f.add(t, 0, 10, "frame", SpanKind::python);
        f.add(t, 0, 10, "range", SpanKind::range);
        f.run();
        const char* order[] = {"range", "frame", "op", "call"};
        for (std::uint32_t i = 0; i < 4; ++i) QCOMPARE(f.name(t, i), std::string(order[i]));
    }

    void clips_small_overhang() {
        Fixture f;
        TrackBuffer& t = f.host();
        f.add(t, 0, 10'000, "outer");
        f.add(t, 5'000, 10'800, "inner");
        f.run();
        QCOMPARE(t.end(1), TimeNs{10'000});
        QCOMPARE(t.get(1, Column::parent), std::int64_t{0});
        QCOMPARE(f.ledger.totals().repaired, std::uint64_t{1});
        QVERIFY(f.entry("span.clipped"));
    }

    void clips_the_tail_of_the_one_before() {
        Fixture f;
        TrackBuffer& t = f.host();
        f.add(t, 0, 10'000, "first");
        f.add(t, 9'500, 30'000, "second");
        f.run();
        QCOMPARE(t.end(0), TimeNs{9'500});
        QCOMPARE(t.get(1, Column::parent), kNull);
        QCOMPARE(f.ledger.totals().repaired, std::uint64_t{1});
    }

    void crossing_goes_to_a_sub_lane() {
        Fixture f;
        TrackBuffer& t = f.host();
        f.add(t, 0, 100'000, "first");
        f.add(t, 50'000, 150'000, "crossing");
        f.add(t, 110'000, 120'000, "under crossing or alone");
        f.run();
        QCOMPARE(f.source.tracks().size(), std::size_t{2});
        const TrackBuffer& lane = f.source.tracks()[1];
        QCOMPARE(lane.track.lane, 1);
        QCOMPARE(lane.size(), 1u);
        QCOMPARE(f.name(lane, 0), std::string("crossing"));
        QCOMPARE(t.size(), 2u);
        QCOMPARE(f.ledger.totals().repaired, std::uint64_t{0});
        QCOMPARE(f.entry("span.sub-lane")->count, std::uint64_t{1});
    }

    // Two kernels 3–6.776 and 5–7 on one stream: both must stay, and their union is 4.0 long.
    void overlapping_kernels_are_both_kept() {
        Fixture f;
        TrackBuffer& t = f.stream();
        f.add(t, 3'000, 6'776, "a", SpanKind::kernel);
        f.add(t, 5'000, 7'000, "b", SpanKind::kernel);
        f.run();
        QCOMPARE(f.source.tracks().size(), std::size_t{2});
        QCOMPARE(f.source.tracks()[0].end(0), TimeNs{6'776});
        QCOMPARE(f.source.tracks()[1].starts[0], TimeNs{5'000});
        QCOMPARE(f.ledger.totals().repaired, std::uint64_t{0});
    }

    void columns_move_with_their_spans() {
        Fixture f;
        TrackBuffer& t = f.stream();
        for (int i = 9; i >= 0; --i) t.set(f.add(t, i * 10, i * 10 + 15, "k", SpanKind::kernel), Column::correlation, i);
        f.run();
        QCOMPARE(f.source.tracks().size(), std::size_t{2});
        for (const TrackBuffer& lane : f.source.tracks())
            for (std::uint32_t i = 0; i < lane.size(); ++i) QCOMPARE(lane.get(i, Column::correlation) * 10, lane.starts[i]);
    }

    void untimed_kernels_lie_where_their_track_begins() {
        Fixture f;
        TrackBuffer& t = f.stream();
        t.add_flag(f.add(t, 0, 0, "untimed", SpanKind::kernel), flag_no_time);
        f.add(t, 5'000, 6'000, "timed", SpanKind::kernel);
        f.run();
        for (const TrackBuffer& lane : f.source.tracks())
            for (const TimeNs start : lane.starts) QCOMPARE(start, TimeNs{5'000});
    }

    void random_spans_always_nest() {
        for (unsigned seed = 0; seed < 40; ++seed) {
            std::mt19937 random(seed);
            Fixture f;
            TrackBuffer& t = f.host();
            const std::uint32_t n = 500;
            for (std::uint32_t i = 0; i < n; ++i) {
                const TimeNs start = random() % 200'000;
                f.add(t, start, start + random() % (i % 3 ? 4'000 : 60'000), "x", i % 5 ? SpanKind::op : SpanKind::python);
            }
            f.run();
            std::uint64_t kept = 0;
            for (const TrackBuffer& lane : f.source.tracks()) {
                QVERIFY(nests(lane));
                kept += lane.size();
            }
            QCOMPARE(kept, std::uint64_t{n});
        }
    }

    // A name of many three-byte characters was cut inside one, which made the ledger's JSON invalid.
    void places_are_cut_between_characters() {
        std::string name(1, 'x');
        for (int i = 0; i < 60; ++i) name += "\u6b65";
        const std::string place = span_place(name, 5);
        QVERIFY(place.size() < name.size());
        QCOMPARE(QString::fromStdString(place).contains(QChar::ReplacementCharacter), false);
        QVERIFY(place.ends_with(" at 5 ns"));
        QCOMPARE(span_place("short", 7), std::string("short at 7 ns"));
    }

    // Concurrent requests cross by the thousand; each was compared with every lane, which took minutes.
    void many_crossing_spans_keep_their_lengths() {
        Fixture f;
        TrackBuffer& t = f.host();
        const int n = 3'000;
        for (int i = 0; i < n; ++i) f.add(t, i * 10'000, i * 10'000 + 10'000'000 + i * 5'000, "request", SpanKind::async);
        f.run();
        std::uint64_t kept = 0;
        for (const TrackBuffer& lane : f.source.tracks()) {
            QVERIFY(nests(lane));
            kept += lane.size();
        }
        QCOMPARE(kept, std::uint64_t{n});
        QCOMPARE(f.ledger.totals().repaired, std::uint64_t{0});
        QVERIFY(f.source.tracks().size() > 900);
    }

    void finds_the_innermost_span() {
        Fixture f;
        TrackBuffer& t = f.host();
        f.add(t, 0, 100, "a");
        f.add(t, 10, 20, "b");
        f.add(t, 12, 14, "c");
        f.run();
        QCOMPARE(innermost_at(t, 13), std::int64_t{2});
        QCOMPARE(innermost_at(t, 14), std::int64_t{1});
        QCOMPARE(innermost_at(t, 50), std::int64_t{0});
        QCOMPARE(innermost_at(t, 100), std::int64_t{-1});
    }
};

QTEST_APPLESS_MAIN(TestNesting)
#include "tst_nesting.moc"
