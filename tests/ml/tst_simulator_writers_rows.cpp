// What single rows of a trace say, beside name and time: compared with rows of real traces and exports.
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <nlohmann/json.hpp>

#include "core/sql.h"
#include "ml/simulator/writers/device_ranges.h"
#include "ml/simulator/writers/gpu_facts.h"
#include "tests/ml/writer_scene.h"
#include "tests/support/imported_trace.h"
#include "tests/support/made_export.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::simulator::test::kSceneEnd;
using faultline::simulator::test::kSceneStart;
using faultline::simulator::test::WriterScene;
using nlohmann::json;

namespace {

/// A folder with the files of these events.
struct Written {
    QTemporaryDir folder;
    std::vector<std::string> files;

    Written(WriterScene& scene, TraceFormat format, const std::vector<Event>& events) {
        auto writer = TraceWriter::open({folder.path().toStdString(), format, false, kSceneStart}, scene.options, scene.topology, scene.names);
        if (!writer) return;
        for (const Event& event : events) (*writer)->event(event);
        if (auto done = (*writer)->finish(kSceneEnd)) files = *done;
    }
    [[nodiscard]] std::string path(std::size_t file = 0) const { return folder.path().toStdString() + "/" + files.at(file); }
    /// The complete events of a category.
    [[nodiscard]] std::vector<json> rows(std::string_view category) const {
        std::vector<json> found;
        const json trace = json::parse(faultline::test::read_inflated(path()));
        for (const json& e : trace["traceEvents"])
            if (e.value("ph", "") == "X" && e.value("cat", "") == category) found.push_back(e);
        return found;
    }
    /// The rows of a query as text: values by commas, rows by blanks.
    [[nodiscard]] QString ask(const std::string& query, int columns) const {
        QStringList rows;
        auto db = sql::Connection::open(path(), sql::OpenMode::read_only);
        if (!db) return QStringLiteral("no database");
        auto statement = db->prepare(query);
        if (!statement) return QString::fromStdString(statement.error().sentence);
        while (statement->step().value_or(false)) {
            QStringList values;
            for (int i = 0; i < columns; ++i) values << QString::fromStdString(std::string(statement->text(i)));
            rows << values.join(QLatin1Char(','));
        }
        return rows.join(QLatin1Char(' '));
    }
};

Event call(WriterScene& scene, TimeNs at, TimeNs length, const char* name, std::uint32_t correlation, std::uint32_t around = 0) {
    Event e = scene.host(EventKind::runtime_call, 0, at, length, name);
    e.correlation = correlation;
    e.around = around;
    return e;
}

Event range(WriterScene& scene, TimeNs at, TimeNs length, const char* name, std::uint32_t id) {
    Event e = scene.host(EventKind::range, 0, at, length, name);
    e.external = id;
    return e;
}

Event kernel(WriterScene& scene, TimeNs at, TimeNs length, std::uint32_t correlation, std::uint32_t around, std::uint16_t stream = 0) {
    Event e = scene.work(EventKind::kernel, 0, at, length, "k", correlation);
    e.around = around;
    e.stream = StreamIndex{stream};
    return e;
}

/// A second stream of the first process.
void add_stream(WriterScene& scene) { scene.topology.streams.push_back({0, 23}); }

/// One step with a range inside it, whose work runs when both are over; one range launches nothing, one kernel belongs to none.
std::vector<Event> step_with_ranges(WriterScene& scene) {
    std::vector<Event> all{call(scene, 1'010, 5, "cudaLaunchKernel", 1, 7), call(scene, 1'110, 5, "cudaLaunchKernel", 2, 8),
                           range(scene, 1'100, 50, "forward", 8),           call(scene, 1'210, 5, "cudaGraphLaunch", 3, 7),
                           range(scene, 1'300, 50, "nothing launched", 9),  range(scene, 1'000, 400, "step", 7),
                           call(scene, 1'500, 5, "cudaLaunchKernel", 4)};
    for (const Event& work : {kernel(scene, 2'000, 100, 1, 7), kernel(scene, 2'200, 100, 2, 8), kernel(scene, 2'400, 100, 3, 7),
                              kernel(scene, 2'450, 200, 3, 7, 2), kernel(scene, 2'600, 100, 3, 7), kernel(scene, 2'800, 100, 4, 0)})
        all.push_back(work);
    return all;
}

}  // namespace

class SimulatorWriterRows : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void framesNameTheFrameAroundThem();
    void kernelsFillProcessorsAsKinetoSays();
    void occupancyIsThatOfRealTraces_data();
    void occupancyIsThatOfRealTraces();
    void annotationsAreProjectedOnStreams();
    void projectedAnnotationsEndWithTheirWork();
    void projectedAnnotationsTakeNoMemoryThatGrows();
    void waitsAreRowsInsideTheirCalls_data();
    void waitsAreRowsInsideTheirCalls();
    void numbersHaveTheirWords();
};

void SimulatorWriterRows::framesNameTheFrameAroundThem() {
    WriterScene scene;
    Event outer = scene.host(EventKind::python, 0, 1'000, 900, "vllm/v1/worker/gpu_worker.py(534): execute_model");
    outer.external = 1;
    Event inner = scene.host(EventKind::python, 0, 1'100, 300, "nn.Module: LlamaDecoderLayer_17");
    inner.external = 2;
    inner.around = 1;
    Event other = scene.host(EventKind::python, 0, 1'500, 300, "nn.Module: without a number");
    other.external = 3;
    other.around = 1;
    const Written written(scene, TraceFormat::kineto, {inner, other, outer});
    const std::string text = faultline::test::read_inflated(written.path());
    // As k01 has it: "Python parent id": 42030, "Python id": 42166, "Python module id": 0, "Ev Idx": 64560
    QVERIFY(text.find("\"Python parent id\": 1, \"Python id\": 2, \"Python module id\": 17, \"Ev Idx\": ") != std::string::npos);
    QVERIFY(text.find("\"Python parent id\": 1, \"Python id\": 3, \"Ev Idx\": ") != std::string::npos);
    QVERIFY(text.find("\"Python parent id\": null, \"Python id\": 1, \"Ev Idx\": ") != std::string::npos);
    const auto trace = faultline::test::import_trace_file(written.path());
    QCOMPARE(trace->ledger.totals().dropped, std::uint64_t{0});
    const TrackBuffer* const track = trace->holder("nn.Module: LlamaDecoderLayer_17");
    QVERIFY(track != nullptr);
    const auto at = static_cast<std::uint32_t>(trace->find(*track, "nn.Module: LlamaDecoderLayer_17"));
    QCOMPARE(track->get(at, Column::python_parent), std::int64_t{1});
    QCOMPARE(track->get(at, Column::python_module), std::int64_t{17});
}

void SimulatorWriterRows::kernelsFillProcessorsAsKinetoSays() {
    WriterScene scene;
    Event small = kernel(scene, 1'000, 10, 1, 0), large = kernel(scene, 2'000, 10, 2, 0), reduction = kernel(scene, 3'000, 10, 3, 0);
    small.grid = 3;
    large.grid = 17'888;
    reduction.grid = 132;
    reduction.block = 512;
    reduction.name = scene.names.intern("triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0");
    const Written written(scene, TraceFormat::kineto, {small, large, reduction});
    const std::string text = faultline::test::read_inflated(written.path());
    // Both rows stand in real traces of an H100 (k01, k12), the second with the noise of single precision.
    QVERIFY(text.find("\"blocks per SM\": 0.022727, \"warps per SM\": 0.090909,") != std::string::npos);
    QVERIFY(text.find("\"blocks per SM\": 135.515152, \"warps per SM\": 542.060608,") != std::string::npos);
    QVERIFY(text.find("\"registers per thread\": 29, \"shared memory\": 64,") != std::string::npos);
    const std::vector<json> rows = written.rows("kernel");
    QCOMPARE(rows.size(), std::size_t{3});
    QCOMPARE(rows[0]["args"]["est. achieved occupancy %"].get<int>(), 0);
    QCOMPARE(rows[2]["args"]["est. achieved occupancy %"].get<int>(), 25);
}

void SimulatorWriterRows::occupancyIsThatOfRealTraces_data() {
    QTest::addColumn<int>("processors");
    QTest::addColumn<QList<int>>("kernel");  // registers, shared memory, grid, block
    QTest::addColumn<int>("percent");
    QTest::newRow("k12: fills the device") << 132 << QList<int>{16, 0, 17'888, 128} << 100;
    QTest::newRow("k01: one block") << 132 << QList<int>{16, 4, 1, 1024} << 0;
    QTest::newRow("k01: triton, large") << 132 << QList<int>{29, 64, 1'000, 512} << 100;
    QTest::newRow("k12: flash, by registers") << 132 << QList<int>{255, 49'152, 2'000, 128} << 13;
    QTest::newRow("k18: gemm that asks for shared memory") << 132 << QList<int>{168, 231'424, 112, 384} << 0;
    QTest::newRow("k25: a third") << 80 << QList<int>{30, 0, 424, 128} << 33;
    QTest::newRow("k25: half rounded down by single precision") << 80 << QList<int>{16, 0, 288, 128} << 22;
    QTest::newRow("k26: three blocks by registers") << 108 << QList<int>{40, 400, 512, 512} << 75;
}

void SimulatorWriterRows::occupancyIsThatOfRealTraces() {
    QFETCH(int, processors);
    QFETCH(QList<int>, kernel);
    QFETCH(int, percent);
    GpuFacts gpu = gpu_facts("h100");
    gpu.processors = processors;
    const auto number = [&](int at) { return static_cast<std::uint32_t>(kernel[at]); };
    QCOMPARE(static_cast<int>(occupancy_percent(gpu, number(0), number(1), number(2), number(3))), percent);
}

void SimulatorWriterRows::annotationsAreProjectedOnStreams() {
    WriterScene scene;
    add_stream(scene);
    const Written written(scene, TraceFormat::kineto, step_with_ranges(scene));
    const std::vector<json> rows = written.rows("gpu_user_annotation");
    QCOMPARE(rows.size(), std::size_t{3});
    // As Kineto writes them (k09): the name and the id of the annotation, nothing else; the innermost one has the work.
    for (const json& row : rows) QCOMPARE(row["args"].size(), std::size_t{1});
    const auto told = [&](std::size_t at) {
        return QString::fromStdString(rows[at]["name"].get<std::string>() + " " + rows[at]["args"]["External id"].dump() + " " + rows[at]["pid"].dump() +
                                      " " + rows[at]["tid"].dump());
    };
    QCOMPARE(told(0), QStringLiteral("step 7 0 7"));
    QCOMPARE(told(1), QStringLiteral("step 7 0 23"));
    QCOMPARE(told(2), QStringLiteral("forward 8 0 7"));
    // A nanosecond before the first piece of work, one behind the last.
    QCOMPARE(rows[0]["dur"].get<double>(), 0.702);
    QCOMPARE(rows[1]["dur"].get<double>(), 0.202);
    QCOMPARE(rows[2]["dur"].get<double>(), 0.102);
}

void SimulatorWriterRows::projectedAnnotationsEndWithTheirWork() {
    WriterScene scene;
    add_stream(scene);
    const Written written(scene, TraceFormat::kineto, step_with_ranges(scene));
    const auto trace = faultline::test::import_trace_file(written.path());
    QCOMPARE(trace->ledger.totals().dropped, std::uint64_t{0});
    QCOMPARE(trace->spans(SpanKind::device_range), std::uint64_t{3});
    QCOMPARE(trace->ledger.totals().repaired, std::uint64_t{3});  // the margin, as in every real trace
    const NodeClock& clock = scene.topology.nodes[0].clock;
    std::vector<std::pair<TimeNs, TimeNs>> times;
    for (const TrackBuffer& track : trace->source.tracks())
        for (std::uint32_t i = 0; i < track.size(); ++i)
            if (track.kinds[i] == SpanKind::device_range) times.emplace_back(track.starts[i] + trace->source.clock_base_ns, track.durations[i]);
    std::sort(times.begin(), times.end());
    const std::vector<std::pair<TimeNs, TimeNs>> expected{
        {clock.at(kSceneStart + 2'000), 700}, {clock.at(kSceneStart + 2'200), 100}, {clock.at(kSceneStart + 2'450), 200}};
    QVERIFY(times == expected);
    // Ranges of the host are as many as before: a step is counted once.
    QCOMPARE(trace->spans(SpanKind::range), std::uint64_t{3});
}

void SimulatorWriterRows::projectedAnnotationsTakeNoMemoryThatGrows() {
    DeviceRanges ranges;
    std::vector<std::uint32_t> told;
    const auto tell = [&](std::uint32_t id, std::string_view name, const DeviceRanges::Stretch& stretch) {
        told.push_back(id);
        QCOMPARE(name, std::to_string(id));
        QCOMPARE(stretch.end - stretch.start, TimeNs{30});
    };
    constexpr std::uint32_t kMany = 5'000, kBehind = 300, kEndless = 1'000'000;
    ranges.launched(kEndless);  // never over
    for (std::uint32_t id = 1; id <= kMany; ++id) {
        ranges.launched(id);
        ranges.ended(id, std::to_string(id));
        ranges.ended(2 * kEndless, "launched nothing");
        if (id > 2) {  // the device is two ranges behind
            ranges.worked(id - 2, StreamIndex{0}, id * 100, id * 100 + 10);
            ranges.worked(id - 2, StreamIndex{0}, id * 100 + 20, id * 100 + 30);
        }
        ranges.tell_done(tell);
        QVERIFY(told.size() + kBehind > id);
    }
    ranges.tell_done(tell, true);
    QCOMPARE(told.size(), std::size_t{kMany - 2});
    QVERIFY(std::is_sorted(told.begin(), told.end()));
}

void SimulatorWriterRows::waitsAreRowsInsideTheirCalls_data() {
    QTest::addColumn<int>("format");
    QTest::addColumn<QString>("rows");
    // Type, stream, event, correlation; of event, stream that waits, stream, device, and a call that takes no time. n01, n02, n06; n12, n16.
    QTest::newRow("nsys") << static_cast<int>(TraceFormat::nsys)
                          << QStringLiteral("1,4294967295,18,1 2,23,41,2 3,7,4294967295,3 4,4294967295,4294967295,4 1,4294967295,18,5");
    QTest::newRow("nsys, older") << static_cast<int>(TraceFormat::nsys_older)
                                 << QStringLiteral("2,4294967295,18,1 3,23,41,2 3,7,4294967295,3 1,4294967295,4294967295,4 2,4294967295,18,5");
}

void SimulatorWriterRows::waitsAreRowsInsideTheirCalls() {
    QFETCH(int, format);
    QFETCH(QString, rows);
    WriterScene scene;
    add_stream(scene);
    Event waits = call(scene, 2'000'000, 1'100, "cudaStreamWaitEvent", 2);
    waits.stream = StreamIndex{2};
    const Written written(scene, static_cast<TraceFormat>(format),
                          {call(scene, 1'000'000, 50'000, "cudaEventSynchronize", 1), waits, call(scene, 3'000'000, 90'000, "cudaStreamSynchronize", 3),
                           call(scene, 4'000'000, 90'000, "cudaDeviceSynchronize", 4), call(scene, 5'000'000, 0, "cudaEventQuery", 5),
                           call(scene, 6'000'000, 4'000, "cudaLaunchKernel", 6)});
    QCOMPARE(written.ask("SELECT syncType, streamId, eventId, correlationId FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION ORDER BY start", 4), rows);
    QCOMPARE(written.ask("SELECT count(*), sum(w.start >= r.start AND w.start <= w.\"end\" AND w.\"end\" <= r.\"end\"), min(w.deviceId) "
                         "FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION w JOIN CUPTI_ACTIVITY_KIND_RUNTIME r "
                         "ON r.correlationId = w.correlationId AND (r.globalTid & ~0xFFFFFF) = w.globalPid",
                         3),
             QStringLiteral("5,5,0"));
    QCOMPARE(written.ask("SELECT w.start - r.start, r.\"end\" - w.\"end\" FROM CUPTI_ACTIVITY_KIND_SYNCHRONIZATION w "
                         "JOIN CUPTI_ACTIVITY_KIND_RUNTIME r ON r.correlationId = w.correlationId WHERE w.correlationId = 3",
                         2),
             QStringLiteral("660,710"));
    const auto trace = faultline::test::import_export_file(written.path());
    QCOMPARE(trace->ledger.totals().dropped, std::uint64_t{0});
    QCOMPARE(trace->spans(SpanKind::sync), std::uint64_t{5});
}

void SimulatorWriterRows::numbersHaveTheirWords() {
    WriterScene scene;
    const Written newer(scene, TraceFormat::nsys, scene.events()), older(scene, TraceFormat::nsys_older, scene.events());
    // The lists of n01 (schema 3.25) and n21 (3.1).
    QCOMPARE(newer.ask("SELECT count(*), max(id) FROM ENUM_NSYS_EVENT_CLASS", 2), QStringLiteral("99,111"));
    QCOMPARE(older.ask("SELECT count(*), max(id) FROM ENUM_NSYS_EVENT_CLASS", 2), QStringLiteral("85,96"));
    QCOMPARE(newer.ask("SELECT count(*), max(id) FROM ENUM_NSYS_EVENT_TYPE", 2), QStringLiteral("155,154"));
    QCOMPARE(older.ask("SELECT count(*), max(id) FROM ENUM_NSYS_EVENT_TYPE", 2), QStringLiteral("141,140"));
    const std::string class_83 = "SELECT name, label FROM ENUM_NSYS_EVENT_CLASS WHERE id IN (62, 84)";
    QCOMPARE(newer.ask(class_83, 2), QStringLiteral("TRACE_PROCESS_EVENT_SLI_DEPRECATED,SLI (Deprecated) TRACE_PROCESS_EVENT_NVENCODE_START,NVENCODE start"));
    QCOMPARE(older.ask(class_83, 2), QStringLiteral("TRACE_PROCESS_EVENT_SLI,SLI TRACE_PROCESS_EVENT_NVENC_START,NVENC start"));
    QCOMPARE(older.ask("SELECT name, label FROM ENUM_NSYS_EVENT_TYPE WHERE id IN (59, 107, 124)", 2),
             QStringLiteral("NvtxPushPopRange,NvtxPushPopRange SLIEvent,SLIEvent NVENC,NVENC"));
    QCOMPARE(newer.ask("SELECT label FROM ENUM_CUPTI_SYNC_TYPE ORDER BY id", 1),
             QStringLiteral("Unknown Event sync Stream wait sync Stream sync Context sync"));
    QCOMPARE(newer.ask("SELECT count(*) FROM ENUM_CUDA_KERNEL_LAUNCH_TYPE", 1), QStringLiteral("4"));
    QCOMPARE(older.ask("SELECT count(*) FROM ENUM_CUDA_KRENEL_LAUNCH_TYPE", 1), QStringLiteral("4"));
    // Every number that is written has a word.
    for (const Written* export_ : {&newer, &older}) {
        QCOMPARE(export_->ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_MEMCPY WHERE copyKind NOT IN (SELECT id FROM ENUM_CUDA_MEMCPY_OPER) OR srcKind "
                              "NOT IN (SELECT id FROM ENUM_CUDA_MEM_KIND) OR dstKind NOT IN (SELECT id FROM ENUM_CUDA_MEM_KIND)",
                              1),
                 QStringLiteral("0"));
        QCOMPARE(export_->ask("SELECT count(*) FROM NVTX_EVENTS WHERE eventType NOT IN (SELECT id FROM ENUM_NSYS_EVENT_TYPE)", 1), QStringLiteral("0"));
        QCOMPARE(export_->ask("SELECT count(*) FROM CUPTI_ACTIVITY_KIND_RUNTIME WHERE eventClass NOT IN (SELECT id FROM ENUM_NSYS_EVENT_CLASS)", 1),
                 QStringLiteral("0"));
        QCOMPARE(export_->ask("SELECT count(DISTINCT graphNodeId), count(graphNodeId) FROM CUPTI_ACTIVITY_KIND_KERNEL", 2), QStringLiteral("3,3"));
    }
}

QTEST_GUILESS_MAIN(SimulatorWriterRows)
#include "tst_simulator_writers_rows.moc"
