// Every planted anomaly of a whole service is found with its reason, and no other step is.
#include <QTest>

#include "core/analyse_capture.h"
#include "core/reference_steps.h"
#include "core/span_index.h"
#include "tests/support/analysed_service.h"

using namespace faultline;
using namespace faultline::test;

Q_DECLARE_METATYPE(faultline::test::Plant)
Q_DECLARE_METATYPE(faultline::StepBound)

namespace {

constexpr int kAt = 40;  ///< where the anomaly stands

bool has(const std::string& text, const char* part) { return text.find(part) != std::string::npos; }

/// The first mixed step, behind the start, that has too few like it to be judged by them; -1 where there is none.
int rare_mixed_step(const AnalysedService& service) {
    for (int i = 5; i < 40; ++i)
        if (service.verdict(i)->rule == "too few steps" && service.steps[static_cast<std::size_t>(i)].phase == StepPhase::mixed) return i;
    return -1;
}

}  // namespace

class TestAnalyseCapture : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void planted_data() {
        QTest::addColumn<Plant>("plant");
        QTest::addColumn<int>("ranks");
        QTest::addColumn<quint32>("reason");
        QTest::addColumn<StepBound>("bound");
        QTest::addColumn<QByteArray>("says");
        const auto row = [](const char* name, Plant plant, int ranks, std::uint32_t reason, StepBound bound, const char* says) {
            QTest::newRow(name) << plant << ranks << quint32{reason} << bound << QByteArray(says);
        };
        row("host stall", Plant::host_stall, 1, reason_slow, StepBound::cpu, "make_ndarray_with_pad");
        row("slow kernels", Plant::slow_kernels, 1, reason_slow, StepBound::gpu, "busy");
        row("cudaMalloc", Plant::long_malloc, 1, reason_slow, StepBound::cpu, "cudaMalloc");
        row("cudaFree", Plant::long_free, 1, reason_slow, StepBound::cpu, "cudaFree");
        row("synchronization", Plant::long_sync, 1, reason_slow, StepBound::cpu, "cudaStreamSynchronize");
        row("late rank", Plant::late_rank, 2, reason_slow, StepBound::cpu, "rank 1 was idle");
        row("slow link", Plant::slow_link, 2, reason_slow, StepBound::communication, "collectives");
        row("missing kernels", Plant::missing_kernels, 1, reason_structure, StepBound::gpu, "flash_fwd_splitkv");
        row("eager", Plant::eager, 1, reason_structure, StepBound::gpu, "kernel by kernel");
        row("other variant", Plant::other_variant, 1, reason_structure, StepBound::gpu, "another variant");
        row("contradiction", Plant::contradiction, 1, reason_contradiction, StepBound::gpu, "its text says decode");
    }

    void planted() {
        QFETCH(Plant, plant);
        QFETCH(int, ranks);
        QFETCH(quint32, reason);
        QFETCH(StepBound, bound);
        QFETCH(QByteArray, says);
        ServiceOptions options;
        options.ranks = ranks;
        options.planted = {{plant, kAt}};
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        QCOMPARE(service->steps.size(), service->service.steps.size());
        QCOMPARE(service->outliers(), std::vector<int>{kAt});
        const StepVerdict& v = *service->verdict(kAt);
        QVERIFY((v.reasons & reason) != 0);
        QCOMPARE(v.bound, bound);
        QVERIFY2(has(v.sentence, says.constData()), v.sentence.c_str());
        QVERIFY(service->analysis.stalls.empty());
        QVERIFY(v.expected_ns && v.ratio);
        if (reason == reason_slow) QVERIFY(*v.ratio > 1.25);
    }

    void several_at_once() {
        ServiceOptions options;
        options.seed = 7;
        options.steps = 120;
        options.planted = {{Plant::host_stall, 30},
                           {Plant::slow_kernels, 44},
                           {Plant::eager, 59},
                           {Plant::missing_kernels, 77},
                           {Plant::contradiction, 101}};
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        QCOMPARE(service->outliers(), (std::vector<int>{30, 44, 59, 77, 101}));
    }

    void nothing_planted_data() {
        QTest::addColumn<int>("seed");
        QTest::addColumn<int>("ranks");
        for (int seed = 1; seed <= 4; ++seed) QTest::addRow("seed %d", seed) << seed << 1 + seed % 2;
    }

    void nothing_planted() {
        QFETCH(int, seed);
        QFETCH(int, ranks);
        ServiceOptions options;
        options.seed = static_cast<std::uint64_t>(seed);
        options.ranks = ranks;
        options.steps = 200;
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        QCOMPARE(service->steps.size(), std::size_t{200});
        QCOMPARE(service->outliers(), std::vector<int>{});
        QVERIFY(service->analysis.stalls.empty());
    }

    void a_third_slow() {
        ServiceOptions options;
        options.steps = 120;
        options.all_slow = true;
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        int slow = 0;
        for (int i = 0; i < 120; ++i) {
            if (service->steps[static_cast<std::size_t>(i)].phase != StepPhase::decode) continue;
            const StepVerdict& v = *service->verdict(i);
            QCOMPARE(v.outlier, i % 3 == 1);
            slow += v.outlier;
        }
        QVERIFY(slow > 20);
    }

    void a_stalled_step_of_a_rare_phase_is_found_by_its_idle_device() {
        ServiceOptions options;
        options.steps = 40;
        const auto usual = analyse_service(options);
        QVERIFY2(usual->reader, usual->error.c_str());
        QCOMPARE(usual->outliers(), std::vector<int>{});
        const int rare = rare_mixed_step(*usual);
        QVERIFY(rare > 0);
        options.planted_in_any_phase = true;
        options.planted = {{Plant::host_stall, rare}};
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        QVERIFY(service->steps[static_cast<std::size_t>(rare)].phase == StepPhase::mixed);
        const StepVerdict& v = *service->verdict(rare);
        QVERIFY2(v.outlier && v.rule.starts_with("idle against"), v.rule.c_str());
        QCOMPARE(v.reasons, std::uint32_t{reason_slow});
        QVERIFY(v.own_ns && *v.expected_ns < *v.own_ns);
        QCOMPARE(service->outliers(), std::vector<int>{rare});
    }

    void a_step_of_a_rare_phase_with_a_long_collective_is_found() {
        ServiceOptions options;
        options.steps = 40;
        options.ranks = 2;
        const auto usual = analyse_service(options);
        QVERIFY2(usual->reader, usual->error.c_str());
        QCOMPARE(usual->outliers(), std::vector<int>{});
        const int rare = rare_mixed_step(*usual);
        QVERIFY(rare > 0);
        options.planted_in_any_phase = true;
        options.planted = {{Plant::slow_link, rare}};
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        const StepVerdict& v = *service->verdict(rare);
        QVERIFY2(v.outlier && v.rule.starts_with("collectives against"), v.rule.c_str());
        QCOMPARE(service->outliers(), std::vector<int>{rare});
    }

    void few_steps() {
        ServiceOptions options;
        options.steps = 6;
        options.planted = {{Plant::host_stall, 3}};
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        QCOMPARE(service->outliers(), std::vector<int>{});
        for (const StepVerdict& v : service->analysis.verdicts) QCOMPARE(v.rule, std::string("too few steps"));
        QVERIFY(service->analysis.rooflines.empty());
    }

    void graphs_whose_kernels_are_not_seen() {
        ServiceOptions options;
        options.graph_rows = true;
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        for (std::size_t i = 0; i < service->steps.size(); ++i)
            if (service->steps[i].phase == StepPhase::decode) QCOMPARE(service->verdict(static_cast<int>(i))->bound, StepBound::unknown);
    }

    void tokens_over_the_limit() {
        ServiceOptions options;
        options.planted = {{Plant::stall, kAt}};
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        QCOMPARE(service->analysis.stalls.size(), std::size_t{1});
        const StepVerdict& stall = service->analysis.verdicts.back();
        QCOMPARE(stall.step, service->analysis.stalls[0].id);
        QCOMPARE(stall.reasons, std::uint32_t{reason_stall});
        QVERIFY(stall.outlier);
        QVERIFY(service->analysis.stalls[0].kind == StepKind::stall);
        QVERIFY(index_of(service->analysis.stalls[0].id) > index_of(service->steps.back().id));
    }

    void requests_over_the_limits() {
        const auto service = analyse_service({});
        QVERIFY2(service->reader, service->error.c_str());
        const auto index = SpanIndex::build(*service->reader);
        QVERIFY(index);
        Request slow_start;
        slow_start.name = "a";
        slow_start.ttft_ns = 6'000'000'000;
        slow_start.steps = {service->steps[10].id, service->steps[11].id};
        Request slow_token;
        slow_token.name = "b";
        slow_token.steps = {service->steps[20].id, service->steps[60].id};  // longer apart than 100 ms
        Request fine = slow_start;
        fine.ttft_ns = 4'000'000'000;
        fine.steps = {service->steps[30].id, service->steps[31].id};
        const std::vector<Request> requests = {slow_start, slow_token, fine};
        const auto analysis = analyse_capture(*service->reader, **index, LayerRules::built_in(), requests);
        QVERIFY(analysis);
        std::vector<std::int64_t> over;
        for (const StepVerdict& v : analysis->verdicts) {
            if (v.reasons == 0) continue;
            QCOMPARE(v.reasons, std::uint32_t{reason_slo});
            QVERIFY(v.outlier);
            QVERIFY(!v.sentence.empty());
            over.push_back(index_of(v.step));
        }
        QCOMPARE(over, (std::vector<std::int64_t>{index_of(service->steps[10].id), index_of(service->steps[60].id)}));
    }

    void a_service_that_is_always_over_the_limit_has_no_outliers() {
        const auto service = analyse_service({});
        QVERIFY2(service->reader, service->error.c_str());
        const auto index = SpanIndex::build(*service->reader);
        QVERIFY(index);
        AnalysisOptions options;
        options.slo_tpot_ns = 1'000'000;
        const auto analysis = analyse_capture(*service->reader, **index, LayerRules::built_in(), {}, options);
        QVERIFY(analysis);
        for (const StepVerdict& v : analysis->verdicts) QVERIFY(!v.outlier);
        QVERIFY((analysis->verdicts[40].reasons & reason_slo) != 0);
    }

    void options_are_kept_and_obeyed() {
        ServiceOptions planted;
        planted.planted = {{Plant::slow_kernels, kAt}};
        const auto service = analyse_service(planted);
        QVERIFY2(service->reader, service->error.c_str());
        QVERIFY(has(service->analysis.parameters, "\"slow_ratio\":1.25"));
        const auto index = SpanIndex::build(*service->reader);
        QVERIFY(index);
        AnalysisOptions options;
        options.slow_ratio = 4;
        const auto again = analyse_capture(*service->reader, **index, LayerRules::built_in(), {}, options);
        QVERIFY(again);
        for (const StepVerdict& v : again->verdicts) QVERIFY(!v.outlier);
        QVERIFY(has(again->parameters, "\"slow_ratio\":4"));
        std::stop_source stop;
        stop.request_stop();
        const auto cancelled = analyse_capture(*service->reader, **index, LayerRules::built_in(), {}, {}, stop.get_token());
        QVERIFY(!cancelled);
        QCOMPARE(cancelled.error().code, ErrorCode::cancelled);
    }

    void reference_steps_are_near_and_normal() {
        ServiceOptions options;
        options.planted = {{Plant::host_stall, kAt}, {Plant::slow_kernels, kAt + 2}};
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        const std::vector<std::size_t> near = reference_steps(service->steps, service->analysis.verdicts, kAt, 5);
        QCOMPARE(near.size(), std::size_t{5});
        for (const std::size_t i : near) {
            QVERIFY(i != kAt && i != kAt + 2);
            QVERIFY(service->steps[i].phase == StepPhase::decode);
            QVERIFY(std::abs(*service->steps[i].tokens - *service->steps[kAt].tokens) <= 2);
        }
        QVERIFY(reference_steps(service->steps, {}, 10'000).empty());
        QCOMPARE(reference_steps(service->steps, {}, kAt, 3).size(), std::size_t{3});
    }
};

QTEST_GUILESS_MAIN(TestAnalyseCapture)
#include "tst_analyse_capture.moc"
