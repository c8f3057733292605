// Read-only SQL: one statement, nothing that writes, SQLite's own words where it fails, and it stops when asked.
#include <QTemporaryDir>
#include <QTest>
#include <filesystem>
#include <thread>

#include "core/capture_reader.h"
#include "core/capture_writer.h"
#include "core/query.h"

using namespace faultline;

class TestQuery : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    std::string path_;
    std::unique_ptr<CaptureReader> reader_;

    [[nodiscard]] Result<void> query(std::string_view sql, std::stop_token stop = {}) const {
        return run_query(
            *reader_, sql, [](const auto&) {}, [](const auto&) { return true; }, std::move(stop));
    }

private Q_SLOTS:
    void initTestCase() {
        path_ = dir_.filePath(QStringLiteral("c.faultline")).toStdString();
        auto writer = CaptureWriter::create(path_);
        QVERIFY(writer.has_value());
        SourceBuilder source = (*writer)->begin_source();
        source.source.path = "made.json";
        source.source.format = "test";
        QVERIFY((*writer)->complete_source(source, {}).has_value());
        QVERIFY((*writer)->finish().has_value());
        auto reader = CaptureReader::open(path_);
        QVERIFY(reader.has_value());
        reader_ = std::move(*reader);
    }

    void gives_values_of_every_type() {
        std::vector<std::string> names;
        std::vector<SqlValue> values;
        const auto done = run_query(
            *reader_, "SELECT 1 AS a, 2.5 AS b, 'x' AS c, NULL AS d, x'00ff' AS e;  -- the end", [&names](const auto& n) { names = n; },
            [&values](const auto& row) {
                values = row;
                return true;
            });
        QVERIFY(done.has_value());
        QCOMPARE(names, (std::vector<std::string>{"a", "b", "c", "d", "e"}));
        QCOMPARE(values, (std::vector<SqlValue>{std::int64_t{1}, 2.5, std::string("x"), std::monostate{}, std::string("x'00ff'")}));
    }

    void refuses_what_writes_data() {
        QTest::addColumn<QString>("sql");
        for (const char* sql : {"DELETE FROM source", "UPDATE source SET path = ''", "INSERT INTO note VALUES (1, 0, 0, NULL, NULL, '', 0)",
                                "CREATE TABLE t (x)", "CREATE TEMP TABLE t (x)", "DROP VIEW kernels", "ATTACH 'other.db' AS other",
                                "DETACH main", "VACUUM", "VACUUM INTO 'copy.db'", "PRAGMA user_version = 3", "PRAGMA journal_mode = WAL",
                                "BEGIN", "SELECT 1; SELECT 2", "SELECT 1; DELETE FROM source", "REINDEX"})
            QTest::newRow(sql) << QString::fromUtf8(sql);
    }

    void refuses_what_writes() {
        QFETCH(QString, sql);
        const auto size = std::filesystem::file_size(path_);
        const auto done = query(sql.toStdString());
        QVERIFY(!done.has_value());
        QCOMPARE(exit_status(done.error().code), 2);
        QVERIFY(!done.error().sentence.empty());
        QCOMPARE(std::filesystem::file_size(path_), size);
        QVERIFY(query("SELECT count(*) FROM source").has_value());
    }

    void says_what_sqlite_says() {
        const auto unknown = query("SELECT no_column FROM kernels");
        QVERIFY(!unknown.has_value());
        QCOMPARE(unknown.error().sentence, std::string("the query failed: no such column: no_column"));
        QVERIFY(query("SELEC 1").error().sentence.find("syntax error") != std::string::npos);
        QVERIFY(query("   ").error().sentence.find("empty") != std::string::npos);
        QVERIFY(query("PRAGMA user_version").has_value());
    }

    void stops_when_a_row_is_enough() {
        int rows = 0;
        const auto done = run_query(
            *reader_, "WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT x FROM n", [](const auto&) {},
            [&rows](const auto&) { return ++rows < 5; });
        QVERIFY(done.has_value());
        QCOMPARE(rows, 5);
    }

    void stops_when_asked() {
        std::stop_source stop;
        std::jthread later([&stop] {
            std::this_thread::sleep_for(std::chrono::milliseconds(20));
            stop.request_stop();
        });
        // Without the stop this would not end.
        const auto done = query("WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM n) SELECT max(x) FROM n", stop.get_token());
        QVERIFY(!done.has_value());
        QCOMPARE(exit_status(done.error().code), 5);
        QVERIFY(query("SELECT 1").has_value());
    }
};

QTEST_APPLESS_MAIN(TestQuery)
#include "tst_query.moc"
