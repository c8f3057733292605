// Trace files and stack samples: written, then read by the importers that read real ones.
#include <QElapsedTimer>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <bit>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>

#include "core/simulated.h"
#include "ml/simulator/writers/sample_writer.h"
#include "tests/ml/writer_scene.h"
#include "tests/support/imported_trace.h"
#include "tests/support/made_export.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::simulator::test::kSceneEnd;
using faultline::simulator::test::kSceneStart;
using faultline::simulator::test::WriterScene;
using faultline::test::ImportedTrace;

namespace {

struct Written {
    QTemporaryDir folder;
    std::vector<std::string> files;
    std::uint64_t events = 0;
    [[nodiscard]] std::string path(const std::string& name) const { return folder.path().toStdString() + "/" + name; }
};

std::unique_ptr<Written> write(WriterScene& scene, TraceFormat format, bool gzip) {
    auto written = std::make_unique<Written>();
    auto writer =
        TraceWriter::open({written->folder.path().toStdString(), format, gzip, kSceneStart}, scene.options, scene.topology, scene.names);
    if (!writer) return written;
    scene.write(**writer);
    if (auto files = (*writer)->finish(kSceneEnd)) written->files = *files;
    written->events = (*writer)->written();
    return written;
}

std::unique_ptr<ImportedTrace> read(const std::string& path, TraceFormat format) {
    return format == TraceFormat::kineto ? faultline::test::import_trace_file(path) : faultline::test::import_export_file(path);
}

/// All start times and lengths of spans of a kind, by the wall clock of the node.
std::multiset<std::pair<TimeNs, TimeNs>> times(const ImportedTrace& trace, SpanKind kind) {
    std::multiset<std::pair<TimeNs, TimeNs>> all;
    for (const TrackBuffer& track : trace.source.tracks())
        for (std::uint32_t i = 0; i < track.size(); ++i)
            if (track.kinds[i] == kind) all.emplace(track.starts[i] + trace.source.clock_base_ns, track.durations[i]);
    return all;
}

std::multiset<std::pair<TimeNs, TimeNs>> expected(WriterScene& scene, std::uint16_t process, std::set<EventKind> kinds) {
    std::multiset<std::pair<TimeNs, TimeNs>> all;
    const NodeClock& clock = scene.topology.node_of(ProcessIndex{process}).clock;
    for (const Event& e : scene.events()) {
        if (e.process != ProcessIndex{process} || !kinds.contains(e.kind) || e.start < kSceneStart) continue;
        if (e.kind == EventKind::range && e.name == Name::none && e.text.empty()) continue;
        all.emplace(clock.at(e.start), clock.at(e.start + e.duration) - clock.at(e.start));
    }
    return all;
}

/// Device work whose correlation no call has.
int unbound(const ImportedTrace& trace) {
    std::set<std::int64_t> calls;
    int without = 0;
    for (const bool device : {false, true})
        for (const TrackBuffer& track : trace.source.tracks())
            for (std::uint32_t i = 0; i < track.size(); ++i) {
                const std::int64_t id = track.get(i, Column::correlation);
                if (!device && is_api_call(track.kinds[i])) calls.insert(id);
                if (device && is_device_work(track.kinds[i]) && !calls.contains(id)) ++without;
            }
    return without;
}

QByteArray bytes(const std::string& path) {
    QFile file(QString::fromStdString(path));
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

}  // namespace

class SimulatorWriters : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void everyFormatIsReadBackWhole_data();
    void everyFormatIsReadBackWhole();
    void kinetoTellsWhatOnlyItTells();
    void nsysMarksCutRangesAndRegistersNames();
    void sameEventsGiveTheSameBytes();
    void aHostProcessGetsAFileWhenItHasRanges();
    void fullDisksAndMissingFoldersAreTold();
    void stackSamplesAreDumpsWithTimes();
    void speed();
};

void SimulatorWriters::everyFormatIsReadBackWhole_data() {
    QTest::addColumn<int>("format");
    QTest::addColumn<bool>("gzip");
    QTest::newRow("kineto") << static_cast<int>(TraceFormat::kineto) << false;
    QTest::newRow("kineto, gzip") << static_cast<int>(TraceFormat::kineto) << true;
    QTest::newRow("nsys") << static_cast<int>(TraceFormat::nsys) << false;
    QTest::newRow("nsys, older") << static_cast<int>(TraceFormat::nsys_older) << false;
}

