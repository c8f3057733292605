// vLLM: models of its own classes, compiled by torch or called layer by layer (nesting as in traces of 0.8 to 0.18).
#include "ml/simulator/host/path_builder.h"

namespace faultline::simulator {
namespace {

bool compiled(const Deployment& d) { return d.engine != Engine::vllm_v0 && d.graphs != GraphMode::none; }

void model_root(PathBuilder& path, const Deployment& d) {
    const ModelCode code = model_code(d.model);
    path.module(fmt::format("{}ForCausalLM", code.prefix), 0);
    path.frame(fmt::format("vllm/model_executor/models/{}.py(322): forward", code.file));
    path.frame("vllm/compilation/decorators.py(526): __call__");
    path.frame(fmt::format("vllm/model_executor/models/{}.py(409): forward", code.base_file));
    if (!compiled(d)) return;
    path.module("OptimizedModule", 0);
    path.frame("torch/_dynamo/eval_frame.py(738): _fn");
    path.frame("torch/fx/graph_module.py(821): call_wrapped");
    path.frame("torch/fx/graph_module.py(382): __call__");
    path.module("GraphModule", 0);
    path.frame("<eval_with_key>.162(4): forward");
}

bool in_attention(Role role) { return role == Role::kv_write || role == Role::attention || role == Role::attention_combine; }
bool in_experts(Role role) { return role == Role::moe_topk || role == Role::moe_align || role == Role::moe_up || role == Role::moe_down || role == Role::moe_sum; }

/// The modules of a layer that is called as it is written.
void layer_modules(PathBuilder& path, const Deployment& d, const Op& op) {
    const ModelCode code = model_code(d.model);
    const int l = op.layer;
    path.module(fmt::format("{}DecoderLayer", code.prefix), l);
    path.frame(fmt::format("vllm/model_executor/models/{}.py(215): forward", code.file));
    switch (op.role) {
        case Role::input_norm:
        case Role::post_norm: break;
        case Role::gate_up_gemm:
        case Role::activation:
        case Role::down_gemm:
            path.module(fmt::format("{}MLP", code.prefix == "Qwen3" ? "Qwen2" : code.prefix), l);
            path.frame(fmt::format("vllm/model_executor/models/{}.py(91): forward", code.base_file));
            break;
        case Role::mamba_conv:
        case Role::mamba_scan:
        case Role::mamba_update:
            path.module("MambaMixer2", l);
            path.frame("vllm/model_executor/layers/mamba/mamba_mixer2.py(412): forward_cuda");
            break;
        case Role::router_gemm:
            path.module(fmt::format("{}SparseMoeBlock", code.prefix), l);
            path.frame(fmt::format("vllm/model_executor/models/{}.py(166): forward", code.file));
            break;
        default:
            if (in_experts(op.role)) {
                path.module(fmt::format("{}SparseMoeBlock", code.prefix), l);
                path.frame(fmt::format("vllm/model_executor/models/{}.py(166): forward", code.file));
                break;
            }
            path.module(fmt::format("{}Attention", code.prefix), l);
            path.frame(fmt::format("vllm/model_executor/models/{}.py(140): forward", code.file));
    }
}

/// The module that launches, and its operators.
void leaf(PathBuilder& path, const Op& op) {
    const int l = op.layer;
    const auto linear = [&](std::string_view module, std::string_view at, int number) {
        path.own();
        path.module(module, number);
        path.frame(fmt::format("vllm/model_executor/layers/linear.py({}): forward", at));
        path.frame("vllm/model_executor/layers/linear.py(189): apply");
        path.frame("<built-in function linear>");
        product_operators(path);
    };
    const auto custom = [&](std::string_view module, std::string_view file, std::string_view name, int number) {
        path.own();
        path.module(module, number);
        path.frame("vllm/model_executor/custom_op.py(48): forward");
        path.frame(fmt::format("vllm/model_executor/layers/{}: forward_cuda", file));
        path.frame("torch/_ops.py(1112): __call__");
        path.op(name);
    };
    switch (op.role) {
        case Role::qkv_gemm: return linear("QKVParallelLinear", "498", l);
        case Role::o_gemm: return linear("RowParallelLinear", "1291", 2 * l);
        case Role::gate_up_gemm: return linear("MergedColumnParallelLinear", "498", l);
        case Role::down_gemm: return linear("RowParallelLinear", "1291", 2 * l + 1);
        case Role::router_gemm: return linear("ReplicatedLinear", "358", l);
        case Role::input_norm: return custom("RMSNorm", "layernorm.py(183)", "_C::fused_add_rms_norm", 4 * l);
        case Role::post_norm: return custom("RMSNorm", "layernorm.py(183)", "_C::fused_add_rms_norm", 4 * l + 1);
        case Role::qk_norm: return custom("RMSNorm", "layernorm.py(183)", "_C::rms_norm", 4 * l + 2);
        case Role::rope: return custom("RotaryEmbedding", "rotary_embedding/base.py(115)", "_C::rotary_embedding", l);
        case Role::activation: return custom("SiluAndMul", "activation.py(92)", "_C::silu_and_mul", l);
        case Role::mamba_conv: path.own(); return path.op("vllm::causal_conv1d");
        case Role::mamba_scan: path.own(); return path.op("_C::selective_scan_fwd");
        case Role::mamba_update: path.own(); return path.op("vllm::selective_state_update");
        default: break;
    }
}

void attention_leaf(PathBuilder& path, const Op& op) {
    path.op("vllm::unified_attention_with_output");
    path.frame("vllm/attention/layer.py(404): unified_attention_with_output");
    path.frame("vllm/v1/attention/backends/flash_attn.py(515): forward");
    path.own();
    if (op.role == Role::kv_write) {
        path.view("aten::unbind>aten::select>aten::as_strided");
        path.frame("torch/_ops.py(1112): __call__");
        return path.op("_C_cache_ops::reshape_and_cache_flash");
    }
    if (op.piece == Piece::fill_long) {
        torch_operators(path, op);
        return;
    }
    for (int i = 0; i < 5; ++i) path.view("aten::slice>aten::as_strided");
    path.view("aten::empty_like>aten::empty_strided");
    path.frame("vllm/vllm_flash_attn/flash_attn_interface.py(119): flash_attn_varlen_func");
    path.frame("torch/_ops.py(1112): __call__");
    path.op("_vllm_fa3_C::fwd");
}

void expert_leaf(PathBuilder& path, const Op& op) {
    path.module("FusedMoE", op.layer);
    path.frame("vllm/model_executor/layers/fused_moe/layer.py(1520): forward");
    path.op("vllm::moe_forward");
    path.frame("vllm/model_executor/layers/fused_moe/layer.py(1790): forward_impl");
    path.own();
    switch (op.role) {
        case Role::moe_topk: return path.op(op.piece == Piece::whole ? "_moe_C::topk_softmax" : "");
        case Role::moe_align: return path.op(op.piece == Piece::whole ? "_moe_C::moe_align_block_size" : "");
        case Role::moe_sum: return path.op("_moe_C::moe_sum");
        default: path.frame("vllm/model_executor/layers/fused_moe/fused_moe.py(1512): fused_experts_impl"); return path.op("vllm::inplace_fused_experts");
    }
}

void reduction_leaf(PathBuilder& path) {
    path.own();
    path.frame("torch/_ops.py(722): __call__");
    path.op("vllm::all_reduce");
    path.frame("vllm/distributed/parallel_state.py(104): all_reduce");
    path.frame("vllm/distributed/device_communicators/cuda_communicator.py(52): all_reduce");
    path.frame("vllm/distributed/device_communicators/custom_all_reduce.py(268): custom_all_reduce");
    path.op("_C_custom_ar::all_reduce");
}

/// A kernel that inductor wrote, launched outside of a graph.
void inductor_leaf(PathBuilder& path, const Op& op) {
    path.frame("vllm/compilation/backends.py(608): __call__");
    path.frame("vllm/compilation/compiler_interface.py(390): compiled_graph");
    path.frame("torch/_inductor/output_code.py(463): __call__");
    if (op.role == Role::all_reduce) return reduction_leaf(path);
    path.own();
    if (op.role == Role::qkv_gemm || op.role == Role::o_gemm || op.role == Role::gate_up_gemm || op.role == Role::down_gemm || op.role == Role::router_gemm) {
        path.frame("<built-in method mm of type object at 0x7bc6c4c1df60>");
        return path.op("aten::mm");
    }
    path.frame("torch/_inductor/runtime/triton_heuristics.py(1018): run");
    path.frame("<string>(1): launcher");
    path.frame("triton/backends/nvidia/driver.py(443): __call__");
    path.frame("<built-in function launch>");
}

}  // namespace

void vllm_path(PathBuilder& path, const Deployment& d, const Op& op, bool in_graph) {
    const bool of_layer = op.layer >= 0;
    const bool of_forward = of_layer || op.role == Role::embedding || op.role == Role::final_norm || op.role == Role::all_reduce;
    if (in_graph) {
        model_root(path, d);
        if (d.graphs != GraphMode::full) path.frame("vllm/compilation/backends.py(608): __call__");
        path.own();
        path.frame("torch/cuda/graphs.py(86): replay");
        path.frame("<built-in method replay of PyCapsule object at 0x7bc642558ff0>");
        return;
    }
    if (!of_forward) {
        path.own();
        torch_operators(path, op);
        return;
    }
    model_root(path, d);
    if (compiled(d)) {
        if (!in_attention(op.role)) return inductor_leaf(path, op);
        path.frame("torch/fx/graph_module.py(821): call_wrapped");
        path.frame("torch/fx/graph_module.py(382): __call__");
        path.module("GraphModule", 2 * op.layer + 1);
        path.frame(fmt::format("<eval_with_key>.{}(4): forward", 4 + 2 * op.layer));
        path.frame("torch/_ops.py(1112): __call__");
        return attention_leaf(path, op);
    }
    if (of_layer) {
        layer_modules(path, d, op);
    } else if (op.role == Role::embedding) {
        path.module("VocabParallelEmbedding", 0);
        path.frame("vllm/model_executor/layers/vocab_parallel_embedding.py(464): forward_cuda");
    }
    if (op.role == Role::all_reduce) return reduction_leaf(path);
    if (in_attention(op.role)) {
        path.module("Attention", op.layer);
        path.frame("vllm/attention/layer.py(231): forward");
        return attention_leaf(path, op);
    }
    if (in_experts(op.role)) return expert_leaf(path, op);
    path.own();
    if (op.role == Role::final_norm) {
        path.module("RMSNorm", 4 * layers_of(d));
        path.frame("vllm/model_executor/layers/layernorm.py(183): forward_cuda");
        return path.op("_C::rms_norm");
    }
    if (op.piece == Piece::whole || op.piece == Piece::split_k) leaf(path, op);
    if (op.role == Role::embedding || (op.piece != Piece::whole && op.piece != Piece::split_k)) torch_operators(path, op);
}

}  // namespace faultline::simulator
