// Steps made of other things than their like, without calling normal variation an outlier.
#include <QTest>

#include "core/kernel_roles.h"
#include "core/span_index.h"
#include "core/step_parts.h"
#include "core/structure.h"
#include "tests/core/small_capture.h"
#include "tests/support/analysed_service.h"

using namespace faultline;
using namespace faultline::test;

namespace {

/// A step of this many launches; what they launch is given by name.
struct Made {
    std::string text = "execute_context_0(0)_generation_4(4)";
    std::vector<std::string> kernels;
};

const std::vector<std::string> kLayer = {"void vllm::rms_norm_kernel<c10::BFloat16, 8>(int)",
                                         "nvjet_tst_64x8_64x16_1x1_h_bz_TNT",
                                         "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long)",
                                         "flash_fwd_splitkv_kernel<64>",
                                         "nvjet_tst_64x8_64x16_1x1_h_bz_TNT",
                                         "void vllm::act_and_mul_kernel<true>(int)"};

Made usual(int layers = 4) {
    Made step;
    for (int i = 0; i < layers; ++i) step.kernels.insert(step.kernels.end(), kLayer.begin(), kLayer.end());
    return step;
}

std::unique_ptr<SmallCapture> capture_of(const std::vector<Made>& steps) {
    return std::make_unique<SmallCapture>([&](SmallCapture::Fill& f) {
        std::int64_t correlation = 0;
        TimeNs t = 0;
        for (const Made& step : steps) {
            const TimeNs start = t;
            for (const std::string& kernel : step.kernels) {
                ++correlation;
                f.host(SpanKind::runtime_call, "cudaLaunchKernel", t + 1'000, t + 3'000, correlation);
                f.device(SpanKind::kernel, kernel, t + 5'000, t + 15'000, correlation);
                t += 20'000;
            }
            f.host(SpanKind::range, step.text, start, t);
            t += 50'000;
        }
        f.host(SpanKind::range, "shutdown", t + 20'000'000, t + 21'000'000);
    });
}

std::vector<StructureFinding> judge(const SmallCapture& c) {
    const auto steps = c.reader->steps();
    if (!steps) return {};
    const auto parts = count_parts(*c.reader, *c.index, LayerRules::built_in(), *steps);
    if (!parts) return {};
    const std::vector<std::uint8_t> cold(steps->size(), 0);
    return judge_structure(*c.reader, *steps, parts->steps, cold);
}

std::vector<int> out_of_line(const std::vector<StructureFinding>& findings) {
    std::vector<int> positions;
    for (std::size_t i = 0; i < findings.size(); ++i)
        if (findings[i].structure) positions.push_back(static_cast<int>(i));
    return positions;
}

}  // namespace

