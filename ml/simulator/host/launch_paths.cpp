#include "ml/simulator/host/launch_paths.h"

#include <algorithm>

#include "ml/simulator/device/cards.h"
#include "ml/simulator/host/path_builder.h"

namespace faultline::simulator {

void PathBuilder::view(std::string_view chain) {
    if (!recording_.operators) return;
    std::vector<Name>& names = path_.views.emplace_back();
    while (!chain.empty()) {
        const std::size_t end = std::min(chain.find('>'), chain.size());
        names.push_back(names_.intern(chain.substr(0, end)));
        chain.remove_prefix(std::min(end + 1, chain.size()));
    }
}

ModelCode model_code(std::string_view model) {
    if (model == "qwen3-30b-a3b") return {"Qwen3Moe", "qwen3_moe", "qwen3_moe"};
    if (model.starts_with("qwen3")) return {"Qwen3", "qwen3", "qwen2"};
    if (model.starts_with("qwen1.5")) return {"Qwen2", "qwen2", "qwen2"};
    if (model.starts_with("gpt-oss")) return {"GptOss", "gpt_oss", "gpt_oss"};
    if (model.starts_with("bamba")) return {"Bamba", "bamba", "bamba"};
    return {"Llama", "llama", "llama"};
}

int layers_of(const Deployment& deployment) {
    const ModelCard* card = model_named(deployment.model);
    return card == nullptr ? 0 : card->layers;
}

void product_operators(PathBuilder& path) {
    path.op("aten::linear");
    path.op("aten::matmul");
    path.op("aten::mm");
    path.view("aten::t>aten::transpose>aten::as_strided");
}

bool torch_operators(PathBuilder& path, const Op& op) {
    const auto chain = [&](std::initializer_list<std::string_view> names) {
        for (const std::string_view name : names) path.op(name);
        return true;
    };
    switch (op.piece) {
        case Piece::whole:
        case Piece::split_k:
        case Piece::clear_workspace: break;
        case Piece::upcast:
        case Piece::downcast:
        case Piece::to_long: path.view("aten::empty_strided"); return chain({"aten::to", "aten::_to_copy", "aten::copy_"});
        case Piece::square: path.view("aten::result_type"); return chain({"aten::pow"});
        case Piece::mean: path.view("aten::as_strided"); return chain({"aten::mean"});
        case Piece::add_number:
        case Piece::add:
        case Piece::add_long: return chain({"aten::add"});
        case Piece::add_int: return chain({"aten::add_"});
        case Piece::rsqrt: return chain({"aten::rsqrt"});
        case Piece::scale:
        case Piece::weigh:
        case Piece::multiply: return chain({"aten::mul"});
        case Piece::negate: path.view("aten::slice>aten::as_strided"); return chain({"aten::neg"});
        case Piece::join: path.view("aten::narrow>aten::slice>aten::as_strided"); return chain({"aten::cat"});
        case Piece::copy: path.view("aten::empty_like>aten::empty_strided"); return chain({"aten::contiguous", "aten::clone", "aten::copy_"});
        case Piece::silu: return chain({"aten::silu"});
        case Piece::cosine: return chain({"aten::cos"});
        case Piece::sine: return chain({"aten::sin"});
        case Piece::fill_int:
        case Piece::fill_long: return chain({"aten::zero_", "aten::fill_"});
        case Piece::sum: path.view("aten::as_strided"); return chain({"aten::sum"});
        case Piece::scan: path.view("aten::empty"); return chain({"aten::cumsum"});
        case Piece::count_up: path.view("aten::empty"); return chain({"aten::arange", "aten::arange"});
        case Piece::device_copy: return chain({"aten::item", "aten::_local_scalar_dense"});
        default: return false;
    }
    switch (op.role) {
        case Role::embedding: path.view("aten::view"); return chain({"aten::embedding", "aten::index_select"});
        case Role::fill: return chain({"aten::zero_", "aten::fill_"});
        case Role::gather_last: path.view("aten::empty"); return chain({"aten::index"});
        case Role::logits_cast: path.view("aten::empty_strided"); return chain({"aten::to", "aten::_to_copy", "aten::copy_"});
        case Role::argmax: path.view("aten::as_strided"); return chain({"aten::argmax"});
        case Role::softmax: return chain({"aten::softmax", "aten::_softmax"});
        case Role::logprobs: return chain({"aten::log_softmax", "aten::_log_softmax"});
        case Role::sort: return chain({"aten::sort"});
        case Role::sample: return chain({"aten::exponential_"});
        case Role::penalties: return chain({"aten::scatter_add_"});
        case Role::input_copy:
        case Role::block_table_copy:
            path.view("aten::slice>aten::as_strided");
            path.view("aten::slice>aten::as_strided");
            return chain({"aten::copy_"});
        case Role::token_copy: return chain({"aten::to", "aten::_to_copy", "aten::copy_"});
        case Role::all_gather: return chain({"c10d::_allgather_base_", "record_param_comms", "nccl:_all_gather_base"});
        case Role::logits_gather: return chain({"vllm::all_gather"});
        case Role::lm_head:
        case Role::draft_forward:
        case Role::router_gemm: product_operators(path); return true;
        default: return false;
    }
}

LaunchPaths::LaunchPaths(const RunOptions& options, Names& names) : options_(options), names_(&names), known_(std::make_shared<std::unordered_map<std::uint32_t, LaunchPath>>()) {}

const LaunchPath& LaunchPaths::of(const Op& op, bool in_graph) const {
    const std::uint32_t key = ((static_cast<std::uint32_t>(op.role) << 8 | static_cast<std::uint32_t>(op.piece)) << 14) |
                              (static_cast<std::uint32_t>(op.layer + 1) << 2) | (op.device_event == EventKind::kernel ? 2U : 0U) | (in_graph ? 1U : 0U);
    const auto [place, added] = known_->try_emplace(key);
    if (!added) return place->second;
    PathBuilder path(place->second, *names_, options_.recording);
    switch (options_.deployment.engine) {
        case Engine::sglang: sglang_path(path, options_.deployment, op); break;
        case Engine::fsdp: torch_path(path, options_.deployment, op); break;
        default: vllm_path(path, options_.deployment, op, in_graph);
    }
    if (!in_graph && (op.role == Role::attention || op.role == Role::kv_write || op.role == Role::all_reduce) && op.piece == Piece::whole) {
        path.question(op.role == Role::attention ? "cudaFuncSetAttribute" : "cudaStreamIsCapturing");
        if (op.role == Role::attention) path.question("cudaFuncSetAttribute");
    }
    if (in_graph) {
        path.question("cudaStreamIsCapturing");
        path.question("cudaDriverGetVersion");
    }
    return place->second;
}

bool LaunchPaths::joins(const Op& op, const Op& before) {
    if (op.layer != before.layer) return false;
    // cuBLAS clears its workspace before a product and sums the parts after it; FlashAttention combines its splits.
    if (before.piece == Piece::clear_workspace) return op.role == before.role && op.piece == Piece::whole;
    return (op.piece == Piece::split_k && op.role == before.role) || (op.role == Role::attention_combine && before.role == Role::attention && before.piece == Piece::whole);
}

}  // namespace faultline::simulator