void SimulatorWriters::everyFormatIsReadBackWhole() {
    QFETCH(int, format);
    QFETCH(bool, gzip);
    const auto kind = static_cast<TraceFormat>(format);
    WriterScene scene;
    const auto written = write(scene, kind, gzip);
    QCOMPARE(written->files.size(), std::size_t{2});
    QCOMPARE(written->events, std::uint64_t{2 * 15 + 1} + (kind == TraceFormat::nsys_older ? 0u : 2u));
    const auto writer = TraceWriter::open({written->folder.path().toStdString() + "/none", kind, gzip, kSceneStart}, scene.options,
                                          scene.topology, scene.names);
    QVERIFY(!writer);  // no such folder
    for (std::uint16_t p = 0; p < 2; ++p) {
        const auto trace = read(written->path(written->files[p]), kind);
        QVERIFY2(trace->result.has_value(), trace->result ? "" : trace->result.error().sentence.c_str());
        QCOMPARE(trace->ledger.totals().dropped, std::uint64_t{0});
        // A range that the end cut is what every real export has, and the importer says so.
        const std::uint64_t cut = kind != TraceFormat::kineto && p == 0 ? 1 : 0;
        QCOMPARE(trace->ledger.totals().repaired, cut);
        for (const LedgerEntry& entry : trace->ledger.entries()) QVERIFY2(entry.code == "nsys.open-range", entry.code.c_str());
        QVERIFY(is_simulated(trace->source.health));
        QVERIFY(trace->source.has_wall_clock);
        QCOMPARE(trace->source.source.host, scene.topology.nodes[p].host);
        QCOMPARE(trace->source.source.rank.value_or(-1), std::int64_t{p});
        QCOMPARE(unbound(*trace), 0);
        QVERIFY(times(*trace, SpanKind::kernel) == expected(scene, p, {EventKind::kernel}));
        QVERIFY(times(*trace, SpanKind::memory_copy) == expected(scene, p, {EventKind::memory_copy}));
        QVERIFY(times(*trace, SpanKind::memory_set) == expected(scene, p, {EventKind::memory_set}));
        QVERIFY(times(*trace, SpanKind::runtime_call) == expected(scene, p, {EventKind::runtime_call}));
        QVERIFY(times(*trace, SpanKind::driver_call) == expected(scene, p, {EventKind::driver_call}));
        if (kind == TraceFormat::kineto) {
            QVERIFY(times(*trace, SpanKind::range) == expected(scene, p, {EventKind::range}));
            QVERIFY(times(*trace, SpanKind::op) == expected(scene, p, {EventKind::op}));
        } else {
            QVERIFY(times(*trace, SpanKind::range) == expected(scene, p, {EventKind::range, EventKind::op}));
        }
        QVERIFY(trace->holder("execute_context_1(9)_generation_2(2) \"\\ \xC3\xBC\n.") != nullptr);
        QVERIFY(trace->holder("void ns::gemm<float, \"x\">(float*)") != nullptr);
        QVERIFY(trace->holder("Memcpy HtoD (Pageable -> Device)") != nullptr);
        QVERIFY(trace->holder("Memset (Device)") != nullptr);
        QVERIFY(trace->holder("cudaLaunchKernel") != nullptr);
        QVERIFY(trace->holder("before the capture") == nullptr);
        const TrackBuffer* const nodes = trace->holder("triton_poi_fused_add_0");
        QVERIFY(nodes != nullptr);
        QCOMPARE(nodes->get(static_cast<std::uint32_t>(trace->find(*nodes, "triton_poi_fused_add_0")), Column::graph_node),
                 std::int64_t{1});
        QCOMPARE(trace->spans(SpanKind::counter), std::uint64_t{p == 0 && kind != TraceFormat::nsys_older ? 2u : 0u});
        if (p == 0 && kind != TraceFormat::nsys_older) {
            const TrackBuffer* const power = trace->holder("GPU 0: GPU power [W]");
            QVERIFY(power != nullptr);
            QCOMPARE(std::bit_cast<double>(power->get(0, Column::value)), 412.5);
            QVERIFY(times(*trace, SpanKind::counter).contains({scene.topology.nodes[0].clock.at(kSceneStart + 2'000'000), 0}));
        }
    }
}

