// Steps and chains of real captures with known counts, where they are at hand.
#include <QDir>
#include <QTemporaryDir>
#include <QTest>

#include "core/call_chain.h"
#include "core/capture_reader.h"
#include "importers/import_capture.h"

using namespace faultline;

namespace {

QString captures() {
    const QString given = qEnvironmentVariable("FAULTLINE_SHARED_DATA");
    return given.isEmpty() ? QStringLiteral(FAULTLINE_SOURCE_DIR "/../shared/data/files") : given;
}

struct Known {
    const char* prefix;
    std::uint64_t bound, unbound;
    std::size_t steps;
    const char* dialect;
    StepPhase phase;
    std::int64_t batch, tokens;  ///< -1: none
    std::int64_t in_steps;       ///< kernels in all steps
};

constexpr Known kKnown[] = {
    {"k01-", 13508, 0, 11, "python-execute-model", StepPhase::other, -1, -1, 13508},
    {"k03-", 527, 0, 1, "vllm-detailed", StepPhase::prefill, 15, 15360, 527},
    {"k05-", 2, 0, 0, "", StepPhase::other, -1, -1, 0},
    {"k06-", 413, 0, 1, "vllm-detailed", StepPhase::mixed, 46, 8192, 413},
    {"k08-", 425, 0, 1, "vllm-detailed", StepPhase::decode, 32, 32, 425},
    {"k09-", 7, 0, 0, "", StepPhase::other, -1, -1, 0},
    {"k10-", 5538, 0, 1, "diffusion", StepPhase::other, 1, -1, 5538},
    {"k12-", 1029, 436, 1, "torch-profiler", StepPhase::other, -1, -1, 1029},
    {"k20-", 19370, 0, 5, "torch-profiler", StepPhase::other, -1, -1, 19370},
    {"k40-", 8868, 0, 6, "torch-profiler", StepPhase::other, -1, -1, 8868},
};

}  // namespace

class TestKnownSteps : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void steps_data() {
        QTest::addColumn<int>("number");
        for (int i = 0; i < static_cast<int>(std::size(kKnown)); ++i) QTest::newRow(kKnown[i].prefix) << i;
    }

    void steps() {
        QFETCH(int, number);
        const Known& known = kKnown[number];
        const QStringList files = QDir(captures()).entryList({QLatin1String(known.prefix) + QLatin1Char('*')}, QDir::Files);
        if (files.isEmpty()) QSKIP("this capture is not at hand");
        QTemporaryDir dir;
        const StepGrammar grammar = StepGrammar::built_in();
        const LayerRules layers = LayerRules::built_in();
        ImportRequest request;
        request.inputs = {QDir(captures()).filePath(files.first()).toStdString()};
        request.capture = dir.filePath(QStringLiteral("known.faultline")).toStdString();
        const auto summary = import_capture(request, {grammar, layers, RequestRules::built_in()}, {});
        QVERIFY2(summary.has_value(), summary ? "" : summary.error().sentence.c_str());
        QCOMPARE(summary->counts.bound_kernels, known.bound);
        QCOMPARE(summary->counts.unbound_kernels, known.unbound);

        const auto reader = CaptureReader::open(request.capture);
        QVERIFY(reader.has_value());
        const auto steps = (*reader)->steps();
        QVERIFY(steps.has_value());
        QCOMPARE(steps->size(), known.steps);
        std::int64_t kernels = 0;
        for (const Step& s : *steps) {
            kernels += s.kernels;
            QCOMPARE(s.dialect, std::string(known.dialect));
            QVERIFY(s.phase == known.phase);
            QCOMPARE(s.batch.value_or(-1), known.batch);
            QCOMPARE(s.tokens.value_or(-1), known.tokens);
            QVERIFY(s.end >= s.start + s.host_ns);
            const auto chain = step_chain(**reader, layers, s.id);
            QVERIFY(chain.has_value());
            const auto in_chain =
                std::count_if(chain->nodes.begin(), chain->nodes.end(), [](const ChainNode& n) { return n.kind == SpanKind::kernel; });
            QCOMPARE(static_cast<std::int64_t>(in_chain), s.kernels);
            QVERIFY(std::none_of(chain->nodes.begin(), chain->nodes.end(), [](const ChainNode& n) { return n.layer == LayerClass::none; }));
        }
        QCOMPARE(kernels, known.in_steps);
    }
};

QTEST_GUILESS_MAIN(TestKnownSteps)
#include "tst_known_steps.moc"
