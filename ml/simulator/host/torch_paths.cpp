// Hugging Face models under FSDP: modules of transformers, one operator of torch for each kernel (nesting as in a trace of transformers).
#include "ml/simulator/host/path_builder.h"

namespace faultline::simulator {
namespace {

void norm(PathBuilder& path, const ModelCode& code, int number, const Op& op) {
    path.module(fmt::format("{}RMSNorm", code.prefix), number);
    path.frame(fmt::format("transformers/models/{0}/modeling_{0}.py(218): forward", code.file));
    path.own();
    torch_operators(path, op);
}

void linear(PathBuilder& path, int number) {
    path.own();
    path.module("Linear", number);
    path.frame("torch/nn/modules/linear.py(124): forward");
    path.frame("<built-in function linear>");
    product_operators(path);
    path.view("aten::reshape>aten::view");
    path.view("aten::_unsafe_view");
}

void attention(PathBuilder& path, const ModelCode& code, const Op& op) {
    path.module(fmt::format("{}Attention", code.prefix), op.layer);
    path.frame(fmt::format("transformers/models/{0}/modeling_{0}.py(150): forward", code.file));
    switch (op.role) {
        case Role::qkv_gemm: return linear(path, 7 * op.layer);
        case Role::o_gemm: return linear(path, 7 * op.layer + 3);
        case Role::qk_norm: return norm(path, code, 4 * op.layer + 1, op);
        case Role::rope: path.frame(fmt::format("transformers/models/{0}/modeling_{0}.py(68): apply_rotary_pos_emb", code.file)); break;
        case Role::kv_write: path.frame("transformers/cache_utils.py(452): update"); break;
        default: path.frame("transformers/integrations/sdpa_attention.py(18): sdpa_attention_forward");
    }
    path.own();
    if (op.piece != Piece::whole) {
        torch_operators(path, op);
        return;
    }
    path.frame("<built-in function scaled_dot_product_attention>");
    for (const std::string_view name : {"aten::scaled_dot_product_attention", "aten::_scaled_dot_product_flash_attention", "aten::_flash_attention_forward"}) path.op(name);
    for (int i = 0; i < 3; ++i) path.view("aten::transpose>aten::as_strided");
    path.view("aten::empty_like>aten::empty_strided");
}

void mlp(PathBuilder& path, const ModelCode& code, const Op& op) {
    path.module(fmt::format("{}MLP", code.prefix), op.layer);
    path.frame(fmt::format("transformers/models/{0}/modeling_{0}.py(56): forward", code.file));
    if (op.role != Role::activation) return linear(path, 7 * op.layer + (op.role == Role::down_gemm ? 6 : 4));
    path.own();
    if (op.piece == Piece::silu) {
        path.module("SiLU", op.layer);
        path.frame("torch/nn/modules/activation.py(431): forward");
        path.frame("torch/nn/functional.py(2358): silu");
    }
    torch_operators(path, op);
}

}  // namespace

void torch_path(PathBuilder& path, const Deployment& d, const Op& op) {
    const ModelCode code = model_code(d.model);
    const bool outside = op.role == Role::all_gather || (op.layer < 0 && op.role != Role::embedding && op.role != Role::rope && op.role != Role::final_norm);
    if (outside) {
        path.own();
        torch_operators(path, op);
        return;
    }
    path.module(fmt::format("{}ForCausalLM", code.prefix), 0);
    path.frame("transformers/utils/generic.py(969): wrapper");
    path.frame(fmt::format("transformers/models/{0}/modeling_{0}.py(772): forward", code.file));
    path.module(fmt::format("{}Model", code.prefix), 0);
    path.frame(fmt::format("transformers/models/{0}/modeling_{0}.py(512): forward", code.file));
    if (op.layer < 0) {
        if (op.role == Role::final_norm) return norm(path, code, 4 * layers_of(d), op);
        path.own();
        torch_operators(path, op);
        return;
    }
    path.module(fmt::format("{}DecoderLayer", code.prefix), op.layer);
    path.frame(fmt::format("transformers/models/{0}/modeling_{0}.py(243): forward", code.file));
    switch (op.role) {
        case Role::input_norm: return norm(path, code, 4 * op.layer, op);
        case Role::post_norm:
            if (op.piece != Piece::add) return norm(path, code, 4 * op.layer + 3, op);
            path.own();
            torch_operators(path, op);
            return;
        case Role::gate_up_gemm:
        case Role::activation: return mlp(path, code, op);
        case Role::down_gemm:
            if (op.piece != Piece::add) return mlp(path, code, op);
            path.own();
            torch_operators(path, op);
            return;
        default: attention(path, code, op);
    }
}

}  // namespace faultline::simulator
