// Nsight Systems databases of three generations, made by hand: what each table becomes, and what is said about the rest.
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QTest>
#include <bit>

#include <sqlite3.h>

#include "core/launch_binding.h"
#include "core/nesting.h"
#include "importers/nsys/export_strings.h"
#include "importers/nsys/nsys_importer.h"
#include "importers/nsys/nvtx_ranges.h"
#include "importers/registry.h"
#include "importers/source_file.h"
#include "tests/support/made_export.h"

using namespace faultline;
using namespace faultline::test;

namespace {

constexpr std::uint64_t kMachine = 1;

/// The rows that the tests begin with: a range, a call in it and the kernel that it launched.
constexpr std::string_view kLaunch =
    "INSERT INTO StringIds VALUES (1, 'cudaLaunchKernel_v7000'), (2, 'void gemm<float>(float*)'), (3, 'gemm'), (4, '_Z4gemmIfEvPT_');"
    "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME (start, \"end\", eventClass, globalTid, correlationId, nameId, returnValue)"
    " VALUES (110, 120, 0, $G(1,500,501), 7, 1, 0);"
    "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, demangledName, "
    "shortName)"
    " VALUES (130, 180, 0, 1, 7, 7, $G(1,500,0), 2, 3);"
    "INSERT INTO NVTX_EVENTS (start, \"end\", eventType, text, globalTid) VALUES (100, 200, 59, 'step', $G(1,500,501));";

const HealthFinding* finding(const ImportedTrace& t, std::string_view code) {
    for (const HealthFinding& f : t.source.health)
        if (f.code == code) return &f;
    return nullptr;
}

const LedgerEntry* entry(const ImportedTrace& t, std::string_view code) {
    for (const LedgerEntry& e : t.ledger.entries())
        if (e.code == code) return &e;
    return nullptr;
}

}  // namespace

