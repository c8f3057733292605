// Shapes of log lines: headers, wrappers and how lines are joined to messages. All lines are made up.
#include <QTest>

#include "importers/service_log/clean_text.h"
#include "importers/service_log/line_header.h"
#include "importers/service_log/line_wrapper.h"
#include "importers/service_log/log_parser.h"

using namespace faultline;
using namespace faultline::service_log;

namespace {

QString text(std::string_view s) { return QString::fromUtf8(s.data(), static_cast<qsizetype>(s.size())); }

/// Messages of a log given as one text.
std::vector<LogMessage> parse(std::string_view log) {
    LogParser parser;
    std::uint64_t offset = 0;
    while (!log.empty()) {
        const std::size_t end = std::min(log.find('\n'), log.size());
        parser.line(log.substr(0, end), offset);
        offset += end + 1;
        log.remove_prefix(std::min(end + 1, log.size()));
    }
    parser.finish();
    return std::move(parser.messages());
}

QStringList texts(const std::vector<LogMessage>& messages) {
    QStringList out;
    for (const LogMessage& m : messages) out << text(m.text);
    return out;
}

constexpr TimeNs time_of_day(int h, int m, int s, TimeNs ns = 0) { return (h * 3600 + m * 60 + s) * kSecond + ns; }

}  // namespace

