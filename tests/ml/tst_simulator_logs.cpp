// What simulated engines write, read back by the importer of real logs: layouts, start-up, requests, files.
#include <QTemporaryDir>
#include <QTest>

#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "importers/service_log/sniff_log.h"
#include "ml/simulator/logs/log_writer.h"
#include "tests/ml/log_scene.h"

using namespace faultline;
using namespace faultline::simulator;

class TestSimulatorLogs : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void layouts_are_those_of_the_engines();
    void trouble_of_others_keeps_its_own_layout();
    void several_lines_repeat_the_header_where_the_engine_does();
    void stamps_are_those_of_the_nodes_clock();
    void start_up_is_read_back_data();
    void start_up_is_read_back();
    void start_up_has_the_deployments_numbers();
    void request_ids_are_found();
    void files_are_named_by_engine_and_node();
    void same_seed_same_words();
};

void TestSimulatorLogs::layouts_are_those_of_the_engines() {
    const RunOptions v1 = options_of(Engine::vllm_v1_online, 2);
    const Topology t1 = topology_of(v1);
    QCOMPARE(line_of(v1, t1, 1, LogLayout::engine, "core.py", 349, "msg"), "(EngineCore pid=4100) INFO 11-30 21:44:40 [core.py:349] msg\n");
    QCOMPARE(line_of(v1, t1, 3, LogLayout::engine, "gpu_worker.py", 1, "msg", LogLevel::warning),
             "(Worker_TP1 pid=4201) WARNING 11-30 21:44:40 [gpu_worker.py:1] msg\n");
    QCOMPARE(line_of(v1, t1, 0, LogLayout::access, "", 0, quoted("10.0.0.1:54426 - `POST /v1/chat/completions HTTP/1.1` 200 OK")),
             quoted("(APIServer pid=4000) INFO:     10.0.0.1:54426 - `POST /v1/chat/completions HTTP/1.1` 200 OK\n"));
    Topology several = t1;
    for (ProcessInfo& p : several.processes) p.dp_rank = 1;
    QCOMPARE(line_of(v1, several, 1, LogLayout::engine, "core.py", 349, "msg"),
             "(EngineCore_DP1 pid=4100) INFO 11-30 21:44:40 [core.py:349] msg\n");
    QCOMPARE(line_of(v1, several, 2, LogLayout::bare, "", 0, "msg"), "(Worker_DP1_TP0 pid=4200) msg\n");
    const RunOptions v0 = options_of(Engine::vllm_v0, 2);
    const Topology t0 = topology_of(v0);
    QCOMPARE(line_of(v0, t0, 1, LogLayout::engine, "metrics.py", 455, "msg"), "INFO 11-30 21:44:40 metrics.py:455] msg\n");
    QCOMPARE(line_of(v0, t0, 2, LogLayout::engine, "utils.py", 950, "msg"),
             "(VllmWorkerProcess pid=4101) INFO 11-30 21:44:40 utils.py:950] msg\n");
    const RunOptions sglang = options_of(Engine::sglang, 2);
    const Topology ts = topology_of(sglang);
    QCOMPARE(line_of(sglang, ts, 2, LogLayout::engine, "scheduler.py", 1, "msg"), "[2026-11-30 21:44:40 TP1] msg\n");
    QCOMPARE(line_of(sglang, ts, 0, LogLayout::engine, "x.py", 1, "msg"), "[2026-11-30 21:44:40] msg\n");
    QCOMPARE(line_of(sglang, ts, 0, LogLayout::access, "", 0, "Shutting down"), "[2026-11-30 21:44:40] INFO:     Shutting down\n");
    Topology of_groups = ts;
    for (ProcessInfo& p : of_groups.processes) p.dp_rank = 0;
    QCOMPARE(line_of(sglang, of_groups, 1, LogLayout::engine, "scheduler.py", 1, "msg"), "[2026-11-30 21:44:40 DP0 TP0] msg\n");
    const RunOptions single = options_of(Engine::sglang);
    QCOMPARE(line_of(single, topology_of(single), 1, LogLayout::engine, "x.py", 1, "msg"), "[2026-11-30 21:44:40] msg\n");
    const RunOptions fsdp = options_of(Engine::fsdp, 2);
    QCOMPARE(line_of(fsdp, topology_of(fsdp), 1, LogLayout::engine, "generate.py", 58, "msg"),
             "[default1]:2026-11-30 21:44:40,408 - INFO - generate.py:58 - msg\n");
}

