// Nsight Systems databases that are damaged, hostile or of another kind: nothing is lost in silence, nothing in them is executed.
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

class TestNsysDamage : public QObject {
    Q_OBJECT

private Q_SLOTS:
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

QTEST_GUILESS_MAIN(TestNsysDamage)
#include "tst_nsys_damage.moc"
