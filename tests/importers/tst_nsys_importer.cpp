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
#include "tests/support/nsys_rows.h"

using namespace faultline;
using namespace faultline::test;

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
};

QTEST_GUILESS_MAIN(TestNsysImporter)
#include "tst_nsys_importer.moc"
