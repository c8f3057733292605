// A capture that an older Faultline wrote opens, brought forward, with everything that was in it.
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "core/capture_reader.h"
#include "core/capture_schema.h"
#include "core/capture_writer.h"
#include "core/derive_capture.h"

using namespace faultline;

namespace {

/// Every column of every table as "table.column type".
QStringList columns(const sql::Connection& db) {
    QStringList all;
    const Result<void> read = sql::for_rows(
        db,
        "SELECT t.name || '.' || c.name || ' ' || c.type FROM sqlite_schema t JOIN pragma_table_info(t.name) c"
        " WHERE t.type = 'table' AND t.name NOT LIKE 'sqlite_%' ORDER BY t.name, c.cid",
        [&](const sql::Statement& row) { all += QString::fromUtf8(row.text(0).data(), static_cast<qsizetype>(row.text(0).size())); });
    return read ? all : QStringList();
}

}  // namespace

class TestOlderCaptures : public QObject {
    Q_OBJECT

    QTemporaryDir folder_;

    std::string file(const char* name) const { return folder_.filePath(QString::fromLatin1(name)).toStdString(); }
    void make_format_1(const std::string& path) const {
        QFile schema(QStringLiteral(FAULTLINE_SOURCE_DIR "/tests/core/capture_format_1.sql"));
        QVERIFY(schema.open(QIODevice::ReadOnly));
        auto db = sql::Connection::open(path, sql::OpenMode::create);
        QVERIFY(db.has_value());
        QVERIFY(db->execute(schema.readAll().toStdString()).has_value());
        QVERIFY(db->execute("PRAGMA application_id=1179407436; PRAGMA user_version=1;"
                            "INSERT INTO capture VALUES(1, 'faultline 0.1.0', 1000);"
                            "INSERT INTO source VALUES(1,'a.json','kineto','','',NULL,'',NULL,10,2,5000,'{}',1);"
                            "INSERT INTO track VALUES(1,1,0,NULL,NULL,NULL,NULL,0,0,0,'',0,0,0,4000,0);"
                            "INSERT INTO step VALUES(1,'decode','vllm',1,10,20,5,0,NULL,4,4,NULL,NULL,4,4,'',3,7)")
                    .has_value());
        QCOMPARE(db->integer("PRAGMA application_id").value(), std::int64_t{kApplicationId});
    }

private Q_SLOTS:
    void format_1_is_brought_forward() {
        const std::string path = file("old.faultline");
        make_format_1(path);
        const auto reader = CaptureReader::open(path);
        QVERIFY2(reader.has_value(), reader ? "" : reader.error().sentence.c_str());
        QCOMPARE((*reader)->sources().size(), std::size_t{1});
        QCOMPARE((*reader)->sources()[0].clock_offset_ns, std::int64_t{4000});
        const auto steps = (*reader)->steps();
        QVERIFY(steps.has_value());
        QCOMPARE(steps->size(), std::size_t{1});
        QCOMPARE(steps->front().kernel_busy_ns, std::int64_t{7});
        QVERIFY(steps->front().kind == StepKind::step);
        QVERIFY(!(*reader)->analysed());
        QVERIFY((*reader)->requests()->empty());
        QVERIFY((*reader)->logs()->empty());
    }

    void brought_forward_is_the_same_as_new() {
        const std::string old = file("same.faultline");
        make_format_1(old);
        QVERIFY(CaptureReader::open(old).has_value());
        const std::string fresh = file("new.faultline");
        {
            auto writer = CaptureWriter::create(fresh);
            QVERIFY(writer.has_value());
            QVERIFY((*writer)->finish().has_value());
        }
        const auto a = sql::Connection::open(old, sql::OpenMode::read_only);
        const auto b = sql::Connection::open(fresh, sql::OpenMode::read_only);
        QVERIFY(a.has_value() && b.has_value());
        QVERIFY(!columns(*b).isEmpty());
        QCOMPARE(columns(*a), columns(*b));
        QCOMPARE(a->integer("PRAGMA user_version").value(), std::int64_t{kSchemaVersion});
    }

    void what_was_not_derived_is_derived_once() {
        const std::string path = file("judged.faultline");
        make_format_1(path);
        QVERIFY(ensure_analysed(path, {}).has_value());
        const auto reader = CaptureReader::open(path);
        QVERIFY(reader.has_value());
        QVERIFY((*reader)->analysed());
        const auto analysis = (*reader)->analysis();
        QVERIFY(analysis.has_value());
        QCOMPARE(analysis->verdicts.size(), std::size_t{1});
        QVERIFY(!analysis->verdicts.front().outlier);
        QVERIFY(ensure_analysed(path, {}).has_value());
        QVERIFY(ensure_analysed(file("missing.faultline"), {}).has_value());  // opening it says so
    }

    void an_append_to_format_1_keeps_what_was_there() {
        const std::string path = file("grown.faultline");
        make_format_1(path);
        {
            auto writer = CaptureWriter::append(path);
            QVERIFY2(writer.has_value(), writer ? "" : writer.error().sentence.c_str());
            QVERIFY((*writer)->finish().has_value());
        }
        const auto reader = CaptureReader::open(path);
        QVERIFY(reader.has_value());
        QCOMPARE((*reader)->steps()->size(), std::size_t{1});
    }
};

QTEST_GUILESS_MAIN(TestOlderCaptures)
#include "tst_older_captures.moc"