class TestNsysImporter : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void the_schema_of_2020() {
        auto t =
            import_export(schema_2020(), std::string(kLaunch) +
                                             "INSERT INTO TARGET_INFO_CUDA_GPU VALUES (0, 'Tesla V100', 0);"
                                             "INSERT INTO NVTX_EVENTS (start, \"end\", eventType, text, globalTid)"
                                             " VALUES (150, NULL, 59, 'open', $G(1,500,501));"
                                             "INSERT INTO CUPTI_ACTIVITY_KIND_MEMCPY VALUES (190, 195, 0, 1, 7, 8, $G(1,500,0), 64, 1);");
        QVERIFY2(t->result.has_value(), t->result ? "" : t->result.error().sentence.c_str());
        QVERIFY(!t->source.has_wall_clock);
        QCOMPARE(t->source.processes().size(), std::size_t{1});
        QCOMPARE(t->source.processes().front().pid, std::int64_t{500});
        QCOMPARE(t->source.threads().front().tid, std::int64_t{501});
        QCOMPARE(t->source.devices().front().name, std::string("Tesla V100"));
        const TrackBuffer* host = t->holder("cudaLaunchKernel");
        QVERIFY(host);
        const auto open = static_cast<std::uint32_t>(t->find(*host, "open"));
        QCOMPARE(host->end(open), TimeNs{200});  // the latest end of the capture
        QCOMPARE(host->get(open, Column::flags), std::int64_t{flag_unfinished});
        QVERIFY(t->holder("Memcpy HtoD (Host -> Device)"));
        QCOMPARE(t->ledger.totals().read, std::uint64_t{5});
        QCOMPARE(t->ledger.totals().dropped, std::uint64_t{0});
        QCOMPARE(t->count("nsys.open-range"), std::uint64_t{1});
    }

    void a_launch_binds_within_its_process() {
        auto t = import_export(schema_3_7(), std::string(kLaunch) +
                                                 // The same id in another process launched nothing of this one's.
                                                 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, contextId, streamId, "
                                                 "correlationId, globalPid, demangledName, shortName) VALUES "
                                                 "(130, 140, 1, 1, 7, 7, $G(1,600,0), 2, 3), (150, 160, 1, 1, 7, 7, $G(2,500,0), 2, 3);");
        QVERIFY(t->result.has_value());
        sort_and_nest(t->source, t->ledger, {});
        const BindingCounts bound = bind_launches(t->source, t->ledger);
        QCOMPARE(bound.bound_kernels, std::uint64_t{1});
        QCOMPARE(bound.unbound_kernels, std::uint64_t{2});
        // Process 500 of machine 1 and process 500 of machine 2 are two.
        QCOMPARE(t->source.processes().size(), std::size_t{3});
        int with_pid_500 = 0;
        for (const Process& p : t->source.processes()) with_pid_500 += p.pid == 500;
        QCOMPARE(with_pid_500, 2);
    }

    void ids_with_the_highest_bit() {
        auto t = import_export(
            schema_3_7(), "INSERT INTO NVTX_EVENTS (start, \"end\", eventType, text, globalTid) VALUES (1, 2, 59, 'far', $G(65280,7,8));");
        QVERIFY(t->result.has_value());
        QCOMPARE(t->source.processes().front().pid, std::int64_t{7});
        QCOMPARE(t->source.threads().front().tid, std::int64_t{8});
    }

    void clock_names_and_devices() {
        auto t = import_export(schema_3_7(), std::string(kLaunch) + R"sql(
            INSERT INTO TARGET_INFO_SESSION_START_TIME VALUES (1753837769774933180, '2025-07-30T01:09:29', '2025-07-30T09:09:29');
            INSERT INTO PROCESSES VALUES ($G(1,500,0), 500, 'python'), ($G(1,9,0), 9, 'other');
            INSERT INTO StringIds VALUES (20, 'worker');
            INSERT INTO ThreadNames VALUES (20, 10, $G(1,500,501)), (20, 10, $G(1,9,9));
            INSERT INTO TARGET_INFO_GPU VALUES (0, 3, 'NVIDIA H100', 80, 132, 'u-3'), (0, 0, 'NVIDIA T400', 4, 6, 'u-0');
            INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (3, 0, 500, 'u-3');
        )sql");
        QVERIFY(t->result.has_value());
        QVERIFY(t->source.has_wall_clock);
        QCOMPARE(t->source.clock_base_ns, std::int64_t{1753837769774933180});
        QCOMPARE(t->source.utc_offset_seconds.value(), std::int64_t{8 * 3600});
        QCOMPARE(t->source.processes().size(), std::size_t{1});
        QCOMPARE(t->source.processes().front().name, std::string("python"));
        QCOMPARE(t->source.threads().front().name, std::string("worker"));
        QCOMPARE(t->source.devices().front().name, std::string("NVIDIA H100"));
        QCOMPARE(t->source.source.producer, std::string("NVIDIA Nsight Systems 2023.4.4"));
    }

    void the_same_ordinal_of_two_processes_is_two_devices() {
        auto t = import_export(schema_3_7(), std::string(kLaunch) + R"sql(
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, "end", deviceId, contextId, streamId, correlationId, globalPid, demangledName, shortName)
                VALUES (130, 180, 0, 1, 7, 7, $G(1,600,0), 2, 3);
            INSERT INTO TARGET_INFO_CUDA_DEVICE VALUES (2, 0, 500, 'a'), (5, 0, 600, 'b');
        )sql");
        QCOMPARE(t->source.devices().size(), std::size_t{2});
        QCOMPARE(t->source.devices()[0].ordinal, std::int64_t{2});
        QCOMPARE(t->source.devices()[1].ordinal, std::int64_t{5});
    }

    void kernels_keep_shape_and_names() {
        auto t = import_export(schema_3_7(), R"sql(
            INSERT INTO StringIds VALUES (2, 'void gemm<float>(float*)'), (3, 'gemm'), (4, '_Z4gemmIfEvPT_');
            INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES
                (130, 180, 0, 1, NULL, 7, 7, $G(1,500,0), 2, 3, 4, 40, 128, 2, 1, 256, 1, 1, 1024, 2048, 0, 99);
        )sql");
        const TrackBuffer* device = t->track(TrackKind::device);
        QVERIFY(device);
        QCOMPARE(t->name(*device, 0), std::string("void gemm<float>(float*)"));
        QCOMPARE(std::string(t->names.text(NameId{static_cast<std::uint32_t>(device->get(0, Column::mangled_name))})),
                 std::string("_Z4gemmIfEvPT_"));
        QCOMPARE(device->get(0, Column::graph_node), std::int64_t{99});
        QCOMPARE(device->track.stream.value(), std::int64_t{7});
        const QByteArray expected = "{'registers per thread':40,'shared memory':3072,'grid':[128,2,1],'block':[256,1,1]}";
        QCOMPARE(QByteArray::fromStdString(t->args(*device, 0)).replace('"', '\''), expected);
    }

    void driver_calls_and_errors() {
        auto t = import_export(schema_3_7(), R"sql(
            INSERT INTO StringIds VALUES (1, 'cuLaunchKernel'), (2, 'cudaMalloc_v3020');
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 1, $G(1,5,5), 1, 1, 0, NULL), (30, 40, 0, $G(1,5,5), 2, 2, 2, NULL);
        )sql");
        QCOMPARE(t->spans(SpanKind::driver_call), std::uint64_t{1});
        QCOMPARE(t->spans(SpanKind::runtime_call), std::uint64_t{1});
        const TrackBuffer* host = t->holder("cudaMalloc");
        QVERIFY(host);
        QCOMPARE(host->get(static_cast<std::uint32_t>(t->find(*host, "cudaMalloc")), Column::result), std::int64_t{2});
    }

    void nvtx_of_every_kind() {
        auto t = import_export(schema_3_7(), R"sql(
            INSERT INTO ANALYSIS_DETAILS VALUES (0, 1000, 0, 1000);
            INSERT INTO StringIds VALUES (9, 'registered');
            INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, endGlobalTid, textId, domainId, category, uint64Value) VALUES
                (500, 600, 59, NULL, $G(1,5,5), NULL, 9, 1, 3, 4096),
                (100, 200, 59, 'outer', $G(1,5,5), NULL, NULL, 0, NULL, NULL),
                (120, 150, 60, 'inside', $G(1,5,5), NULL, NULL, 0, NULL, NULL),
                (150, 250, 60, 'crossing', $G(1,5,5), NULL, NULL, 0, NULL, NULL),
                (160, 170, 60, 'handed over', $G(1,5,5), $G(1,5,6), NULL, 0, NULL, NULL),
                (700, 1000, 59, 'never popped', $G(1,5,5), NULL, NULL, 0, NULL, NULL),
                (130, NULL, 34, 'a mark', $G(1,5,5), NULL, NULL, 0, NULL, NULL),
                (1, NULL, 39, 'named by the program', $G(1,5,5), NULL, NULL, 0, NULL, NULL),
                (2, NULL, 33, 'decode', $G(1,5,5), NULL, NULL, 1, 3, NULL),
                (3, NULL, 75, 'engine', $G(1,5,5), NULL, NULL, 1, NULL, NULL);
        )sql");
        QVERIFY(t->result.has_value());
        const TrackBuffer* host = t->track(TrackKind::host);
        QVERIFY(host);
        const auto registered = static_cast<std::uint32_t>(t->find(*host, "registered"));
        QCOMPARE(std::string(t->names.text(NameId{static_cast<std::uint32_t>(host->get(registered, Column::domain))})),
                 std::string("engine"));
        QCOMPARE(host->get(registered, Column::category), std::int64_t{3});
        QCOMPARE(host->get(registered, Column::payload), std::int64_t{4096});
        QVERIFY(t->find(*host, "inside") >= 0);
        QVERIFY(t->find(*host, "crossing") < 0);
        const TrackBuffer* beside = t->holder("crossing");
        QVERIFY(beside);
        QCOMPARE(beside->track.kind, TrackKind::marks);
        QVERIFY(t->find(*beside, "handed over") >= 0);
        QCOMPARE(beside->track.thread.value(), host->track.thread.value());
        QCOMPARE(
            QByteArray::fromStdString(t->args(*beside, static_cast<std::uint32_t>(t->find(*beside, "handed over")))).replace('"', '\''),
            QByteArray("{'ended on thread':6}"));
        QCOMPARE(t->spans(SpanKind::async), std::uint64_t{2});
        const auto open = static_cast<std::uint32_t>(t->find(*host, "never popped"));
        QCOMPARE(host->get(open, Column::flags), std::int64_t{flag_unfinished});
        QCOMPARE(host->kinds[static_cast<std::uint32_t>(t->find(*host, "a mark"))], SpanKind::instant);
        QCOMPARE(t->source.threads().front().name, std::string("named by the program"));
        QVERIFY(t->source.source.metadata.find("engine/3") != std::string::npos);
        QCOMPARE(t->ledger.totals().read, std::uint64_t{7});
    }

    void the_lock_of_python_has_tracks_of_its_own() {
        auto t = import_export(schema_3_7(), R"sql(
            INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid, domainId) VALUES
                (40, 90, 59, 'Holding GIL', $G(1,5,5), 2),
                (50, 100, 59, 'work', $G(1,5,5), 0),
                (1, NULL, 75, 'GIL Trace', $G(1,5,5), 2);
        )sql");
        const TrackBuffer* held = t->holder("Holding GIL");
        QVERIFY(held);
        QCOMPARE(held->track.kind, TrackKind::marks);
        QCOMPARE(held->kinds.front(), SpanKind::range);
        QCOMPARE(t->holder("work")->track.kind, TrackKind::host);
        sort_and_nest(t->source, t->ledger, {});
        QVERIFY(entry(*t, "span.sub-lane") == nullptr);
    }

    void operator_texts_are_taken_apart() {
        const nsys::OperatorText parts =
            nsys::split_operator("aten::mm, seq = 12, op_id = 345, sizes = [[2, 3], [3, 4]], input_op_ids = [(1,0)]");
        QCOMPARE(std::string(parts.name), std::string("aten::mm"));
        QCOMPARE(parts.sequence, std::int64_t{12});
        QCOMPARE(parts.record_function, std::int64_t{345});
        QCOMPARE(std::string(parts.sizes), std::string("[[2, 3], [3, 4]]"));
        QCOMPARE(std::string(nsys::split_operator("x = 3").name), std::string("x = 3"));
        QCOMPARE(std::string(nsys::split_operator("a, op_id = x").name), std::string("a, op_id = x"));
        QCOMPARE(std::string(nsys::split_operator(", op_id = 3").name), std::string(", op_id = 3"));
        auto t = import_export(schema_3_7(), R"sql(
            INSERT INTO NVTX_EVENTS (start, "end", eventType, text, globalTid) VALUES
                (1, 2, 59, 'aten::mm, op_id = 345, sizes = [[2, 3], []]', $G(1,5,5)), (3, 4, 59, 'aten::mm, op_id = 346, sizes = [x]', $G(1,5,5));
        )sql");
        const TrackBuffer* host = t->holder("aten::mm");
        QVERIFY(host);
        QCOMPARE(host->get(1, Column::record_function), std::int64_t{346});
        QCOMPARE(QByteArray::fromStdString(t->args(*host, 0)).replace('"', '\''), QByteArray("{'Input Dims':[[2, 3], []]}"));
        QCOMPARE(QByteArray::fromStdString(t->args(*host, 1)).replace('"', '\''), QByteArray("{'Input Dims':'[x]'}"));
    }

    void versions_of_names() {
        QCOMPARE(std::string(nsys::without_version("cudaLaunchKernel_v7000")), std::string("cudaLaunchKernel"));
        QCOMPARE(std::string(nsys::without_version("cuMemAlloc_v2")), std::string("cuMemAlloc"));
        QCOMPARE(std::string(nsys::without_version("read")), std::string("read"));
        QCOMPARE(std::string(nsys::without_version("_v3")), std::string("_v3"));
        QCOMPARE(std::string(nsys::without_version("v12")), std::string("v12"));
        QCOMPARE(std::string(nsys::without_version("")), std::string());
    }

    void waits_and_events_lie_beside_the_work() {
        auto t = import_export(schema_3_7(), std::string(kLaunch) + R"sql(
            INSERT INTO CUPTI_ACTIVITY_KIND_SYNCHRONIZATION VALUES (125, 190, 0, 1, NULL, 7, 9, $G(1,500,0), 3, 4294967295);
            INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, NULL, 7, 7, $G(1,500,0), 11), (0, 1, NULL, 7, 1234, $G(1,500,0), 12);
        )sql");
        const TrackBuffer* ranges = t->track(TrackKind::device_ranges);
        QVERIFY(ranges);
        QCOMPARE(t->name(*ranges, 0), std::string("Stream Sync"));
        QCOMPARE(ranges->get(0, Column::event_id), kNull);
        QCOMPARE(ranges->get(0, Column::sync_type), std::int64_t{3});
        QCOMPARE(ranges->starts[1], TimeNs{110});  // the call's
        QCOMPARE(ranges->get(2, Column::flags), std::int64_t{flag_no_time});
        QCOMPARE(t->track(TrackKind::device)->size(), 1u);
    }

    void the_schema_of_2026() {
        auto t = import_export(schema_3_28(), R"sql(
            INSERT INTO StringIds VALUES (1, 'cudaGraphLaunch_v10000'), (2, 'cudaGraphAddKernelNode_v10000'), (3, 'futex');
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (0, 1, 0, $G(1,5,5), 70, 100, 120);
            INSERT INTO CUPTI_ACTIVITY_KIND_GRAPH_TRACE VALUES (130, 900, 0, 1, NULL, 7, 70, $G(1,5,0), 4, 5);
            INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT VALUES (0, 1, 7, 71, $G(1,5,0), 3, 950, 1);
            INSERT INTO CUDA_GRAPH_NODE_EVENTS VALUES (10, 20, 77, $G(1,5,5), 2, 8, NULL);
            INSERT INTO TARGET_INFO_GPU_METRICS VALUES (258, 1, 'GPU', 6, 'SMs Active');
            INSERT INTO GPU_METRICS VALUES (200, 258, 6, 83);
            INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS VALUES (30, $G(1,5,0), 0, 1, 4096, 0, 1000, 2, 0, NULL, 1), (40, $G(1,5,0), 0, 1, 4096, 0, 1000, 2, 1, NULL, 2);
            INSERT INTO DIAGNOSTIC_EVENT VALUES (1, 1, 1, 3, 'Some events were lost because a buffer was full', 0), (2, 1, 1, 1, 'Started', 0);
            INSERT INTO SYSCALL VALUES (5, 6, 0, $G(1,5,5), 3);
            INSERT INTO NET_IB_METRICS VALUES (1, 1), (2, 2);
        )sql");
        QVERIFY2(t->result.has_value(), t->result ? "" : t->result.error().sentence.c_str());
        QCOMPARE(t->spans(SpanKind::graph), std::uint64_t{1});
        QVERIFY(finding(*t, "graphs.opaque"));
        QVERIFY(finding(*t, "capture.loss"));
        QCOMPARE(t->holder("CUDA event")->starts.front(), TimeNs{950});
        QCOMPARE(t->holder("cudaGraphAddKernelNode")->track.kind, TrackKind::marks);
        const TrackBuffer* metric = t->track(TrackKind::counter);
        QVERIFY(metric);
        QCOMPARE(metric->track.name, std::string("GPU 2: SMs Active"));
        QCOMPARE(std::bit_cast<double>(metric->get(0, Column::value)), 83.0);
        const TrackBuffer* memory = t->holder("Free Device");
        QVERIFY(memory);
        QCOMPARE(memory->get(1, Column::bytes), std::int64_t{-1000});
        QCOMPARE(t->spans(SpanKind::os_call), std::uint64_t{1});
        QCOMPARE(t->count("nsys.unread-table"), std::uint64_t{2});
        QCOMPARE(entry(*t, "nsys.unread-table")->samples.front(), std::string("NET_IB_METRICS: 2 rows"));
    }

    void graph_launches_without_any_row_are_opaque_too() {
        auto t = import_export(schema_3_7(),
                               "INSERT INTO StringIds VALUES (1, 'cudaGraphLaunch_v10000');"
                               "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, $G(1,5,5), 1, 1, 0, NULL);");
        QVERIFY(finding(*t, "graphs.opaque"));
        auto nodes = import_export(schema_3_7(),
                                   "INSERT INTO StringIds VALUES (1, 'cudaGraphLaunch_v10000'), (2, 'k');"
                                   "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, $G(1,5,5), 1, 1, 0, NULL);"
                                   "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, contextId, streamId, correlationId, "
                                   "globalPid, demangledName, shortName, graphNodeId) VALUES (30, 40, 0, 1, 7, 1, $G(1,5,0), 2, 2, 17);");
        QVERIFY(!finding(*nodes, "graphs.opaque"));
        // Without a column for the node.
        auto old = import_export(schema_2020(),
                                 "INSERT INTO StringIds VALUES (1, 'cudaGraphLaunch_v10000'), (2, 'k');"
                                 "INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 20, 0, $G(1,5,5), 1, 1, 0);"
                                 "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL VALUES (30, 40, 0, 1, 7, 1, $G(1,5,0), 2, 2);");
        QVERIFY(!finding(*old, "graphs.opaque"));
        QCOMPARE(old->spans(SpanKind::kernel), std::uint64_t{1});
    }

    void threads_on_processors() {
        auto t = import_export(schema_3_7(), R"sql(
            INSERT INTO SCHED_EVENTS VALUES (300, 2, 0, $G(1,5,5)), (100, 2, 1, $G(1,5,5)), (50, 1, 0, $G(1,5,6)), (400, 3, 1, $G(1,5,5)), (500, 1, 1, $G(1,5,6));
        )sql");
        QCOMPARE(t->ledger.totals().read, std::uint64_t{5});
        const TrackBuffer* track = nullptr;
        for (const TrackBuffer& candidate : t->source.tracks())
            if (candidate.track.name == "thread 5 on processors") track = &candidate;
        QVERIFY(track);
        QCOMPARE(track->size(), 2u);
        QCOMPARE(track->starts[0], TimeNs{100});
        QCOMPARE(track->durations[0], TimeNs{200});
        QCOMPARE(track->get(0, Column::cpu), std::int64_t{2});
        QCOMPARE(track->end(1), TimeNs{500});  // the last switch of the capture
        QCOMPARE(track->get(1, Column::flags), std::int64_t{flag_unfinished});
    }

    void samples_with_their_stacks() {
        auto t = import_export(schema_3_7(), R"sql(
            INSERT INTO StringIds VALUES (1, 'main'), (2, 'run;x'), (3, 'sqrt');
            INSERT INTO COMPOSITE_EVENTS VALUES (2, 20, 0, 1, $G(1,5,5), 10), (1, 30, 0, 1, $G(1,5,6), 10), (3, 40, 0, 1, $G(1,5,6), 10);
            INSERT INTO SAMPLING_CALLCHAINS VALUES (2, 1, 0, 2), (2, 2, 0, 1), (2, 3, 0, 0), (1, 3, 0, 0), (8, 1, 0, 0);
        )sql");
        QCOMPARE(t->source.stack_samples.size(), std::size_t{3});
        QCOMPARE(t->source.stack_samples[0].stack, std::string("sqrt"));
        QCOMPARE(t->source.stack_samples[1].stack, std::string("main;run:x;sqrt"));
        QCOMPARE(t->source.stack_samples[1].time.value(), TimeNs{20});
        QCOMPARE(t->source.stack_samples[2].stack, std::string());
        QCOMPARE(t->count("nsys.frame-without-sample"), std::uint64_t{1});
    }

    void what_processes_wrote_becomes_a_log() {
        auto t = import_export(schema_3_7(), R"sql(
            INSERT INTO StringIds VALUES (1, '/tmp/streams/pid_5_stdout.log'), (2, 'hello' || char(10) || char(10) || 'world' || char(10)),
                (3, '/home/x/config.ini'), (4, 'Setting=1');
            INSERT INTO ProcessStreams VALUES ($G(1,5,0), 1, 2), ($G(1,0,0), 3, 4);
        )sql");
        QVERIFY(t->result.has_value());
        QCOMPARE(t->source.logs.size(), std::size_t{2});
        QCOMPARE(t->source.logs[1].text, std::string("world"));
        QVERIFY(t->source.logs[0].process.has_value());
    }

    void rows_without_a_usable_time_are_dropped_with_their_place() {
        auto t = import_export(schema_3_7(), R"sql(
            INSERT INTO StringIds VALUES (1, 'f');
            INSERT INTO CUPTI_ACTIVITY_KIND_RUNTIME VALUES (10, 9223372036854775807, 0, $G(1,5,5), 1, 1, 0, NULL), (40, 30, 0, $G(1,5,5), 2, 1, 0, NULL),
                (50, 60, 0, NULL, NULL, 77, 0, NULL);
        )sql");
        QCOMPARE(t->ledger.totals().dropped, std::uint64_t{1});
        QCOMPARE(entry(*t, "nsys.no-time")->samples.front(), std::string("CUPTI_ACTIVITY_KIND_RUNTIME row 1"));
        QCOMPARE(t->ledger.totals().read, std::uint64_t{2});
        QCOMPARE(t->ledger.totals().repaired, std::uint64_t{1});
        QVERIFY(t->holder("string 77"));
    }

    void text_that_is_no_utf8_is_repaired() {
        auto t = import_export(schema_3_7(),
                               "INSERT INTO NVTX_EVENTS (start, \"end\", eventType, text, globalTid) VALUES "
                               "(1, 2, 59, CAST(x'61ff62' AS TEXT), $G(1,5,5));");
        QVERIFY(
            t->holder("a\xEF\xBF\xBD"
                      "b"));
        QCOMPARE(t->count("nsys.encoding"), std::uint64_t{1});
        QVERIFY(!nsys::repaired_text("fine \xE4\xBD\xA0").has_value());
        QCOMPARE(nsys::repaired_text("\xC0\x80").value(), std::string("\xEF\xBF\xBD\xEF\xBF\xBD"));
        QCOMPARE(nsys::repaired_text("\xED\xA0\x80").value().size(), std::size_t{9});
    }

    void strings_without_a_key() {
        auto t = import_export(
            "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT); CREATE TABLE StringIds (id INT, value TEXT);"
            "CREATE TABLE OSRT_API (start, \"end\", globalTid, nameId);",
            "INSERT INTO StringIds VALUES (900000000000, 'read'); INSERT INTO OSRT_API VALUES (1, 2, $G(1,5,5), 900000000000);");
        QVERIFY(t->result.has_value());
        QVERIFY(t->holder("read"));
    }

    void views_and_triggers_are_never_run() {
        // A view in the place of a table, which would never end, and one in the place of another that would be read.
        auto t = import_export(
            "CREATE TABLE META_DATA_EXPORT (name TEXT, value TEXT);"
            "CREATE VIEW NVTX_EVENTS AS WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x AS start, x AS \"end\", "
            "59 AS eventType, 'x' AS text, 1 AS globalTid FROM n;"
            "CREATE TRIGGER t AFTER INSERT ON META_DATA_EXPORT BEGIN SELECT 1; END;"
            "CREATE TABLE OSRT_API (start INTEGER, \"end\" INTEGER GENERATED ALWAYS AS (start + 1), globalTid INTEGER, nameId INTEGER);",
            "INSERT INTO OSRT_API (start, globalTid, nameId) VALUES (1, 5, 5);");
        QVERIFY(t->result.has_value());
        QCOMPARE(t->source.span_count(), std::uint64_t{0});
        QCOMPARE(t->count("nsys.no-time"), std::uint64_t{1});  // a generated column is none
        auto only_view = import_export("CREATE TABLE t (x); INSERT INTO t VALUES (1); CREATE VIEW NVTX_EVENTS AS SELECT * FROM t;", "");
        QVERIFY(!only_view->result.has_value());
        QVERIFY(only_view->result.error().sentence.find("another program") != std::string::npos);
    }

    void other_databases_are_refused_by_name_data() {
        QTest::addColumn<QByteArray>("schema");
        QTest::addColumn<QByteArray>("says");
        QTest::newRow("DLProf") << QByteArray("CREATE TABLE read_only_kernels (x);") << QByteArray("NVIDIA DLProf");
        QTest::newRow("rocpd") << QByteArray("CREATE TABLE rocpd_api (x); CREATE TABLE rocpd_op (x);") << QByteArray("AMD ROCm");
        QTest::newRow("Ascend") << QByteArray("CREATE TABLE STRING_IDS (x); CREATE TABLE CANN_API (x);") << QByteArray("Ascend");
        QTest::newRow("empty") << QByteArray("CREATE TABLE t (x); DROP TABLE t;") << QByteArray("empty database");
        QTest::newRow("no rows") << QByteArray("CREATE TABLE t (x); CREATE INDEX i ON t (x);")
                                 << QByteArray("empty database: none of its tables has a row");
        QTest::newRow("other") << QByteArray("CREATE TABLE photos (x); INSERT INTO photos VALUES (1);")
                               << QByteArray("another program (its tables: photos)");
    }

    void other_databases_are_refused_by_name() {
        QFETCH(QByteArray, schema);
        QFETCH(QByteArray, says);
        const std::string bytes = database_bytes(schema.toStdString());
        QVERIFY(!bytes.empty());
        const Result<const Importer*> chosen = choose_importer(bytes, "x.sqlite", "x.sqlite");
        QVERIFY(!chosen.has_value());
        QVERIFY2(chosen.error().sentence.find(says.toStdString()) != std::string::npos, chosen.error().sentence.c_str());
        auto t = import_export(schema.toStdString(), "");
        QVERIFY(!t->result.has_value());
        QCOMPARE(QByteArray::fromStdString(t->result.error().sentence).contains(says), true);
    }

    void a_database_is_recognised_beyond_its_first_bytes() {
        std::string schema;
        for (int i = 0; i < 400; ++i) schema += "CREATE TABLE t" + std::to_string(i) + " (a, b, c, d, e, f, g, h, i, j, k, l, m, n);";
        const std::string bytes = database_bytes(schema + "CREATE TABLE NVTX_EVENTS (start, \"end\", eventType, text, globalTid);");
        const Result<const Importer*> by_page = choose_importer(std::string_view(bytes).substr(0, 4096), "x.sqlite", "x.sqlite");
        QVERIFY(by_page.has_value());
        QCOMPARE(std::string((*by_page)->info().name), std::string("nsys"));
        QVERIFY(choose_importer(bytes, "x.sqlite", "x.sqlite").has_value());
    }

    void a_file_cut_short_is_read_as_far_as_it_goes() {
        std::string rows =
            "INSERT INTO StringIds VALUES (1, 'f');"
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 20000) INSERT INTO OSRT_API (start, \"end\", "
            "eventClass, "
            "globalTid, nameId, returnValue, callchainId) SELECT x * 10, x * 10 + 5, 27, 84, 1, 0, 0 FROM n;"
            "CREATE INDEX backwards ON OSRT_API (start DESC);";
        std::string bytes = database_bytes(std::string(schema_3_7()) + rows);
        QVERIFY(bytes.size() > 500'000);
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("cut.sqlite"));
        const auto import_bytes = [&](const std::string& data) {
            QFile file(path);
            if (!file.open(QIODevice::WriteOnly)) return std::make_unique<ImportedTrace>();
            file.write(data.data(), static_cast<qint64>(data.size()));
            file.close();
            return import_export_file(path.toStdString());
        };
        auto cut = import_bytes(bytes.substr(0, bytes.size() * 2 / 3));
        QVERIFY2(cut->result.has_value(), cut->result ? "" : cut->result.error().sentence.c_str());
        QVERIFY(cut->spans(SpanKind::os_call) > 10'000);
        QVERIFY(cut->spans(SpanKind::os_call) < 20'000);
        QVERIFY(finding(*cut, "input.cut"));
        QVERIFY(entry(*cut, "nsys.damaged-pages"));
        QCOMPARE(cut->count("nsys.cut"), std::uint64_t{1});
        // A hole in the middle: what lies on both sides is read, and the loss is counted to the row.
        std::string holed = bytes;
        std::fill_n(holed.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 2 / 4096 * 4096), 8192, '\x5A');
        auto hole = import_bytes(holed);
        QVERIFY(hole->result.has_value());
        QCOMPARE(hole->ledger.totals().read + hole->ledger.totals().dropped, std::uint64_t{20'000});
        QVERIFY(hole->ledger.totals().dropped > 0);
        QVERIFY(hole->ledger.totals().dropped < 2'000);
        // Nothing but the header.
        auto nothing = import_bytes(bytes.substr(0, 100));
        QVERIFY(!nothing->result.has_value());
        QVERIFY(!nothing->result.error().hint.empty());
    }

    void damage_anywhere_is_survived() {
        const std::string rows =
            "INSERT INTO StringIds VALUES (1, 'f'), (2, 'k');"
            "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 40) INSERT INTO NVTX_EVENTS "
            "(start, \"end\", eventType, text, globalTid) SELECT x * 10, x * 10 + 5, 59, 'range', 84 FROM n;"
            "INSERT INTO COMPOSITE_EVENTS VALUES (1, 5, 0, 1, 84, 1);"
            "INSERT INTO SAMPLING_CALLCHAINS VALUES (1, 1, 0, 0), (1, 2, 0, 1);";
        const std::string bytes =
            database_bytes("PRAGMA page_size=512;" + std::string(schema_2020()) +
                           "CREATE TABLE COMPOSITE_EVENTS (id INTEGER NOT NULL PRIMARY KEY, start INTEGER, cpu INTEGER, "
                           "threadState INTEGER, globalTid INTEGER, cpuCycles INTEGER);"
                           "CREATE TABLE SAMPLING_CALLCHAINS (id INTEGER, symbol INTEGER, module INTEGER, stackDepth "
                           "INTEGER, PRIMARY KEY (id, stackDepth));" +
                           rows);
        QVERIFY(bytes.size() > 4'000);
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("damaged.sqlite"));
        int refused = 0;
        constexpr std::size_t kStep = 23;
        for (std::size_t at = 16; at < bytes.size(); at += kStep) {
            std::string damaged = bytes;
            damaged[at] = static_cast<char>(damaged[at] ^ (at % 2 == 0 ? 0xFF : 0x08));
            if (at % 5 == 0) damaged.resize(at);
            QFile file(path);
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(damaged.data(), static_cast<qint64>(damaged.size()));
            file.close();
            auto t = import_export_file(path.toStdString());
            QVERIFY(t->result.has_value() || !t->result.error().sentence.empty());
            refused += !t->result.has_value();
            QVERIFY(t->ledger.totals().repaired <= t->ledger.totals().read);
            for (const TrackBuffer& track : t->source.tracks())
                for (std::uint32_t i = 0; i < track.size(); ++i) QVERIFY(track.durations[i] >= 0);
        }
        QVERIFY(refused > 0);
    }

    void a_log_that_waits_beside_the_database_is_read() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("live.sqlite"));
        sqlite3* writer = nullptr;
        QCOMPARE(sqlite3_open(path.toUtf8().constData(), &writer), SQLITE_OK);
        const std::string sql = "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;" + std::string(schema_3_7());
        QCOMPARE(sqlite3_exec(writer, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
        QCOMPARE(sqlite3_exec(writer, "PRAGMA wal_checkpoint(TRUNCATE);", nullptr, nullptr, nullptr), SQLITE_OK);
        QCOMPARE(sqlite3_exec(writer, with_ids(kLaunch).c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
        auto t = import_export_file(path.toStdString());
        QVERIFY(t->result.has_value());
        QCOMPARE(t->spans(SpanKind::kernel), std::uint64_t{1});
        QVERIFY(!finding(*t, "input.log"));
        // A copy of both in a folder that cannot be written, as a share or an archive is.
        const QTemporaryDir locked;
        QVERIFY(QFile::copy(path, locked.filePath(QStringLiteral("a.sqlite"))));
        QVERIFY(QFile::copy(path + QStringLiteral("-wal"), locked.filePath(QStringLiteral("a.sqlite-wal"))));
        QVERIFY(QFile::setPermissions(locked.path(), QFile::ReadOwner | QFile::ExeOwner));
        auto copied = import_export_file(locked.filePath(QStringLiteral("a.sqlite")).toStdString());
        QVERIFY(QFile::setPermissions(locked.path(), QFile::ReadOwner | QFile::WriteOwner | QFile::ExeOwner));
        QVERIFY2(copied->result.has_value(), copied->result ? "" : copied->result.error().sentence.c_str());
        // Whoever may write anywhere (root) has the log read; everyone else is told that it was not.
        QVERIFY(copied->spans(SpanKind::kernel) == 1 || finding(*copied, "input.log"));
        sqlite3_close(writer);
    }

    void a_stopped_import_ends_without_a_finding() {
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("a.sqlite")).toStdString();
        QVERIFY(make_database(path, std::string(schema_3_7()) + with_ids(kLaunch)));
        auto file = SourceFile::open(path);
        QVERIFY(file.has_value());
        ImportedTrace t;
        std::stop_source stop;
        Progress progress;
        progress.stop = stop.get_token();
        QVERIFY((*file)->head().has_value());
        stop.request_stop();
        const Result<void> read = NsysImporter().read(**file, t.source, t.ledger, progress);
        QVERIFY(!read.has_value());
        QCOMPARE(read.error().code, ErrorCode::cancelled);
        QCOMPARE(t.ledger.totals().dropped, std::uint64_t{0});
    }

    void the_rank_of_a_file() {
        const QTemporaryDir folder;
        const std::string path = folder.filePath(QStringLiteral("report_rank5.sqlite")).toStdString();
        QVERIFY(make_database(path, std::string(schema_3_7()) + with_ids(kLaunch)));
        ImportedTrace t;
        t.source.source.path = path;
        auto file = SourceFile::open(path);
        QVERIFY(NsysImporter().read(**file, t.source, t.ledger, {}).has_value());
        QCOMPARE(t.source.source.rank.value(), std::int64_t{5});
    }

    void gzip_is_unpacked_to_a_file_that_goes_away() {
        const std::string bytes = database_bytes(std::string(schema_3_7()) + with_ids(kLaunch));
        const QTemporaryDir folder;
        const QTemporaryDir scratch;
        const QByteArray before = qgetenv("TMPDIR");
        qputenv("TMPDIR", scratch.path().toLocal8Bit());
        QFile file(folder.filePath(QStringLiteral("a.sqlite.gz")));
        QVERIFY(file.open(QIODevice::WriteOnly));
        const std::string packed = gzipped(bytes);
        file.write(packed.data(), static_cast<qint64>(packed.size()));
        file.close();
        auto t = import_export_file(file.fileName().toStdString());
        before.isNull() ? qunsetenv("TMPDIR") : qputenv("TMPDIR", before);
        QVERIFY(t->result.has_value());
        QCOMPARE(t->spans(SpanKind::kernel), std::uint64_t{1});
        QVERIFY(QDir(scratch.path()).entryList(QDir::Files | QDir::Hidden).isEmpty());
    }

    void nothing_is_written_beside_the_input() {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("w.sqlite"));
        QVERIFY(make_database(path.toStdString(), "PRAGMA journal_mode=WAL;" + std::string(schema_3_7()) + with_ids(kLaunch)));
        auto t = import_export_file(path.toStdString());
        QVERIFY(t->result.has_value());
        QCOMPARE(t->spans(SpanKind::kernel), std::uint64_t{1});
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files | QDir::Hidden), QStringList{QStringLiteral("w.sqlite")});
    }

    void real_exports_have_the_counts_of_the_catalogue_data() {
        QTest::addColumn<QString>("file");
        QTest::addColumn<int>("kernels");
        QTest::addColumn<int>("bound");
        QTest::addColumn<int>("calls");
        QTest::newRow("two devices, cut") << QStringLiteral("n01-nsys-h100-2gpu-1s.sqlite") << 3442 << 1632 << 5796;
        QTest::newRow("two processes") << QStringLiteral("n02-nsys-mfu-2gpu-before.sqlite") << 4010 << 3986 << 7466;
        QTest::newRow("thin") << QStringLiteral("n04-nsys-healthy-1pct.sqlite") << 400 << 400 << 400;
        QTest::newRow("training") << QStringLiteral("n06-nsys-cs336-llm-jsun.sqlite") << 17032 << 17032 << 20436;
        QTest::newRow("2.9.1") << QStringLiteral("n12-nsys-dlprof-relu.sqlite") << 59 << 59 << 321;
        QTest::newRow("no meta table") << QStringLiteral("n13-nsys-dynamicvit.sqlite") << 0 << 0 << 0;
    }

    void real_exports_have_the_counts_of_the_catalogue() {
        QFETCH(QString, file);
        QFETCH(int, kernels);
        QFETCH(int, bound);
        QFETCH(int, calls);
        const std::string folder = shared_captures();
        if (folder.empty() || !QFileInfo::exists(QString::fromStdString(folder) + QLatin1Char('/') + file))
            QSKIP("the real captures are not here");
        auto t = import_export_file(folder + "/" + file.toStdString());
        QVERIFY2(t->result.has_value(), t->result ? "" : t->result.error().sentence.c_str());
        sort_and_nest(t->source, t->ledger, {});
        const BindingCounts counts = bind_launches(t->source, t->ledger);
        QCOMPARE(static_cast<int>(t->spans(SpanKind::kernel)), kernels);
        QCOMPARE(static_cast<int>(counts.bound_kernels), bound);
        QCOMPARE(static_cast<int>(t->spans(SpanKind::runtime_call) + t->spans(SpanKind::driver_call)), calls);
    }

    void ranks_of_no_process_are_left_out() {
        constexpr std::string_view kRanks =
            "CREATE TABLE MPI_RANKS (globalTid INTEGER, rank INTEGER);"
            "INSERT INTO MPI_RANKS VALUES (-9223372036854775808, 3), ($G(1,500,501), -9223372036854775808), ($G(1,500,501), 4294967296),"
            " (NULL, 1), ($G(1,500,501), 5);";
        auto t = import_export(schema_3_7(), std::string(kLaunch) + std::string(kRanks));
        QVERIFY(t->result.has_value());
        QCOMPARE(t->source.source.rank, std::optional<std::int64_t>(5));
        QCOMPARE(t->count("nsys.rank"), std::uint64_t{3});
    }

    void ids_at_the_limits_are_survived() {
        // The lowest number is what stands for none inside: as id of a process or thread it names none.
        constexpr std::string_view kLowest = "-9223372036854775808";
        const std::string low(kLowest);
        auto t = import_export(
            schema_3_7(),
            std::string(kLaunch) +
                "INSERT INTO NVTX_EVENTS (start, \"end\", eventType, text, globalTid, endGlobalTid) VALUES (1, 2, 59, 'a', " + low +
                ", NULL), (1, 2, 60, 'b', " + low + ", " + low + "), (1, NULL, 60, 'c', " + low + ", 5), (1, NULL, 34, 'd', " + low +
                ", NULL), (1, NULL, 39, 'e', " + low + ", NULL);" +
                "INSERT INTO CUPTI_ACTIVITY_KIND_KERNEL (start, \"end\", deviceId, contextId, streamId, correlationId, globalPid, "
                "demangledName, shortName) VALUES (1, 2, " +
                low + ", 1, " + low + ", " + low + ", " + low + ", 2, 3);" + "INSERT INTO PROCESSES VALUES (" + low + ", " + low +
                ", 'x'); INSERT INTO ThreadNames VALUES (1, 1, " + low + ");");
        QVERIFY(t->result.has_value());
        QVERIFY(t->holder("a") != nullptr);
        QCOMPARE(t->ledger.totals().dropped, std::uint64_t{0});
    }

    void times_that_no_clock_shows_are_dropped_data() {
        QTest::addColumn<QString>("time");
        for (const char* const time : {"-9223372036854775807", "9223372036854775807", "4611686018427387904", "-2305843009213693952"})
            QTest::newRow(time) << QString::fromLatin1(time);
    }
    void times_that_no_clock_shows_are_dropped() {
        QFETCH(QString, time);
        const std::string at = time.toStdString();
        auto t = import_export(schema_3_7(),
                               std::string(kLaunch) +
                                   "DROP TABLE IF EXISTS CUPTI_ACTIVITY_KIND_CUDA_EVENT; CREATE TABLE CUPTI_ACTIVITY_KIND_CUDA_EVENT "
                                   "(timestamp, deviceId, contextId, streamId, correlationId, globalPid, "
                                   "eventId);"
                                   "DROP TABLE IF EXISTS GPU_METRICS; CREATE TABLE GPU_METRICS (timestamp, typeId, metricId, value);"
                                   "DROP TABLE IF EXISTS SCHED_EVENTS; CREATE TABLE SCHED_EVENTS (start, cpu, isSchedIn, globalTid);"
                                   "DROP TABLE IF EXISTS COMPOSITE_EVENTS; CREATE TABLE COMPOSITE_EVENTS (id, start, globalTid);"
                                   "DROP TABLE IF EXISTS CUDA_GPU_MEMORY_USAGE_EVENTS; CREATE TABLE CUDA_GPU_MEMORY_USAGE_EVENTS (start, "
                                   "globalPid, deviceId, bytes);"
                                   "INSERT INTO CUPTI_ACTIVITY_KIND_CUDA_EVENT (timestamp, deviceId, streamId, globalPid) VALUES (" +
                                   at +
                                   ", 0, 7, $G(1,500,0));"
                                   "INSERT INTO GPU_METRICS (timestamp, typeId, metricId, value) VALUES (" +
                                   at +
                                   ", 1, 1, 1);"
                                   "INSERT INTO SCHED_EVENTS (start, cpu, isSchedIn, globalTid) VALUES (" +
                                   at +
                                   ", 1, 1, $G(1,500,501));"
                                   "INSERT INTO COMPOSITE_EVENTS (id, start, globalTid) VALUES (1, " +
                                   at +
                                   ", $G(1,500,501));"
                                   "INSERT INTO CUDA_GPU_MEMORY_USAGE_EVENTS (start, globalPid, deviceId, bytes) VALUES (" +
                                   at +
                                   ", $G(1,500,0), 0, 1);"
                                   "INSERT INTO NVTX_EVENTS (start, eventType, text, globalTid) VALUES (" +
                                   at + ", 34, 'mark', $G(1,500,501)), (" + at + ", 59, 'open', $G(1,500,501));");
        QVERIFY(t->result.has_value());
        QCOMPARE(t->count("nsys.no-time"), std::uint64_t{7});
        QCOMPARE(t->ledger.totals().dropped, std::uint64_t{7});
        QCOMPARE(t->ledger.totals().read, std::uint64_t{3});
    }

    void lost_rows_count_once() {
        // Each of these tables is read twice: for what it names or asks for, then for its events.
        const std::string made = std::string(schema_3_7()) +
                                 "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 4000) INSERT INTO NVTX_EVENTS "
                                 "(start, \"end\", eventType, text, globalTid) SELECT x * 10, x * 10 + 5, 59, 'range', 84 FROM n;";
        for (const bool sparse : {false, true}) {
            std::string bytes = database_bytes("PRAGMA page_size=4096;" + made +
                                               (sparse ? "UPDATE NVTX_EVENTS SET rowid = rowid * 1000000000 WHERE rowid > 2000;" : ""));
            QVERIFY(!bytes.empty());
            std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 4096 * 3 / 4 * 4096), 4096, '\x5A');
            const QTemporaryDir folder;
            const QString path = folder.filePath(QStringLiteral("holed.sqlite"));
            QFile file(path);
            QVERIFY(file.open(QIODevice::WriteOnly));
            file.write(bytes.data(), static_cast<qint64>(bytes.size()));
            file.close();
            auto t = import_export_file(path.toStdString());
            QVERIFY(t->result.has_value());
            QVERIFY(t->ledger.totals().dropped > 0);
            QVERIFY(t->ledger.totals().read > 3'000);
            if (sparse)
                QVERIFY(t->ledger.totals().read + t->ledger.totals().dropped <= 4'000);
            else
                QCOMPARE(t->ledger.totals().read + t->ledger.totals().dropped, std::uint64_t{4'000});
        }
    }

    void lost_rows_of_a_sorted_table_count_once() {
        std::string bytes = database_bytes("PRAGMA page_size=4096;" + std::string(schema_3_7()) +
                                           "DROP TABLE COMPOSITE_EVENTS; CREATE TABLE COMPOSITE_EVENTS (start, id, globalTid);"
                                           "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n WHERE x < 8000) INSERT INTO "
                                           "COMPOSITE_EVENTS SELECT x * 10, x, 84 FROM n;");
        QVERIFY(!bytes.empty());
        std::fill_n(bytes.begin() + static_cast<std::ptrdiff_t>(bytes.size() / 4096 * 3 / 4 * 4096), 4096, '\x5A');
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("holed.sqlite"));
        QFile file(path);
        QVERIFY(file.open(QIODevice::WriteOnly));
        file.write(bytes.data(), static_cast<qint64>(bytes.size()));
        file.close();
        auto t = import_export_file(path.toStdString());
        QVERIFY(t->result.has_value());
        QVERIFY(entry(*t, "nsys.damaged-pages") != nullptr);
        QCOMPARE(t->ledger.totals().read + t->ledger.totals().dropped, std::uint64_t{8'000});
    }

    void a_log_behind_a_link_is_taken_in() {
        const QTemporaryDir folder, elsewhere;
        const std::string path = folder.filePath(QStringLiteral("w.sqlite")).toStdString();
        sqlite3* writer = nullptr;
        QCOMPARE(sqlite3_open(path.c_str(), &writer), SQLITE_OK);
        const std::string sql = "PRAGMA journal_mode=WAL; PRAGMA wal_autocheckpoint=0;" + std::string(schema_3_7()) + with_ids(kLaunch);
        QCOMPARE(sqlite3_exec(writer, sql.c_str(), nullptr, nullptr, nullptr), SQLITE_OK);
        // As a copy of the two files without the program that wrote them.
        const QString copy = elsewhere.filePath(QStringLiteral("copy.sqlite"));
        QVERIFY(QFile::copy(QString::fromStdString(path), copy));
        QVERIFY(QFile::copy(QString::fromStdString(path + "-wal"), copy + QStringLiteral("-wal")));
        sqlite3_close(writer);
        const QString link = folder.filePath(QStringLiteral("link.sqlite"));
        QVERIFY(QFile::link(copy, link));
        for (const QString& given : {link, copy}) {
            auto t = import_export_file(given.toStdString());
            QVERIFY(t->result.has_value());
            QVERIFY(t->holder("step") != nullptr);
            QVERIFY(finding(*t, "input.log") == nullptr);
        }
        QVERIFY(!QFile::exists(copy + QStringLiteral("-shm")));
        QVERIFY(!QFile::exists(link + QStringLiteral("-shm")));
        QVERIFY(QFileInfo(copy + QStringLiteral("-wal")).size() > 0);
    }

    void types_of_events_are_read_as_integers() {
        auto t = import_export(
            "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);"
            "CREATE TABLE NVTX_EVENTS (start INTEGER, \"end\" INTEGER, eventType, text TEXT, globalTid INTEGER);",
            "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'a', 84), (3, 4, '59', 'b', 84), (5, 6, 59.5, 'c', 84), (7, 8, NULL, 'd', 84),"
            " (9, 10, 'abc', 'e', 84), (11, 12, 61, 'f', 84), (13, NULL, 76, NULL, 84), (14, NULL, '34', 'g', 84);");
        QVERIFY(t->result.has_value());
        QCOMPARE(t->ledger.totals().read, std::uint64_t{4});
        QCOMPARE(t->ledger.totals().metadata, std::uint64_t{4});
        QCOMPARE(t->ledger.totals().dropped, std::uint64_t{0});
        QCOMPARE(t->count("nsys.event-type"), std::uint64_t{3});
        QVERIFY(t->holder("b") != nullptr && t->holder("c") != nullptr && t->holder("g") != nullptr);
    }

    void views_are_passed_over_and_said() {
        auto t = import_export(
            "CREATE TABLE StringIds (id INTEGER NOT NULL PRIMARY KEY, value TEXT);"
            "CREATE TABLE NVTX_EVENTS (start INTEGER, \"end\" INTEGER, eventType INTEGER, text TEXT, globalTid INTEGER);"
            "CREATE TABLE other (start INTEGER, \"end\" INTEGER);"
            "CREATE VIEW CUPTI_ACTIVITY_KIND_KERNEL AS SELECT * FROM other; CREATE VIEW mine AS SELECT * FROM other;",
            "INSERT INTO NVTX_EVENTS VALUES (1, 2, 59, 'a', 84); INSERT INTO other VALUES (1, 2);");
        QVERIFY(t->result.has_value());
        QCOMPARE(t->count("nsys.view"), std::uint64_t{1});
        const HealthFinding* const said = finding(*t, "input.view");
        QVERIFY(said != nullptr);
        QVERIFY(said->sentence.find("CUPTI_ACTIVITY_KIND_KERNEL") != std::string::npos);
        QVERIFY(said->sentence.find("mine") == std::string::npos);
    }

    void outputs_of_processes_have_limits() {
        auto t = import_export(
            schema_3_7(),
            "DROP TABLE ProcessStreams; CREATE TABLE ProcessStreams (globalPid INTEGER, filenameId INTEGER, contentId INTEGER);"
            "INSERT INTO StringIds VALUES (1, '/tmp/a_stdout.log'), (2, hex(zeroblob(1500000)) || char(10) || 'after'),"
            " (3, 'x_stderr.log');"
            "INSERT INTO ProcessStreams VALUES ($G(1,5,0), 1, 2), ($G(1,5,0), 3, 77), ($G(1,5,0), 3, NULL);"
            "INSERT INTO NVTX_EVENTS (start, \"end\", eventType, text, globalTid) VALUES (1, 2, 59, 'a', $G(1,5,5));");
        QVERIFY(t->result.has_value());
        QCOMPARE(t->source.logs.size(), std::size_t{2});
        QCOMPARE(t->source.logs[0].text.size(), std::size_t{1024 * 1024});
        QCOMPARE(t->source.logs[1].text, std::string("after"));
        QCOMPARE(t->count("log.long-line"), std::uint64_t{1});
        QCOMPARE(t->count("log.cut-message"), std::uint64_t{1});
        QCOMPARE(t->count("nsys.no-output"), std::uint64_t{2});
        QCOMPARE(t->ledger.totals().read, std::uint64_t{3});
    }
};

QTEST_GUILESS_MAIN(TestNsysImporter)
#include "tst_nsys_importer.moc"
