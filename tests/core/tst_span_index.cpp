// The span index: lanes as read from a capture file, searches against plain walks, lanes made by hand.
#include <QTemporaryDir>
#include <QTest>
#include <bit>
#include <random>

#include "core/capture_reader.h"
#include "core/capture_writer.h"
#include "core/nesting.h"
#include "core/span_index.h"

using namespace faultline;

namespace {

/// Writes a capture from what `fill` appends; spans are sorted and nested on the way.
template <class Fill>
std::string write_capture(const QTemporaryDir& dir, const char* name, Fill fill) {
    const std::string path = dir.filePath(QString::fromLatin1(name)).toStdString();
    auto writer = CaptureWriter::create(path);
    if (!writer) return {};
    SourceBuilder source = (*writer)->begin_source();
    source.source.path = "made.json";
    source.source.format = "test";
    source.clock_base_ns = 1'700'000'000'000'000'000;
    fill(source);
    ImportLedger ledger;
    sort_and_nest(source, ledger, {});
    const auto offset = (*writer)->clock_offset(source, 1'000);
    if (!offset) return {};
    for (TrackBuffer& t : source.tracks()) {
        t.track.spans = t.size();
        t.track.first_start = t.starts.front();
        t.track.last_end = t.end(t.size() - 1);
        t.track.clock_offset_ns = *offset;
        if (!(*writer)->write_track(t)) return {};
    }
    if (!(*writer)->complete_source(source, ledger) || !(*writer)->finish()) return {};
    return path;
}

const Lane* lane_of(const SpanIndex& index, TrackKind kind, int depth, bool python) {
    for (const TrackLanes& t : index.tracks()) {
        for (const Lane& lane : t.lanes) {
            if (t.track.kind == kind && lane.depth == depth && lane.python == python) return &lane;
        }
    }
    return nullptr;
}

}  // namespace

class TestSpanIndex : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;

private Q_SLOTS:
    void python_frames_lie_apart_from_the_work_under_them() {
        const std::string path = write_capture(dir_, "python.faultline", [](SourceBuilder& s) {
            TrackBuffer& host = s.host_track(s.thread(s.process(1), 1));
            host.append(1'000, 900, s.name("main"), SpanKind::python);
            host.append(1'010, 800, s.name("forward"), SpanKind::python);
            host.append(1'020, 100, s.name("aten::mm"), SpanKind::op);
            host.append(1'030, 50, s.name("cudaLaunchKernel"), SpanKind::runtime_call);
            host.append(1'200, 300, s.name("aten::add"), SpanKind::op);
            host.append(1'210, 200, s.name("inner"), SpanKind::python);
            host.append(1'220, 10, s.name("aten::empty"), SpanKind::op);
        });
        QVERIFY(!path.empty());
        const auto reader = CaptureReader::open(path);
        QVERIFY(reader.has_value());
        const auto index = SpanIndex::build(**reader);
        QVERIFY2(index.has_value(), index ? "" : index.error().sentence.c_str());
        const SpanIndex& i = **index;
        QCOMPARE(i.span_count(), std::uint64_t{7});
        QCOMPARE(i.tracks().size(), std::size_t{1});
        const std::vector<Lane>& lanes = i.tracks().front().lanes;
        QCOMPARE(lanes.size(), std::size_t{5});
        // Work first: operators, then what lies in operators; then the frames.
        QVERIFY(!lanes[0].python && !lanes[1].python && lanes[2].python && lanes[3].python && lanes[4].python);
        QCOMPARE(lanes[0].size(), std::size_t{2});
        QCOMPARE((*reader)->name(lanes[0].names[0]), std::string_view("aten::mm"));
        QCOMPARE((*reader)->name(lanes[1].names[0]), std::string_view("cudaLaunchKernel"));
        QCOMPARE((*reader)->name(lanes[1].names[1]), std::string_view("aten::empty"));
        QCOMPARE((*reader)->name(lanes[2].names[0]), std::string_view("main"));
        QCOMPARE((*reader)->name(lanes[4].names[0]), std::string_view("inner"));
        QCOMPARE(lanes[0].starts[0], (*reader)->extent().start + 20);
        QCOMPARE(lanes[0].ends[0] - lanes[0].starts[0], TimeNs{100});
        QCOMPARE(i.extent(), (TimeRange{0, 900}));
    }

    void every_span_has_its_place() {
        const std::string path = write_capture(dir_, "large.faultline", [](SourceBuilder& s) {
            std::mt19937_64 random(4);
            for (int thread = 0; thread < 3; ++thread) {
                TrackBuffer& host = s.host_track(s.thread(s.process(1), thread));
                TimeNs t = 1'000;
                for (int i = 0; i < 30'000; ++i) {
                    const TimeNs length = 10 + static_cast<TimeNs>(random() % 100);
                    host.append(t, length, s.name(i % 2 ? "a" : "b"), random() % 3 ? SpanKind::op : SpanKind::python);
                    host.append(t + 2, length / 2, s.name("inner"), SpanKind::runtime_call);
                    t += length + static_cast<TimeNs>(random() % 50);
                }
            }
            TrackBuffer& device = s.device_track(s.device(0), 7);
            for (int i = 0; i < 40'000; ++i)
                device.append(1'500 + i * 100, 80, s.name("kernel"), i % 10 ? SpanKind::kernel : SpanKind::sync);
        });
        const auto reader = CaptureReader::open(path);
        QVERIFY(reader.has_value());
        const auto index = SpanIndex::build(**reader);  // more than 200,000 spans: two threads
        QVERIFY(index.has_value());
        QCOMPARE((*index)->span_count(), std::uint64_t{220'000});
        for (const TrackLanes& track : (*index)->tracks()) {
            const auto starts = (*reader)->read_column(track.track.id, Column::start);
            const auto durations = (*reader)->read_column(track.track.id, Column::duration);
            const auto names = (*reader)->read_column(track.track.id, Column::name);
            QVERIFY(starts && durations && names);
            std::size_t seen = 0;
            for (std::uint64_t ordinal = 0; ordinal < track.track.spans; ++ordinal) {
                const auto place = (*index)->place(SpanId::make(track.track.id, ordinal));
                QVERIFY(place.has_value());
                ++seen;
                QCOMPARE(place->range().start, (*starts)[ordinal]);
                QCOMPARE(place->range().duration(), (*durations)[ordinal]);
                QCOMPARE(static_cast<std::int64_t>(index_of(place->lane->names[place->at])), (*names)[ordinal]);
                QCOMPARE(place->id(), SpanId::make(track.track.id, ordinal));
            }
            QCOMPARE(seen, track.track.spans);
            for (const Lane& lane : track.lanes) {
                for (std::size_t k = 1; k < lane.size(); ++k) QVERIFY(lane.starts[k] >= lane.ends[k - 1]);
                QCOMPARE(lane.busy.size(), track.track.kind == TrackKind::device ? lane.size() + 1 : 0);
            }
        }
        QVERIFY(!(*index)->place(SpanId::make(TrackId{99}, 0)));
        QVERIFY(!(*index)->place(SpanId::make((*index)->tracks().front().track.id, 1ULL << 39)));
        QVERIFY(!(*index)->place(SpanId{}));
        // Device work alone is busy: a tenth of the spans are synchronizations.
        const Lane* device = lane_of(**index, TrackKind::device, 0, false);
        QVERIFY(device != nullptr);
        QCOMPARE(device->busy.back(), TimeNs{36'000 * 80});
    }

    void counters_bring_their_samples() {
        const std::string path = write_capture(dir_, "counter.faultline", [](SourceBuilder& s) {
            TrackBuffer& counter = s.counter_track(s.process(1), "memory");
            for (int i = 0; i < 200; ++i) {
                const std::uint32_t at = counter.append(1'000 + i * 10, 0, s.name("memory"), SpanKind::counter);
                if (i != 5) counter.set(at, Column::value, std::bit_cast<std::int64_t>(i == 77 ? 9e9 : i * 0.5));
            }
        });
        const auto reader = CaptureReader::open(path);
        QVERIFY(reader.has_value());
        const auto index = SpanIndex::build(**reader);
        QVERIFY(index.has_value());
        const Lane* lane = lane_of(**index, TrackKind::counter, 0, false);
        QVERIFY(lane != nullptr);
        QCOMPARE(lane->values.size(), std::size_t{200});
        QCOMPARE(lane->values[4], 2.0);
        QCOMPARE(lane->values[5], 0.0);
        for (const auto& [first, last] :
             {std::pair<std::size_t, std::size_t>{0, 200}, {0, 77}, {78, 200}, {60, 130}, {64, 128}, {77, 78}}) {
            QCOMPARE(lane->peak(first, last), *std::max_element(lane->values.begin() + static_cast<std::ptrdiff_t>(first),
                                                                lane->values.begin() + static_cast<std::ptrdiff_t>(last)));
        }
    }

    void a_stopped_build_says_so() {
        const std::string path = write_capture(dir_, "stop.faultline", [](SourceBuilder& s) {
            s.host_track(s.thread(s.process(1), 1)).append(1'000, 10, s.name("a"), SpanKind::op);
        });
        const auto reader = CaptureReader::open(path);
        QVERIFY(reader.has_value());
        std::stop_source stop;
        stop.request_stop();
        const auto index = SpanIndex::build(**reader, stop.get_token());
        QVERIFY(!index.has_value());
        QCOMPARE(index.error().code, ErrorCode::cancelled);
    }

    void searches_are_what_a_walk_finds() {
        std::mt19937_64 random(21);
        Lane lane;
        TimeNs t = -500;
        for (std::uint32_t i = 0; i < 400; ++i) {
            t += static_cast<TimeNs>(random() % 4);
            const TimeNs length = static_cast<TimeNs>(random() % 6);
            lane.append(t, t + length, NameId{}, random() % 4 ? SpanKind::kernel : SpanKind::sync, i);
            t += length;
        }
        lane.seal_busy();
        for (TimeNs from = -520; from < t + 20; from += 3) {
            for (const TimeNs length : {1, 2, 7, 90, 4000}) {
                const TimeRange range{from, from + length};
                std::size_t count = 0;
                std::size_t first = Lane::npos;
                TimeNs busy = 0;
                for (std::size_t i = 0; i < lane.size(); ++i) {
                    const bool instant = lane.starts[i] == lane.ends[i];
                    if (lane.starts[i] >= range.end || (instant ? lane.starts[i] < range.start : lane.ends[i] <= range.start)) continue;
                    first = std::min(first, i);
                    ++count;
                    if (is_device_work(lane.kinds[i])) busy += std::min(lane.ends[i], range.end) - std::max(lane.starts[i], range.start);
                }
                const auto [got_first, got_last] = lane.find(range);
                QCOMPARE(got_last - got_first, count);
                if (count > 0) QCOMPARE(got_first, first);
                QCOMPARE(lane.busy_in(range), busy);
            }
            const std::size_t at = lane.span_at(from);
            bool any = false;
            for (std::size_t i = 0; i < lane.size(); ++i)
                any = any || (lane.starts[i] <= from && (from < lane.ends[i] || from == lane.starts[i]));
            QCOMPARE(at != Lane::npos, any);
            if (at != Lane::npos) QVERIFY(lane.starts[at] <= from && (from < lane.ends[at] || from == lane.starts[at]));
        }
    }

    void lanes_made_by_hand() {
        TrackLanes track;
        track.track.id = TrackId{4};
        track.track.kind = TrackKind::device;
        Lane lane;
        lane.track = TrackId{4};
        lane.append(5, 10, NameId{1}, SpanKind::kernel, 0);
        lane.append(20, 40, NameId{2}, SpanKind::kernel, 1);
        track.lanes.push_back(lane);
        TrackLanes other;
        other.track.id = TrackId{2};
        const auto index = SpanIndex::from_lanes({track, other});
        QCOMPARE(index->span_count(), std::uint64_t{2});
        QCOMPARE(index->extent(), (TimeRange{5, 40}));
        QVERIFY(index->track(TrackId{2}) != nullptr);
        QVERIFY(index->track(TrackId{3}) == nullptr);
        QCOMPARE(index->track(TrackId{4})->lanes.front().busy_in({0, 30}), TimeNs{15});
        QCOMPARE(SpanIndex::from_lanes({})->extent(), TimeRange{});
    }
};

QTEST_APPLESS_MAIN(TestSpanIndex)
#include "tst_span_index.moc"
