// Logs through the importer: lines, processes, counters, clock, ledger, and which texts it takes for logs. All lines are made up.
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>
#include <bit>

#include "../support/imported_trace.h"
#include "importers/registry.h"
#include "importers/service_log/log_text.h"
#include "importers/service_log/service_log_importer.h"
#include "importers/service_log/status_line.h"
#include "importers/source_file.h"

using namespace faultline;
using namespace faultline::test;

namespace {

std::unique_ptr<ImportedTrace> import_file(const std::string& path, const ImportContext& context = {}) {
    auto imported = std::make_unique<ImportedTrace>();
    Result<std::unique_ptr<SourceFile>> file = SourceFile::open(path);
    if (!file) {
        imported->result = tl::unexpected<Error>(file.error());
        return imported;
    }
    imported->source.context = context;
    imported->result = service_log_importer().read(**file, imported->source, imported->ledger, {});
    return imported;
}

std::unique_ptr<ImportedTrace> import_log(std::string_view text, const ImportContext& context = {}) {
    QTemporaryDir folder;
    const QString path = folder.filePath(QStringLiteral("engine.log"));
    QFile file(path);
    if (!file.open(QIODevice::WriteOnly)) qFatal("cannot write the log");
    file.write(text.data(), static_cast<qint64>(text.size()));
    file.close();
    return import_file(path.toStdString(), context);
}

Confidence sniff(std::string_view text) { return ServiceLogImporter().sniff(text, "x.txt"); }

QMap<QString, double> status(std::string_view line) {
    QMap<QString, double> out;
    for (const service_log::StatusValue& v : service_log::read_status(line)) out[QString::fromStdString(v.name)] = v.value;
    return out;
}

ImportContext utc() {
    ImportContext context;
    context.time_zone = "UTC";
    return context;
}

}  // namespace