void SimulatorWriters::kinetoTellsWhatOnlyItTells() {
    WriterScene scene;
    const auto written = write(scene, TraceFormat::kineto, true);
    QCOMPARE(written->files[0],
             std::string("node-a_4242.") + std::to_string(scene.topology.nodes[0].clock.at(kSceneStart)) + ".pt.trace.json.gz");
    const nlohmann::json trace = nlohmann::json::parse(faultline::test::read_inflated(written->path(written->files[0])), nullptr, false);
    QVERIFY(!trace.is_discarded());
    QCOMPARE(trace["faultline_simulated"].get<int>(), 1);
    QCOMPARE(trace["distributedInfo"]["world_size"].get<int>(), 2);
    int starts = 0, ends = 0, unfinished = 0, collectives = 0;
    for (const nlohmann::json& e : trace["traceEvents"]) {
        starts += e["ph"] == "s";
        ends += e["ph"] == "f";
        if (e["ph"] != "X") continue;
        unfinished += e["args"].value("finished", true) ? 0 : 1;
        if (e["args"].contains("Collective name")) {
            ++collectives;
            QCOMPARE(e["args"]["Collective name"].get<std::string>(), std::string("allreduce"));
            QCOMPARE(e["args"]["Group size"].get<int>(), 2);
            QCOMPARE(e["args"]["In msg nelems"].get<int>(), 2048);
        }
        if (e["name"] == "wait_output") QVERIFY(!e["args"].value("finished", true));
    }
    QCOMPARE(starts, 5);
    QCOMPARE(ends, 7);
    QCOMPARE(unfinished, 1);
    QCOMPARE(collectives, 1);
}

void SimulatorWriters::nsysMarksCutRangesAndRegistersNames() {
    WriterScene scene;
    const auto written = write(scene, TraceFormat::nsys, false);
    const auto trace = faultline::test::import_export_file(written->path("node-a.sqlite"));
    const TrackBuffer* const track = trace->holder("wait_output");
    QVERIFY(track != nullptr);
    const auto at = static_cast<std::uint32_t>(trace->find(*track, "wait_output"));
    QVERIFY((track->get(at, Column::flags) & flag_unfinished) != 0);
    QVERIFY(track->get(static_cast<std::uint32_t>(trace->find(*track, "prepare_inputs")), Column::domain) != kNull);
    QCOMPARE(track->get(static_cast<std::uint32_t>(trace->find(*track, "aten::mm")), Column::domain), kNull);
    bool named = false;
    for (const Process& process : trace->source.processes()) named = named || (process.pid == 4242 && process.name == "VLLM::Worker_TP0");
    QVERIFY(named);
}

void SimulatorWriters::sameEventsGiveTheSameBytes() {
    for (const TraceFormat format : {TraceFormat::kineto, TraceFormat::nsys, TraceFormat::nsys_older}) {
        WriterScene first, second;
        const auto a = write(first, format, true), b = write(second, format, true);
        QCOMPARE(a->files, b->files);
        for (const std::string& name : a->files) {
            QVERIFY(bytes(a->path(name)).size() > 1000);
            QVERIFY(bytes(a->path(name)) == bytes(b->path(name)));
        }
    }
}

void SimulatorWriters::aHostProcessGetsAFileWhenItHasRanges() {
    WriterScene scene;
    const QTemporaryDir folder;
    auto writer = TraceWriter::open({folder.path().toStdString(), TraceFormat::kineto, false, kSceneStart}, scene.options, scene.topology,
                                    scene.names);
    QVERIFY(writer);
    Event range = scene.host(EventKind::range, 2, 1000, 500, "tokenize");
    range.thread = ThreadIndex{3};
    const std::string name = (*writer)->file_of(ProcessIndex{2});
    (*writer)->event(range);
    const auto files = (*writer)->finish(kSceneEnd);
    QVERIFY(files);
    QCOMPARE(files->size(), std::size_t{3});
    QCOMPARE(files->back(), name);
    const auto trace = faultline::test::import_trace_file(folder.path().toStdString() + "/" + name);
    QVERIFY(trace->holder("tokenize") != nullptr);
    QVERIFY(!trace->source.source.rank);
    WriterScene silent;
    const auto written = write(silent, TraceFormat::kineto, false);
    QCOMPARE(written->files.size(), std::size_t{2});
}

void SimulatorWriters::fullDisksAndMissingFoldersAreTold() {
    WriterScene scene;
    for (const TraceFormat format : {TraceFormat::kineto, TraceFormat::nsys}) {
        const auto writer =
            TraceWriter::open({"/nonexistent/folder", format, false, kSceneStart}, scene.options, scene.topology, scene.names);
        QVERIFY(!writer);
        QVERIFY(writer.error().code == ErrorCode::unwritable_output);
    }
    if (!QFile::exists(QStringLiteral("/dev/full"))) QSKIP("no device that is always full");
    const QTemporaryDir folder;
    const std::string name = "node-a_4242." + std::to_string(scene.topology.nodes[0].clock.at(kSceneStart)) + ".pt.trace.json";
    std::filesystem::create_symlink("/dev/full", folder.path().toStdString() + "/" + name);
    auto writer = TraceWriter::open({folder.path().toStdString(), TraceFormat::kineto, false, kSceneStart}, scene.options, scene.topology,
                                    scene.names);
    QVERIFY(writer);
    for (int i = 0; i < 200; ++i) scene.write(**writer);
    const auto files = (*writer)->finish(kSceneEnd);
    QVERIFY(!files);
    QVERIFY(files.error().code == ErrorCode::unwritable_output);
    QVERIFY(files.error().sentence.find("disk is full") != std::string::npos);
}

