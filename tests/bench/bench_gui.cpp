// Frame times of the timeline: pan, zoom and hover over ten million spans with 20,000 requests and 400,000 bubbles, and over a capture
// given on the command line.
//
//     bench_gui [--json] [CAPTURE.faultline]
//
// A frame is one change of the range (or one move of the pointer) up to the end of its repaint, 1920×1080, on the offscreen platform.
// The limit of the same run is the bare cost of such a frame: clear the image, fill 12,000 rectangles of 20×14 by an own loop, copy 600
// labels, and copy the image to the window. Times are processor time of the one thread that paints, which on a quiet machine is what
// the wall clock shows.
#include <QApplication>
#include <QMouseEvent>
#include <QPainter>
#include <QTemporaryDir>
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <ctime>
#include <random>
#include <string_view>

#include "bench_report.h"
#include "core/capture_writer.h"
#include "views/palette.h"
#include "views/session.h"
#include "views/timeline/label_cache.h"
#include "views/timeline/raster.h"
#include "views/timeline/timeline_widget.h"

using namespace faultline;
using namespace faultline::bench;

namespace {

constexpr std::uint32_t kNames = 400;
constexpr int kHostThreads = 4;
constexpr int kDepths = 11;
constexpr int kStreams = 14;
constexpr std::uint64_t kSpans = 10'000'000;
constexpr std::uint32_t kDevices = 2;
constexpr std::int64_t kSteps = 100'000;
constexpr std::int64_t kRequests = 20'000;
constexpr std::int64_t kBubbles = 200'000;  ///< on each device
constexpr double kGoalP95 = 8;              // BUDGETS.md, ms
constexpr double kGoalP99 = 16;

/// A capture file that holds nothing but names, so that the synthetic index has labels.
std::shared_ptr<const CaptureReader> names_alone(const QTemporaryDir& folder) {
    const std::string path = folder.filePath(QStringLiteral("names.faultline")).toStdString();
    auto writer = CaptureWriter::create(path);
    if (!writer) return nullptr;
    {
        SourceBuilder source = (*writer)->begin_source();
        source.source.path = "synthetic";
        source.source.format = "synthetic";
        for (std::uint32_t i = 0; i < kNames; ++i)
            (void)source.name("void at::native::vectorized_elementwise_kernel_" + std::to_string(i) + "<4, float>(int)");
        ImportLedger ledger;
        if (!(*writer)->complete_source(source, ledger)) return nullptr;
    }
    if (!(*writer)->finish()) return nullptr;
    auto reader = CaptureReader::open(path);
    return reader ? std::shared_ptr<const CaptureReader>(std::move(*reader)) : nullptr;
}

/// Spans of `mean` length back to back with small gaps, longer ones and holes among them.
Lane synthetic_lane(TrackId track, int depth, SpanKind kind, std::uint64_t spans, TimeNs length, std::mt19937_64& random) {
    Lane lane;
    lane.track = track;
    lane.depth = depth;
    lane.reserve(spans);
    const TimeNs each = std::max<TimeNs>(4, length / static_cast<TimeNs>(spans));
    TimeNs t = 0;
    for (std::uint64_t i = 0; i < spans; ++i) {
        TimeNs own = each / 4 + static_cast<TimeNs>(random() % static_cast<std::uint64_t>(each));
        if (random() % 2'000 == 0) own *= 200;
        lane.append(t, t + own, NameId{static_cast<std::uint32_t>(random() % kNames)}, kind, static_cast<std::uint32_t>(i));
        t += own + static_cast<TimeNs>(random() % static_cast<std::uint64_t>(each / 2));
        if (random() % 5'000 == 0) t += each * 100;
    }
    return lane;
}

/// What an analysis adds: steps end to end, requests of twenty steps each, bubbles all over the devices, a line of log a step.
void add_derived(LoadedCapture& capture, TimeNs length, std::mt19937_64& random) {
    const TimeNs each = length / kSteps;
    for (std::int64_t i = 0; i < kSteps; ++i) {
        Step step;
        step.id = StepId{i + 1};
        step.phase = StepPhase::decode;
        step.start = i * each;
        step.end = step.start + each * 9 / 10;
        capture.steps.push_back(step);
        LogLine line;
        line.id = i + 1;
        line.time = step.start;
        line.text = "step";
        capture.logs.push_back(line);
    }
    capture.line_requests.resize(capture.logs.size());
    for (std::int64_t i = 0; i < kRequests; ++i) {
        Request request;
        request.id = i + 1;
        request.name = "chatcmpl-" + std::to_string(i);
        const auto first = static_cast<std::int64_t>(random() % static_cast<std::uint64_t>(kSteps - 21));
        for (std::int64_t s = first; s < first + 20; ++s) request.steps.push_back(StepId{s + 1});
        request.arrival = first * each - each / 2;
        request.end = (first + 20) * each;
        capture.requests.push_back(request);
    }
    for (std::uint32_t device = 0; device < kDevices; ++device) {
        const TimeNs apart = length / kBubbles;
        for (std::int64_t i = 0; i < kBubbles; ++i) {
            Bubble bubble;
            bubble.id = static_cast<std::int64_t>(capture.bubbles.size()) + 1;
            bubble.device = DeviceId{device};
            bubble.start = i * apart;
            bubble.duration = static_cast<TimeNs>(random() % static_cast<std::uint64_t>(apart - 1)) + 1;
            bubble.cause = static_cast<BubbleCause>(random() % 4);
            capture.bubbles.push_back(bubble);
        }
    }
}

std::shared_ptr<const LoadedCapture> synthetic_capture(const QTemporaryDir& folder) {
    std::mt19937_64 random(1);
    constexpr std::uint64_t kLanes = kHostThreads * kDepths + kStreams;
    constexpr TimeNs kLength = 20'000'000'000;
    std::vector<TrackLanes> tracks;
    for (std::uint32_t i = 0; i < kHostThreads + kStreams; ++i) {
        TrackLanes track;
        track.track.id = TrackId{i};
        const bool host = i < kHostThreads;
        track.track.kind = host ? TrackKind::host : TrackKind::device;
        if (host)
            track.track.thread = ThreadId{i};
        else
            track.track.stream = i;
        if (!host) track.track.device = DeviceId{i % kDevices};
        for (int depth = 0; depth < (host ? kDepths : 1); ++depth) {
            const SpanKind kind = host ? (depth < 3   ? SpanKind::range
                                          : depth < 9 ? SpanKind::op
                                                      : SpanKind::runtime_call)
                                       : SpanKind::kernel;
            track.lanes.push_back(synthetic_lane(track.track.id, depth, kind, kSpans / kLanes, kLength, random));
        }
        tracks.push_back(std::move(track));
    }
    auto capture = std::make_shared<LoadedCapture>();
    capture->reader = names_alone(folder);
    capture->index = SpanIndex::from_lanes(std::move(tracks));
    add_derived(*capture, kLength, random);
    return capture->reader ? capture : nullptr;
}

std::shared_ptr<const LoadedCapture> read_capture(const std::string& path) {
    auto reader = CaptureReader::open(path);
    if (!reader) {
        std::fprintf(stderr, "bench_gui: %s\n", reader.error().sentence.c_str());
        return nullptr;
    }
    auto index = SpanIndex::build(**reader);
    auto capture = std::make_shared<LoadedCapture>();
    if (!index || !load_rows(**reader, *capture)) return nullptr;
    capture->path = path;
    capture->index = *index;
    capture->reader = std::move(*reader);
    return capture;
}

double percentile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::sort(values.begin(), values.end());
    return values[std::min(values.size() - 1, static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size()))) - 1)];
}

