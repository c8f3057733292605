// Operator families by kind and name, what a bad rule file says about itself, and the column of SQL.
#include <QTemporaryDir>
#include <QTest>

#include "core/embedded.h"
#include "core/families.h"
#include "core/query.h"
#include "tests/support/analysed_service.h"

using namespace faultline;

namespace {

QString error_of(std::string_view rules) {
    const auto loaded = FamilyRules::load(rules, "my.rules");
    return loaded ? QStringLiteral("no error") : QString::fromStdString(loaded.error().sentence);
}

}  // namespace

class TestFamilies : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void the_rules_that_come_along_load() {
        const auto rules = FamilyRules::load(embedded::kFamilyRules, "families.rules");
        QVERIFY2(rules.has_value(), rules ? "" : rules.error().sentence.c_str());
        QVERIFY(rules->families().size() > 30);
        QCOMPARE(rules->families().front(), std::string("other"));
    }

    void families_of_names() {
        const FamilyRules rules = FamilyRules::built_in();
        const struct {
            SpanKind kind;
            const char* name;
            const char* family;
        } all[] = {
            {SpanKind::kernel, "void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, false>()", "attention"},
            {SpanKind::kernel, "void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<int> > >(...)",
             "attention"},
            {SpanKind::kernel, "BatchDecodeWithPagedKVCacheKernel", "attention"},
            {SpanKind::kernel, "nvjet_tst_64x8_64x16_1x1_h_bz_TNT", "gemm"},
            {SpanKind::kernel, "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x6_tn", "gemm"},
            {SpanKind::kernel, "void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16>()", "gemm"},
            {SpanKind::kernel, "std::enable_if<true>::type vllm::fused_add_rms_norm_kernel<c10::Half, 0>(c10::Half*)", "norm"},
            {SpanKind::kernel, "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_2", "norm"},
            {SpanKind::kernel, "triton_poi_fused_mul_silu_slice_1", "activation"},
            {SpanKind::kernel, "triton_poi_fused_add_all_reduce_bitwise_and_embedding_0", "embedding"},
            {SpanKind::kernel, "void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>()", "activation"},
            {SpanKind::kernel, "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", "rope"},
            {SpanKind::kernel, "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16>()", "kv_write"},
            {SpanKind::kernel, "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float> > >",
             "sampling"},
            {SpanKind::kernel, "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, sum_functor<float> > >", "reduction"},
            {SpanKind::kernel, "fused_moe_kernel", "moe"},
            {SpanKind::kernel, "selective_state_update", "state_space"},
            {SpanKind::kernel, "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)", "collective"},
            {SpanKind::kernel, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "collective"},
            {SpanKind::kernel, "void at::native::vectorized_elementwise_kernel<4, at::native::CUDAFunctor_add<float> >", "elementwise"},
            {SpanKind::kernel, "void at::native::(anonymous namespace)::indexSelectSmallIndex<float>", "embedding"},
            {SpanKind::kernel, "my_own_kernel", "other"},
            {SpanKind::memory_copy, "Memcpy DtoH (Device -> Pinned)", "copy"},
            {SpanKind::memory_copy, "Memcpy PtoP (Device -> Device)", "collective"},
            {SpanKind::memory_set, "Memset (Device)", "memset"},
            {SpanKind::runtime_call, "cudaLaunchKernel", "launch"},
            {SpanKind::runtime_call, "hipExtModuleLaunchKernel", "launch"},
            {SpanKind::driver_call, "cuLaunchKernelEx", "launch"},
            {SpanKind::runtime_call, "cudaGraphLaunch", "graph_launch"},
            {SpanKind::runtime_call, "cudaGraphInstantiate", "graph_build"},
            {SpanKind::runtime_call, "cudaStreamSynchronize", "sync"},
            {SpanKind::runtime_call, "cudaEventQuery", "sync"},
            {SpanKind::runtime_call, "cudaStreamWaitEvent", "event"},
            {SpanKind::runtime_call, "cudaMalloc", "allocate"},
            {SpanKind::runtime_call, "cudaHostAlloc", "allocate"},
            {SpanKind::driver_call, "cuMemMap", "allocate"},
            {SpanKind::runtime_call, "cudaFreeHost", "free"},
            {SpanKind::driver_call, "cuMemUnmap", "free"},
            {SpanKind::driver_call, "cuModuleLoadData", "module_load"},
            {SpanKind::driver_call, "cuLibraryLoadData", "module_load"},
            {SpanKind::runtime_call, "cudaMemcpyAsync", "copy"},
            {SpanKind::runtime_call, "cudaMemsetAsync", "memset"},
            {SpanKind::runtime_call, "cudaFuncGetAttributes", "query"},
            {SpanKind::overhead, "Runtime Triggered Module Loading", "module_load"},
            {SpanKind::os_call, "pthread_cond_wait", "wait"},
            {SpanKind::op, "aten::mm", "gemm"},
            {SpanKind::op, "aten::empty", "allocate"},
            {SpanKind::op, "aten::view", "view"},
            {SpanKind::op, "vllm::unified_attention_with_output", "attention"},
            {SpanKind::op, "c10d::allreduce_", "collective"},
            {SpanKind::range, "execute_context_0(0)_generation_64(64)", "step"},
            {SpanKind::range, "gpu_model_runner: forward", "forward"},
            {SpanKind::range, "gpu_model_runner: sample", "sampling"},
            {SpanKind::range, "schedule: allocate_slots", "schedule"},
            {SpanKind::range, "sched.schedule", "schedule"},
            {SpanKind::range, "rpc.wait", "wait"},
            {SpanKind::range, "nccl:all_reduce", "collective"},
            {SpanKind::range, "my own text", "other"},
            {SpanKind::python, "vllm/v1/worker/gpu_model_runner.py(1002): execute_model", "python"},
            {SpanKind::counter, "anything", "other"},
        };
        for (const auto& e : all) {
            const std::string family(rules.name(rules.classify(e.kind, e.name)));
            QVERIFY2(family == e.family,
                     qPrintable(QStringLiteral("%1 is %2, not %3")
                                    .arg(QLatin1String(e.name), QString::fromStdString(family), QLatin1String(e.family))));
        }
    }

    void the_first_rule_wins() {
        const auto rules = FamilyRules::load("a kernel x\nb kernel,op .  # the rest\na op y\n", "my.rules");
        QVERIFY(rules.has_value());
        QCOMPARE(rules->families(), (std::vector<std::string>{"other", "a", "b"}));
        QCOMPARE(rules->name(rules->classify(SpanKind::kernel, "ax")), std::string_view("a"));
        QCOMPARE(rules->name(rules->classify(SpanKind::kernel, "ay")), std::string_view("b"));
        QCOMPARE(rules->name(rules->classify(SpanKind::range, "ax")), std::string_view("other"));
        QCOMPARE(rules->name(FamilyId{99}), std::string_view("other"));
    }

    void bad_rules_say_where_and_why() {
        QCOMPARE(error_of("# head\n\nNice op x\n"), QStringLiteral("my.rules line 3: \"Nice\" is no family (a word of a-z, 0-9 and _)"));
        QCOMPARE(error_of("gemm op\n"), QStringLiteral("my.rules line 1: a rule is a word, kinds and a pattern"));
        QCOMPARE(error_of("gemm opera x\n"), QStringLiteral("my.rules line 1: unknown span kind \"opera\""));
        QCOMPARE(error_of("gemm * [a\n"), QStringLiteral("my.rules line 1: the pattern is no regular expression: missing ]: [a"));
    }

    void sql_shows_the_family() {
        test::ServiceOptions options;
        options.steps = 4;
        const auto service = test::analyse_service(options);
        QVERIFY2(service->reader, service->error.c_str());
        std::vector<std::string> rows;
        const auto add = [&](const std::vector<SqlValue>& values) {
            rows.push_back(std::get<std::string>(values[0]));
            return true;
        };
        const auto of_kernels = run_query(*service->reader, "SELECT DISTINCT family FROM kernels WHERE name LIKE '%flash_fwd%'",
                                          [](const std::vector<std::string>&) {}, add, {});
        QVERIFY2(of_kernels.has_value(), of_kernels ? "" : of_kernels.error().sentence.c_str());
        QCOMPARE(rows, std::vector<std::string>{"attention"});
        rows.clear();
        const auto of_spans = run_query(*service->reader, "SELECT DISTINCT family FROM span WHERE name = 'cudaGraphLaunch'",
                                        [](const std::vector<std::string>&) {}, add, {});
        QVERIFY(of_spans.has_value());
        QCOMPARE(rows, std::vector<std::string>{"graph_launch"});
    }
};

QTEST_GUILESS_MAIN(TestFamilies)
#include "tst_families.moc"