class TestServiceLogLines : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void reads_headers_data() {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<int>("shape");
        QTest::addColumn<QString>("level");
        QTest::addColumn<QString>("logger");
        QTest::addColumn<QString>("message");
        QTest::addColumn<qint64>("time");
        QTest::addColumn<qint64>("resolution");
        const auto row = [](const char* name, const char* line, Shape shape, const char* level, const char* logger, const char* message,
                            TimeNs time, TimeNs resolution) {
            QTest::newRow(name) << QByteArray(line) << static_cast<int>(shape) << QString::fromLatin1(level) << QString::fromLatin1(logger)
                                << QString::fromUtf8(message) << qint64{time} << qint64{resolution};
        };
        row("vllm", "INFO 07-30 17:42:47 [core.py:58] Engine is up", Shape::vllm, "INFO", "core.py:58", "Engine is up",
            time_of_day(17, 42, 47), kSecond);
        row("vllm old", "WARNING 02-25 11:11:31 metrics.py:455] slow", Shape::vllm, "WARNING", "metrics.py:455", "slow",
            time_of_day(11, 11, 31), kSecond);
        row("vllm long path", "DEBUG 02-25 11:11:31 [v1/engine/async_llm.py:525] x", Shape::vllm, "DEBUG", "v1/engine/async_llm.py:525",
            "x", time_of_day(11, 11, 31), kSecond);
        row("vllm minutes", "INFO 11-03 23:14 [api.py:7] x", Shape::vllm, "INFO", "api.py:7", "x", time_of_day(23, 14, 0), kMinute);
        row("vllm empty", "INFO 07-30 17:42:47 [core.py:58]", Shape::vllm, "INFO", "core.py:58", "", time_of_day(17, 42, 47), kSecond);
        row("sglang", "[2026-08-23 09:05:37 TP3 EP3] Decode batch, #running-req: 4", Shape::bracket, "", "",
            "Decode batch, #running-req: 4", time_of_day(9, 5, 37), kSecond);
        row("sglang plain", "[2026-08-23 09:05:37] Load weight end.", Shape::bracket, "", "", "Load weight end.", time_of_day(9, 5, 37),
            kSecond);
        row("sglang time only", "[16:43:29 TP0] Prefill batch. #new-seq: 1", Shape::bracket, "", "", "Prefill batch. #new-seq: 1",
            time_of_day(16, 43, 29), kSecond);
        row("sglang level", "[2026-08-23 09:05:37] WARNING server_args.py:1929: no", Shape::bracket, "WARNING", "server_args.py:1929", "no",
            time_of_day(9, 5, 37), kSecond);
        row("sglang uvicorn", "[2026-08-23 09:05:54] INFO:     10.9.1.5:571 - \"POST / HTTP/1.1\" 200 OK", Shape::bracket, "INFO", "",
            "10.9.1.5:571 - \"POST / HTTP/1.1\" 200 OK", time_of_day(9, 5, 54), kSecond);
        row("level from the header alone", "[2026-08-23 09:05:37 TP0] the user wrote ERROR: help", Shape::bracket, "", "",
            "the user wrote ERROR: help", time_of_day(9, 5, 37), kSecond);
        row("hydra", "[2026-12-06 08:48:57,139][__main__][INFO] - Starting", Shape::bracket, "INFO", "__main__", "Starting",
            time_of_day(8, 48, 57, 139'000'000), 1'000'000);
        row("lmcache", "[2025-08-21 07:17:09,753] LMCache INFO: stored", Shape::bracket, "INFO", "LMCache", "stored",
            time_of_day(7, 17, 9, 753'000'000), 1'000'000);
        row("uvicorn", "INFO:     10.0.0.1:60 - \"GET /health HTTP/1.1\" 200 OK", Shape::level, "INFO", "",
            "10.0.0.1:60 - \"GET /health HTTP/1.1\" 200 OK", 0, 0);
        row("torchrun", "ERROR:torch.distributed.elastic.api:failed (exitcode: 1)", Shape::level, "ERROR", "torch.distributed.elastic.api",
            "failed (exitcode: 1)", 0, 0);
        row("c10d", "[E820 11:47:24.069865760 ProcessGroupNCCL.cpp:607] [Rank 0] Watchdog", Shape::glog, "ERROR",
            "ProcessGroupNCCL.cpp:607", "[Rank 0] Watchdog", time_of_day(11, 47, 24, 69'865'760), 1);
        row("c10d without time", "[E ProcessGroupNCCL.cpp:563] [Rank 0] Watchdog", Shape::glog, "ERROR", "ProcessGroupNCCL.cpp:563",
            "[Rank 0] Watchdog", 0, 0);
        row("glog", "I0209 13:23:08.731716 10015 client.cpp:80] on", Shape::glog, "INFO", "client.cpp:80", "on",
            time_of_day(13, 23, 8, 731'716'000), 1000);
        row("absl epoch", "E0000 00:00:1762342011.351652   18908 dnn.cc:85] no", Shape::glog, "ERROR", "dnn.cc:85", "no",
            1'762'342'011'351'652'000, 1000);
        row("tensorflow", "2025-11-05 11:26:51.311052: W tensorflow/core/port.cc:153] off", Shape::plain, "WARNING",
            "tensorflow/core/port.cc:153", "off", time_of_day(11, 26, 51, 311'052'000), 1000);
        row("python", "2026-08-01 21:22:02,963 - INFO - autotuner.py:1351 - ready: 4", Shape::plain, "INFO", "autotuner.py:1351",
            "ready: 4", time_of_day(21, 22, 2, 963'000'000), 1'000'000);
        row("pipes", "2024-02-22 16:52:30 | ERROR | stdout | gone", Shape::plain, "ERROR", "stdout", "gone", time_of_day(16, 52, 30),
            kSecond);
        row("nccl", "node-0:88:157 [0] NCCL INFO Channel 01/0 : 0[0] -> 1[0]", Shape::nccl, "INFO", "NCCL", "Channel 01/0 : 0[0] -> 1[0]",
            0, 0);
        row("nccl stamp", "[2026-06-11 11:44:19] node-0:88:157 [3] init.cc:2053 (ncclInit) NCCL WARN Cuda failure", Shape::nccl, "WARNING",
            "init.cc:2053", "Cuda failure", time_of_day(11, 44, 19), kSecond);
        row("nccl stamp without function", "[2026-06-11 11:44:19] vm:57:58 [0] init.cc:2053 NCCL WARN x", Shape::nccl, "WARNING",
            "init.cc:2053", "x", time_of_day(11, 44, 19), kSecond);
        row("dmesg", "[22859.081860] NVRM: Xid (PCI:0000:01:00): 31, pid=14", Shape::kernel, "", "kernel",
            "NVRM: Xid (PCI:0000:01:00): 31, pid=14", 22859 * kSecond + 81'860'000, 1000);
        row("dmesg -T", "[Sun Feb 23 16:24:18 2025] NVRM: Xid (PCI:0000:9b:00): 79", Shape::kernel, "", "kernel",
            "NVRM: Xid (PCI:0000:9b:00): 79", time_of_day(16, 24, 18), kSecond);
        row("kernel time only", "19:14:43  NVRM: Xid (PCI:0000:1a:00): 13", Shape::kernel, "", "kernel", "NVRM: Xid (PCI:0000:1a:00): 13",
            time_of_day(19, 14, 43), kSecond);
        row("rust is UTC", "2025-09-17 08:22:52  INFO router_rs::server: src/server.rs:261: up", Shape::rust, "INFO",
            "router_rs::server: src/server.rs:261", "up", day_ns(2025, 9, 17) + time_of_day(8, 22, 52), kSecond);
        row("tensorrt-llm", "[08/23/2026-09:05:37] [TRT-LLM] [W] slow", Shape::bracket, "WARNING", "TRT-LLM", "slow", time_of_day(9, 5, 37),
            kSecond);
        row("tensorrt-llm without time", "[TensorRT-LLM][ERROR] gone", Shape::component, "ERROR", "TensorRT-LLM", "gone", 0, 0);
        row("component", "[Gloo] Rank 0 is connected", Shape::component, "", "Gloo", "Rank 0 is connected", 0, 0);
        row("prose", "12:30:00 is noon", Shape::none, "", "", "12:30:00 is noon", 0, 0);
        row("code", "    return func(*args)", Shape::none, "", "", "    return func(*args)", 0, 0);
        row("no month", "INFO 13-30 17:42:47 [core.py:58] x", Shape::none, "", "", "INFO 13-30 17:42:47 [core.py:58] x", 0, 0);
        row("no hour", "INFO 12-30 27:42:47 [core.py:58] x", Shape::none, "", "", "INFO 12-30 27:42:47 [core.py:58] x", 0, 0);
    }

    void reads_headers() {
        QFETCH(QByteArray, line);
        QFETCH(int, shape);
        QFETCH(QString, level);
        QFETCH(QString, logger);
        QFETCH(QString, message);
        QFETCH(qint64, time);
        QFETCH(qint64, resolution);
        const std::string_view view(line.constData(), static_cast<std::size_t>(line.size()));
        const Header header = read_header(view);
        QCOMPARE(static_cast<int>(header.shape), shape);
        QCOMPARE(text(header.level), level);
        QCOMPARE(text(header.logger), logger);
        QCOMPARE(text(view.substr(header.size)), message);
        QCOMPARE(qint64{header.stamp.ns}, time);
        QCOMPARE(qint64{header.stamp.resolution}, resolution);
    }

    void reads_ranks() {
        QCOMPARE(parallel_ranks("DP1 TP4 EP4").tp, std::optional<std::int64_t>(4));
        QCOMPARE(parallel_ranks("Worker_DP0_TP3_EP3").tp, std::optional<std::int64_t>(3));
        QCOMPARE(parallel_ranks("PP1 TP2").pp, std::optional<std::int64_t>(1));
        QVERIFY(!parallel_ranks("EngineCore_DP0").tp.has_value());
        QVERIFY(!parallel_ranks("ATTN_TP1").tp.has_value());
        QVERIFY(!parallel_ranks("HTTP1 x").tp.has_value());
    }

    void takes_prefixes_off() {
        const std::vector<LogMessage> m = parse(
            "(EngineCore_DP0 pid=77) INFO 10-22 09:33:49 [kv.py:10] a\n"
            "(Worker_TP1 pid=78) INFO 10-22 09:33:49 [w.py:2] b\n"
            "(VllmWorker rank=5 pid=33) ERROR 03-06 06:49:30 [m.py:3] c\n"
            "(RayWorkerWrapper pid=20, ip=10.0.0.25) INFO 03-06 06:49:30 [m.py:3] d\n"
            "[rank3]:[W308 08:57:56.206968653 PG.cpp:15] e\n"
            "[default1]:INFO 10-22 09:33:49 [w.py:2] f\n");
        QCOMPARE(texts(m), (QStringList{"a", "b", "c", "d", "e", "f"}));
        QCOMPARE(m[0].pid, std::optional<std::int64_t>(77));
        QCOMPARE(text(m[0].process), QStringLiteral("EngineCore_DP0"));
        QVERIFY(!m[0].rank.has_value());
        QCOMPARE(m[1].rank, std::optional<std::int64_t>(1));
        QCOMPARE(m[2].rank, std::optional<std::int64_t>(5));
        QCOMPARE(text(m[2].process), QStringLiteral("VllmWorker"));
        QCOMPARE(m[3].pid, std::optional<std::int64_t>(20));
        QCOMPARE(m[4].rank, std::optional<std::int64_t>(3));
        QCOMPARE(m[5].rank, std::optional<std::int64_t>(1));
    }

    void takes_wrappers_off_data() {
        QTest::addColumn<QByteArray>("line");
        QTest::addColumn<qint64>("epoch");  // of a wrapper with a zone, else 0
        const qint64 aug31 = day_ns(2026, 8, 31) + time_of_day(17, 43, 37);
        QTest::newRow("cri") << QByteArray("2026-08-31T17:43:37.867962742Z stdout F INFO 08-31 19:43:37 [a.py:1] x") << aug31 + 867'962'742;
        QTest::newRow("json in cri") << QByteArray(
                                            "2026-08-31T17:43:37.5Z stdout F {\"time\":\"2026-08-31 "
                                            "19:43:37\",\"level\":\"INFO\",\"logger\":\"a.py:1\",\"msg\":\"x\"}")
                                     << aug31 + 500'000'000;
        QTest::newRow("docker -t") << QByteArray("2026-08-31T17:43:37.867962742Z INFO 08-31 19:43:37 [a.py:1] x") << aug31 + 867'962'742;
        QTest::newRow("docker json")
            << QByteArray("{\"log\":\"INFO 08-31 19:43:37 [a.py:1] x\\n\",\"stream\":\"stderr\",\"time\":\"2026-08-31T17:43:37.5Z\"}")
            << aug31 + 500'000'000;
        QTest::newRow("journal json")
            << QByteArray(
                   "{\"MESSAGE\":\"INFO 08-31 19:43:37 [a.py:1] x\",\"_PID\":\"8052\",\"__REALTIME_TIMESTAMP\":\"1788198217000001\"}")
            << qint64{1'788'198'217'000'001'000};
        QTest::newRow("docker json with colours") << QByteArray(
                                                         "{\"log\":\"\\u001b[32mINFO\\u001b[0m 08-31 19:43:37 [a.py:1] "
                                                         "x\\r\\n\",\"stream\":\"stderr\",\"time\":\"2026-08-31T17:43:37.5Z\"}")
                                                  << aug31 + 500'000'000;
        QTest::newRow("loki") << QByteArray("1788198217000000001\t2026-08-31T17:43:37Z\tINFO 08-31 19:43:37 [a.py:1] x") << aug31;
        QTest::newRow("short-iso") << QByteArray("2026-08-31T19:43:37+0200 host vllm[8052]: INFO 08-31 19:43:37 [a.py:1] x") << aug31;
        QTest::newRow("syslog") << QByteArray("Aug 31 19:43:37 host vllm[8052]: INFO 08-31 19:43:37 [a.py:1] x") << qint64{0};
        QTest::newRow("chinese syslog") << QByteArray("8\xE6\x9C\x88 31 19:43:37 host bash[8052]: INFO 08-31 19:43:37 [a.py:1] x")
                                        << qint64{0};
        QTest::newRow("compose") << QByteArray("engine-1  | INFO 08-31 19:43:37 [a.py:1] x") << qint64{0};
        QTest::newRow("slash") << QByteArray("service  / INFO 08-31 19:43:37 [a.py:1] x") << qint64{0};
        QTest::newRow("pipe alone") << QByteArray("  | INFO 08-31 19:43:37 [a.py:1] x") << qint64{0};
        QTest::newRow("quote") << QByteArray("> INFO 08-31 19:43:37 [a.py:1] x") << qint64{0};
        QTest::newRow("srun") << QByteArray("0: INFO 08-31 19:43:37 [a.py:1] x") << qint64{0};
        QTest::newRow("launcher") << QByteArray("2026-08-31 19:43:38.174646 master-0 >> INFO 08-31 19:43:37 [a.py:1] x") << qint64{0};
        QTest::newRow("pod") << QByteArray("[pod/a-0/engine] INFO 08-31 19:43:37 [a.py:1] x") << qint64{0};
        QTest::newRow("colours")
            << QByteArray(
                   "\x1b[1;36m(APIServer pid=8052)\x1b[0;0m \x1b[32mINFO\x1b[0m \x1b[90m08-31 19:43:37\x1b[0m \x1b[90m[a.py:1]\x1b[0m x")
            << qint64{0};
        QTest::newRow("colours without escapes") << QByteArray(" [36m(RayWorker pid=8052) [0m INFO 08-31 19:43:37 [a.py:1] x") << qint64{0};
    }

    void takes_wrappers_off() {
        QFETCH(QByteArray, line);
        QFETCH(qint64, epoch);
        const std::vector<LogMessage> m = parse(std::string_view(line.constData(), static_cast<std::size_t>(line.size())));
        QCOMPARE(m.size(), std::size_t{1});
        QCOMPARE(text(m[0].text), QStringLiteral("x"));
        QCOMPARE(text(m[0].level), QStringLiteral("INFO"));
        QCOMPARE(text(m[0].logger), QStringLiteral("a.py:1"));
        if (epoch != 0) {
            QCOMPARE(static_cast<int>(m[0].stamp.kind), static_cast<int>(Stamp::Kind::absolute));
            QCOMPARE(qint64{m[0].stamp.ns}, epoch);
            if (m[0].local.known()) QCOMPARE(qint64{m[0].local.ns}, qint64{time_of_day(19, 43, 37)});
        } else {
            QCOMPARE(qint64{m[0].stamp.ns}, qint64{time_of_day(19, 43, 37)});
        }
        if (line.contains("8052")) QCOMPARE(m[0].pid, std::optional<std::int64_t>(8052));
    }

    void wrapper_of_the_first_line_holds_for_the_rest() {
        const std::vector<LogMessage> m = parse(
            "engine-1  | ERROR 08-31 19:43:37 [a.py:1] it failed:\n"
            "engine-1  | Traceback (most recent call last):\n"
            "engine-1  |   File \"a.py\", line 1, in f\n"
            "engine-1  | ValueError: no\n"
            "> not a quote\n");
        QCOMPARE(m.size(), std::size_t{2});
        QCOMPARE(text(m[0].text),
                 QStringLiteral("it failed:\nTraceback (most recent call last):\n  File \"a.py\", line 1, in f\nValueError: no"));
        QCOMPARE(text(m[0].process), QStringLiteral("engine-1"));
        QCOMPARE(text(m[1].text), QStringLiteral("> not a quote"));
    }

    void joins_partial_lines() {
        const std::vector<LogMessage> m = parse(
            "2026-08-31T17:43:37.1Z stdout P INFO 08-31 19:43:37 [a.py:1] one \n"
            "2026-08-31T17:43:37.2Z stderr F WARNING 08-31 19:43:37 [b.py:1] between\n"
            "2026-08-31T17:43:37.3Z stdout F and two\n");
        QCOMPARE(m.size(), std::size_t{2});
        QCOMPARE(text(m[0].text), QStringLiteral("between"));
        QCOMPARE(text(m[1].text), QStringLiteral("one and two"));
    }

    void joins_repeated_headers() {
        // With carriage returns inside, as the engine writes them.
        QCOMPARE(texts(parse("(A pid=1) INFO 08-01 20:59:09 [u.py:3] \r\n"
                             "(A pid=1) INFO 08-01 20:59:09 [u.py:3]   banner\r\n"
                             "(A pid=1) INFO 08-01 20:59:09 [u.py:3] end\n"
                             "(A pid=1) INFO 08-01 20:59:09 [u.py:3] another\n")),
                 (QStringList{"  banner\nend", "another"}));
        // Without: what looks like a continuation is one; two requests stay two messages.
        QCOMPARE(texts(parse("ERROR 04-28 02:37:03 [core.py:398] fatal error.\n"
                             "ERROR 04-28 02:37:03 [core.py:398] Traceback (most recent call last):\n"
                             "ERROR 04-28 02:37:03 [core.py:398]   File \"c.py\", line 3, in run\n"
                             "ERROR 04-28 02:37:03 [core.py:398] RuntimeError: CUDA error\n"
                             "INFO 04-28 02:37:03 [async.py:252] Added request a.\n"
                             "INFO 04-28 02:37:03 [async.py:252] Added request b.\n")),
                 (QStringList{"fatal error.\nTraceback (most recent call last):\n  File \"c.py\", line 3, in run\nRuntimeError: CUDA error",
                              "Added request a.", "Added request b."}));
    }

    void joins_tracebacks_between_other_writers() {
        const std::vector<LogMessage> m = parse(
            "(Worker_TP0 pid=1) ERROR 03-06 06:49:30 [m.py:3] failed:\n"
            "(Worker_TP1 pid=2) INFO 03-06 06:49:30 [m.py:9] fine\n"
            "(Worker_TP0 pid=1) Traceback (most recent call last):\n"
            "(Worker_TP1 pid=2) INFO 03-06 06:49:31 [m.py:9] still fine\n"
            "(Worker_TP0 pid=1)   File \"m.py\", line 2, in f\n"
            "(Worker_TP0 pid=1) torch.AcceleratorError: CUDA error: an illegal memory access was encountered\n"
            "(Worker_TP0 pid=1) CUDA kernel errors might be asynchronously reported at some other API call.\n"
            "(Worker_TP0 pid=1) For debugging consider passing CUDA_LAUNCH_BLOCKING=1\n"
            "(Worker_TP0 pid=1) something else\n");
        QCOMPARE(m.size(), std::size_t{4});
        QCOMPARE(m[0].lines, std::uint64_t{6});
        QVERIFY(text(m[0].text).endsWith(QStringLiteral("CUDA_LAUNCH_BLOCKING=1")));
        QCOMPARE(text(m[3].text), QStringLiteral("something else"));
    }

    void joins_sglang_tracebacks() {
        const std::vector<LogMessage> m = parse(
            "[2025-06-26 02:16:20 TP0] Scheduler hit an exception: Traceback (most recent call last):\n"
            "  File \"s.py\", line 2, in loop\n"
            "    run()\n"
            "KeyError: 'x'\n"
            "\n"
            "During handling of the above exception, another exception occurred:\n"
            "\n"
            "Traceback (most recent call last):\n"
            "  File \"s.py\", line 9, in end\n"
            "ValueError: y\n"
            "[2025-06-26 02:16:21] SIGQUIT received.\n");
        QCOMPARE(m.size(), std::size_t{2});
        QCOMPARE(m[0].lines, std::uint64_t{8});
        QVERIFY(text(m[0].text).endsWith(QStringLiteral("ValueError: y")));
        QCOMPARE(text(m[1].text), QStringLiteral("SIGQUIT received."));
    }

    void joins_native_stacks() {
        QCOMPARE(parse("[rank0]:[E820 11:47:24.069865760 PG.cpp:607] watchdog ended with exception: timeout\n"
                       "[rank0]: Exception raised from checkTimeout at PG.cpp:607 (most recent call first):\n"
                       "[rank0]: frame #0: c10::Error::Error() + 0xb0\n"
                       "[rank0]: frame #1: clone + 0x43\n")
                     .size(),
                 std::size_t{1});
    }

    void knows_journal_lines_without_unit() {
        const std::vector<LogMessage> m =
            parse("Aug 31 19:43:37 host kernel: NVRM: Xid (PCI:0000:01:00): 31\nAug 31 19:43:38 host last message repeated 3 times\n");
        QCOMPARE(texts(m), (QStringList{"NVRM: Xid (PCI:0000:01:00): 31", "last message repeated 3 times"}));
        QCOMPARE(text(m[0].logger), QStringLiteral("kernel"));
        QCOMPARE(qint64{m[1].stamp.ns}, qint64{time_of_day(19, 43, 38)});
    }

    void reads_loggers_that_write_json() {
        const std::vector<LogMessage> m = parse(
            "{\"timestamp\":\"2026-08-23 09:05:37,123\",\"level\":\"warning\",\"logger\":\"core\",\"message\":\"two\\nlines\"}\n"
            "{\"timestamp\":\"2026-08-23T09:05:38Z\",\"event\":\"request.finished\",\"rid\":\"ab12\"}\n"
            "{\"ts\":1755939938.25,\"severity\":\"ERROR\",\"msg\":\"gone\"}\n"
            "{\"timestamp\":\"soon\",\"message\":\"no time\"}\n"
            "{\"timestamp\":\"2026-08-23 09:05:37\",\"kernel\":\"gemm\"}\n");
        QCOMPARE(texts(m),
                 (QStringList{"two\nlines", "{\"timestamp\":\"2026-08-23T09:05:38Z\",\"event\":\"request.finished\",\"rid\":\"ab12\"}",
                              "gone", "{\"timestamp\":\"soon\",\"message\":\"no time\"}",
                              "{\"timestamp\":\"2026-08-23 09:05:37\",\"kernel\":\"gemm\"}"}));
        QCOMPARE(text(m[0].level), QStringLiteral("WARNING"));
        QCOMPARE(text(m[0].logger), QStringLiteral("core"));
        QCOMPARE(qint64{m[0].stamp.ns}, qint64{time_of_day(9, 5, 37, 123'000'000)});
        QVERIFY(m[1].stamp.kind == Stamp::Kind::absolute);
        QCOMPARE(qint64{m[2].stamp.ns}, qint64{1'755'939'938'250'000'000});
        QCOMPARE(text(m[2].level), QStringLiteral("ERROR"));
        QVERIFY(!m[3].stamp.known());
        QVERIFY(!m[4].stamp.known());
    }

    void tells_two_tracebacks_apart() {
        const std::string one =
            "ERROR 04-28 02:37:03 [core.py:398] Traceback (most recent call last):\n"
            "ERROR 04-28 02:37:03 [core.py:398]   File \"c.py\", line 3, in run\n"
            "ERROR 04-28 02:37:03 [core.py:398] RuntimeError: no\n";
        const std::vector<LogMessage> m = parse(one + one);
        QCOMPARE(m.size(), std::size_t{2});
        QCOMPARE(m[0].lines, std::uint64_t{3});
    }

    void joins_stack_dumps() {
        const std::vector<LogMessage> m = parse(
            "[2026-01-29 13:12:37 TP1] Pyspy dump for PID 88:\n"
            "Process 88: engine::scheduler_TP1\n"
            "Python v3.12.3 (/usr/bin/python3.12)\n"
            "\n"
            "Thread 88 (idle): \"MainThread\"\n"
            "    wait (threading.py:359)\n"
            "Thread 90 (active+gil): \"Thread-1\"\n"
            "    run (x.py:1)\n"
            "\n"
            "[2026-01-29 13:12:38 TP1] bye\n");
        QCOMPARE(m.size(), std::size_t{2});
        QCOMPARE(m[0].lines, std::uint64_t{7});
    }

    void folds_progress_bars() {
        LogParser parser;
        parser.line("(E pid=1) \rLoading shards:   0% Completed | 0/2 [00:00<?, ?it/s]", 0);
        parser.line("(E pid=1) \rLoading shards:  50% Completed | 1/2 [00:01<00:01,  1.05s/it]", 1);
        parser.line("(E pid=1) \rLoading shards: 100% Completed | 2/2 [00:02<00:00,  1.18s/it]", 2);
        parser.line("(E pid=1) ", 3);
        parser.line(
            "\r  0%|          | 0/8 [00:00<?, ?it/s]\rCapturing (bs=8): 12%|#  | 1/8 [00:00<00:03, 1.9it/s][2026-02-09 13:22:59] Lock 12 "
            "acquired",
            4);
        parser.finish();
        const std::vector<LogMessage>& m = parser.messages();
        QCOMPARE(texts(m),
                 (QStringList{"Loading shards: 100% Completed | 2/2 [00:02<00:00,  1.18s/it]", "  0%|          | 0/8 [00:00<?, ?it/s]",
                              "Capturing (bs=8): 12%|#  | 1/8 [00:00<00:03, 1.9it/s]", "Lock 12 acquired"}));
        QCOMPARE(parser.folded_states(), std::uint64_t{2});
        QCOMPARE(parser.blank_lines(), std::uint64_t{1});
        QVERIFY(!m[2].stamp.known());
        QCOMPARE(m[3].stamp.has_year, true);
    }

    void finds_a_header_behind_a_logging_prefix() {
        const std::vector<LogMessage> m =
            parse("node-7 INFO 07-30 17:42:47 [core.py:58] up\nhe said 'INFO 07-30 17:42:47 [core.py:58] up'\n");
        QCOMPARE(texts(m), (QStringList{"node-7 up", "he said 'INFO 07-30 17:42:47 [core.py:58] up'"}));
        QCOMPARE(text(m[0].level), QStringLiteral("INFO"));
        QCOMPARE(text(m[1].level), QString());
    }

    void cleans_text() {
        std::string colours = "\x1b[32mgreen\x1b[0m and \x1b]0;title\x07 plain [2m] text";
        remove_ansi(colours);
        QCOMPARE(text(colours), QStringLiteral("green and  plain [2m] text"));
        const std::pair<const char*, const char*> unended[]{{"\x1b]0;INFO two", "INFO two"},
                                                            {"a \x1b]8;; lost words", "a  lost words"},
                                                            {"\x1b]0;title \x1b[32mgreen\x1b[0m", "title green"},
                                                            {"\x1b]0;one\rtwo\x07", "one\rtwo\x07"},
                                                            {"\x1b]8;;http://a\x1b\\link\x1b]8;;\x1b\\ end", "link end"},
                                                            {"end \x1b]", "end "}};
        for (const auto& [given, left] : unended) {
            std::string line = given;
            remove_ansi(line);
            QCOMPARE(text(line), QString::fromLatin1(left));
        }
        std::string untouched = "array[12m] is [36m long";
        remove_ansi(untouched);
        QCOMPARE(text(untouched), QStringLiteral("array[12m] is [36m long"));
        std::string bytes = std::string(
                                "a\xFF"
                                "b\xC3\xA9\xED\xA0\x80") +
                            '\0' + "c";
        QVERIFY(repair_utf8(bytes));
        QCOMPARE(text(bytes), QString::fromUtf8("a\xEF\xBF\xBD"
                                                "b\xC3\xA9\xEF\xBF\xBD\xEF\xBF\xBD\xEF\xBF\xBD"
                                                "c"));
        QVERIFY(!repair_utf8(bytes));
    }

    void a_message_has_a_limit() {
        LogParser parser;
        parser.line("ERROR 03-06 06:49:30 [m.py:3] much:", 0);
        const std::string line = " " + std::string(100'000, 'x');
        for (std::uint64_t i = 1; i <= 20; ++i) parser.line(line, i);
        parser.finish();
        QCOMPARE(parser.messages().size(), std::size_t{2});
        std::size_t bytes = 0;
        for (const LogMessage& m : parser.messages()) {
            QVERIFY(m.text.size() <= LogParser::kMaxMessage);
            QCOMPARE(text(m.level), QStringLiteral("ERROR"));
            bytes += m.text.size();
        }
        QVERIFY(bytes > 20 * 100'000);
    }
};

QTEST_APPLESS_MAIN(TestServiceLogLines)
#include "tst_service_log_lines.moc"