void TestSimulatorLogs::trouble_of_others_keeps_its_own_layout() {
    const RunOptions v1 = options_of(Engine::vllm_v1_online, 2);
    const Topology t = topology_of(v1);
    QCOMPARE(line_of(v1, t, 3, LogLayout::torch_cpp, "ProcessGroupNCCL.cpp", 607, "msg", LogLevel::error),
             "[rank1]:[E1130 21:44:40.408271257 ProcessGroupNCCL.cpp:607] msg\n");
    QCOMPARE(line_of(v1, t, 3, LogLayout::nccl_info, "", 0, "Using network IB"), "node-0:4201:4201 [1] NCCL INFO Using network IB\n");
    QCOMPARE(line_of(v1, t, 3, LogLayout::nccl_warn, "init.cc", 2053, "Cuda failure"),
             "\n[2026-11-30 21:44:40] node-0:4201:4201 [1] init.cc:2053 NCCL WARN Cuda failure\n");
    const std::string kernel = line_of(v1, t, 0, LogLayout::kernel, "", 0, "NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.");
    QCOMPARE(kernel, "Nov 30 21:44:40 node-0 kernel: [22859.081860] NVRM: Xid (PCI:0000:3b:00): 79, GPU has fallen off the bus.\n");
    const std::vector<LogLine> lines = read_back(kernel);
    QCOMPARE(lines.size(), std::size_t{1});
    QCOMPARE(lines[0].logger, std::string("kernel"));
    QCOMPARE(lines[0].time, std::optional<TimeNs>(kNoon / kSecond * kSecond));
}

void TestSimulatorLogs::several_lines_repeat_the_header_where_the_engine_does() {
    const RunOptions v1 = options_of(Engine::vllm_v1_online);
    const std::string text =
        line_of(v1, topology_of(v1), 1, LogLayout::engine, "core.py", 11, "EngineCore failed.\nTraceback", LogLevel::error);
    QCOMPARE(text,
             "(EngineCore pid=4100) ERROR 11-30 21:44:40 [core.py:11] EngineCore failed.\r\n"
             "(EngineCore pid=4100) ERROR 11-30 21:44:40 [core.py:11] Traceback\n");
    QCOMPARE(read_back(text).size(), std::size_t{1});
    const RunOptions sglang = options_of(Engine::sglang);
    QCOMPARE(line_of(sglang, topology_of(sglang), 1, LogLayout::engine, "x.py", 1, "a:\n  b"), "[2026-11-30 21:44:40] a:\n  b\n");
}

void TestSimulatorLogs::stamps_are_those_of_the_nodes_clock() {
    const RunOptions options = options_of(Engine::vllm_v1_online);
    const Topology ahead = topology_of(options, 90 * kSecond);
    QCOMPARE(line_of(options, ahead, 1, LogLayout::engine, "core.py", 1, "msg"),
             "(EngineCore pid=4100) INFO 11-30 21:46:10 [core.py:1] msg\n");
    const Topology behind = topology_of(options, -22 * 3600 * kSecond);
    QCOMPARE(line_of(options, behind, 1, LogLayout::torch_cpp, "a.cpp", 1, "msg"), "[rank0]:[I1129 23:44:40.408271257 a.cpp:1] msg\n");
}

void TestSimulatorLogs::start_up_is_read_back_data() {
    QTest::addColumn<int>("engine");
    QTest::addColumn<int>("tp");
    for (int engine = 0; engine < kEngineCount; ++engine)
        for (const int tp : {1, 4})
            QTest::addRow("%s tp%d", std::string(engine_name(static_cast<Engine>(engine))).c_str(), tp) << engine << tp;
}

void TestSimulatorLogs::start_up_is_read_back() {
    QFETCH(int, engine);
    QFETCH(int, tp);
    const RunOptions options = options_of(static_cast<Engine>(engine), tp);
    const Topology topology = topology_of(options);
    const auto voice = make_voice(options, topology, facts(), Noise(7));
    const std::vector<LogDraft> drafts = voice->start_up(kNoon, kNoon + 70 * kSecond);
    QVERIFY(drafts.size() > 6);
    for (std::size_t i = 0; i < drafts.size(); ++i) {
        QVERIFY(drafts[i].time >= kNoon && drafts[i].time <= kNoon + 70 * kSecond);
        QVERIFY(i == 0 || drafts[i - 1].time <= drafts[i].time);
    }
    const std::string text = written(options, topology, drafts);
    QVERIFY(service_log::sniff_log(text) >= 60);
    compare_all(options, drafts, read_back(text));
    QCOMPARE(has_text(drafts, "Init COMPLETE"), tp > 1);
    const std::vector<LogDraft> end = voice->shut_down(kNoon + 100 * kSecond);
    compare_all(options, end, read_back(written(options, topology, end)));
}

void TestSimulatorLogs::start_up_has_the_deployments_numbers() {
    RunOptions options = options_of(Engine::vllm_v1_online, 2);
    const Topology topology = topology_of(options);
    const auto drafts = make_voice(options, topology, facts(), Noise(7))->start_up(kNoon, kNoon + 100 * kSecond);
    QVERIFY(has_text(drafts, "GPU KV cache size: 160,000 tokens"));
    QVERIFY(has_text(drafts, "Maximum concurrency for 16,384 tokens per request: 9.77x"));
    QVERIFY(has_text(drafts, "Available KV cache memory: 10.99 GiB"));
    QVERIFY(has_text(drafts, "Capturing CUDA graphs (mixed prefill-decode, PIECEWISE): 100%"));
    QVERIFY(has_text(drafts, " 10/10 "));
    QVERIFY(has_text(drafts, "Capturing CUDA graphs (decode, FULL): 100%"));
    QVERIFY(has_text(drafts, " 8/8 "));  // of at most 128 sequences
    QVERIFY(has_text(drafts, "init engine (profile, create kv cache, warmup model) took 57.00 seconds"));
    options.deployment.graphs = GraphMode::none;
    const auto eager = make_voice(options, topology, facts(), Noise(7))->start_up(kNoon, kNoon + 100 * kSecond);
    QVERIFY(!has_text(eager, "Capturing CUDA graphs"));
    QVERIFY(!has_text(eager, "torch.compile takes"));
    const RunOptions sglang = options_of(Engine::sglang, 2);
    const auto of_sglang = make_voice(sglang, topology_of(sglang), facts(), Noise(7))->start_up(kNoon, kNoon + 100 * kSecond);
    QVERIFY(has_text(of_sglang, "max_total_num_tokens=160000"));
    QVERIFY(has_text(of_sglang, "Capture cuda graph bs [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]"));
}

