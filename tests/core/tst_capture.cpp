// The capture file: what is written is read back, an interrupted import leaves nothing, newer and foreign files are refused.
#include <sys/stat.h>

#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <fstream>

#include "core/capture_reader.h"
#include "core/capture_schema.h"
#include "core/capture_writer.h"
#include "core/nesting.h"

using namespace faultline;

namespace {

/// Adds a source with 10,000 spans on a thread and one kernel, at the given wall clock.
Result<void> add_source(CaptureWriter& writer, std::int64_t base_ns, std::int64_t rank) {
    SourceBuilder source = writer.begin_source();
    source.source.path = "made.json";
    source.source.format = "test";
    source.source.rank = rank;
    source.clock_base_ns = base_ns;
    const ThreadId thread = source.thread(source.process(100 + rank), 7);
    TrackBuffer& host = source.host_track(thread);
    for (int i = 0; i < 10'000; ++i) {
        const std::uint32_t at = host.append(1'000 + i * 10, 8, source.name(i % 2 ? "odd" : "even"), SpanKind::op);
        host.set(at, Column::external_id, i);
        if (i % 3 == 0) host.set(at, Column::args, index_of(source.text("{\"n\":" + std::to_string(i) + "}")));
    }
    TrackBuffer& device = source.device_track(source.device(0), 7, source.process(100 + rank));
    device.append(2'000, 500, source.name("kernel"), SpanKind::kernel);
    ImportLedger ledger;
    ledger.add_read(10'001);
    ledger.dropped("test.bad", "A bad record", "byte 5");
    sort_and_nest(source, ledger, {});
    const Result<std::int64_t> offset = writer.clock_offset(source, 1'000);
    if (!offset) return tl::unexpected<Error>(offset.error());
    for (TrackBuffer& t : source.tracks()) {
        t.track.spans = t.size();
        t.track.first_start = t.starts.front();
        t.track.last_end = t.end(t.size() - 1);
        t.track.clock_offset_ns = *offset;
        if (Result<void> ok = writer.write_track(t); !ok) return ok;
    }
    Step step;
    step.id = StepId{writer.next_step_id()};
    step.name = "step";
    step.tokens = 12;
    step.ranks = {rank};
    step.spans = {SpanId::make(host.track.id, 0)};
    if (Result<void> ok = writer.write_steps(std::span(&step, 1)); !ok) return ok;
    source.health.push_back({"test.finding", Severity::warning, "A finding"});
    return writer.complete_source(source, ledger);
}

void make(const std::string& path) {
    auto writer = CaptureWriter::create(path);
    QVERIFY(writer.has_value());
    QVERIFY(add_source(**writer, 1'700'000'000'000'000'000, 0).has_value());
    QVERIFY((*writer)->finish().has_value());
}

}  // namespace

class TestCapture : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    [[nodiscard]] std::string file(const char* name) const { return dir_.filePath(QString::fromUtf8(name)).toStdString(); }

private Q_SLOTS:
    void reads_back_what_was_written() {
        make(file("a.faultline"));
        const auto reader = CaptureReader::open(file("a.faultline"));
        QVERIFY(reader.has_value());
        const CaptureReader& c = **reader;
        QCOMPARE(c.sources().size(), std::size_t{1});
        QCOMPARE(c.tracks().size(), std::size_t{2});
        QCOMPARE(c.zero_wall_ns().value(), std::int64_t{1'700'000'000'000'001'000});
        const TrackId host = c.tracks()[0].id;
        const auto starts = c.read_column(host, Column::start);
        const auto ids = c.read_column(host, Column::external_id);
        QVERIFY(starts && ids);
        QCOMPARE(starts->size(), std::size_t{10'000});
        for (int i = 0; i < 10'000; ++i) {
            QCOMPARE((*starts)[static_cast<std::size_t>(i)], TimeNs{i * 10});
            QCOMPARE((*ids)[static_cast<std::size_t>(i)], std::int64_t{i});
        }
        const SpanId span = SpanId::make(host, 9'999);
        QCOMPARE(c.value(span, Column::external_id).value(), std::int64_t{9'999});
        const TextId text{static_cast<std::uint32_t>(c.value(span, Column::args).value())};
        QCOMPARE(c.args(text).value(), std::string("{\"n\":9999}"));
        QCOMPARE(c.value(SpanId::make(host, 1), Column::args).value(), kNull);
        QVERIFY(!c.value(SpanId::make(host, 10'000), Column::start).has_value());
        QCOMPARE(c.steps()->front().tokens.value(), std::int64_t{12});
        QCOMPARE(c.ledger()->front().totals.dropped, std::uint64_t{1});
        QCOMPARE(c.ledger()->front().entries.front().samples.front(), std::string("byte 5"));
        QCOMPARE(c.health()->front().code, std::string("test.finding"));
        QCOMPARE(c.sources()[0].events, std::uint64_t{10'002});
    }

    void unfinished_capture_leaves_nothing() {
        {
            auto writer = CaptureWriter::create(file("gone.faultline"));
            QVERIFY(writer.has_value());
            QVERIFY(add_source(**writer, 0, 0).has_value());
        }
        QVERIFY(!std::filesystem::exists(file("gone.faultline")));
        QVERIFY(!std::filesystem::exists(file("gone.faultline.partial")));
    }

    // The defensive mode of SQLite ignored journal_mode=OFF, so that every import wrote a journal of its own beside the file.
    void a_new_capture_is_written_without_a_journal() {
        auto writer = CaptureWriter::create(file("plain.faultline"));
        QVERIFY(writer.has_value());
        QVERIFY(add_source(**writer, 0, 0).has_value());
        for (const auto& entry : std::filesystem::directory_iterator(dir_.path().toStdString()))
            QVERIFY(!entry.path().filename().string().starts_with("plain.faultline.partial-"));
    }

    void an_old_capture_stays_until_the_new_one_is_whole() {
        make(file("old.faultline"));
        const auto size = std::filesystem::file_size(file("old.faultline"));
        {
            auto writer = CaptureWriter::create(file("old.faultline"));
            QVERIFY(writer.has_value());
        }
        QCOMPARE(std::filesystem::file_size(file("old.faultline")), size);
        QVERIFY(CaptureReader::open(file("old.faultline")).has_value());
    }

    void appends_a_source_on_the_same_clock() {
        make(file("two.faultline"));
        auto writer = CaptureWriter::append(file("two.faultline"));
        QVERIFY(writer.has_value());
        QVERIFY(add_source(**writer, 1'700'000'000'000'000'000 - 5'000, 1).has_value());
        QVERIFY((*writer)->finish().has_value());
        const auto reader = CaptureReader::open(file("two.faultline"));
        QVERIFY(reader.has_value());
        QCOMPARE((*reader)->sources().size(), std::size_t{2});
        QCOMPARE((*reader)->tracks().size(), std::size_t{4});
        // The second source began 5 us before the zero that the first one fixed: negative times are legal.
        QCOMPARE((*reader)->read_column((*reader)->tracks()[2].id, Column::start)->front(), TimeNs{-5'000});
        QVERIFY(!std::filesystem::exists(file("two.faultline-wal")));
    }

    void a_cancelled_append_leaves_the_capture_as_it_was() {
        make(file("kept.faultline"));
        {
            auto writer = CaptureWriter::append(file("kept.faultline"));
            QVERIFY(writer.has_value());
            QVERIFY(add_source(**writer, 0, 1).has_value());
        }
        const auto reader = CaptureReader::open(file("kept.faultline"));
        QVERIFY(reader.has_value());
        QCOMPARE((*reader)->sources().size(), std::size_t{1});
        QCOMPARE((*reader)->steps()->size(), std::size_t{1});
    }

    void removes_a_source_that_never_became_complete() {
        make(file("cut.faultline"));
        {
            auto db = sql::Connection::open(file("cut.faultline"), sql::OpenMode::read_write);
            QVERIFY(db.has_value());
            QVERIFY(db->execute("INSERT INTO source(id, path, format, producer, host, rank, rank_rule, world_size, bytes, events, clock_base_ns, metadata, "
                                "complete) SELECT 2, path, format, producer, host, rank, rank_rule, world_size, bytes, events, "
                                "clock_base_ns, metadata, 0 FROM source;"
                                "INSERT INTO track SELECT 99, 2, kind, process, thread, device, stream, lane, part, max_depth, name, "
                                "spans, first_start, last_end, clock_offset_ns, "
                                "clock_uncertainty_ns FROM track LIMIT 1")
                        .has_value());
        }
        QCOMPARE((*CaptureReader::open(file("cut.faultline")))->tracks().size(), std::size_t{2});
        auto db = sql::Connection::open(file("cut.faultline"), sql::OpenMode::read_only);
        QCOMPARE(db->integer("SELECT count(*) FROM source").value(), std::int64_t{1});
        QCOMPARE(db->integer("SELECT count(*) FROM track").value(), std::int64_t{2});
    }

    void a_link_is_kept_and_its_target_replaced() {
        make(file("real.faultline"));
        std::filesystem::create_symlink("real.faultline", file("link.faultline"));
        make(file("link.faultline"));
        QVERIFY(std::filesystem::is_symlink(file("link.faultline")));
        QVERIFY(!std::filesystem::is_symlink(file("real.faultline")));
        QVERIFY(CaptureReader::open(file("link.faultline")).has_value());
    }

    void a_pipe_is_refused_at_once() {
        QCOMPARE(::mkfifo(file("queue.faultline").c_str(), 0600), 0);
        const auto reader = CaptureReader::open(file("queue.faultline"));
        QVERIFY(!reader.has_value());
        QVERIFY(reader.error().sentence.find("no ordinary file") != std::string::npos);
        const auto writer = CaptureWriter::append(file("queue.faultline"));
        QVERIFY(!writer.has_value());
        QVERIFY(writer.error().code == ErrorCode::unwritable_output);
    }

    void two_appends_do_not_meet() {
        make(file("busy.faultline"));
        {
            auto first = CaptureWriter::append(file("busy.faultline"));
            QVERIFY(first.has_value());
            const auto second = CaptureWriter::append(file("busy.faultline"));
            QVERIFY(!second.has_value());
            QVERIFY(second.error().code == ErrorCode::unwritable_output);
            QVERIFY(add_source(**first, 0, 1).has_value());
            QVERIFY((*first)->finish().has_value());
        }
        QVERIFY(!std::filesystem::exists(file("busy.faultline.partial")));
        auto third = CaptureWriter::append(file("busy.faultline"));
        QVERIFY(third.has_value());
    }

    void opens_from_a_read_only_folder() {
        const std::string folder = file("locked");
        std::filesystem::create_directory(folder);
        make(folder + "/c.faultline");
        ::chmod((folder + "/c.faultline").c_str(), 0444);
        ::chmod(folder.c_str(), 0555);
        const bool opens = CaptureReader::open(folder + "/c.faultline").has_value();
        ::chmod(folder.c_str(), 0755);
        QVERIFY(opens);
    }

    void refuses_newer_and_foreign_files() {
        make(file("newer.faultline"));
        {
            auto db = sql::Connection::open(file("newer.faultline"), sql::OpenMode::read_write);
            QVERIFY(db->execute("PRAGMA user_version = 999").has_value());
        }
        const auto newer = CaptureReader::open(file("newer.faultline"));
        QVERIFY(!newer.has_value());
        QVERIFY(newer.error().sentence.find("newer Faultline") != std::string::npos);
        QCOMPARE(exit_status(newer.error().code), 3);
        std::ofstream(file("text.faultline")) << "no database at all";
        QVERIFY(!CaptureReader::open(file("text.faultline")).has_value());
        QVERIFY(!CaptureReader::open(file("missing.faultline")).has_value());
        QVERIFY(!CaptureReader::open(dir_.path().toStdString()).has_value());
    }

    void says_that_a_cut_file_is_damaged() {
        make(file("short.faultline"));
        std::filesystem::resize_file(file("short.faultline"), std::filesystem::file_size(file("short.faultline")) / 2);
        const auto reader = CaptureReader::open(file("short.faultline"));
        if (reader) {
            bool failed = false;
            for (const Track& t : (*reader)->tracks())
                for (const Column column : {Column::start, Column::duration, Column::name, Column::kind})
                    failed = failed || !(*reader)->read_column(t.id, column);
            QVERIFY(failed);
        } else {
            QCOMPARE(exit_status(reader.error().code), 3);
        }
    }

    // An import into /dev/null, run as root, put a file in the place of the device.
    void refuses_to_replace_what_is_no_file() {
        const std::string pipe = file("waiting.faultline");
        QCOMPARE(::mkfifo(pipe.c_str(), 0600), 0);
        const auto writer = CaptureWriter::create(pipe);
        QVERIFY(!writer.has_value());
        QCOMPARE(exit_status(writer.error().code), 4);
        QVERIFY(std::filesystem::is_fifo(pipe));
        QVERIFY(!std::filesystem::exists(pipe + ".partial"));
    }

    // A second import took the unfinished file of the first away, which then renamed the other's half into place.
    void two_imports_to_one_name_do_not_meet() {
        auto first = CaptureWriter::create(file("race.faultline"));
        QVERIFY(first.has_value());
        const auto second = CaptureWriter::create(file("race.faultline"));
        QVERIFY(!second.has_value());
        QCOMPARE(exit_status(second.error().code), 4);
        QVERIFY(add_source(**first, 0, 0).has_value());
        QVERIFY((*first)->finish().has_value());
        QCOMPARE((*CaptureReader::open(file("race.faultline")))->sources().size(), std::size_t{1});
    }

    // `import -o TRACE TRACE` put the capture in the place of the trace.
    void replaces_nothing_but_captures() {
        std::ofstream(file("trace.json")) << "[{\"ph\": \"X\", \"ts\": 1, \"dur\": 1, \"name\": \"a\"}]";
        const auto writer = CaptureWriter::create(file("trace.json"));
        QVERIFY(!writer.has_value());
        QCOMPARE(exit_status(writer.error().code), 4);
        QVERIFY(!std::filesystem::exists(file("trace.json.partial")));
    }

    void refuses_a_folder_that_cannot_be_written() {
        const auto writer = CaptureWriter::create(file("no/such/folder.faultline"));
        QVERIFY(!writer.has_value());
        QCOMPARE(exit_status(writer.error().code), 4);
    }
};

QTEST_APPLESS_MAIN(TestCapture)
#include "tst_capture.moc"
