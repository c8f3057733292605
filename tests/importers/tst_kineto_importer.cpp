// What the Kineto importer makes of events: rows, columns, clocks, pairs, flows, metadata, and what it says of bad ones.
#include <QTest>
#include <bit>

#include "../support/imported_trace.h"
#include "core/nesting.h"
#include "importers/kineto/trace_header.h"

using namespace faultline;
using namespace faultline::test;

namespace {

std::string trace(const std::string& events, const std::string& before = "", const std::string& after = "") {
    return "{" + before + "\"traceEvents\": [" + events + "]" + after + "}";
}

const HealthFinding* finding(const ImportedTrace& t, std::string_view code) {
    for (const HealthFinding& h : t.source.health)
        if (h.code == code) return &h;
    return nullptr;
}

constexpr const char* kKernel =
    R"({"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 12, "dur": 3, "args": {"device": 0, "stream": 7, "correlation": 5, "grid": [1, 1, 1]}})";
constexpr const char* kLaunch =
    R"({"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11, "ts": 10, "dur": 1, "args": {"cbid": 211, "correlation": 5}})";

}  // namespace

class TestKinetoImporter : public QObject {
    Q_OBJECT

private Q_SLOTS:
    // A million counter series took 1.6 GB: a track each.
    void very_many_counters_share_a_row() {
        std::string json = "[";
        for (int i = 0; i < 10'050; ++i)
            json += (i ? "," : "") + ("{'ph':'C','name':'c" + std::to_string(i) + "','pid':1,'ts':" + std::to_string(i) + ",'args':{'v':1}}");
        std::replace(json.begin(), json.end(), '\'', '"');
        const auto t = import_trace(json + "]");
        QVERIFY(t->result.has_value());
        QCOMPARE(t->ledger.totals().read, std::uint64_t{10'050});
        QCOMPARE(t->spans(SpanKind::counter), std::uint64_t{10'050});
        QCOMPARE(t->source.tracks().size(), std::size_t{10'001});
        QCOMPARE(t->count("kineto.many-counters"), std::uint64_t{50});
    }

    // A null or a number among the events also cost the event after it.
    void a_value_that_is_no_event_costs_only_itself() {
        const std::string event = "{'ph':'X','cat':'cpu_op','name':'a','pid':1,'tid':1,'ts':1,'dur':1}";
        std::string json = "{'traceEvents':[null," + event + ",null," + event + ", 5," + event + ",'x', [1, 2]," + event + ",true," + event +
                           ",false]}";
        std::replace(json.begin(), json.end(), '\'', '"');
        const auto t = import_trace(json);
        QVERIFY(t->result.has_value());
        QCOMPARE(t->ledger.totals().read, std::uint64_t{5});
        QCOMPARE(t->ledger.totals().dropped, std::uint64_t{7});
        QCOMPARE(t->ledger.entries().size(), std::size_t{1});
        QCOMPARE(t->count("kineto.no-object"), std::uint64_t{7});
    }

    void puts_rows_where_their_category_says_data() {
        QTest::addColumn<QString>("category");
        QTest::addColumn<int>("kind");
        QTest::addColumn<int>("track");
        const auto row = [](const char* category, SpanKind kind, TrackKind track) {
            QTest::newRow(category) << QString::fromLatin1(category) << static_cast<int>(kind) << static_cast<int>(track);
        };
        for (const char* const c : {"cpu_op", "Operator"}) row(c, SpanKind::op, TrackKind::host);
        row("user_annotation", SpanKind::range, TrackKind::host);
        row("python_function", SpanKind::python, TrackKind::host);
        for (const char* const c : {"cuda_runtime", "Runtime", "mtia_runtime", "glow_runtime", "xpu_runtime", "privateuse1_runtime"})
            row(c, SpanKind::runtime_call, TrackKind::host);
        for (const char* const c : {"cuda_driver", "xpu_driver", "privateuse1_driver"}) row(c, SpanKind::driver_call, TrackKind::host);
        for (const char* const c : {"kernel", "Kernel"}) row(c, SpanKind::kernel, TrackKind::device);
        for (const char* const c : {"gpu_memcpy", "Memcpy"}) row(c, SpanKind::memory_copy, TrackKind::device);
        for (const char* const c : {"gpu_memset", "Memset"}) row(c, SpanKind::memory_set, TrackKind::device);
        row("mtia_ccp_events", SpanKind::accelerator, TrackKind::device);
        row("gpu_user_annotation", SpanKind::device_range, TrackKind::device_ranges);
        for (const char* const c : {"cuda_sync", "xpu_sync", "cuda_event"}) row(c, SpanKind::sync, TrackKind::device_ranges);
        row("cuda_profiler_range", SpanKind::profiler_range, TrackKind::device_ranges);
        for (const char* const c : {"overhead", "Overhead"}) row(c, SpanKind::overhead, TrackKind::host);
        row("Trace", SpanKind::window, TrackKind::marks);
        row("hpu_op", SpanKind::op, TrackKind::host);
        for (const char* const c : {"ipc", "mtia_insight", "external_correlation", ""}) row(c, SpanKind::other, TrackKind::host);
    }
    void puts_rows_where_their_category_says() {
        QFETCH(QString, category);
        QFETCH(int, kind);
        QFETCH(int, track);
        const auto t = import_trace(trace("{\"ph\": \"X\", \"cat\": \"" + category.toStdString() +
                                          "\", \"name\": \"n\", \"pid\": 3, \"tid\": 4, \"ts\": 1, \"dur\": 2}"));
        QVERIFY(t->result.has_value());
        const TrackBuffer* const holder = t->holder("n");
        QVERIFY(holder != nullptr);
        QCOMPARE(static_cast<int>(holder->kinds[0]), kind);
        QCOMPARE(static_cast<int>(holder->track.kind), track);
        QCOMPARE(holder->starts[0], TimeNs{1000});
        QCOMPARE(holder->durations[0], TimeNs{2000});
        QCOMPARE(t->ledger.totals().read, std::uint64_t{1});
    }

    void device_rows_go_by_arguments() {
        const auto t = import_trace(trace(std::string(kLaunch) + "," + kKernel + "," +
                                          R"({"ph": "X", "cat": "kernel", "name": "by row", "pid": 2, "tid": "stream 9", "ts": 1, "dur": 1},
                                             {"ph": "X", "cat": "cuda_sync", "name": "Stream Sync", "pid": 0, "tid": 1000007, "ts": 1, "dur": 1, "args": {"device": 0, "stream": 7}})"));
        const TrackBuffer& k = *t->holder("k");
        QCOMPARE(k.track.stream, std::optional<std::int64_t>(7));
        QCOMPARE(k.get(0, Column::correlation), std::int64_t{5});
        QCOMPARE(t->args(k, 0), std::string(R"({"grid": [1, 1, 1]})"));
        QVERIFY(k.track.process.has_value() && *k.track.process == *t->holder("cudaLaunchKernel")->track.process);
        const TrackBuffer& other = *t->holder("by row");
        QCOMPARE(other.track.stream, std::optional<std::int64_t>(9));
        QCOMPARE(t->source.devices()[index_of(*other.track.device) - 1].ordinal, std::int64_t{2});
        QCOMPARE(t->holder("Stream Sync")->track.stream, std::optional<std::int64_t>(7));
    }

    void several_processes_leave_the_device_to_none() {
        const auto t = import_trace(trace(
            std::string(kLaunch) + "," +
            R"({"ph": "X", "cat": "cuda_runtime", "name": "x", "pid": 20, "tid": 21, "ts": 10, "dur": 1, "args": {"correlation": 5}},)" +
            kKernel));
        QVERIFY(!t->holder("k")->track.process.has_value());
    }

    void ids_of_rows_are_numbers_or_words() {
        const auto t = import_trace(trace(R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 5, "tid": "6", "ts": 1, "dur": 1},
            {"ph": "X", "cat": "cpu_op", "name": "b", "pid": "5", "tid": 6, "ts": 3, "dur": 1},
            {"ph": "X", "cat": "cpu_op", "name": "c", "pid": "words", "tid": "more words", "ts": 3, "dur": 1},
            {"ph": "X", "cat": "cpu_op", "name": "d", "pid": 0, "tid": 15514734831341844875, "ts": 3, "dur": 1},
            {"ph": "X", "cat": "cpu_op", "name": "e", "ts": 3, "dur": 1})"));
        QCOMPARE(t->holder("a"), t->holder("b"));
        QCOMPARE(t->source.processes()[1].pid_text, std::string("words"));
        QCOMPARE(t->source.threads()[2].tid_text, std::string("15514734831341844875"));
        QVERIFY(t->holder("e") != nullptr && t->holder("e") != t->holder("d"));
    }

    void clock_base_stands_before_or_behind_the_events() {
        const std::string event = R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 5, "tid": 6, "ts": 1.5, "dur": 1})";
        for (const auto& t : {import_trace(trace(event, R"("baseTimeNanoseconds": 1743521598000000000, )")),
                              import_trace(trace(event, "", R"(, "baseTimeNanoseconds": 1743521598000000000)"))}) {
            QCOMPARE(t->source.clock_base_ns, std::int64_t{1743521598000000000});
            QVERIFY(t->source.has_wall_clock);
            QCOMPARE(t->holder("a")->starts[0], TimeNs{1500});
        }
        const auto epoch = import_trace(trace(R"({"ph": "X", "name": "a", "ts": "1736412474714258.990", "dur": 1})"));
        QVERIFY(epoch->source.has_wall_clock && epoch->source.clock_base_ns == 0);
        QCOMPARE(epoch->holder("a")->starts[0], TimeNs{1736412474714258990});
        QVERIFY(!import_trace(trace(event))->source.has_wall_clock);
    }

    void ranks_come_from_the_trace_or_its_name() {
        const std::string event = R"({"ph": "X", "name": "a", "ts": 1, "dur": 1})";
        const auto said = import_trace(
            trace(event, R"("distributedInfo": {"backend": "nccl", "rank": 3, "world_size": 8}, "host_name": "h1", )"), "rank_5.json");
        QCOMPARE(said->source.source.rank, std::optional<std::int64_t>(3));
        QCOMPARE(said->source.source.world_size, std::optional<std::int64_t>(8));
        QCOMPARE(said->source.source.host, std::string("h1"));
        QVERIFY(said->source.source.metadata.find("\"nccl\"") != std::string::npos);
        const auto named = import_trace(trace(event, R"("distributedInfo": {"backend": "nccl"}, )"), "run_rank_5.json");
        QCOMPARE(named->source.source.rank, std::optional<std::int64_t>(5));
        QVERIFY(named->source.source.rank_rule.find("rank_5") != std::string::npos);
        const auto rank = [](const char* name) { return kineto::rank_in_name(name).value_or(kineto::RankInName{-1, ""}).rank; };
        QCOMPARE(rank("rank-34.Jul_15.pt.trace.json.gz"), std::int64_t{34});
        QCOMPARE(rank("bs_32_rank0.json.gz"), std::int64_t{0});
        QCOMPARE(rank("1712-TP-2-DP-0.trace.json.gz"), std::int64_t{2});
        QCOMPARE(rank("x-TP3.json"), std::int64_t{3});
        QCOMPARE(rank("allreduce_tp4.json"), std::int64_t{-1});  // a degree, not a rank
        QCOMPARE(rank("rank_not_found.json"), std::int64_t{-1});
        QCOMPARE(rank("frank5.json"), std::int64_t{-1});
    }

    void devices_and_names_come_from_metadata() {
        const auto t = import_trace(trace(std::string(kLaunch) + "," + kKernel + "," + R"~(
            {"name": "process_name", "ph": "M", "ts": 1, "pid": 10, "tid": 0, "args": {"name": "old"}},
            {"name": "process_name", "ph": "M", "ts": 1, "pid": 10, "tid": 0, "args": {"name": "python3"}},
            {"name": "process_labels", "ph": "M", "ts": 1, "pid": 10, "tid": 0, "args": {"labels": "CPU"}},
            {"name": "process_sort_index", "ph": "M", "ts": 1, "pid": 10, "tid": 0, "args": {"sort_index": 10}},
            {"name": "thread_name", "ph": "M", "pid": 10, "tid": 11, "args": {"name": "thread 11 (main)"}},
            {"name": "thread_name", "ph": "M", "pid": 0, "tid": 7, "args": {"name": "stream 7 "}},
            {"name": "thread_name", "ph": "M", "pid": 0, "tid": 8, "args": {"name": "stream 8 "}})~",
                                          R"("deviceProperties": [{"id": 0, "name": "GPU A"}, {"id": 1, "name": "GPU B"}], )"));
        QCOMPARE(t->ledger.totals().metadata, std::uint64_t{7});
        QCOMPARE(t->ledger.totals().read, std::uint64_t{2});
        QCOMPARE(t->source.processes().size(), std::size_t{1});
        QCOMPARE(t->source.processes()[0].name, std::string("python3"));
        QCOMPARE(t->source.processes()[0].labels, std::string("CPU"));
        QCOMPARE(t->source.threads()[0].name, std::string("thread 11 (main)"));
        QCOMPARE(t->source.devices().size(), std::size_t{2});
        QCOMPARE(t->source.devices()[1].name, std::string("GPU B"));
        QCOMPARE(t->holder("k")->track.name, std::string("stream 7"));
    }

    void margins_of_device_annotations_are_undone() {
        const auto decimal =
            import_trace(trace(R"({"ph": "X", "cat": "gpu_user_annotation", "name": "a", "pid": 0, "tid": 7, "ts": 9.999, "dur": 5.002})"));
        QCOMPARE(decimal->holder("a")->starts[0], TimeNs{10000});
        QCOMPARE(decimal->holder("a")->durations[0], TimeNs{5000});
        QCOMPARE(decimal->holder("a")->get(0, Column::flags), std::int64_t{flag_margin_undone});
        QCOMPARE(decimal->ledger.totals().repaired, std::uint64_t{1});
        const auto whole =
            import_trace(trace(R"({"ph": "X", "cat": "gpu_user_annotation", "name": "a", "pid": 0, "tid": 7, "ts": 10, "dur": 5})"));
        QCOMPARE(whole->holder("a")->starts[0], TimeNs{10000});
        QCOMPARE(whole->ledger.totals().repaired, std::uint64_t{0});
    }

    void collectives_know_their_bytes() {
        const auto t =
            import_trace(trace(R"({"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 1, "tid": 1, "ts": 1, "dur": 1,
            "args": {"Collective name": "allreduce", "dtype": "BFloat16", "In msg nelems": 1000, "Out msg nelems": 4000, "Group size": 4, "Seq": 9}})"));
        const TrackBuffer& c = *t->holder("record_param_comms");
        QCOMPARE(c.get(0, Column::comm_bytes), std::int64_t{8000});
        QCOMPARE(c.get(0, Column::group_size), std::int64_t{4});
        QCOMPARE(c.get(0, Column::comm_sequence), std::int64_t{9});
        QVERIFY(t->args(c, 0).find("\"Collective name\": \"allreduce\"") != std::string::npos);
    }

    void begin_and_end_pair_up() {
        const auto t = import_trace(R"([{"pid": 0, "tid": 0, "ph": "E", "name": "early", "ts": 0},
            {"pid": 0, "tid": 0, "ph": "B", "name": "alpha", "ts": 0}, {"pid": 0, "tid": 0, "ph": "B", "name": "beta", "ts": 1},
            {"pid": 0, "tid": 0, "ph": "E", "ts": 13}, {"pid": 0, "tid": 0, "ph": "E", "name": "alpha", "ts": 14},
            {"pid": 0, "tid": 0, "ph": "E", "name": "point", "ts": 20}, {"pid": 0, "tid": 0, "ph": "B", "name": "point", "ts": 20},
            {"pid": 0, "tid": 0, "ph": "B", "name": "x", "ts": 30}, {"pid": 0, "tid": 0, "ph": "B", "name": "y", "ts": 31},
            {"pid": 0, "tid": 0, "ph": "E", "name": "x", "ts": 35}, {"pid": 0, "tid": 0, "ph": "E", "name": "y", "ts": 36},
            {"pid": 0, "tid": 0, "ph": "B", "name": "open", "ts": 40}, {"pid": 0, "tid": 0, "ph": "X", "name": "last", "ts": 45, "dur": 5},)");
        QVERIFY(t->result.has_value());
        const TrackBuffer& track = *t->holder("alpha");
        const auto duration = [&](std::string_view name) { return track.durations[static_cast<std::size_t>(t->find(track, name))]; };
        QCOMPARE(duration("alpha"), TimeNs{14000});
        QCOMPARE(duration("beta"), TimeNs{12000});
        QCOMPARE(duration("point"), TimeNs{0});
        QCOMPARE(duration("x"), TimeNs{5000});  // crosses y: both keep their own ends
        QCOMPARE(duration("y"), TimeNs{5000});
        QCOMPARE(duration("open"), TimeNs{10000});
        QCOMPARE(track.get(static_cast<std::uint32_t>(t->find(track, "open")), Column::flags), std::int64_t{flag_unfinished});
        QCOMPARE(t->count("kineto.end-without-begin"), std::uint64_t{1});
        QCOMPARE(t->count("kineto.unfinished"), std::uint64_t{1});
        QCOMPARE(t->ledger.totals().read, std::uint64_t{12});
        QCOMPARE(t->ledger.totals().dropped, std::uint64_t{1});
    }

    void what_encloses_ends_what_was_never_ended() {
        const auto t = import_trace(
            R"([{"ph": "B", "name": "outer", "ts": 0}, {"ph": "B", "name": "inner", "ts": 1}, {"ph": "E", "name": "outer", "ts": 5},
            {"ph": "X", "name": "later", "ts": 50, "dur": 1}])");
        const TrackBuffer& track = *t->holder("inner");
        QCOMPARE(track.durations[static_cast<std::size_t>(t->find(track, "inner"))], TimeNs{4000});
    }

    void async_ranges_pair_by_id() {
        const auto t = import_trace(trace(R"({"ph": "b", "cat": "req", "id": "0x1", "name": "one", "pid": 1, "tid": 1, "ts": 0},
            {"ph": "b", "cat": "req", "id": "0x2", "name": "two", "pid": 1, "tid": 2, "ts": 1}, {"ph": "n", "cat": "req", "id": "0x1", "name": "mark", "pid": 1, "tid": 1, "ts": 2},
            {"ph": "e", "cat": "req", "id": "0x1", "name": "one", "pid": 1, "tid": 9, "ts": 5}, {"ph": "e", "cat": "req", "id": "0x2", "name": "two", "pid": 1, "tid": 2, "ts": 7},
            {"ph": "S", "cat": "old", "id": 1, "name": "s", "pid": 1, "tid": 1, "ts": 1}, {"ph": "F", "cat": "old", "id": 1, "name": "s", "pid": 1, "tid": 1, "ts": 4})"));
        const TrackBuffer& track = *t->holder("one");
        QCOMPARE(track.track.kind, TrackKind::marks);
        QCOMPARE(track.durations[static_cast<std::size_t>(t->find(track, "one"))], TimeNs{5000});
        QCOMPARE(track.durations[static_cast<std::size_t>(t->find(track, "two"))], TimeNs{6000});
        QCOMPARE(t->holder("s")->durations[0], TimeNs{3000});
        QCOMPARE(t->spans(SpanKind::async), std::uint64_t{3});
        QCOMPARE(t->ledger.totals().read, std::uint64_t{7});
    }

    void counters_have_a_track_for_each_series() {
        const auto t = import_trace(trace(R"({"ph": "C", "name": "mem", "pid": 1, "ts": 1, "args": {"used": 5.5, "free": "7"}},
            {"ph": "C", "name": "GPU 0 Counters", "pid": "GPU 0 Counters", "ts": 1, "args": {"": 3}}, {"ph": "C", "name": "mem", "pid": 1, "ts": 2, "args": {"used": nan, "free": 8}})"));
        QCOMPARE(t->spans(SpanKind::counter), std::uint64_t{5});
        const TrackBuffer& used = *t->holder("mem used");
        QCOMPARE(used.track.kind, TrackKind::counter);
        QCOMPARE(std::bit_cast<double>(used.get(0, Column::value)), 5.5);
        QCOMPARE(std::bit_cast<double>(t->holder("mem free")->get(1, Column::value)), 8.0);
        QVERIFY(t->holder("GPU 0 Counters") != nullptr);
        QCOMPARE(t->count("kineto.bare-nan"), std::uint64_t{1});
    }

    void instants_and_memory_events() {
        const auto t = import_trace(trace(
            R"({"ph": "i", "cat": "cpu_instant_event", "s": "t", "name": "[memory]", "pid": 5, "tid": 5, "ts": 1, "args": {"Bytes": -4, "Total Allocated": 9, "Device Id": 0}},
            {"name": "Iteration Start: PyTorch Profiler", "ph": "i", "s": "g", "pid": "Traces", "tid": "Trace PyTorch Profiler", "ts": 0},
            {"name": "for all", "ph": "I", "s": "p", "pid": 5, "tid": 5, "ts": 2}, {"name": "plain", "ph": "R", "pid": 5, "tid": 5, "ts": 3})"));
        QCOMPARE(t->spans(SpanKind::memory_event), std::uint64_t{1});
        QCOMPARE(t->holder("[memory]")->get(0, Column::bytes), std::int64_t{-4});
        QCOMPARE(t->holder("[memory]")->get(0, Column::total_allocated), std::int64_t{9});
        QCOMPARE(t->holder("Iteration Start: PyTorch Profiler")->track.kind, TrackKind::marks);
        QCOMPARE(t->holder("for all")->track.kind, TrackKind::marks);
        QCOMPARE(t->holder("plain")->track.kind, TrackKind::host);
        QCOMPARE(t->spans(SpanKind::instant), std::uint64_t{3});
    }

    void flows_link_and_are_not_stored() {
        const auto t = import_trace(trace(
            std::string(kLaunch) + R"(, {"ph": "s", "id": 5, "pid": 10, "tid": 11, "ts": 10, "cat": "ac2g", "name": "ac2g"},)" + kKernel +
            R"(, {"ph": "f", "id": 5, "pid": 0, "tid": 7, "ts": 12, "cat": "ac2g", "name": "ac2g", "bp": "e"},
            {"ph": "f", "id": 1, "pid": 10, "tid": 12, "ts": 40, "cat": "fwdbwd", "name": "fwdbwd", "bp": "e"}, {"ph": "s", "id": 1, "pid": 10, "tid": 11, "ts": 20, "cat": "fwdbwd", "name": "fwdbwd"},
            {"ph": "s", "id": "0x402", "pid": 10, "tid": 11, "ts": 20, "cat": "ipc", "name": "IPC"})"));
        QCOMPARE(t->ledger.totals().read, std::uint64_t{7});
        QCOMPARE(t->source.span_count(), std::uint64_t{2});
        QCOMPARE(t->source.host_links.size(), std::size_t{1});
        QCOMPARE(t->source.host_links[0].from_time, TimeNs{20000});
        QCOMPARE(t->source.host_links[0].to_time, TimeNs{40000});
        QCOMPARE(t->count("kineto.flow"), std::uint64_t{1});
    }

    void launch_flows_stand_in_for_missing_correlations() {
        const auto t = import_trace(trace(R"({"ph": "s", "id": 77, "pid": 10, "tid": 11, "ts": 10, "cat": "async_gpu", "name": "launch"},
            {"ph": "f", "id": 77, "pid": 0, "tid": 7, "ts": 12, "cat": "async_gpu", "name": "launch"},
            {"ph": "X", "cat": "Kernel", "name": "k", "pid": 0, "tid": 7, "ts": 12, "dur": 3}, {"ph": "X", "cat": "Runtime", "name": "cudaLaunch", "pid": 10, "tid": 11, "ts": 10, "dur": 1})"));
        QCOMPARE(t->holder("k")->get(0, Column::correlation), std::int64_t{77});
        QCOMPARE(t->holder("cudaLaunch")->get(0, Column::correlation), std::int64_t{77});
    }

    void python_threads_in_one_row_are_told_apart() {
        const auto frame = [](int id, const std::string& parent, const char* name, int ts, int dur) {
            return "{\"ph\": \"X\", \"cat\": \"python_function\", \"name\": \"" + std::string(name) +
                   "\", \"pid\": 0, \"tid\": 0, \"ts\": " + std::to_string(ts) + R"(, "dur": )" + std::to_string(dur) +
                   R"(, "args": {"Python parent id": )" + parent + R"(, "Python id": )" + std::to_string(id) + "}}";
        };
        const auto t = import_trace(trace(frame(1, "null", "threading.py(1032): _bootstrap", 0, 100) + "," + frame(2, "1", "first", 1, 50) +
                                          "," + frame(10, "null", "threading.py(1032): _bootstrap", 5, 90) + "," +
                                          frame(11, "10", "second", 6, 80) + "," + frame(12, "11", "deeper", 7, 8) + "," +
                                          frame(13, "12", "deepest", 8, 2) + "," + frame(20, "99", "cut off", 96, 2)));
        QCOMPARE(t->spans(SpanKind::python), std::uint64_t{7});
        QCOMPARE(t->holder("second")->track.part, 0);  // the thread with most frames
        QCOMPARE(t->holder("deeper")->track.part, 0);
        QCOMPARE(t->holder("first")->track.part, 1);
        QCOMPARE(t->holder("first")->size(), std::uint32_t{3});  // the frame whose parent was cut off lies within it
        QCOMPARE(t->holder("first")->get(1, Column::python_id), std::int64_t{2});
        QCOMPARE(t->holder("second")->track.thread, t->holder("first")->track.thread);
        const auto one =
            import_trace(trace(frame(1, "null", "a", 0, 10) + "," + frame(2, "null", "b", 10, 10) + "," + frame(3, "7", "c", 12, 2)));
        QCOMPARE(one->source.tracks().size(), std::size_t{1});
    }

    void bad_durations_and_times() {
        const auto t = import_trace(trace(
            R"({"ph": "X", "name": "no dur", "ts": 1}, {"ph": "X", "name": "negative", "ts": 2, "dur": -5}, {"ph": "X", "name": "nan dur", "ts": 3, "dur": nan},
            {"ph": "X", "name": "no ts", "dur": 1}, {"ph": "X", "name": "nan ts", "ts": "nan", "dur": 1}, {"ph": "X", "name": "far", "ts": 9e15, "dur": 1}, {"ph": "X", "name": "long", "ts": 9, "dur": 9e15})"));
        const TrackBuffer& track = *t->holder("no dur");
        QCOMPARE(track.size(), std::uint32_t{4});
        QCOMPARE(track.get(0, Column::flags), std::int64_t{flag_no_duration});
        QCOMPARE(track.get(1, Column::flags), std::int64_t{flag_negative});
        QCOMPARE(track.get(2, Column::flags), std::int64_t{flag_no_duration});
        QCOMPARE(track.durations, (std::vector<TimeNs>{0, 0, 0, 0}));
        QCOMPARE(t->ledger.totals().dropped, std::uint64_t{3});
        QCOMPARE(t->ledger.totals().read, std::uint64_t{4});
        QCOMPARE(t->ledger.totals().repaired, std::uint64_t{4});
    }

    void kernels_without_times_are_not_placed_at_zero() {
        const auto t = import_trace(trace(
            std::string(kKernel) +
            R"(, {"ph": "X", "cat": "kernel", "name": "lost", "pid": 0, "tid": 7, "ts": 0, "dur": 0, "args": {"device": 0, "stream": 7}},
            {"ph": "X", "cat": "kernel", "name": "alone", "pid": 0, "tid": 8, "ts": 0, "dur": 0, "args": {"device": 0, "stream": 8}})"));
        sort_and_nest(t->source, t->ledger, {});
        const TrackBuffer& track = *t->holder("lost");
        const auto lost = static_cast<std::uint32_t>(t->find(track, "lost"));
        QCOMPARE(track.starts[lost], TimeNs{12000});
        QCOMPARE(track.get(lost, Column::flags), std::int64_t{flag_no_time});
        QCOMPARE(t->holder("alone")->starts[0], TimeNs{12000});
        QCOMPARE(t->count("kineto.no-kernel-time"), std::uint64_t{2});
        QVERIFY(finding(*t, "kernels.no-time") != nullptr);
    }

    void names_that_are_no_utf8_are_repaired() {
        const auto t = import_trace(trace(
            "{\"ph\": \"X\", \"name\": \"a\xff\", \"ts\": 1, \"dur\": 1}, {\"ph\": \"X\", \"name\": \"b\\u00e9\", \"ts\": 2, \"dur\": 1}"));
        const TrackBuffer* const track = t->holder("a\xEF\xBF\xBD");
        QVERIFY(track != nullptr);
        QCOMPARE(track->get(0, Column::flags), std::int64_t{flag_renamed});
        QVERIFY(t->holder("b\xC3\xA9") != nullptr);
        QCOMPARE(t->count("kineto.encoding"), std::uint64_t{1});
    }

    void arguments_that_are_no_json_are_left_out() {
        const auto t = import_trace(trace(
            R"({"ph": "X", "name": "a", "ts": 1, "dur": 1, "args": {"External id": 4, "x": [1 2]}}, {"ph": "X", "name": "b", "ts": 3, "dur": 1, "args": {"x": [1 2]}})"));
        QCOMPARE(t->ledger.totals().read, std::uint64_t{2});
        QCOMPARE(t->holder("a")->get(0, Column::external_id), std::int64_t{4});
        QCOMPARE(t->holder("a")->get(0, Column::args), kNull);
        QCOMPARE(t->count("kineto.bad-args"), std::uint64_t{2});
    }

    void unknown_phases_are_in_the_ledger() {
        const auto t = import_trace(trace(
            R"({"ph": "N", "name": "o", "id": 1, "ts": 1}, {"ph": "V", "name": "v", "ts": 1}, {"ph": "P", "name": "p", "ts": 1}, {"ph": "c", "name": "c", "ts": 1}, {"ph": "?", "name": "c", "ts": 1})"));
        QVERIFY(t->result.has_value());
        QCOMPARE(t->ledger.totals().read, std::uint64_t{5});
        QCOMPARE(t->count("kineto.phase-N"), std::uint64_t{1});
        QCOMPARE(t->source.span_count(), std::uint64_t{0});
    }

    void cut_files_say_so() {
        const auto inside = import_trace(
            "{\"traceEvents\": [{\"ph\": \"X\", \"name\": \"a\", \"ts\": 1, \"dur\": 1}, {\"ph\": \"X\", \"name\": \"b\", \"t");
        QCOMPARE(inside->ledger.totals().read, std::uint64_t{1});
        QCOMPARE(inside->count("kineto.cut-event"), std::uint64_t{1});
        QVERIFY(finding(*inside, "input.cut") != nullptr);
        const auto between = import_trace(R"([{"ph": "X", "name": "a", "ts": 1, "dur": 1},)");
        QCOMPARE(between->ledger.totals().dropped, std::uint64_t{0});
        QVERIFY(finding(*between, "input.cut") != nullptr);
        QVERIFY(finding(*import_trace(R"([{"ph": "X", "name": "a", "ts": 1, "dur": 1}])"), "input.cut") == nullptr);
        const std::string packed =
            gzipped(trace(R"({"ph": "X", "name": "a", "ts": 1, "dur": 1}, {"ph": "X", "name": "b", "ts": 2, "dur": 1})"));
        const auto gz = import_trace(packed.substr(0, packed.size() - 12), "t.json.gz");
        QVERIFY(gz->result.has_value() && finding(*gz, "input.gzip") != nullptr);
    }

    void what_holds_no_events_is_refused() {
        for (const char* const text : {"{}", R"({"a": 1})", "   ", R"({"a": {"b": 1}})", "[]x"}) {
            const auto t = import_trace(text);
            if (std::string_view(text) == "[]x") continue;
            QVERIFY2(!t->result, text);
            QCOMPARE(t->result.error().code, ErrorCode::unusable_input);
        }
        const auto records = import_trace(R"([{"id": 1, "model_name": "resnet50"}, {"id": 2}])");
        QVERIFY(!records->result && records->result.error().sentence.find("none of them is a trace event") != std::string::npos);
        QVERIFY(import_trace(R"({"traceEvents": []})")->result.has_value());
    }

    void ascend_rows_are_device_work() {
        const auto t = import_trace(
            R"([{"name": "MatMul", "pid": 3254508960, "tid": 2, "ts": "1736412474725417.508", "dur": 828.33653125, "args": {"Model Id": 4294967295, "Task Type": "AI_CORE", "Physic Stream Id": 2}, "ph": "X"}])");
        const TrackBuffer& track = *t->holder("MatMul");
        QCOMPARE(track.kinds[0], SpanKind::accelerator);
        QCOMPARE(track.track.stream, std::optional<std::int64_t>(2));
        QCOMPARE(track.durations[0], TimeNs{828337});
        QCOMPARE(t->source.source.producer, std::string("Ascend PyTorch profiler"));
    }
};

QTEST_GUILESS_MAIN(TestKinetoImporter)
#include "tst_kineto_importer.moc"
