// Classes of the call chain by kind and name, and what a bad rule file says about itself.
#include <QTest>

#include "core/embedded.h"
#include "core/layer_rules.h"

using namespace faultline;

namespace {

QString error_of(std::string_view rules) {
    const auto loaded = LayerRules::load(rules, "my.rules");
    return loaded ? QStringLiteral("no error") : QString::fromStdString(loaded.error().sentence);
}

}  // namespace

class TestLayerRules : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void the_rules_that_come_along_load() {
        const auto rules = LayerRules::load(embedded::kLayerRules, "layers.rules");
        QVERIFY2(rules.has_value(), rules ? "" : rules.error().sentence.c_str());
    }

    void classes() {
        const LayerRules rules = LayerRules::built_in();
        const struct {
            SpanKind kind;
            const char* name;
            const char* layer;
        } all[] = {
            {SpanKind::kernel, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", "comm"},
            {SpanKind::kernel, "ncclKernel_AllReduce_RING_LL_Sum_half", "comm"},
            {SpanKind::kernel, "ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", "comm"},
            {SpanKind::kernel, "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 4>(vllm::RankData*, int)", "comm"},
            {SpanKind::kernel, "void sglang::cross_device_reduce_2stage<half, 2>(sglang::RankData*)", "comm"},
            {SpanKind::kernel, "two_shot_all_reduce_kernel_inplace", "comm"},
            {SpanKind::kernel, "void flashinfer::trtllm_allreduce_fusion::allreduce_fusion_kernel_oneshot_lamport<1, __nv_bfloat16, 8>",
             "comm"},
            {SpanKind::kernel, "void deep_ep::internode_ll::dispatch<true, 3, 10, 7168>", "comm"},
            {SpanKind::kernel, "rcclGenericKernel", "comm"},
            {SpanKind::accelerator, "hcom_allReduce__123_0", "comm"},
            {SpanKind::kernel, "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*)", "kernel"},
            {SpanKind::kernel, "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float> > >",
             "kernel"},
            {SpanKind::kernel, "nvjet_tst_64x8_64x16_1x1_h_bz_TNT", "kernel"},
            {SpanKind::kernel, "splitKreduce_kernel", "kernel"},
            {SpanKind::kernel, "triton_poi_fused_add_all_reduce_bitwise_and_embedding_0", "kernel"},
            {SpanKind::op, "triton_poi_fused_add_all_reduce_bitwise_and_embedding_0", "backend"},
            {SpanKind::python, "torch/distributed/distributed_c10d.py(2314): get_world_size", "backend"},
            {SpanKind::python, "vllm/distributed/device_communicators/pynccl.py(80): all_reduce", "comm"},
            {SpanKind::range, "## Call CompiledFxGraph fal4xpiah2v6blbfmwwonu52 ##", "backend"},
            {SpanKind::kernel, "moe_align_block_size_kernel", "kernel"},
            {SpanKind::memory_copy, "Memcpy PtoP (Device -> Device)", "comm"},
            {SpanKind::memory_copy, "Memcpy DtoH (Device -> Pinned)", "kernel"},
            {SpanKind::memory_set, "Memset (Device)", "kernel"},
            {SpanKind::runtime_call, "cudaLaunchKernel", "host"},
            {SpanKind::driver_call, "cuLaunchKernelEx", "host"},
            {SpanKind::os_call, "poll", "host"},
            {SpanKind::range, "nccl:all_reduce", "comm"},
            {SpanKind::range, "ncclAllReduce", "comm"},
            {SpanKind::range, "gloo:barrier", "comm"},
            {SpanKind::range, "hccl:allgather", "comm"},
            {SpanKind::range, "FSDP::all_gather (layers.3)", "comm"},
            {SpanKind::op, "record_param_comms", "comm"},
            {SpanKind::op, "c10d::_allgather_base_", "comm"},
            {SpanKind::op, "_c10d_functional::all_reduce", "comm"},
            {SpanKind::op, "vllm::all_reduce", "comm"},
            {SpanKind::op, "aten::all", "backend"},
            {SpanKind::op, "aten::mm", "backend"},
            {SpanKind::op, "vllm::unified_attention_with_output", "backend"},
            {SpanKind::range, "gpu_model_runner: forward", "backend"},
            {SpanKind::range, "Forward", "backend"},
            {SpanKind::range, "gpu_model_runner: bookkeep", "frontend"},
            {SpanKind::range, "schedule: allocate_slots", "frontend"},
            {SpanKind::range, "scheduler.process_batch_result", "frontend"},
            {SpanKind::range, "cuda_graph_runner.replay", "backend"},
            {SpanKind::range, "FSDP::pre_forward (layers.3)", "backend"},
            {SpanKind::range, "execute_context_0(0)_generation_64(64)", "step"},
            {SpanKind::range, "step[EXTEND bs=15 toks=15360]", "step"},
            {SpanKind::range, "ProfilerStep#3", "step"},
            {SpanKind::range, "my own text", ""},
            {SpanKind::python, "vllm/v1/core/sched/scheduler.py(120): schedule", "frontend"},
            {SpanKind::python, "vllm/v1/worker/gpu_input_batch.py(536): _make_sampling_metadata", "frontend"},
            {SpanKind::python, "vllm/v1/worker/gpu_model_runner.py(800): _prepare_inputs", "frontend"},
            {SpanKind::python, "vllm/v1/worker/gpu_model_runner.py(1002): execute_model", "backend"},
            {SpanKind::python, "vllm/v1/sample/sampler.py(23): forward", "backend"},
            {SpanKind::python, "/sgl-workspace/sglang/python/sglang/srt/managers/scheduler.py(2919): _run_batch_inner", "frontend"},
            {SpanKind::python, "/sgl-workspace/sglang/python/sglang/srt/managers/tp_worker.py(20): forward_batch_generation", "backend"},
            {SpanKind::python, "nn.Module: Qwen3DecoderLayer_5", "backend"},
            {SpanKind::python, "vllm/distributed/parallel_state.py(300): all_reduce", "comm"},
            {SpanKind::python, "torch/distributed/distributed_c10d.py(2000): all_reduce", "comm"},
            {SpanKind::counter, "anything", ""},
        };
        for (const auto& e : all) {
            const auto layer = layer_class_name(rules.classify(e.kind, e.name));
            QVERIFY2(layer == e.layer,
                     qPrintable(QStringLiteral("%1 is %2, not %3")
                                    .arg(QLatin1String(e.name), QString::fromStdString(std::string(layer)), QLatin1String(e.layer))));
        }
    }

    void the_first_rule_wins() {
        const auto rules = LayerRules::load("COMM op reduce\nBACKEND op,range .   # the rest\n", "my.rules");
        QVERIFY(rules.has_value());
        QVERIFY(rules->classify(SpanKind::op, "reduce it") == LayerClass::comm);
        QVERIFY(rules->classify(SpanKind::op, "add") == LayerClass::backend);
        QVERIFY(rules->classify(SpanKind::range, "reduce it") == LayerClass::backend);
        QVERIFY(rules->classify(SpanKind::kernel, "reduce it") == LayerClass::kernel);
    }

    void bad_rules_say_where_and_why() {
        QCOMPARE(error_of("# head\n\nNICE op x\n"),
                 QStringLiteral("my.rules line 3: unknown class \"NICE\" (STEP, FRONTEND, BACKEND, COMM, HOST or KERNEL)"));
        QCOMPARE(error_of("COMM op\n"), QStringLiteral("my.rules line 1: a rule is a word, kinds and a pattern"));
        QCOMPARE(error_of("COMM opera x\n"), QStringLiteral("my.rules line 1: unknown span kind \"opera\""));
        QCOMPARE(error_of("COMM * [a\n"), QStringLiteral("my.rules line 1: the pattern is no regular expression: missing ]: [a"));
    }
};

QTEST_APPLESS_MAIN(TestLayerRules)
#include "tst_layer_rules.moc"