void SimulatorWriters::stackSamplesAreDumpsWithTimes() {
    WriterScene scene;
    const QTemporaryDir folder;
    auto writer = SampleWriter::open(folder.path().toStdString(), scene.topology);
    QVERIFY(writer);
    const std::vector<std::string_view> frames{"step (vllm/v1/engine/core.py:40)", "weird \"name\" (<string>:1)", "native"};
    for (const TimeNs at : {TimeNs{1000}, TimeNs{10'001'000}}) {
        (*writer)->sample({kSceneStart + at, ThreadIndex{0}, true, true, frames});
        (*writer)->sample({kSceneStart + at, ThreadIndex{2}, false, false, frames});
        (*writer)->sample({kSceneStart + at, ThreadIndex{1}, true, true, {}});
    }
    const auto files = (*writer)->finish();
    QVERIFY(files);
    QCOMPARE(files->size(), std::size_t{2});
    const QList<QByteArray> lines = bytes(folder.path().toStdString() + "/" + files->front()).trimmed().split('\n');
    QCOMPARE(lines.size(), 2);
    for (int i = 0; i < 2; ++i) {
        const nlohmann::json dump = nlohmann::json::parse(lines[i].toStdString(), nullptr, false);
        QVERIFY(!dump.is_discarded());
        const TimeNs middle = (dump["t0"].get<TimeNs>() + dump["t1"].get<TimeNs>()) / 2;
        QCOMPARE(middle, scene.topology.nodes[0].clock.at(kSceneStart + 1000 + i * 10'000'000));
        QCOMPARE(dump["traces"].size(), std::size_t{2});
        const nlohmann::json& trace = dump["traces"][1];
        QCOMPARE(trace["pid"].get<int>(), 4242);
        QCOMPARE(trace["os_thread_id"].get<int>(), 4250);
        QCOMPARE(trace["owns_gil"].get<bool>(), false);
        QCOMPARE(trace["frames"][0]["short_filename"].get<std::string>(), std::string("vllm/v1/engine/core.py"));
        QCOMPARE(trace["frames"][0]["line"].get<int>(), 40);
        QCOMPARE(trace["frames"][1]["name"].get<std::string>(), std::string("weird \"name\""));
        QCOMPARE(trace["frames"][2]["name"].get<std::string>(), std::string("native"));
    }
}

void SimulatorWriters::speed() {
    for (const TraceFormat format : {TraceFormat::kineto, TraceFormat::nsys}) {
        WriterScene scene;
        const QTemporaryDir folder;
        const std::vector<Event> events = scene.events();
        if (format == TraceFormat::kineto)
            for (const int process : {0, 1})
                std::filesystem::create_symlink(
                    "/dev/null", folder.path().toStdString() + "/" + scene.topology.nodes[static_cast<std::size_t>(process)].host + "_" +
                                     std::to_string(process == 0 ? 4242 : 4343) + "." +
                                     std::to_string(scene.topology.nodes[static_cast<std::size_t>(process)].clock.at(kSceneStart)) +
                                     ".pt.trace.json");
        auto writer =
            TraceWriter::open({folder.path().toStdString(), format, false, kSceneStart}, scene.options, scene.topology, scene.names);
        QVERIFY(writer);
        QElapsedTimer timer;
        timer.start();
        const int rounds = format == TraceFormat::kineto ? 30'000 : 3'000;
        for (int i = 0; i < rounds; ++i)
            for (const Event& event : events) (*writer)->event(event);
        const std::uint64_t count = (*writer)->written();
        QVERIFY((*writer)->finish(kSceneEnd));
        const double seconds = static_cast<double>(timer.nsecsElapsed()) / 1e9;
        qInfo("%s: %.2f million events/s", format == TraceFormat::kineto ? "kineto to /dev/null" : "nsys",
              static_cast<double>(count) / 1e6 / seconds);
    }
}

QTEST_GUILESS_MAIN(SimulatorWriters)
#include "tst_simulator_writers.moc"