class TestServiceLog : public QObject {
    Q_OBJECT
private Q_SLOTS:
    void reads_a_log() {
        const auto log = import_log(
            "[2026-07-01 12:00:01] INFO:     10.0.0.1:60 - \"GET /health HTTP/1.1\" 200 OK\n"
            "[2026-07-01 12:00:00 DP0 TP1] Decode batch, #running-req: 3, token usage: 0.50, cuda graph: True, gen throughput (token/s): "
            "40.5, #queue-req: 0\n"
            "\n"
            "no stamp\n",
            utc());
        QVERIFY2(log->result.has_value(), log->result ? "" : log->result.error().sentence.c_str());
        const std::vector<LogLine>& lines = log->source.logs;
        QCOMPARE(lines.size(), std::size_t{3});
        QCOMPARE(log->source.clock_base_ns, std::int64_t{1'782'907'200'000'000'000});
        QVERIFY(log->source.has_wall_clock);
        QCOMPARE(lines[0].time, std::optional<TimeNs>(1'000'000'000));
        QCOMPARE(lines[1].time, std::optional<TimeNs>(0));
        QCOMPARE(lines[1].resolution_ns, TimeNs{1'000'000'000});
        QCOMPARE(lines[1].rank, std::optional<std::int64_t>(1));
        QVERIFY(lines[1].process.has_value());
        QCOMPARE(log->source.process_row(*lines[1].process).name, std::string("DP0 TP1"));
        QCOMPARE(log->source.process_row(*lines[1].process).rank, std::optional<std::int64_t>(1));
        QVERIFY(!lines[2].time);
        QCOMPARE(lines[0].level, std::string("INFO"));
        QCOMPARE(lines[1].level, std::string());
        QCOMPARE(log->ledger.totals().read, std::uint64_t{3});
        QCOMPARE(log->ledger.totals().dropped, std::uint64_t{0});
        QCOMPARE(log->source.source.producer, std::string("SGLang"));
        QVERIFY(log->source.source.metadata.find("\"blank_lines\": 1") != std::string::npos);
    }

    void makes_counters() {
        const auto log = import_log(
            "(APIServer pid=5) INFO 07-01 12:00:00 [loggers.py:1] Engine 000: Avg prompt throughput: 12.5 tokens/s, Running: 8 reqs, "
            "Waiting: 2 reqs\n"
            "(APIServer pid=5) INFO 07-01 12:00:10 [loggers.py:1] Engine 000: Avg prompt throughput: 0.0 tokens/s, Running: 7 reqs, "
            "Waiting: 0 reqs\n",
            utc());
        const TrackBuffer* track = log->holder("Running requests");
        QVERIFY(track != nullptr);
        QCOMPARE(track->track.kind, TrackKind::counter);
        QCOMPARE(track->size(), 2u);
        QCOMPARE(track->kinds[0], SpanKind::counter);
        QCOMPARE(track->starts[1] - track->starts[0], TimeNs{10'000'000'000});
        QCOMPARE(std::bit_cast<double>(track->get(0, Column::value)), 8.0);
        QCOMPARE(std::bit_cast<double>(track->get(1, Column::value)), 7.0);
        QVERIFY(track->track.process.has_value());
        QCOMPARE(log->source.process_row(*track->track.process).pid, std::int64_t{5});
        QCOMPARE(log->source.logs.size(), std::size_t{2});
        QVERIFY(log->holder("Prompt throughput (tokens/s)") != nullptr);
    }

    void reads_status_lines() {
        auto v = status(
            "Engine 000: Avg prompt throughput: 1.0 tokens/s, Avg generation throughput: 239.2 tokens/s, Running: 8 reqs, Waiting: 3 reqs, "
            "Deferred: 1 reqs, Preemptions: 2, GPU KV cache usage: 91.2%, Prefix cache hit rate: 4.5%, External prefix cache hit rate: "
            "5.5%");
        QCOMPARE(v.size(), qsizetype{9});
        QCOMPARE(v["Generation throughput (tokens/s)"], 239.2);
        QCOMPARE(v["KV cache usage (%)"], 91.2);
        QCOMPARE(v["Preemptions"], 2.0);
        QCOMPARE(v["External prefix cache hit rate (%)"], 5.5);
        v = status("Engine 003: Avg prompt throughput: 1.0 tokens/s, Running: 8 reqs");
        QCOMPARE(v["Engine 3: Running requests"], 8.0);
        v = status(
            "Avg prompt throughput: 0.0 tokens/s, Running: 1 reqs, Swapped: 4 reqs, Pending: 98 reqs, GPU KV cache usage: 73.8%, CPU KV "
            "cache usage: 0.5%.");
        QCOMPARE(v["Waiting requests"], 98.0);
        QCOMPARE(v["Swapped requests"], 4.0);
        QCOMPARE(v["CPU KV cache usage (%)"], 0.5);
        v = status("Prefix cache hit rate: GPU: 12.50%, CPU: 1.50%");
        QCOMPARE(v["Prefix cache hit rate (%)"], 12.5);
        QCOMPARE(v["CPU prefix cache hit rate (%)"], 1.5);
        v = status(
            "Iteration(515): 1 context requests, 64 context tokens, 20 generation requests, 21 generation tokens, iteration elapsed time: "
            "10.99 ms");
        QCOMPARE(v["Iteration"], 515.0);
        QCOMPARE(v["Context tokens"], 64.0);
        QCOMPARE(v["Generation requests"], 20.0);
        QCOMPARE(v["Iteration time (ms)"], 10.99);
        v = status(
            "SpecDecoding metrics: Mean acceptance length: 2.84, Accepted throughput: 3.5 tokens/s, Accepted: 31 tokens, Drafted: 85 "
            "tokens, "
            "Per-position acceptance rate: 0.700, 0.500, 0.250, Avg Draft acceptance rate: 36.5%");
        QCOMPARE(v["Mean acceptance length"], 2.84);
        QCOMPARE(v["Accepted throughput (tokens/s)"], 3.5);
        QCOMPARE(v["Accepted tokens"], 31.0);
        QCOMPARE(v["Per-position acceptance rate 1"], 0.7);
        QCOMPARE(v["Per-position acceptance rate 3"], 0.25);
        QCOMPARE(v["Draft acceptance rate (%)"], 36.5);
        v = status(
            "Prefill batch [12], #new-seq: 1, #new-token: 4096, #cached-token: 7, full token usage: 0.49, mamba usage: 0.33, #running-req: "
            "4, "
            "#queue-req: 2, cuda graph: False, input throughput (token/s): 13874.93, ");
        QCOMPARE(v["Forward iteration"], 12.0);
        QCOMPARE(v["New tokens"], 4096.0);
        QCOMPARE(v["Token usage"], 0.49);
        QCOMPARE(v["Mamba usage"], 0.33);
        QCOMPARE(v["CUDA graph"], 0.0);
        QCOMPARE(v["Prompt throughput (tokens/s)"], 13874.93);
        v = status("Decode batch. #running-req: 2, #token: 307481, token usage: 1.00, gen throughput (token/s): 10.92, #queue-req: 0");
        QCOMPARE(v["Running requests"], 2.0);
        QCOMPARE(v["Tokens in KV cache"], 307481.0);
        v = status("Decode out of memory happened. #retracted_reqs: 1, #new_token_ratio: 0.0980 -> 0.9446");
        QCOMPARE(v["Retracted requests"], 1.0);
        QCOMPARE(v["New token ratio"], 0.9446);
        QVERIFY(status("Received request a: prompt: 'Running: 8 reqs, Waiting: 3 reqs'").isEmpty());
        QVERIFY(status("").isEmpty());
    }

    void reads_gzip_and_cut_gzip() {
        std::string text;
        for (int i = 0; i < 2000; ++i)
            text += "[2026-07-01 12:" + std::to_string(10 + i / 60 % 50) + ":" + std::to_string(10 + i % 50) + "] line " +
                    std::to_string(i) + "\n";
        const std::string packed = gzipped(text);
        const auto whole = import_log(packed, utc());
        QVERIFY(whole->result.has_value());
        QCOMPARE(whole->source.logs.size(), std::size_t{2000});
        QCOMPARE(whole->source.logs[1].offset, std::uint64_t{text.find('\n') + 1});
        const auto cut = import_log(std::string_view(packed).substr(0, packed.size() / 2), utc());
        QVERIFY(cut->result.has_value());
        QVERIFY(!cut->source.logs.empty());
        QCOMPARE(cut->count("input.gzip"), std::uint64_t{1});
    }

    void counts_what_it_repaired() {
        const std::string huge =
            "[2026-07-01 12:00:00] " + std::string(3'000'000, 'y') + "\n[2026-07-01 12:00:01] after\n[2026-07-01 12:00:02] \xFF\xFE\n";
        const auto log = import_log(huge, utc());
        QVERIFY(log->result.has_value());
        QCOMPARE(log->source.logs.size(), std::size_t{3});
        QVERIFY(log->source.logs[0].text.size() <= 1024 * 1024);
        QCOMPARE(log->source.logs[1].text, std::string("after"));
        QCOMPARE(log->source.logs[2].text, std::string("\xEF\xBF\xBD\xEF\xBF\xBD"));
        QCOMPARE(log->count("log.long-line"), std::uint64_t{1});
        QCOMPARE(log->count("log.bytes"), std::uint64_t{1});
        QCOMPARE(log->ledger.totals().read, std::uint64_t{3});
        QCOMPARE(log->ledger.totals().repaired, std::uint64_t{2});
    }

    void returns_alone_end_lines_too() {
        std::string text;
        for (int i = 0; i < 60'000; ++i) text += "[2026-07-01 12:00:00] message " + std::to_string(i) + '\r';
        for (const std::string& begun : {std::string(), std::string("[2026-07-01 12:00:00] a line\n")}) {
            const auto log = import_log(begun + text + "[2026-07-01 12:00:01] last", utc());
            QVERIFY(log->result.has_value());
            QCOMPARE(log->source.logs.size(), std::size_t{60'001} + !begun.empty());
            QCOMPARE(log->source.logs.back().text, std::string("last"));
            QCOMPARE(log->source.logs[log->source.logs.size() - 2].text, std::string("message 59999"));
            QCOMPARE(log->ledger.totals().repaired, std::uint64_t{0});
            QCOMPARE(log->ledger.totals().dropped, std::uint64_t{0});
        }
    }

    void only_the_message_that_was_cut_is_called_cut() {
        const std::string before = "[2026-07-01 12:00:00] first\r[2026-07-01 12:00:01] second\r";
        const std::string text = before + "[2026-07-01 12:00:02] " + std::string(3'000'000, 'y') +
                                 "\r[2026-07-01 12:00:03] behind\r[2026-07-01 12:00:04] it\n[2026-07-01 12:00:05] after\n";
        const auto log = import_log("[2026-07-01 12:00:00] a\n" + text, utc());
        QVERIFY(log->result.has_value());
        QCOMPARE(log->source.logs.size(), std::size_t{7});
        QCOMPARE(log->source.logs[2].text, std::string("second"));
        QCOMPARE(log->source.logs[4].text, std::string("behind"));
        QCOMPARE(log->source.logs[6].text, std::string("after"));
        QCOMPARE(log->count("log.cut-message"), std::uint64_t{1});
        QCOMPARE(log->count("log.long-line"), std::uint64_t{1});
        QCOMPARE(log->ledger.totals().repaired, std::uint64_t{1});
        ImportedTrace trace;
        const auto lines = service_log::read_log_text(text, trace.source, std::nullopt, trace.ledger, "x ");
        QCOMPARE(lines.size(), std::size_t{6});
        QCOMPARE(lines[3].text, std::string("behind"));
        QCOMPARE(trace.ledger.totals().repaired, std::uint64_t{1});
    }

    void holes_of_zero_bytes_are_passed_over() {
        const std::string lines = "[2026-07-01 12:00:00] one\n[2026-07-01 12:00:01] two\n";
        for (const std::size_t size : {std::size_t{100}, std::size_t{2'000'000}}) {
            const std::string hole(size, '\0');
            const auto log = import_log(hole + lines + hole + lines + hole, utc());
            QVERIFY(log->result.has_value());
            QCOMPARE(log->source.logs.size(), std::size_t{4});
            QCOMPARE(log->source.logs[0].offset, std::uint64_t{size});
            QCOMPARE(log->source.logs[2].text, std::string("one"));
            QCOMPARE(log->count("log.zero-bytes"), std::uint64_t{3});
            QCOMPARE(log->ledger.totals().repaired, std::uint64_t{0});
            const auto none = import_log(hole);
            QVERIFY(!none->result.has_value());
            const auto binary = import_log(hole + std::string("ab\0cd", 5));
            QVERIFY(!binary->result.has_value());
        }
        QCOMPARE(sniff(std::string(1000, '\0') + lines), 90);
    }

    void days_that_no_calendar_has_give_no_time() {
        const auto log = import_log(
            "2026-02-28 12:00:00,000 - a - INFO - x\n2026-02-29 12:00:00,000 - a - INFO - y\n2026-02-30 12:00:00 z\n"
            "2026-04-31T12:00:00Z q\nINFO 02-30 10:00:00 [a.py:1] v\n2026-13-45 12:00:00 w\n2024-02-29 12:00:00 leap\n",
            utc());
        QVERIFY(log->result.has_value());
        QCOMPARE(log->source.logs.size(), std::size_t{7});
        for (std::size_t i = 0; i < 7; ++i) QCOMPARE(log->source.logs[i].time.has_value(), i == 0 || i == 6);
        QCOMPARE(log->source.logs[4].text, std::string("v"));
        QCOMPARE(log->count("log.impossible-date"), std::uint64_t{5});
    }

    void takes_any_text_that_it_is_given() {
        const auto log = import_log("first\nsecond\n\n\tindented\n");
        QVERIFY(log->result.has_value());
        QCOMPARE(log->source.logs.size(), std::size_t{2});
        QCOMPARE(log->source.logs[1].text, std::string("second\n\tindented"));
        QVERIFY(!log->source.has_wall_clock);
        QVERIFY(!log->source.logs[0].time);
        const auto empty = import_log("\n  \n\r\n");
        QVERIFY(!empty->result.has_value());
        QCOMPARE(empty->result.error().code, ErrorCode::unusable_input);
    }

    void refuses_a_zone_that_is_none() {
        ImportContext context;
        context.time_zone = "Nowhere/Land";
        const auto log = import_log("[2026-07-01 12:00:00] x\n", context);
        QVERIFY(!log->result.has_value());
        QCOMPARE(log->result.error().code, ErrorCode::wrong_usage);
    }

    void numbers_pipeline_ranks() {
        const auto log =
            import_log("[2026-07-01 12:00:00 PP0 TP1] a\n[2026-07-01 12:00:00 PP1 TP0] b\n[2026-07-01 12:00:00 PP1 TP1] c\n", utc());
        QCOMPARE(log->source.logs[0].rank, std::optional<std::int64_t>(1));
        QCOMPARE(log->source.logs[1].rank, std::optional<std::int64_t>(2));
        QCOMPARE(log->source.logs[2].rank, std::optional<std::int64_t>(3));
    }

    void puts_text_of_a_process_into_a_source() {
        ImportedTrace trace;
        const ProcessId process = trace.source.process(99);
        const auto lines = service_log::read_log_text("Decode batch. #running-req: 2, #queue-req: 0\n(Worker_TP1 pid=4) x\n", trace.source,
                                                      process, trace.ledger, "");
        QCOMPARE(trace.ledger.totals().read, std::uint64_t{2});
        QCOMPARE(lines.size(), std::size_t{2});
        QCOMPARE(lines[0].process, std::optional(process));
        QCOMPARE(trace.source.process_row(*lines[1].process).pid, std::int64_t{4});
        QVERIFY(trace.source.tracks().empty());  // no time, no counter
    }

    void knows_logs() {
        QCOMPARE(sniff("INFO 07-30 17:42:47 [core.py:58] a\nINFO 07-30 17:42:47 [core.py:58] b\n"), 90);
        QCOMPARE(sniff("n:8:9 [0] NCCL INFO a\nn:8:9 [0] NCCL INFO b\n"), 90);
        QCOMPARE(sniff("[   12.345678] NVRM: Xid (PCI:0000:01:00): 31\n[   12.345679] x\n"), 90);
        QCOMPARE(sniff("\x1b[36m(APIServer pid=5)\x1b[0m hello\n\x1b[36m(APIServer pid=5)\x1b[0m you\n"), 90);
        QCOMPARE(sniff("{\"MESSAGE\":\"x\",\"__REALTIME_TIMESTAMP\":\"1788198217000001\"}\n{\"MESSAGE\":\"y\",\"__REALTIME_TIMESTAMP\":"
                       "\"1788198217000002\"}\n"),
                 90);
        std::string late;
        for (int i = 0; i < 40; ++i) late += "Collecting package " + std::to_string(i) + "\n";
        QCOMPARE(sniff(late), 0);
        for (int i = 0; i < 4; ++i) late += "[2026-07-01 12:00:00 TP0] up\n";
        QCOMPARE(sniff(late), 60);
    }

    void leaves_other_texts_alone() {
        QCOMPARE(sniff(""), 0);
        QCOMPARE(sniff("{\"traceEvents\": [{\"name\": \"INFO 07-30 17:42:47 [core.py:58] a\"}]}"), 0);
        QCOMPARE(sniff("[\n  {\"ph\": \"X\", \"ts\": 1}\n]\n"), 0);
        QCOMPARE(sniff("main;run;step 12\nmain;run;wait 3\n"), 0);
        QCOMPARE(sniff("time,kernel,ns\n2026-07-01 12:00:00,gemm,12\n2026-07-01 12:00:01,gemm,13\n"), 0);
        QCOMPARE(sniff(" Time (%)  Total Time (ns)  Instances  Name\n --------  ---------------  ---------  ----\n     50.1          "
                       "1234567         12  gemm\n"),
                 0);
        QCOMPARE(sniff("Process 88: python\nPython v3.12.3\n\nThread 88 (idle): \"MainThread\"\n    wait (threading.py:359)\n"), 0);
        QCOMPARE(sniff("Dear all,\nthe meeting is at 12:30.\nERROR is human.\n"), 0);
        QCOMPARE(sniff(std::string_view("SQLite format 3\0INFO 07-30 17:42:47 [core.py:58] a\n", 56)), 0);
    }

    void real_logs_are_taken() {
        const QString folder = QString::fromStdString(shared_captures());
        if (folder.isEmpty()) QSKIP("no real logs on this machine");
        const QDir logs(QDir::cleanPath(folder + QStringLiteral("/../logs")));
        if (!logs.exists()) QSKIP("no real logs on this machine");
        for (const QString& name : logs.entryList({QStringLiteral("*.txt")}, QDir::Files, QDir::Name)) {
            const std::string path = logs.filePath(name).toStdString();
            QVERIFY2(sniff(read_inflated(path)) >= 60, qPrintable(name));
            const auto log = import_file(path);
            QVERIFY2(log->result.has_value(), qPrintable(name));
            QVERIFY2(log->ledger.totals().dropped == 0 && log->ledger.totals().read == log->source.logs.size(), qPrintable(name));
            for (const LogLine& line : log->source.logs) {
                QVERIFY2(!line.time || *line.time >= 0, qPrintable(name));
                QVERIFY2(line.text.find('\r') == std::string::npos && line.text.find('\x1b') == std::string::npos, qPrintable(name));
            }
        }
    }
};

QTEST_APPLESS_MAIN(TestServiceLog)
#include "tst_service_log.moc"
