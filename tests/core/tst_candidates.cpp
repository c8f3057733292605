// The family of a planted anomaly comes first, a normal step has no candidate, and the paper's formula is the paper's.
#include <QTest>
#include <algorithm>
#include <map>

#include "core/candidates.h"
#include "tests/support/step_question.h"

using namespace faultline;
using test::Plant;

namespace {

Result<Candidates> candidates_of(const test::StepQuestion& q, StepId step, CandidateScore score = CandidateScore::density) {
    return find_candidates(*q.service->reader, q.layers, q.steps, q.service->analysis.verdicts, step, score);
}

std::string name_of(const test::StepQuestion& q, SpanId span) {
    const auto name = q.service->reader->value(span, Column::name);
    return name ? std::string(q.service->reader->name(NameId{static_cast<std::uint32_t>(*name)})) : std::string();
}

}  // namespace

class TestCandidates : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void formula_of_the_paper() {
        // m = 10, q = 0.25: the two least confident; 1 - (0.1 + 0.2) / 2.
        const std::vector<double> scores{0.1, 0.9, 0.0, 0.8, 0.2, 0.3, 0.1, 0.0, 0.05, 0.1};
        QCOMPARE(family_suspiciousness(scores, 0.25), 1 - (0.1 + 0.2) / 2);
        QCOMPARE(family_suspiciousness(scores, 0.01), 0.9);  // max(1, ⌊qm⌋)
        QCOMPARE(family_suspiciousness(scores, 1.0), 0.255);
        QCOMPARE(family_suspiciousness({}, 0.5), 0.0);
    }

    void planted_family_comes_first_data() {
        QTest::addColumn<int>("plant");
        QTest::addColumn<int>("ranks");
        QTest::addColumn<QString>("family");
        QTest::addColumn<QString>("name");
        const auto row = [](const char* title, Plant plant, int ranks, const char* family, const char* name) {
            QTest::newRow(title) << static_cast<int>(plant) << ranks << family << name;
        };
        row("malloc", Plant::long_malloc, 1, "allocate", "cudaMalloc");
        row("free", Plant::long_free, 1, "free", "cudaFree");
        row("sync", Plant::long_sync, 1, "sync", "cudaStreamSynchronize");
        row("host", Plant::host_stall, 1, "sampling", "gpu_model_runner: sample");
        row("link", Plant::slow_link, 2, "collective", "cross_device_reduce");
        row("late rank", Plant::late_rank, 2, "collective", "cross_device_reduce");
        row("kernels", Plant::slow_kernels, 1, "gemm", "nvjet");
        row("variant", Plant::other_variant, 1, "attention", "flash_fwd_splitkv_kernel");
    }
    void planted_family_comes_first() {
        QFETCH(int, plant);
        QFETCH(int, ranks);
        QFETCH(QString, family);
        QFETCH(QString, name);
        const test::ServiceOptions options = test::planted(static_cast<Plant>(plant), ranks);
        const test::StepQuestion q = test::ask_about(options);
        QVERIFY2(q.service->reader, q.service->error.c_str());
        const auto candidates = candidates_of(q, q.at(options.planted[0].step));
        QVERIFY2(candidates.has_value(), candidates ? "" : candidates.error().sentence.c_str());
        QCOMPARE(QString::fromStdString(candidates->families.front().family), family);
        QVERIFY(candidates->families.front().candidate);
        QVERIFY(!candidates->families.back().candidate);
        QCOMPARE(candidates->references.size(), std::size_t{9});
        const std::string first = name_of(q, candidates->instances.front().span);
        QVERIFY2(first.find(name.toStdString()) != std::string::npos, first.c_str());
        QVERIFY(candidates->instances.front().score > 0.5);
        for (std::size_t i = 1; i < candidates->instances.size(); ++i)
            QVERIFY(candidates->instances[i].score <= candidates->instances[i - 1].score);
    }

    void missing_work_makes_a_candidate() {
        const test::ServiceOptions options = test::planted(Plant::missing_kernels);
        const test::StepQuestion q = test::ask_about(options);
        QVERIFY2(q.service->reader, q.service->error.c_str());
        const auto candidates = candidates_of(q, q.at(options.planted[0].step));
        QVERIFY(candidates.has_value());
        QCOMPARE(candidates->families.front().family, std::string("attention"));
        QVERIFY(candidates->families.front().candidate);
    }

    void normal_steps_have_no_candidate() {
        const test::StepQuestion q = test::ask_about({});
        QVERIFY2(q.service->reader, q.service->error.c_str());
        int with_candidates = 0;
        for (int position = 10; position < 70; position += 5) {
            const auto candidates = candidates_of(q, q.at(position));
            QVERIFY(candidates.has_value());
            for (const FamilyScore& f : candidates->families) QVERIFY(f.suspiciousness >= 0 && f.suspiciousness <= 1);
            with_candidates += candidates->families.front().candidate ? 1 : 0;
        }
        QVERIFY2(with_candidates <= 2, qPrintable(QString::number(with_candidates)));
    }

    void paper_mode_aggregates_its_instances() {
        const test::ServiceOptions options = test::planted(Plant::slow_kernels);
        const test::StepQuestion q = test::ask_about(options);
        QVERIFY2(q.service->reader, q.service->error.c_str());
        const auto candidates = candidates_of(q, q.at(options.planted[0].step), CandidateScore::paper);
        QVERIFY(candidates.has_value());
        std::map<std::size_t, std::vector<double>> scores;
        for (const InstanceScore& i : candidates->instances) {
            QVERIFY(i.score >= 0 && i.score <= 1);
            scores[i.family].push_back(i.score);
        }
        for (const auto& [family, of] : scores) {
            const FamilyScore& f = candidates->families[family];
            QCOMPARE(f.instances, static_cast<std::int64_t>(of.size()));
            QVERIFY(std::abs(f.suspiciousness - family_suspiciousness(of, 0.05)) < 1e-12);
        }
        QVERIFY(candidates->rule.find("responsibility") != std::string::npos);
    }

    void a_step_alone_is_held_against_itself() {
        test::ServiceOptions options;
        options.steps = 1;
        const test::StepQuestion q = test::ask_about(options);
        QVERIFY2(q.service->reader, q.service->error.c_str());
        const auto candidates = candidates_of(q, q.at(0));
        QVERIFY(candidates.has_value());
        QVERIFY(candidates->references.empty());
        QVERIFY(candidates->rule.find("no reference step") != std::string::npos);
        QVERIFY(!candidates->families.empty());
    }

    void there_is_no_such_step() {
        const test::StepQuestion q = test::ask_about({});
        QVERIFY2(q.service->reader, q.service->error.c_str());
        const auto candidates = candidates_of(q, StepId{4711});
        QVERIFY(!candidates);
        QCOMPARE(candidates.error().sentence, std::string("the capture has no step 4711"));
        QCOMPARE(candidates.error().code, ErrorCode::wrong_usage);
    }
};

QTEST_GUILESS_MAIN(TestCandidates)
#include "tst_candidates.moc"