class TestStructure : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void plain_names() {
        QCOMPARE(plain_name("void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float>(float*)"),
                 std::string("at::native::{}::cunn_SoftMaxForward"));
        QCOMPARE(plain_name("triton_poi_fused_add_12"), std::string("triton_poi_fused_add_#"));
        QCOMPARE(plain_name("<unnamed>::kernel"), std::string("<unnamed>::kernel"));
        QVERIFY(is_matrix_product("nvjet_tst_64x8_64x16_1x1_h_bz_TNT"));
        QVERIFY(is_matrix_product("void cublasLt::splitKreduce_kernel<32>()"));
        QVERIFY(!is_matrix_product("flash::flash_fwd_splitkv_combine_kernel<128>"));
        QCOMPARE(graph_bucket(1), std::int64_t{1});
        QCOMPARE(graph_bucket(5), std::int64_t{8});
        QCOMPARE(graph_bucket(9), std::int64_t{16});
        QCOMPARE(graph_bucket(25), std::int64_t{32});
    }

    void parts_of_steps() {
        const auto c = capture_of({usual(), usual(2)});
        QVERIFY(c->good());
        const auto steps = c->reader->steps();
        QVERIFY(steps);
        const auto counted = count_parts(*c->reader, *c->index, LayerRules::built_in(), *steps);
        QVERIFY(counted);
        QCOMPARE(counted->steps.size(), std::size_t{2});
        std::int64_t kernels = 0, calls = 0;
        for (const StepPart& p : counted->steps[0].parts) {
            if (p.kind == SpanKind::kernel) kernels += p.count;
            if (p.kind == SpanKind::runtime_call) calls += p.count;
        }
        QCOMPARE(kernels, std::int64_t{24});
        QCOMPARE(calls, std::int64_t{24});
        QCOMPARE(counted->steps[0].parts.size(), std::size_t{6});  // five names of kernels, one of calls
        QCOMPARE(counted->steps[1].devices.size(), std::size_t{1});
    }

    void missing_and_added_kernels() {
        std::vector<Made> steps(12, usual());
        std::erase(steps[5].kernels, "flash_fwd_splitkv_kernel<64>");
        steps[8].kernels.insert(steps[8].kernels.begin(), {"extra_copy", "extra_copy"});
        const auto findings = judge(*capture_of(steps));
        QCOMPARE(out_of_line(findings), (std::vector<int>{5, 8}));
        QCOMPARE(findings[5].structure_sentence, std::string("0 flash_fwd_splitkv_kernel instead of 4 in steps like it"));
        QCOMPARE(findings[8].structure_sentence, std::string("2 extra_copy instead of 0 in steps like it"));
    }

    void one_more_of_many_is_normal() {
        std::vector<Made> steps(12, usual());
        steps[4].kernels.push_back("void vllm::act_and_mul_kernel<true>(int)");
        QCOMPARE(out_of_line(judge(*capture_of(steps))), std::vector<int>{});
    }

    void tiles_of_matrix_products_follow_the_shape() {
        std::vector<Made> steps(12, usual());
        for (int i = 8; i < 12; ++i) {
            steps[static_cast<std::size_t>(i)].text = "execute_context_0(0)_generation_3(3)";
            for (std::string& k : steps[static_cast<std::size_t>(i)].kernels)
                if (k.starts_with("nvjet")) k = "nvjet_tst_128x16_64x10_1x2_v_bz_TNT";
            steps[static_cast<std::size_t>(i)].kernels.push_back("void cublasLt::splitKreduce_kernel<32>()");
        }
        QCOMPARE(out_of_line(judge(*capture_of(steps))), std::vector<int>{});
    }

    void steps_of_more_ranks_hold_more_kernels() {
        const auto c = capture_of(std::vector<Made>(12, usual()));
        const auto steps = c->reader->steps();
        QVERIFY(steps);
        auto counted = count_parts(*c->reader, *c->index, LayerRules::built_in(), *steps);
        QVERIFY(counted);
        std::vector<Step> ranked = *steps;
        for (std::size_t i = 0; i < ranked.size(); ++i) {
            ranked[i].ranks = {0};
            if (i < 10) continue;  // the trace of the other rank begins here
            ranked[i].ranks = {0, 1};
            for (StepPart& p : counted->steps[i].parts) p.count *= 2;
        }
        const std::vector<std::uint8_t> cold(ranked.size(), 0);
        QCOMPARE(out_of_line(judge_structure(*c->reader, ranked, counted->steps, cold)), std::vector<int>{});
    }

    void another_size_has_no_like() {
        std::vector<Made> steps(12, usual());
        steps[6].text = "execute_context_0(0)_generation_40(40)";
        std::erase(steps[6].kernels, "flash_fwd_splitkv_kernel<64>");
        QCOMPARE(out_of_line(judge(*capture_of(steps))), std::vector<int>{});
    }

    void the_way_may_change_with_the_size() {
        // Prompts beyond 150 tokens are launched in another way: the largest of the short ones is no outlier.
        std::vector<Made> steps;
        for (int tokens = 100; tokens < 200; tokens += 8) {
            Made step = usual();
            step.text = "execute_context_1(" + std::to_string(tokens) + ")_generation_0(0)";
            if (tokens > 150) std::erase(step.kernels, "flash_fwd_splitkv_kernel<64>");
            steps.push_back(step);
        }
        QCOMPARE(out_of_line(judge(*capture_of(steps))), std::vector<int>{});
    }

    void what_recurs_is_a_way_of_the_engine() {
        std::vector<Made> steps(40, usual());
        for (std::size_t i = 3; i < steps.size(); i += 8) steps[i].kernels.insert(steps[i].kernels.end(), 6, "eplb_balance");
        QCOMPARE(out_of_line(judge(*capture_of(steps))), std::vector<int>{});
    }

    void a_variant_that_no_other_step_runs() {
        std::vector<Made> steps(12, usual());
        for (std::string& k : steps[7].kernels)
            if (k.starts_with("flash")) k = "flash_fwd_splitkv_kernel<128>";
        const auto findings = judge(*capture_of(steps));
        QCOMPARE(out_of_line(findings), std::vector<int>{7});
        QCOMPARE(findings[7].structure_sentence, std::string("4 kernels of another variant: flash_fwd_splitkv_kernel<128>"));
    }

    void a_change_for_good_is_none() {
        std::vector<Made> steps(24, usual());
        for (std::size_t i = 12; i < steps.size(); ++i)
            for (std::string& k : steps[i].kernels)
                if (k.starts_with("flash")) k = "flash_fwd_splitkv_kernel<128>";
        QCOMPARE(out_of_line(judge(*capture_of(steps))), std::vector<int>{});
    }

    void few_steps_are_compared_with_nothing() {
        std::vector<Made> steps(3, usual());
        steps[1].kernels.clear();
        QCOMPARE(out_of_line(judge(*capture_of(steps))), std::vector<int>{});
    }

    void steps_that_all_differ() {
        std::vector<Made> steps(20, usual());
        for (std::size_t i = 0; i < steps.size(); ++i)
            steps[i].kernels.insert(steps[i].kernels.end(), 3, "chosen_by_chance_" + std::string(i + 1, 'x'));
        QCOMPARE(out_of_line(judge(*capture_of(steps))), std::vector<int>{});
    }

    void new_requests_have_no_state() {
        Made right, wrong, decode;
        right.text = "execute_context_1(300)_generation_3(3)";
        right.kernels = {"void selective_scan_fwd_kernel<Traits<128>>(int)", "_selective_scan_update_kernel"};
        wrong.text = "execute_context_1(1)_generation_3(3)";
        wrong.kernels = {"_selective_scan_update_kernel"};
        decode.kernels = {"_selective_scan_update_kernel"};
        Made prompts = right;
        prompts.text = "execute_context_2(2)_generation_0(0)";
        const auto findings = judge(*capture_of({right, wrong, decode, prompts}));
        QCOMPARE(findings.size(), std::size_t{4});
        QVERIFY(!findings[0].contradiction);
        QVERIFY(findings[1].contradiction);
        QVERIFY(!findings[2].contradiction);
        QVERIFY(findings[3].contradiction);
        QVERIFY(findings[1].contradiction_sentence.find("no kernel reads one") != std::string::npos);
    }

    void contradictions_need_both_phases() {
        ServiceOptions options;
        options.planted = {{Plant::contradiction, 40}};
        const auto service = analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        int found = 0;
        for (const StepVerdict& v : service->analysis.verdicts) found += (v.reasons & reason_contradiction) != 0;
        QCOMPARE(found, 1);
        QVERIFY((service->verdict(40)->reasons & reason_contradiction) != 0);
    }
};

QTEST_GUILESS_MAIN(TestStructure)
#include "tst_structure.moc"
