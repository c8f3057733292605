// SGLang: its own modules, called layer by layer (nesting as in a trace of a scheduler with stacks).
#include "ml/simulator/host/path_builder.h"

namespace faultline::simulator {
namespace {

void custom(PathBuilder& path, std::string_view module, int number, std::string_view at, std::string_view op) {
    path.own();
    path.module(module, number);
    path.frame("sglang/srt/layers/utils/multi_platform.py(81): forward");
    path.frame(fmt::format("sglang/srt/layers/{}: forward_cuda", at));
    path.frame("torch/_ops.py(1244): __call__");
    path.op(op);
}

void linear(PathBuilder& path, std::string_view module, int number, int line) {
    path.own();
    path.module(module, number);
    path.frame(fmt::format("sglang/srt/layers/linear.py({}): forward", line));
    path.frame("sglang/srt/layers/quantization/unquant.py(136): apply");
    path.frame("<built-in function linear>");
    product_operators(path);
}

void attention(PathBuilder& path, const Op& op) {
    path.module("RadixAttention", op.layer);
    path.frame("sglang/srt/layers/radix_attention.py(105): forward");
    path.frame("sglang/srt/layers/attention/base_attn_backend.py(80): forward");
    path.frame("sglang/srt/layers/attention/flashinfer_backend.py(851): forward_extend");
    path.own();
    if (op.role == Role::kv_write) {
        path.frame("sglang/srt/mem_cache/memory_pool.py(1038): set_kv_buffer");
        path.op("sglang::store_cache");
        return path.view("aten::view");
    }
    path.frame("flashinfer/prefill.py(2117): run");
    path.op("sglang::unified_attention_with_output");
    for (int i = 0; i < 4; ++i) path.view("aten::view");
    path.view("aten::empty_like>aten::empty_strided");
}

}  // namespace

void sglang_path(PathBuilder& path, const Deployment& d, const Op& op) {
    const ModelCode code = model_code(d.model);
    const int l = op.layer;
    const bool of_forward = l >= 0 || op.role == Role::embedding || op.role == Role::final_norm || op.role == Role::all_reduce;
    if (op.role == Role::graph || !of_forward) {
        path.own();
        if (op.role == Role::logits_gather) return path.op("sglang::all_gather_into_tensor");
        if (op.role != Role::graph) torch_operators(path, op);
        return;
    }
    path.frame("sglang/srt/model_executor/model_runner.py(3003): forward_extend");
    path.frame("torch/utils/_contextlib.py(117): decorate_context");
    path.frame(fmt::format("sglang/srt/models/{}.py(507): forward", code.file));
    path.module(fmt::format("{}Model", code.prefix), 0);
    path.frame(fmt::format("sglang/srt/models/{}.py(340): forward", code.base_file));
    if (l >= 0) {
        path.module(fmt::format("{}DecoderLayer", code.prefix), l);
        path.frame(fmt::format("sglang/srt/models/{}.py(384): forward", code.file));
    }
    const auto in_attention = [&] {
        path.module(fmt::format("{}Attention", code.prefix), l);
        path.frame(fmt::format("sglang/srt/models/{}.py(263): forward", code.file));
        path.frame(fmt::format("sglang/srt/models/{}.py(167): forward_prepare_native", code.file));
    };
    const auto in_mlp = [&] {
        path.module(fmt::format("{}MLP", code.prefix == "Qwen3" ? "Qwen2" : code.prefix), l);
        path.frame(fmt::format("sglang/srt/models/{}.py(94): forward", code.base_file));
    };
    switch (op.role) {
        case Role::embedding:
            path.module("VocabParallelEmbedding", 0);
            path.frame("sglang/srt/layers/vocab_parallel_embedding.py(471): forward");
            path.own();
            torch_operators(path, op);
            return;
        case Role::input_norm:
            path.frame("sglang/srt/layers/communicator.py(499): prepare_attn");
            return custom(path, "RMSNorm", 4 * l, "layernorm.py(158)", "sgl_kernel::fused_add_rmsnorm");
        case Role::post_norm:
            path.frame("sglang/srt/layers/communicator.py(665): prepare_mlp");
            return custom(path, "RMSNorm", 4 * l + 3, "layernorm.py(158)", "sgl_kernel::fused_add_rmsnorm");
        case Role::final_norm: return custom(path, "RMSNorm", 4 * layers_of(d), "layernorm.py(158)", "sgl_kernel::rmsnorm");
        case Role::qkv_gemm: in_attention(); return linear(path, "QKVParallelLinear", l, 461);
        case Role::qk_norm:
            in_attention();
            path.frame("sglang/srt/models/utils.py(416): apply_qk_norm");
            if (op.piece == Piece::whole) return custom(path, "RMSNorm", 4 * l + 1, "layernorm.py(158)", "sgl_kernel::rmsnorm");
            path.own();
            path.op("aten::reshape");
            path.op("aten::clone");
            path.op("aten::copy_");
            return path.view("aten::empty_like>aten::empty");
        case Role::rope: in_attention(); return custom(path, "RotaryEmbedding", 0, "rotary_embedding/base.py(335)", "sgl_kernel::apply_rope_pos_ids_cos_sin_cache");
        case Role::kv_write:
        case Role::attention:
        case Role::attention_combine: in_attention(); return attention(path, op);
        case Role::o_gemm: in_attention(); return linear(path, "RowParallelLinear", 2 * l, 1514);
        case Role::gate_up_gemm: in_mlp(); return linear(path, "MergedColumnParallelLinear", l, 461);
        case Role::activation: in_mlp(); return custom(path, "SiluAndMul", l, "activation.py(71)", "sgl_kernel::silu_and_mul");
        case Role::down_gemm: in_mlp(); return linear(path, "RowParallelLinear", 2 * l + 1, 1514);
        case Role::router_gemm: return linear(path, "ReplicatedLinear", l, 317);
        case Role::moe_topk: path.own(); return path.op(op.piece == Piece::whole ? "sgl_kernel::topk_softmax" : "");
        case Role::moe_align: path.own(); return path.op(op.piece == Piece::whole ? "sgl_kernel::moe_align_block_size" : "");
        case Role::moe_up:
        case Role::moe_down:
            path.module("FusedMoE", l);
            path.frame("sglang/srt/layers/moe/fused_moe_triton/layer.py(861): forward");
            path.own();
            return path.op("sglang::inplace_fused_experts");
        case Role::moe_sum: path.own(); return path.op("sgl_kernel::moe_sum_reduce");
        case Role::all_reduce:
            path.own();
            path.frame("sglang/srt/distributed/communication_op.py(12): tensor_model_parallel_all_reduce");
            return path.op("sglang::inplace_all_reduce");
        case Role::mamba_conv: path.own(); return path.op("sglang::causal_conv1d");
        case Role::mamba_scan: path.own(); return path.op("sgl_kernel::selective_scan_fwd");
        case Role::mamba_update: path.own(); return path.op("sglang::selective_state_update");
        default: path.own(); torch_operators(path, op);
    }
}

}  // namespace faultline::simulator