/// Milliseconds of this thread.
double thread_ms() {
    timespec t{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return static_cast<double>(t.tv_sec) * 1e3 + static_cast<double>(t.tv_nsec) * 1e-6;
}

/// Milliseconds of the bare frame described above; the median of many.
double bare_frame(const QFont& base) {
    QImage image(1920, 1080, QImage::Format_RGB32);
    LabelCache labels;
    QFont font = base;
    font.setPixelSize(11);
    labels.set_font(font);
    std::vector<QString> names;
    for (int i = 0; i < 400; ++i) names.push_back(QStringLiteral("gemm_bf16_%1x%2").arg(i).arg(i * 7));
    std::mt19937_64 random(3);
    std::vector<PixelRect> rects;
    for (int i = 0; i < 12'000; ++i) {
        const int x = static_cast<int>(random() % 1800);
        const int y = static_cast<int>(random() % 60) * 17;
        rects.push_back({x, y, x + 20, y + 14});
    }
    const auto frame = [&] {
        const Canvas canvas(image);
        fill(canvas, {0, 0, 1920, 1080}, 0xffffffffU);
        for (std::size_t i = 0; i < rects.size(); ++i) fill(canvas, rects[i], 0xff000000U | static_cast<QRgb>(i * 2654435761U));
        for (std::size_t i = 0; i < 600; ++i) labels.draw(canvas, rects[i].x0, rects[i].y0, 120, names[i % names.size()], 0xff000000U);
    };
    QImage window_image(1920, 1080, QImage::Format_RGB32);
    frame();
    std::vector<double> ms;
    for (int i = 0; i < 60; ++i) {
        const double start = thread_ms();
        frame();
        QPainter painter(&window_image);
        painter.drawImage(0, 0, image);
        painter.end();
        ms.push_back(thread_ms() - start);
    }
    return median(std::move(ms));
}

/// Milliseconds from a change to the end of its repaint.
template <class Change>
double frame_ms(TimelineWidget& timeline, Change change) {
    const double start = thread_ms();
    change();
    timeline.viewport()->repaint();
    return thread_ms() - start;
}

struct Case {
    std::string name;
    std::vector<double> ms;
};

/// Pan, zoom and hover, at zooms from the whole capture down to a hundred-thousandth of it.
std::vector<Case> journeys(TimelineWidget& timeline, Session& session, const std::string& what) {
    std::vector<Case> cases{{what + " pan", {}}, {what + " zoom", {}}, {what + " hover", {}}};
    const TimeRange all = session.extent();
    std::mt19937_64 random(9);
    for (double share = 1.0; share > 5e-6; share /= 4) {
        const auto length = std::max<TimeNs>(2'000, static_cast<TimeNs>(static_cast<double>(all.duration()) * share));
        const TimeNs room = std::max<TimeNs>(1, all.duration() - length);
        const TimeNs start = all.start + static_cast<TimeNs>(random() % static_cast<std::uint64_t>(room));
        session.set_range({start, start + length}, true);
        timeline.viewport()->repaint();
        const int right = timeline.viewport()->width() - 20;
        for (int i = 0; i < 40; ++i) {
            const double px = (i % 2 ? -1.0 : 1.0) * static_cast<double>(random() % 300);
            cases[0].ms.push_back(frame_ms(timeline, [&] { session.set_range(panned(timeline.view().axis(), px), true); }));
        }
        for (int i = 0; i < 40; ++i) {
            const double x = static_cast<double>(random() % 1600);
            cases[1].ms.push_back(
                frame_ms(timeline, [&] { session.set_range(zoomed(timeline.view().axis(), x, i % 2 ? 1 / 0.8 : 0.8), true); }));
        }
        for (int i = 0; i < 40; ++i) {
            const QPointF at(static_cast<double>(timeline.view().gutter + 5 + static_cast<int>(random() % 1500)),
                             static_cast<double>(random() % 1000));
            cases[2].ms.push_back(frame_ms(timeline, [&] {
                QMouseEvent move(QEvent::MouseMove, QPointF(std::min<double>(at.x(), right), at.y()), at, Qt::NoButton, Qt::NoButton,
                                 Qt::NoModifier);
                QCoreApplication::sendEvent(timeline.viewport(), &move);
            }));
        }
    }
    return cases;
}

/// Selecting kernels all over the capture until their chain is lit.
Case selections(TimelineWidget& timeline, Session& session, const LoadedCapture& capture, const std::string& what) {
    Case out{what + " select a kernel", {}};
    std::mt19937_64 random(5);
    std::vector<const Lane*> lanes;
    for (const TrackLanes& track : capture.index->tracks()) {
        if (track.track.kind == TrackKind::device && !track.lanes.empty()) lanes.push_back(&track.lanes.front());
    }
    for (int i = 0; i < 100 && !lanes.empty(); ++i) {
        const Lane& lane = *lanes[random() % lanes.size()];
        const SpanPlace place{&lane, random() % lane.size()};
        session.set_range(framed(place.range(), 0.02), true);
        timeline.viewport()->repaint();
        out.ms.push_back(frame_ms(timeline, [&] { session.select_span(place.id()); }));
    }
    session.select_span(std::nullopt);
    return out;
}

void add(Report& report, const Case& measured, double limit) {
    if (measured.ms.empty()) return;
    report.add({measured.name + " P50", percentile(measured.ms, 0.50), "ms", limit, std::nullopt});
    // The goals are milliseconds of a quiet machine: given as values, with the limit in the row above.
    report.add({measured.name + " P95", percentile(measured.ms, 0.95), "ms", std::nullopt, kGoalP95});
    report.add({measured.name + " P99", percentile(measured.ms, 0.99), "ms", std::nullopt, kGoalP99});
}

}  // namespace

int main(int argc, char** argv) {
    qputenv("QT_QPA_PLATFORM", "offscreen");
    QApplication application(argc, argv);
    apply_theme(application, Theme::light);
    bool json = false;
    std::string path;
    for (int i = 1; i < argc; ++i) {
        if (std::string_view(argv[i]) == "--json")
            json = true;
        else
            path = argv[i];
    }
    Session session;
    TimelineWidget timeline(session);
    timeline.resize(1920, 1080);
    timeline.show();
    QCoreApplication::processEvents();

    Report report("bench_gui", json);
    const double limit = bare_frame(timeline.font());
    report.add({"bare frame: 12,000 rectangles, 600 labels", limit, "ms", std::nullopt, std::nullopt});
    const QTemporaryDir folder;
    const auto synthetic = synthetic_capture(folder);
    if (!synthetic) {
        std::fprintf(stderr, "bench_gui: the synthetic capture could not be made in %s\n", qPrintable(folder.path()));
        return 4;
    }
    session.set_capture(synthetic);
    const auto [first, last] = timeline.row_layout().visible(0, timeline.view().height);
    report.add({"10 M: rows in sight", static_cast<double>(last - first), "rows", std::nullopt, std::nullopt});
    for (const Case& c : journeys(timeline, session, "10 M")) add(report, c, limit);
    session.close_capture();
    if (!path.empty()) {
        const double start = now();
        const auto capture = read_capture(path);
        if (!capture) return 3;
        report.add({"capture: open and index", (now() - start) * 1e3, "ms", std::nullopt, std::nullopt});
        session.set_capture(capture);
        for (const Case& c : journeys(timeline, session, "capture")) add(report, c, limit);
        add(report, selections(timeline, session, *capture, "capture"), limit);
    }
    report.print();
    return 0;
}