void TestSimulatorLogs::request_ids_are_found() {
    const RequestRules rules = RequestRules::built_in();
    for (int engine = 0; engine < kEngineCount; ++engine) {
        RunOptions options = options_of(static_cast<Engine>(engine));
        const bool hex = options.deployment.engine == Engine::sglang;
        const char* id = hex ? "c99c9df769e24bd4a26a0d5bbe4e738a" : "chatcmpl-a63edc53871ca0b0-8587678b";
        const Topology topology = topology_of(options);
        simulator::Request request = request_of(3, 612, 120, id);
        request.generated = 120;
        for (const bool logged : {true, false}) {
            options.recording.request_ids = logged;
            const auto voice = make_voice(options, topology, facts(), Noise(7));
            std::map<RequestEvent, std::string> found;
            for (const RequestEnd end : {RequestEnd::finished_stop, RequestEnd::aborted}) {
                request.end = end;
                std::vector<LogDraft> drafts = voice->arrived(request, kNoon);
                for (LogDraft& d : voice->departed(request, kNoon + 3 * kSecond)) drafts.push_back(d);
                for (const LogLine& line : read_back(written(options, topology, drafts)))
                    for (const RequestText& text : rules.match_log(line.logger, line.text)) found[text.event] = text.ids.at(0);
            }
            if (!logged || options.deployment.engine == Engine::vllm_v1_offline) {
                QVERIFY(found.empty());
                continue;
            }
            QCOMPARE(found[RequestEvent::arrival], std::string(id));
            QVERIFY(found.contains(hex ? RequestEvent::finished : RequestEvent::aborted));
        }
    }
}

void TestSimulatorLogs::files_are_named_by_engine_and_node() {
    const QTemporaryDir folder;
    const RunOptions options = options_of(Engine::sglang);
    Topology topology = topology_of(options);
    topology.nodes.push_back({"node-1", {kNoon, 5 * kSecond, 0}, kNoon});
    topology.processes.push_back({NodeIndex{1}, ProcessRole::scheduler, InstanceIndex{0}, 99, 1, -1, {}});
    auto writer = LogWriter::open(folder.path().toStdString(), options, topology);
    QVERIFY(writer.has_value());
    const auto last = static_cast<ProcessIndex>(topology.processes.size() - 1);
    for (int i = 0; i < 3000; ++i)
        (*writer)->log({kNoon + i * kSecond, last, LogLevel::info, LogLayout::engine, "a.py", 1, "a line that is long enough", false});
    (*writer)->log({kNoon, last, LogLevel::error, LogLayout::kernel, "", 0, "NVRM: Xid", false});
    const auto names = (*writer)->finish();
    QVERIFY(names.has_value());
    QCOMPARE(*names, (std::vector<std::string>{"sglang-node-1.log", "kernel-node-1.log"}));
    std::ifstream in(folder.path().toStdString() + "/sglang-node-1.log");
    std::string line;
    int count = 0;
    for (; std::getline(in, line); ++count)
        if (count == 0) QCOMPARE(line, std::string("[2026-11-30 21:44:45 TP1] a line that is long enough"));
    QCOMPARE(count, 3000);
    auto nowhere = LogWriter::open("/nowhere/at/all", options, topology);
    QVERIFY(nowhere.has_value());
    (*nowhere)->log({kNoon, last, LogLevel::info, LogLayout::engine, "a.py", 1, "x", false});
    const auto failed = (*nowhere)->finish();
    QVERIFY(!failed.has_value());
    QCOMPARE(static_cast<int>(failed.error().code), static_cast<int>(ErrorCode::unwritable_output));
}

void TestSimulatorLogs::same_seed_same_words() {
    const RunOptions options = options_of(Engine::vllm_v1_online, 4);
    const Topology topology = topology_of(options);
    const auto text_of = [&](std::uint64_t seed) {
        return written(options, topology, make_voice(options, topology, facts(), Noise(seed))->start_up(kNoon, kNoon + 60 * kSecond));
    };
    QCOMPARE(text_of(3), text_of(3));
    QVERIFY(text_of(3) != text_of(4));
}

QTEST_APPLESS_MAIN(TestSimulatorLogs)
#include "tst_simulator_logs.moc"
