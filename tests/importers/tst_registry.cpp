// Which importer an input gets, and what is said of inputs that none can read.
#include <QTest>

#include "importers/registry.h"

using namespace faultline;
using namespace std::string_literals;

namespace {

std::string sqlite_header(std::string_view content) {
    std::string head("SQLite format 3\0", 16);
    head.resize(100, '\0');
    return head + std::string(content);
}

}  // namespace

class TestRegistry : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void knows_traces_by_content_data() {
        QTest::addColumn<QByteArray>("head");
        QTest::newRow("kineto") << QByteArray(R"({"schemaVersion": 1, "traceEvents": [{"ph": "X"}]})");
        QTest::newRow("kineto, events far away") << QByteArray("\n  {\n    \"schemaVersion\": 1, \"deviceProperties\": [");
        QTest::newRow("bare array") << QByteArray(R"([ {"ph": "X", "name": "a"}])");
        QTest::newRow("empty list") << QByteArray(R"({"traceEvents": []})");
        QTest::newRow("byte order mark") << QByteArray("\xEF\xBB\xBF[{\"ph\": \"X\"}]");
        QTest::newRow("beginning lost") << QByteArray(R"("args": {}}, {"ph": "X", "ts": 5})");
    }
    void knows_traces_by_content() {
        QFETCH(QByteArray, head);
        const Result<const Importer*> importer =
            choose_importer({head.data(), static_cast<std::size_t>(head.size())}, "any.name", "any.name");
        QVERIFY(importer.has_value());
        QCOMPARE((*importer)->info().name, std::string_view("kineto"));
    }

    void knows_databases_by_their_tables() {
        const std::string head = sqlite_header("CREATE TABLE CUPTI_ACTIVITY_KIND_KERNEL (start)");
        const Result<const Importer*> importer = choose_importer(head, "a.db", "a.db");
        QVERIFY(importer.has_value());
        QCOMPARE((*importer)->info().name, std::string_view("nsys"));
    }

    void says_what_other_files_are_data() {
        QTest::addColumn<QByteArray>("head");
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("sentence");
        QTest::addColumn<QString>("hint");
        const auto row = [](const char* tag, const std::string& head, const char* name, const char* sentence, const char* hint) {
            QTest::newRow(tag) << QByteArray::fromStdString(head) << QString::fromLatin1(name) << QString::fromLatin1(sentence)
                               << QString::fromLatin1(hint);
        };
        row("empty", "", "a.json", "is empty", "");
        row("png", "\x89PNG\r\n\x1a\n"s, "a.json", "PNG picture", "");
        row("zip", "PK\x03\x04zip", "a.zip", "ZIP archive", "");
        row("other database", sqlite_header("CREATE TABLE x"), "a.sqlite", "database of another program", "");
        row("nsys report", "NVIDIA Tegra Profiler Report 2025@6", "dir/run.nsys-rep", "Nsight Systems report",
            "nsys export --type sqlite -o dir/run.sqlite dir/run.nsys-rep");
        row("speedscope", R"({"profiles": [], "shared": {"frames": []}})", "a.json", "speedscope", "");
        row("rocpd", sqlite_header("CREATE TABLE \"rocpd_api\" (id)"), "a.rpd", "AMD ROCm", "");
        row("stack dump", "--- dump 3 ---\nProcess 4711: VLLM::EngineCore\nPython v3.12.3 (/usr/bin/python3)\n\nThread 4711 (idle): x\n", "a.txt",
            "stack dump of py-spy", "");
        row("collapsed stacks", "MainThread;run (worker.py:12);step (engine.py:40) 17\nMainThread;run (worker.py:12) 2\n", "a.txt",
            "collapsed stack profile", "");
        row("nsys stats", "NOTICE: Existing SQLite export found: /tmp/a.sqlite\n  previously exported from: /tmp/a.nsys-rep\n", "a.txt",
            "table of nsys stats", "");
        row("flame graph", "<?xml version=\"1.0\"?><svg width=\"1\"><title>Flame Graph</title></svg>", "a.svg", "picture of a flame graph", "");
        row("triton", R"([{"id":1,"timestamps":[{"name":"HTTP_RECV_START","ns":52}]}])", "a.json", "Triton Inference Server", "");
        row("perfetto", "\nV2N\x10\x06\n\n"s + std::string(20, '\0'), "a.bin", "Perfetto trace", "");
        row("text", "hello there", "a.txt", "text of a kind", "");
        row("binary", "\x01\x02\x03\x04"s, "a.bin", "binary data", "");
        row("page", "<!DOCTYPE html>", "a.json", "web page", "");
    }
    void says_what_other_files_are() {
        QFETCH(QByteArray, head);
        QFETCH(QString, name);
        QFETCH(QString, sentence);
        QFETCH(QString, hint);
        const std::string path = name.toStdString();
        const Result<const Importer*> importer = choose_importer({head.data(), static_cast<std::size_t>(head.size())}, path, path);
        QVERIFY(!importer);
        QCOMPARE(importer.error().code, ErrorCode::unusable_input);
        const QString said = QString::fromStdString(importer.error().sentence);
        QVERIFY2(said.startsWith(name) && said.contains(sentence), qPrintable(said));
        QVERIFY2(QString::fromStdString(importer.error().hint).contains(hint), importer.error().hint.c_str());
        QVERIFY(!importer.error().hint.empty() && !importer.error().sentence.ends_with('.'));
    }
};

QTEST_GUILESS_MAIN(TestRegistry)
#include "tst_registry.moc"
