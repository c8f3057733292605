// From input files to a capture file: several inputs, folders, refusals, stopping.
#include <QDir>
#include <QFile>
#include <QTemporaryDir>
#include <QTest>

#include "core/capture_reader.h"
#include "importers/import_capture.h"
#include "importers/input_files.h"

using namespace faultline;

namespace {

constexpr const char* kTrace = R"({"distributedInfo": {"rank": 0}, "baseTimeNanoseconds": 1700000000000000000, "traceEvents": [
    {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 10, "tid": 11, "ts": 10.000, "dur": 1.000, "args": {"correlation": 5}},
    {"ph": "X", "cat": "kernel", "name": "k", "pid": 0, "tid": 7, "ts": 12.000, "dur": 3.000, "args": {"device": 0, "stream": 7, "correlation": 5}},
    {"name": "process_name", "ph": "M", "ts": 1, "pid": 10, "tid": 0, "args": {"name": "python3"}}]})";

}  // namespace

class TestImportCapture : public QObject {
    Q_OBJECT

private:
    QTemporaryDir folder_;
    StepGrammar grammar_ = StepGrammar::built_in();
    LayerRules layers_ = LayerRules::built_in();

    std::string path(const QString& name) const { return folder_.filePath(name).toStdString(); }
    std::string write(const QString& name, const QByteArray& bytes) const {
        QDir(folder_.path()).mkpath(QFileInfo(name).path());
        QFile file(folder_.filePath(name));
        if (file.open(QIODevice::WriteOnly)) file.write(bytes);
        return path(name);
    }
    Result<ImportSummary> import(const std::vector<std::string>& inputs, const QString& capture, bool append = false,
                                 const Progress& progress = {}) const {
        ImportRequest request;
        request.inputs = inputs;
        request.capture = path(capture);
        request.append = append;
        return import_capture(request, {grammar_, layers_, RequestRules::built_in()}, progress);
    }
    bool nothing_left(const QString& capture) const {
        return QDir(folder_.path()).entryList({capture + QStringLiteral("*")}, QDir::Files).isEmpty();
    }

private Q_SLOTS:
    void imports_a_file() {
        const std::string input = write(QStringLiteral("a.json"), kTrace);
        const Result<ImportSummary> done = import({input}, QStringLiteral("a.faultline"));
        QVERIFY2(done.has_value(), done ? "" : done.error().sentence.c_str());
        QCOMPARE(done->sources.size(), std::size_t{1});
        QCOMPARE(done->sources[0].format, std::string("kineto"));
        QCOMPARE(done->sources[0].events, std::uint64_t{2});
        QCOMPARE(done->counts.kernels, std::uint64_t{1});
        QCOMPARE(done->counts.bound_kernels, std::uint64_t{1});
        QCOMPARE(done->ledger.metadata, std::uint64_t{1});
        const auto reader = CaptureReader::open(path(QStringLiteral("a.faultline")));
        QVERIFY(reader.has_value());
        QCOMPARE((*reader)->sources()[0].rank, std::optional<std::int64_t>(0));
        QCOMPARE((*reader)->processes()[0].name, std::string("python3"));
    }

    void imports_a_folder_without_what_is_not_for_it() {
        write(QStringLiteral("run/rank_1.json"), QByteArray(kTrace).replace("\"rank\": 0", "\"rank\": 1"));
        write(QStringLiteral("run/deeper/rank_0.json"), kTrace);
        write(QStringLiteral("run/truth.json"), kTrace);
        write(QStringLiteral("run/manifest.json"), kTrace);
        write(QStringLiteral("run/.hidden.json"), kTrace);
        write(QStringLiteral("run/server.log"), "INFO started\n");
        const auto inputs = list_inputs({path(QStringLiteral("run"))});
        QCOMPARE(inputs->size(), std::size_t{3});
        QVERIFY((*inputs)[0].path < (*inputs)[1].path);
        const Result<ImportSummary> done = import({path(QStringLiteral("run"))}, QStringLiteral("run.faultline"));
        QVERIFY2(done.has_value(), done ? "" : done.error().sentence.c_str());
        QCOMPARE(done->sources.size(), std::size_t{2});
        QVERIFY(std::any_of(done->health.begin(), done->health.end(), [](const HealthFinding& h) {
            return h.code == "input.skipped" && h.sentence.find("server.log") != std::string::npos;
        }));
    }

    void appends() {
        const std::string input = write(QStringLiteral("b.json"), kTrace);
        QVERIFY(import({input}, QStringLiteral("b.faultline")).has_value());
        QVERIFY(import({input}, QStringLiteral("b.faultline"), true).has_value());
        const auto reader = CaptureReader::open(path(QStringLiteral("b.faultline")));
        QCOMPARE((*reader)->sources().size(), std::size_t{2});
    }

    void one_unusable_file_fails_the_whole() {
        const std::string good = write(QStringLiteral("good.json"), kTrace), bad = write(QStringLiteral("bad.json"), "\x89PNG\r\n");
        const Result<ImportSummary> done = import({good, bad}, QStringLiteral("c.faultline"));
        QVERIFY(!done && done.error().code == ErrorCode::unusable_input);
        QVERIFY(done.error().sentence.find("bad.json") != std::string::npos);
        QVERIFY(nothing_left(QStringLiteral("c.faultline")));
    }

    void keeps_the_old_capture_where_the_new_import_fails() {
        const std::string good = write(QStringLiteral("good.json"), kTrace);
        QVERIFY(import({good}, QStringLiteral("d.faultline")).has_value());
        QVERIFY(!import({path(QStringLiteral("missing.json"))}, QStringLiteral("d.faultline")));
        QVERIFY(CaptureReader::open(path(QStringLiteral("d.faultline"))).has_value());
    }

    void stops_and_leaves_nothing() {
        QByteArray many = "[";
        for (int i = 0; i < 200000; ++i)
            many += R"({"ph": "X", "cat": "cpu_op", "name": "a", "pid": 1, "tid": 1, "ts": )" + QByteArray::number(i) + R"(, "dur": 1},)";
        const std::string input = write(QStringLiteral("many.json"), many);
        for (const ImportPhase phase : {ImportPhase::reading, ImportPhase::sorting, ImportPhase::binding, ImportPhase::writing}) {
            std::stop_source stop;
            Progress progress{stop.get_token(), [&](const ProgressReport& r) {
                                  if (r.phase == phase) stop.request_stop();
                              }};
            const Result<ImportSummary> done = import({input}, QStringLiteral("e.faultline"), false, progress);
            QVERIFY(!done && done.error().code == ErrorCode::cancelled);
            QVERIFY(nothing_left(QStringLiteral("e.faultline")));
        }
    }

    void needs_something_to_import() {
        QDir(folder_.path()).mkpath(QStringLiteral("nothing"));
        QVERIFY(!import({}, QStringLiteral("f.faultline")));
        QVERIFY(!import({path(QStringLiteral("nothing"))}, QStringLiteral("f.faultline")));
        write(QStringLiteral("only-logs/a.log"), "INFO\n");
        const Result<ImportSummary> done = import({path(QStringLiteral("only-logs"))}, QStringLiteral("f.faultline"));
        QVERIFY(!done && done.error().code == ErrorCode::unusable_input);
        QVERIFY(nothing_left(QStringLiteral("f.faultline")));
    }
};

QTEST_GUILESS_MAIN(TestImportCapture)
#include "tst_import_capture.moc"
