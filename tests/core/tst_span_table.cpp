// The table `span`: what a pushed-down constraint finds is what a scan of every row finds, and the views say what was written.
#include <QTemporaryDir>
#include <QTest>
#include <bit>
#include <random>

#include "core/capture_reader.h"
#include "core/capture_writer.h"
#include "core/query.h"
#include "core/statistics.h"

using namespace faultline;

namespace {

using Rows = std::vector<std::vector<SqlValue>>;

constexpr int kSpans = 9'000;  // three chunks of the host track

/// A thread with nested operators, calls and ranges, and a stream (with a sub-lane) of kernels that the calls launched.
void fill(SourceBuilder& source, std::int64_t rank, std::uint32_t seed) {
    source.source.path = "rank" + std::to_string(rank) + ".json";
    source.source.format = "test";
    source.source.rank = rank;
    source.has_wall_clock = false;
    const ProcessId process = source.process(100 + rank);
    source.process_row(process).name = "python3";
    const ThreadId thread = source.thread(process, 7);
    source.thread_row(thread).name = "thread 7 (main)";
    TrackBuffer& host = source.host_track(thread);
    TrackBuffer& device = source.device_track(source.device(rank), 7);
    TrackBuffer& lane = source.sub_lane(device, 1);
    std::mt19937 random(seed);
    std::uint32_t parent = 0;
    for (int i = 0; i < kSpans; ++i) {
        const TimeNs start = 1'000 + i * 100;
        const SpanKind kind = i % 10 == 0  ? SpanKind::range
                              : i % 3 == 0 ? SpanKind::runtime_call
                              : i % 7 == 0 ? SpanKind::driver_call
                                           : SpanKind::op;
        const std::uint32_t at =
            host.append(start, kind == SpanKind::range ? 1'000 : 50, source.name(kind == SpanKind::op ? "aten::mm" : "call"), kind);
        if (kind == SpanKind::range)
            parent = at;
        else
            host.set(at, Column::parent, parent);
        host.set(at, Column::depth, kind == SpanKind::range ? 0 : 1);
        if (i % 100 == 5) host.set(at, Column::args, index_of(source.text("{\"n\":" + std::to_string(i) + "}")));
        if (!is_api_call(kind)) continue;
        host.set(at, Column::correlation, i);
        host.set(at, Column::step, 1 + i / 3'000);
        TrackBuffer& stream = i % 5 == 0 ? lane : device;
        const std::uint32_t kernel = stream.append(start + 2'000, 20 + static_cast<TimeNs>(random() % 60),
                                                   source.name(i % 2 ? "gemm" : "ncclDevKernel_AllReduce"), SpanKind::kernel);
        stream.set(kernel, Column::correlation, i);
        stream.set(kernel, Column::launch, SpanId::make(host.track.id, at).value);
        if (i % 2 == 0) stream.add_flag(kernel, flag_collective);
        if (i % 2 == 0) stream.set(kernel, Column::comm_bytes, 1024);
    }
    TrackBuffer& counter = source.counter_track(process, "power");
    counter.set(counter.append(1'500, 0, source.name("power"), SpanKind::counter), Column::value, std::bit_cast<std::int64_t>(62.5));
}

Result<void> add_source(CaptureWriter& writer, std::int64_t rank) {
    SourceBuilder source = writer.begin_source();
    fill(source, rank, 5 + static_cast<std::uint32_t>(rank));
    ImportLedger ledger;
    ledger.add_read(7);
    ledger.dropped("test.bad", "A bad record", "byte 5");
    for (TrackBuffer& track : source.tracks()) {
        track.track.spans = track.size();
        track.track.first_start = track.starts.front();
        track.track.last_end = track.end(track.size() - 1);
        track.track.clock_offset_ns = -1'000;
        if (Result<void> ok = writer.write_track(track); !ok) return ok;
    }
    Step step;
    step.id = StepId{writer.next_step_id()};
    step.name = "execute_1";
    step.phase = StepPhase::decode;
    step.start = 10;
    step.end = 60;
    step.tokens = 12;
    step.ranks = {rank};
    step.spans = {SpanId::make(source.tracks().front().track.id, 0)};
    if (Result<void> ok = writer.write_steps(std::span(&step, 1)); !ok) return ok;
    return writer.complete_source(source, ledger);
}

}  // namespace

class TestSpanTable : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    std::unique_ptr<CaptureReader> reader_;

    [[nodiscard]] Rows rows(const std::string& sql) const {
        Rows out;
        const Result<void> done = run_query(
            *reader_, sql, [](const auto&) {},
            [&out](const std::vector<SqlValue>& row) {
                out.push_back(row);
                return true;
            });
        if (!done) qWarning("%s: %s", sql.c_str(), done.error().sentence.c_str());
        return done ? out : Rows{{std::string("failed")}};
    }
    [[nodiscard]] std::int64_t integer(const std::string& sql) const {
        const Rows found = rows(sql);
        return found.size() == 1 && std::holds_alternative<std::int64_t>(found[0][0]) ? std::get<std::int64_t>(found[0][0]) : -999;
    }
    [[nodiscard]] std::string text(const std::string& sql) const {
        const Rows found = rows(sql);
        return found.size() == 1 && std::holds_alternative<std::string>(found[0][0]) ? std::get<std::string>(found[0][0])
                                                                                     : std::string("no text");
    }

private Q_SLOTS:
    void initTestCase() {
        const std::string path = dir_.filePath(QStringLiteral("c.faultline")).toStdString();
        auto writer = CaptureWriter::create(path);
        QVERIFY(writer.has_value());
        QVERIFY(add_source(**writer, 0).has_value());
        QVERIFY(add_source(**writer, 1).has_value());
        QVERIFY((*writer)->finish().has_value());
        auto reader = CaptureReader::open(path);
        QVERIFY(reader.has_value());
        reader_ = std::move(*reader);
    }

    void counts_every_span() {
        std::uint64_t spans = 0;
        for (const Track& track : reader_->tracks()) spans += track.spans;
        QCOMPARE(integer("SELECT count(*) FROM span"), static_cast<std::int64_t>(spans));
        QCOMPARE(integer("SELECT count(DISTINCT id) FROM span"), static_cast<std::int64_t>(spans));
    }

    void narrowed_scans_find_what_a_full_scan_finds_data() {
        QTest::addColumn<QString>("column");
        QTest::addColumn<QString>("condition");
        const auto add = [](const char* column, const char* condition) {
            QTest::addRow("%s %s", column, condition) << column << condition;
        };
        add("start_ns", "= 200");
        add("start_ns", "BETWEEN 400000 AND 500000");
        add("start_ns", "> 899000.5");
        add("start_ns", "< 1000");
        add("start_ns", "<= '500'");
        add("start_ns", "> 'text'");
        add("start_ns", "< 'text'");
        add("start_ns", "> -9223372036854775808");
        add("end_ns", ">= 899950");
        add("end_ns", "< 400");
        add("kind", "= 'kernel'");
        add("kind", "= 'KERNEL'");
        add("kind", "IN ('runtime_call', 'driver_call', 'nothing')");
        add("kind", "= NULL");
        add("track", "= 1");
        add("track", "= 1.0");
        add("track", "= 1.5");
        add("track", "= -1");
        add("id", "= 1099511631873");
        add("id", "= '1099511631873'");
        add("id", "IN (1, 1099511631873, 1099511631875, 1099999999999, 1099511627776)");
        add("correlation", "= 4500");
        add("correlation", "IN (3, 6, 7, 9)");
        add("correlation", "= 'x'");
        add("launch", "= (SELECT launch FROM span WHERE launch IS NOT NULL LIMIT 1 OFFSET 2000)");
        add("parent", "= 1099511631866");
        add("parent", "= 1099511632776");
        add("parent", "= -3");
        add("name", "= 'gemm'");
        add("name", "= 'no such name'");
        add("name", "= 'GEMM' COLLATE NOCASE");
        add("step", "= 2");
        add("depth", "= 0");
        add("rank", "= 1");
        add("device", "= 0");
        add("stream", "= 7");
        add("lane", "= 1");
        add("source", "= 2");
        add("collective", "= 1");
        add("collective", "= 0");
        add("name_id", "= 1");
    }

    void narrowed_scans_find_what_a_full_scan_finds() {
        QFETCH(QString, column);
        QFETCH(QString, condition);
        const std::string narrowed = (column + QLatin1Char(' ') + condition).toStdString();
        // A plus hides a column from the planner. The affinity of the column stays with a cast that changes nothing.
        const bool is_text = column == QLatin1String("name") || column == QLatin1String("kind");
        const std::string hidden = "CAST(+" + column.toStdString() + (is_text ? " AS TEXT) " : " AS INTEGER) ") + condition.toStdString();
        QCOMPARE(rows("SELECT id, start_ns, name FROM span WHERE " + narrowed + " ORDER BY id"),
                 rows("SELECT id, start_ns, name FROM span WHERE " + hidden + " ORDER BY id"));
        const std::string both = " AND kind IN ('kernel', 'op') AND start_ns >= 1000 ORDER BY id";
        QCOMPARE(rows("SELECT id, kind, depth FROM span WHERE " + narrowed + both),
                 rows("SELECT id, kind, depth FROM span WHERE " + hidden + both));
    }

    void finds_its_rows_by_constraints_together() {
        QCOMPARE(integer("SELECT count(*) FROM span WHERE id = 3 AND id = 4"), std::int64_t{0});
        QCOMPARE(integer("SELECT count(*) FROM span WHERE track = 0 AND track = 1"), std::int64_t{0});
        QCOMPARE(integer("SELECT count(*) FROM span WHERE parent = 10 AND parent = 20"), std::int64_t{0});
        QCOMPARE(integer("SELECT count(*) FROM span WHERE correlation = 3 AND correlation = 6"), std::int64_t{0});
        QCOMPARE(integer("SELECT count(*) FROM span WHERE rowid = 1099511627793"), std::int64_t{1});
    }

    void orders_by_id_without_sorting() {
        const Rows plan = rows("EXPLAIN QUERY PLAN SELECT id FROM span ORDER BY id");
        QCOMPARE(plan.size(), std::size_t{1});
        std::int64_t before = -1;
        for (const auto& row : rows("SELECT id FROM span ORDER BY id")) {
            const std::int64_t id = std::get<std::int64_t>(row[0]);
            QVERIFY(id > before);
            before = id;
        }
    }

    void groups_without_sorting_data() {
        QTest::addColumn<QString>("column");
        for (const char* column : {"name", "kind", "step", "depth", "name_id", "correlation"})
            QTest::newRow(column) << QString::fromUtf8(column);
    }

    void groups_without_sorting() {
        QFETCH(QString, column);
        const std::string by = column.toStdString();
        const std::string sums = "count(*), sum(duration_ns), min(id), max(end_ns), count(thread), sum(track)";
        for (const std::string where : {"", " WHERE kind IN ('kernel', 'op')", " WHERE start_ns > 300000"}) {
            const auto grouped = rows("SELECT " + by + ", " + sums + " FROM span" + where + " GROUP BY " + by + " ORDER BY 1");
            QVERIFY(!grouped.empty());
            QCOMPARE(grouped, rows("SELECT " + by + ", " + sums + " FROM span" + where + " GROUP BY +" + by + " ORDER BY 1"));
            QCOMPARE(rows("SELECT " + by + ", count(*) FROM span" + where + " GROUP BY 1 ORDER BY 1 DESC"),
                     rows("SELECT " + by + ", count(*) FROM span" + where + " GROUP BY +" + by + " ORDER BY 1 DESC"));
            QCOMPARE(rows("SELECT count(*) FROM (SELECT DISTINCT " + by + " FROM span" + where + ")"),
                     (Rows{{static_cast<std::int64_t>(grouped.size())}}));
        }
        for (const auto& row : rows("EXPLAIN QUERY PLAN SELECT " + by + ", count(*) FROM span GROUP BY " + by))
            QVERIFY(std::get<std::string>(row[3]).find("TEMP B-TREE") == std::string::npos);
    }

    void orders_by_lane_and_time_without_sorting_data() {
        QTest::addColumn<QString>("order");
        for (const char* order : {"start_ns", "track, start_ns", "device, stream, start_ns", "source, device, stream, start_ns",
                                  "rank, lane", "stream", "lane, start_ns"})
            QTest::newRow(order) << QString::fromUtf8(order);
    }

    void orders_by_lane_and_time_without_sorting() {
        QFETCH(QString, order);
        const std::string by = order.toStdString();
        const std::string hidden = "+" + QString(order).replace(QStringLiteral(", "), QStringLiteral(", +")).toStdString();
        for (const std::string where : {"", " WHERE kind = 'kernel'", " WHERE device = 0 AND start_ns > 300000"}) {
            // Rows that are equal in these columns may come in any order.
            QCOMPARE(rows("SELECT " + by + " FROM span" + where + " ORDER BY " + by),
                     rows("SELECT " + by + " FROM span" + where + " ORDER BY " + hidden));
            QCOMPARE(rows("SELECT id, name, end_ns FROM (SELECT * FROM span" + where + " ORDER BY " + by + " LIMIT -1) ORDER BY +id"),
                     rows("SELECT id, name, end_ns FROM span" + where + " ORDER BY +id"));
        }
        for (const auto& row : rows("EXPLAIN QUERY PLAN SELECT id FROM kernels ORDER BY " + by))
            QVERIFY(std::get<std::string>(row[3]).find("TEMP B-TREE") == std::string::npos);
        QCOMPARE(rows("SELECT " + by + ", count(*) FROM span GROUP BY " + by + " ORDER BY count(*), min(id)"),
                 rows("SELECT " + by + ", count(*) FROM span GROUP BY " + hidden + " ORDER BY count(*), min(id)"));
        QCOMPARE(rows("SELECT id FROM span ORDER BY " + by + " DESC, id").size(), rows("SELECT id FROM span").size());
    }

    void groups_what_an_index_finds() {
        QCOMPARE(rows("SELECT name, count(*) FROM span WHERE correlation = 3 GROUP BY name ORDER BY 1"),
                 rows("SELECT name, count(*) FROM span WHERE +correlation = 3 GROUP BY name ORDER BY 1"));
    }

    void joins_kernels_to_their_calls() {
        const std::int64_t kernels = integer("SELECT count(*) FROM kernels");
        QVERIFY(kernels > 1'000);
        QCOMPARE(integer("SELECT count(*) FROM kernels AS k JOIN api_calls AS a ON a.id = k.launch"), kernels);
        // A correlation is scoped to its process: two ranks here use the same numbers.
        QCOMPARE(integer("SELECT count(*) FROM kernels JOIN api_calls USING (correlation)"), 2 * kernels);
        QCOMPARE(integer("SELECT count(*) FROM kernels AS k JOIN api_calls AS a USING (correlation, source)"), kernels);
        QCOMPARE(integer("SELECT count(*) FROM kernels AS k JOIN api_calls AS a ON a.id = k.launch WHERE a.correlation <> k.correlation"),
                 std::int64_t{0});
    }

    void shows_names_and_places() {
        QCOMPARE(text("SELECT process FROM span WHERE id = 1099511627776"), std::string("python3 (100)"));
        QCOMPARE(text("SELECT thread FROM span WHERE id = 1099511627776"), std::string("thread 7 (main)"));
        QCOMPARE(integer("SELECT pid FROM span WHERE id = 1099511627776"), std::int64_t{100});
        QCOMPARE(integer("SELECT tid FROM kernels WHERE rank = 1 LIMIT 1"), std::int64_t{7});
        QCOMPARE(text("SELECT process FROM kernels WHERE rank = 1 LIMIT 1"), std::string("python3 (101)"));
        QCOMPARE(integer("SELECT count(*) FROM span WHERE process NOT IN (SELECT process FROM processes)"), std::int64_t{0});
        QCOMPARE(integer("SELECT count(*) FROM span WHERE thread NOT IN (SELECT thread FROM threads)"), std::int64_t{0});
        QCOMPARE(text("SELECT args FROM span WHERE args IS NOT NULL ORDER BY id LIMIT 1"), std::string("{\"n\":5}"));
        QCOMPARE(integer("SELECT json_extract(args, '$.n') FROM span WHERE args IS NOT NULL ORDER BY id LIMIT 1 OFFSET 3"),
                 std::int64_t{305});
        QCOMPARE(rows("SELECT value FROM span WHERE kind = 'counter' LIMIT 1"), (Rows{{62.5}}));
        QCOMPARE(integer("SELECT end_ns - start_ns - duration_ns FROM span WHERE id = 1099511627793"), std::int64_t{0});
        QCOMPARE(integer("SELECT start_ns FROM span WHERE id = 1099511627776"), std::int64_t{0});
    }

    void every_view_answers_data() {
        QTest::addColumn<QString>("columns");
        const QString timed = QStringLiteral("id, start_ns, duration_ns, name, source, process, thread, rank, step");
        const auto add = [](const char* view, const QString& columns) { QTest::newRow(view) << columns; };
        add("kernels", timed + QStringLiteral(", device, stream, correlation, launch, family, mangled_name, graph_node"));
        add("api_calls", timed + QStringLiteral(", correlation, result"));
        add("ranges", timed + QStringLiteral(", parent, depth"));
        add("ops", timed + QStringLiteral(", parent, depth"));
        add("memory_copies", timed + QStringLiteral(", device, stream, bytes, kind"));
        add("collectives", timed + QStringLiteral(", bytes, group_size, kind"));
        add("steps", timed + QStringLiteral(", kind, phase, host_ns, inferred, tokens, batch, instance, ranks, requests, expected_ns, "
                                            "ratio, outlier, reasons, bound, kernel_busy_ns, kernels"));
        add("requests", timed + QStringLiteral(", arrival_ns, first_token_ns, end_ns, ttft_ns, tpot_ns, steps, instances"));
        add("request_steps", QStringLiteral("request, step"));
        add("logs", timed + QStringLiteral(", level, logger, request, text, method"));
        add("stack_samples", timed + QStringLiteral(", stack"));
        add("bubbles", timed + QStringLiteral(", device, cause"));
        add("notes", timed + QStringLiteral(", text"));
        add("diagnoses", timed + QStringLiteral(", fault_type, confidence"));
        add("ledger", QStringLiteral("source, outcome, code, sentence, count, samples"));
        add("sources", QStringLiteral("id, name, path, format, rank, events, read, repaired, dropped"));
        add("processes", QStringLiteral("id, source, pid, name, process, rank"));
        add("threads", QStringLiteral("id, source, process, tid, name, thread, rank"));
        add("devices", QStringLiteral("id, source, device, name, rank"));
    }

    void every_view_answers() {
        QFETCH(QString, columns);
        const std::string view = QTest::currentDataTag();
        std::vector<std::string> names;
        const Result<void> done = run_query(
            *reader_, "SELECT " + columns.toStdString() + " FROM " + view, [&names](const auto& n) { names = n; },
            [](const auto&) { return true; });
        if (!done) QFAIL(done.error().sentence.c_str());
        QCOMPARE(static_cast<qsizetype>(names.size()), columns.count(QLatin1Char(',')) + 1);
    }

    void views_say_what_was_written() {
        QCOMPARE(
            rows("SELECT id, name, phase, duration_ns, tokens, ranks, requests, rank, process, inferred FROM steps ORDER BY id LIMIT 1"),
            (Rows{{std::int64_t{1}, std::string("execute_1"), std::string("decode"), std::int64_t{50}, std::int64_t{12}, std::string("[0]"),
                   std::string("[]"), std::int64_t{0}, std::string("python3 (100)"), std::int64_t{0}}}));
        QCOMPARE(rows("SELECT DISTINCT kind, bytes FROM collectives"), (Rows{{std::string("all_reduce"), std::int64_t{1024}}}));
        QCOMPARE(rows("SELECT outcome, code, count, samples FROM ledger LIMIT 1"),
                 (Rows{{std::string("dropped"), std::string("test.bad"), std::int64_t{1}, std::string("byte 5")}}));
        QCOMPARE(rows("SELECT path, rank, read, dropped FROM sources ORDER BY id LIMIT 1"),
                 (Rows{{std::string("rank0.json"), std::int64_t{0}, std::int64_t{7}, std::int64_t{1}}}));
        QCOMPARE(integer("SELECT count(*) FROM ranges"), std::int64_t{2 * kSpans / 10});
    }

    void core_calls_agree_with_sql() {
        const auto index = SpanIndex::build(*reader_);
        QVERIFY(index.has_value());
        Rows from_core;
        for (const NameStatistics& top : top_names(**index, SpanKind::kernel, 10))
            from_core.push_back({std::string(reader_->name(top.name)), static_cast<std::int64_t>(top.count), top.total, top.longest});
        QCOMPARE(from_core,
                 rows("SELECT name, count(*), sum(duration_ns), max(duration_ns) FROM kernels GROUP BY name ORDER BY 3 DESC LIMIT 10"));
        const TimeRange range{300'000, 301'000};
        QCOMPARE(static_cast<std::int64_t>(device_work_in(**index, range).size()),
                 integer("SELECT count(*) FROM kernels WHERE start_ns < 301000 AND end_ns > 300000"));
        std::int64_t gaps = 0;
        TimeNs idle = 0;
        for (const StreamGaps& stream : stream_gaps(**index)) {
            gaps += static_cast<std::int64_t>(stream.gaps.size());
            for (const TimeRange gap : stream.gaps) idle += gap.duration();
        }
        QCOMPARE(
            (Rows{{gaps, idle}}),
            rows(
                "SELECT count(*), sum(gap) FROM (SELECT start_ns - max(end_ns) OVER (PARTITION BY source, device, stream ORDER BY start_ns "
                "ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING) AS gap FROM kernels) WHERE gap > 0"));
        // A lane at a time, the gaps are those between neighbours.
        QCOMPARE(rows("SELECT track, count(*), sum(gap_ns) FROM kernels GROUP BY track ORDER BY track"),
                 rows("SELECT track, count(*), sum(gap) FROM (SELECT track, start_ns - lag(end_ns) OVER (PARTITION BY track ORDER BY "
                      "start_ns) AS gap FROM kernels) GROUP BY track ORDER BY track"));
        const auto kinds = count_kinds(*reader_);
        QVERIFY(kinds.has_value());
        QCOMPARE(static_cast<std::int64_t>((*kinds)[static_cast<std::size_t>(SpanKind::op)]), integer("SELECT count(*) FROM ops"));
    }
};

QTEST_APPLESS_MAIN(TestSpanTable)
#include "tst_span_table.moc"
