// Rows, their folding and their names; geometry of lanes; colours that can be read.
#include <QTemporaryDir>
#include <QTest>
#include <random>

#include "made_capture.h"
#include "views/timeline/geometry.h"
#include "views/timeline/label_cache.h"
#include "views/timeline/row_layout.h"
#include "views/timeline/span_names.h"
#include "views/timeline/span_style.h"

using namespace faultline;

namespace {

int count_rows(const RowLayout& layout, RowKind kind) {
    int n = 0;
    for (const Row& row : layout.rows()) n += row.kind == kind;
    return n;
}

const Row* titled(const RowLayout& layout, const QString& title) {
    for (const Row& row : layout.rows()) {
        if (row.title == title) return &row;
    }
    return nullptr;
}

}  // namespace

class TestTimelineRows : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    std::shared_ptr<const LoadedCapture> made_;

private Q_SLOTS:
    void initTestCase() {
        made_ = test::made_capture(dir_.path());
        QVERIFY(made_ != nullptr);
    }

    void a_process_has_its_framework_and_its_kernels() {
        const RowLayout layout = RowLayout::build(*made_, {}, {});
        const auto& rows = layout.rows();
        QCOMPARE(rows.front().kind, RowKind::process);
        QCOMPARE(rows.front().title, QStringLiteral("EngineCore"));
        QVERIFY(rows.front().detail.contains(QStringLiteral("pid 4242")));
        const Row* framework = titled(layout, QStringLiteral("Framework"));
        const Row* kernels = titled(layout, QStringLiteral("Kernels"));
        QVERIFY(framework != nullptr && kernels != nullptr);
        QVERIFY(framework->top < kernels->top);
        QVERIFY(titled(layout, QStringLiteral("MainThread")) != nullptr);
        const Row* gpu = titled(layout, QStringLiteral("GPU 0"));
        QVERIFY(gpu != nullptr);
        QCOMPARE(gpu->detail, QStringLiteral("NVIDIA H100 80GB HBM3"));
        QVERIFY(titled(layout, QStringLiteral("stream 7")) != nullptr);
        QVERIFY(titled(layout, QStringLiteral("stream 13")) != nullptr);
        QCOMPARE(count_rows(layout, RowKind::device), 2);
        QCOMPARE(count_rows(layout, RowKind::counter), 1);
        // Seven frames deep, four shown, the rest behind one row.
        QVERIFY(titled(layout, QStringLiteral("Python stack")) != nullptr);
        const Row* more = titled(layout, QStringLiteral("3 more levels"));
        QVERIFY(more != nullptr);
        QCOMPARE(more->hidden, 3);
    }

    void rows_follow_each_other_without_holes_or_overlap() {
        const RowLayout layout = RowLayout::build(*made_, {}, {});
        int bottom = 0;
        for (const Row& row : layout.rows()) {
            QVERIFY(row.top >= bottom);
            QVERIFY(row.top - bottom <= RowMetrics{}.gap);
            QVERIFY(row.height > 0);
            bottom = row.bottom();
        }
        QVERIFY(layout.height() >= bottom);
        for (int y = 0; y < bottom; ++y) {
            const int at = layout.row_at(y);
            QVERIFY(at >= 0);
            QVERIFY(y < layout.rows()[static_cast<std::size_t>(at)].bottom());
            QVERIFY(at == 0 || y >= layout.rows()[static_cast<std::size_t>(at - 1)].bottom());
        }
        QCOMPARE(layout.row_at(bottom), -1);
        QCOMPARE(layout.row_at(-1), -1);
        const auto [first, last] = layout.visible(30, 31);
        QVERIFY(last - first <= 1);
        QCOMPARE(layout.visible(0, bottom), std::pair(0, static_cast<int>(layout.rows().size())));
    }

    void groups_fold_and_open_again() {
        RowChoices choices;
        const RowLayout open = RowLayout::build(*made_, {}, choices);
        choices.toggle(*titled(open, QStringLiteral("Framework")));
        const RowLayout folded = RowLayout::build(*made_, {}, choices);
        QVERIFY(titled(folded, QStringLiteral("Framework"))->folded);
        QVERIFY(titled(folded, QStringLiteral("MainThread")) == nullptr);
        QVERIFY(titled(folded, QStringLiteral("stream 7")) != nullptr);
        QVERIFY(folded.height() < open.height());
        choices.toggle(*titled(folded, QStringLiteral("Framework")));
        QCOMPARE(RowLayout::build(*made_, {}, choices).height(), open.height());
        choices.toggle(*titled(open, QStringLiteral("3 more levels")));
        const RowLayout deep = RowLayout::build(*made_, {}, choices);
        QVERIFY(titled(deep, QStringLiteral("fewer levels")) != nullptr);
        QCOMPARE(count_rows(deep, RowKind::lane), count_rows(open, RowKind::lane) + 3);
        choices.toggle(*titled(deep, QStringLiteral("fewer levels")));
        QCOMPARE(RowLayout::build(*made_, {}, choices).height(), open.height());
        choices.toggle(*titled(open, QStringLiteral("MainThread")));
        QVERIFY(RowLayout::build(*made_, {}, choices).height() < open.height());
        choices.toggle(open.rows().front());
        QCOMPARE(RowLayout::build(*made_, {}, choices).rows().size(), std::size_t{1});
    }

    void outermost_frames_that_never_change_wait_behind_more() {
        TrackLanes track = test::made_track(1, TrackKind::host, {{0, 1000}}, SpanKind::python);
        for (int depth = 1; depth < 8; ++depth) {
            std::vector<TimeRange> spans{{0, 1000}};
            if (depth >= 3) spans = {{0, 100}, {200, 300}, {400, 500}, {600, 700}};
            track.lanes.push_back(test::made_track(1, TrackKind::host, spans, SpanKind::python).lanes.front());
            track.lanes.back().depth = depth;
        }
        for (Lane& lane : track.lanes) lane.python = true;
        LoadedCapture capture;
        capture.index = SpanIndex::from_lanes({track});
        RowChoices choices;
        const RowLayout layout = RowLayout::build(capture, {}, choices);
        QCOMPARE(count_rows(layout, RowKind::lane), 4);
        QCOMPARE(layout.row_of(&capture.index->tracks().front().lanes[2]), -1);
        QVERIFY(layout.row_of(&capture.index->tracks().front().lanes[3]) >= 0);
        const Row* more = titled(layout, QStringLiteral("4 more levels"));
        QVERIFY(more != nullptr);
        choices.toggle(*more);
        QCOMPARE(count_rows(RowLayout::build(capture, {}, choices), RowKind::lane), 8);
        RowChoices outer;
        QVERIFY(reveal_lane(capture, &capture.index->tracks().front().lanes[0], outer));
        QVERIFY(RowLayout::build(capture, {}, outer).row_of(&capture.index->tracks().front().lanes[0]) >= 0);
    }

    void a_hidden_lane_can_be_brought_to_sight() {
        for (const TrackLanes& track : made_->index->tracks()) {
            for (const Lane& lane : track.lanes) {
                RowChoices choices;
                choices.folded.insert("p0");
                QVERIFY(reveal_lane(*made_, &lane, choices));
                QVERIFY(RowLayout::build(*made_, {}, choices).row_of(&lane) >= 0);
                QVERIFY(!reveal_lane(*made_, &lane, choices));
            }
        }
    }

    void busy_threads_come_first_and_the_rest_waits() {
        std::vector<TrackLanes> tracks;
        for (std::uint32_t i = 0; i < 10; ++i) {
            std::vector<TimeRange> spans;
            for (std::uint32_t k = 0; k <= i; ++k) spans.push_back({k * 10, k * 10 + 5});
            tracks.push_back(test::made_track(i, TrackKind::host, spans, SpanKind::op));
            tracks.back().track.thread = ThreadId{i};
            tracks.back().track.name = std::string{'t', "0123456789"[i]};
        }
        LoadedCapture capture;
        capture.index = SpanIndex::from_lanes(std::move(tracks));
        RowChoices choices;
        const RowLayout layout = RowLayout::build(capture, {}, choices);
        QCOMPARE(count_rows(layout, RowKind::lane), static_cast<int>(RowLayout::kThreads));
        QVERIFY(titled(layout, QStringLiteral("t9"))->top < titled(layout, QStringLiteral("t8"))->top);
        QVERIFY(titled(layout, QStringLiteral("t0")) == nullptr);
        const Row* more = titled(layout, QStringLiteral("4 more threads"));
        QVERIFY(more != nullptr && more->folded);
        choices.toggle(*more);
        QVERIFY(titled(RowLayout::build(capture, {}, choices), QStringLiteral("t0")) != nullptr);
        RowChoices none;
        const Lane* least = &capture.index->track(TrackId{0})->lanes.front();
        QVERIFY(reveal_lane(capture, least, none));
        QVERIFY(RowLayout::build(capture, {}, none).row_of(least) >= 0);
    }

    void sub_lanes_lie_under_their_stream() {
        auto a = test::made_track(1, TrackKind::device, {{0, 10}, {20, 30}}, SpanKind::kernel);
        auto b = test::made_track(2, TrackKind::device, {{5, 15}}, SpanKind::kernel);
        b.track.stream = a.track.stream;
        b.track.lane = 1;
        LoadedCapture capture;
        capture.index = SpanIndex::from_lanes({a, b});
        const RowLayout layout = RowLayout::build(capture, {}, {});
        const Row* stream = titled(layout, QStringLiteral("stream 1"));
        QVERIFY(stream != nullptr);
        const Row& below = *(stream + 1);
        QCOMPARE(below.kind, RowKind::device);
        QCOMPARE(below.track->lane, 1);
        QCOMPARE(below.top, stream->bottom());
        QVERIFY(!below.detail.isEmpty());
    }

    void an_empty_capture_has_no_rows() {
        LoadedCapture capture;
        QVERIFY(RowLayout::build(capture, {}, {}).rows().empty());
        capture.index = SpanIndex::from_lanes({});
        QVERIFY(RowLayout::build(capture, {}, {}).rows().empty());
    }

    void geometry_covers_what_fold_found() {
        std::mt19937_64 random(7);
        std::vector<TimeRange> spans;
        TimeNs t = 0;
        for (int i = 0; i < 5000; ++i) {
            const auto length = static_cast<TimeNs>(random() % (i % 40 == 0 ? 20'000 : 200));
            spans.push_back({t, t + length});
            t += length + static_cast<TimeNs>(random() % 300);
        }
        for (const bool device : {false, true}) {
            const TrackLanes track =
                test::made_track(0, device ? TrackKind::device : TrackKind::host, spans, device ? SpanKind::kernel : SpanKind::op);
            const auto index = SpanIndex::from_lanes({track});
            const Lane& lane = index->tracks().front().lanes.front();
            for (const TimeRange range : {TimeRange{0, t}, TimeRange{t / 3, t / 2}, TimeRange{t / 2, t / 2 + 3000}}) {
                const int width = 1000;
                const LaneGeometry g = lane_geometry(lane, device, range, width);
                QVERIFY(g.fits(range, width));
                int last = 0;
                bool dense = false;
                for (const Block& b : g.blocks) {
                    QVERIFY(b.x0 >= 0 && b.x1 <= width && b.x0 < b.x1);
                    QVERIFY(b.x0 >= last - 1);
                    last = b.x1;
                    QCOMPARE(b.count > 1, b.kind == BlockKind::folded || b.kind == BlockKind::busy);
                    dense = dense || b.kind == BlockKind::busy;
                    QCOMPARE(block_at(g, b.x0, 0), &b);
                }
                QCOMPARE(!g.busy.empty(), dense);
                QVERIFY(device || !dense);
            }
        }
    }

    void a_pointer_finds_the_span_under_it() {
        const TrackLanes track = test::made_track(0, TrackKind::host, {{0, 10}, {100, 110}, {500, 900}}, SpanKind::op);
        const Lane& lane = track.lanes.front();
        Block all;
        all.count = 3;
        QCOMPARE(span_under(lane, all, 5), std::size_t{0});
        QCOMPARE(span_under(lane, all, 40), std::size_t{0});
        QCOMPARE(span_under(lane, all, 80), std::size_t{1});
        QCOMPARE(span_under(lane, all, 899), std::size_t{2});
        QCOMPARE(span_under(lane, all, 5000), std::size_t{2});
        QCOMPARE(span_under(lane, all, -5), std::size_t{0});
        const LaneGeometry g = lane_geometry(lane, false, {0, 1000}, 1000);
        QCOMPARE(block_at(g, 300, 2), nullptr);
        QCOMPARE(block_at(g, 12 - 1, 2)->first, std::size_t{0});
        QCOMPARE(block_at(g, 499, 2)->first, std::size_t{2});
    }

    void names_are_shortened_where_that_helps() {
        const auto kernel = [](const char* full) { return short_name(SpanKind::kernel, full); };
        QCOMPARE(
            kernel("void at::native::vectorized_elementwise_kernel<4, at::native::AddFunctor<float>, std::array<char*, 3ul>>(int, float)"),
            QStringLiteral("vectorized_elementwise_kernel"));
        QCOMPARE(kernel("void (anonymous namespace)::softmax_warp_forward<float>(float*)"), QStringLiteral("softmax_warp_forward"));
        QCOMPARE(kernel("ampere_bf16_s16816gemm"), QStringLiteral("ampere_bf16_s16816gemm"));
        QCOMPARE(kernel("a->b(c"), QStringLiteral("a->b(c"));
        QCOMPARE(short_name(SpanKind::python, "vllm/v1/worker/gpu_model_runner.py(1040): execute_model"),
                 QStringLiteral("execute_model  gpu_model_runner.py:1040"));
        QCOMPARE(short_name(SpanKind::python, "<built-in method foo>"), QStringLiteral("<built-in method foo>"));
        QCOMPARE(short_name(SpanKind::op, "aten::mm(x)"), QStringLiteral("aten::mm(x)"));
        QCOMPARE(short_name(SpanKind::kernel, ""), QString());
    }

    void labels_can_be_read_on_every_fill_data() {
        QTest::addColumn<bool>("dark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void labels_can_be_read_on_every_fill() {
        QFETCH(bool, dark);
        const SpanStyles styles(dark, dark ? Qt::black : Qt::white);
        for (int kind = 0; kind < kSpanKindCount; ++kind) {
            for (const bool collective : {false, true}) {
                for (unsigned shade = 0; shade < SpanStyles::kShades; ++shade) {
                    const SpanStyle& s = styles.style(static_cast<SpanKind>(kind), collective, shade);
                    QVERIFY2(contrast_ratio(QColor::fromRgb(s.text), QColor::fromRgb(s.fill)) >= 4.5, qPrintable(QString::number(kind)));
                    if (s.pattern != Pattern::solid) QVERIFY(contrast_ratio(QColor::fromRgb(s.text), QColor::fromRgb(s.second)) >= 4.5);
                    QVERIFY(s.fill != s.second);
                }
            }
        }
    }

    void labels_are_cut_at_whole_characters() {
        LabelCache cache;
        QFont font;
        font.setPixelSize(12);
        cache.set_font(font);
        QImage image(400, 40, QImage::Format_RGB32);
        image.fill(Qt::white);
        const Canvas canvas(image);
        const QString text = QStringLiteral("cudaLaunchKernel");
        const int whole = cache.draw(canvas, 0, 0, 400, text, 0xff000000);
        QCOMPARE(whole, cache.label(text)->width());
        const int cut = cache.draw(canvas, 0, 20, whole - 5, text, 0xff000000);
        QVERIFY(cut > 0 && cut <= whole - 5);
        QCOMPARE(cache.draw(canvas, 0, 20, 10, text, 0xff000000), 0);
        QCOMPARE(cache.draw(canvas, 0, 0, 400, QString(), 0xff000000), 0);
        QVERIFY(cache.draw(canvas, 380, 30, 400, text, 0xff000000) > 0);  // past the edges of the canvas
        const qsizetype kept = cache.size();
        QVERIFY(kept > 0);
        cache.set_font(font);  // every frame does: the labels must live longer than a frame
        QCOMPARE(cache.size(), kept);
        font.setPixelSize(14);
        cache.set_font(font);
        QCOMPARE(cache.size(), 0);
    }
};

QTEST_MAIN(TestTimelineRows)
#include "tst_timeline_rows.moc"
