#include "ml/simulator/host/span_words.h"

#include <array>
#include <utility>

#include <fmt/format.h>

namespace faultline::simulator {
namespace {

using Word = std::pair<Role, std::string_view>;

/// The spans of ENGINES §6.
constexpr std::array kSemantic{
    Word{Role::step, "core.step"}, Word{Role::add_request, "core.add_request"}, Word{Role::idle, "core.wait_input"}, Word{Role::schedule, "sched.schedule"},
    Word{Role::prefix_lookup, "sched.prefix_lookup"}, Word{Role::allocate_slots, "sched.allocate_slots"}, Word{Role::rpc, "exec.execute_model_rpc"},
    Word{Role::wait_output, "exec.wait_output"}, Word{Role::update_from_output, "sched.update_from_output"}, Word{Role::send_output, "core.send_outputs"},
    Word{Role::rpc_wait, "rpc.wait"}, Word{Role::update_states, "update_states"}, Word{Role::prepare_inputs, "prepare_inputs"},
    Word{Role::block_table_copy, "block_table.commit"}, Word{Role::slot_mapping, "slot_mapping"}, Word{Role::input_copy, "input_ids.copy"},
    Word{Role::attn_metadata, "attn_metadata"}, Word{Role::model_forward, "model_forward"}, Word{Role::graph, "graph.replay"},
    Word{Role::compute_logits, "compute_logits"}, Word{Role::sample, "runner.sample_tokens"}, Word{Role::grammar, "grammar.apply"},
    Word{Role::sampling_metadata, "sampling_metadata"}, Word{Role::sampler, "sampler"}, Word{Role::verify, "rejection_sampler"},
    Word{Role::bookkeeping, "bookkeeping_sync"}, Word{Role::draft_propose, "draft.propose"}, Word{Role::token_copy, "output.build"},
    Word{Role::event_wait, "async_output_copy"}, Word{Role::kv_transfer, "kv.start_load"}, Word{Role::http, "api.request"},
    Word{Role::tokenize, "api.tokenize"}, Word{Role::detokenize, "api.detokenize"}, Word{Role::warm_up, "worker.warm_up"},
    Word{Role::compile, "worker.compile"},
};

/// What vLLM writes with its profiling scopes on (ENGINES §3).
constexpr std::array kVllmScopes{
    Word{Role::prepare_inputs, "gpu_model_runner: preprocess"}, Word{Role::model_forward, "gpu_model_runner: forward"},
    Word{Role::compute_logits, "gpu_model_runner: postprocess"}, Word{Role::sampler, "gpu_model_runner: sample"},
    Word{Role::draft_propose, "gpu_model_runner: draft"}, Word{Role::bookkeeping, "gpu_model_runner: bookkeep"},
    Word{Role::token_copy, "gpu_model_runner: ModelRunnerOutput"}, Word{Role::allocate_slots, "schedule: allocate_slots"},
    Word{Role::update_states, "schedule: update_after_schedule"},
};
constexpr std::array kVllmOlder{
    Word{Role::prepare_inputs, "Preprocess"}, Word{Role::model_forward, "Forward"}, Word{Role::compute_logits, "Postprocess"},
    Word{Role::sampler, "Sample"}, Word{Role::draft_propose, "Draft"}, Word{Role::bookkeeping, "Bookkeep"},
};
constexpr std::array kSglangScopes{
    Word{Role::idle, "scheduler.recv_requests"}, Word{Role::rpc_wait, "scheduler.recv_requests"}, Word{Role::add_request, "scheduler.process_input_requests"},
    Word{Role::schedule, "scheduler.get_next_batch_to_run"}, Word{Role::prefix_lookup, "scheduler.get_new_batch_prefill"},
    Word{Role::allocate_slots, "scheduler.update_running_batch"}, Word{Role::rpc, "scheduler.run_batch"},
    Word{Role::graph, "cuda_graph_runner.replay"}, Word{Role::update_from_output, "scheduler.process_batch_result"},
};

template <std::size_t N>
std::string_view look_up(const std::array<Word, N>& words, Role role) {
    for (const auto& [known, word] : words) {
        if (known == role) return word;
    }
    return {};
}

std::string_view phase_word(StepKind kind) {
    switch (kind) {
        case StepKind::prefill: return "prefill";
        case StepKind::decode: return "decode";
        case StepKind::mixed: return "mixed";
        default: return "other";
    }
}

/// Sums that the detailed texts hold: query lengths, KV lengths, their squares and products.
struct Sums {
    std::int64_t sq = 0, sk = 0, sqsq = 0, sqsk = 0;
};

Sums sums_of(const StepPlan& plan, bool context) {
    Sums s;
    for (const ScheduledRequest& r : plan.requests) {
        if (r.context != context) continue;
        const std::int64_t q = r.tokens, k = r.computed_before + r.tokens;
        s.sq += q;
        s.sk += k;
        s.sqsq += q * q;
        s.sqsk += q * k;
    }
    return s;
}

std::string vllm_step(const StepPlan& p, Dialect dialect) {
    if (dialect == Dialect::engine_older) {
        int fresh = 0;
        for (const ScheduledRequest& r : p.requests) fresh += r.first ? 1 : 0;
        return fmt::format("execute_new_{}_cached_{}", fresh, p.requests.size() - static_cast<std::size_t>(fresh));
    }
    if (dialect == Dialect::engine_detailed) {
        const Sums c = sums_of(p, true), g = sums_of(p, false);
        return fmt::format("execute_{}_context_{}(sq{}sk{}sqsq{}sqsk{})_generation_{}(sq{}sk{}sqsq{}sqsk{})", p.tokens, p.context_requests, c.sq, c.sk, c.sqsq,
                           c.sqsk, p.generation_requests, g.sq, g.sk, g.sqsq, g.sqsk);
    }
    return fmt::format("execute_context_{}({})_generation_{}({})", p.context_requests, p.context_tokens, p.generation_requests, p.generation_tokens);
}

std::string sglang_step(const StepPlan& p, Dialect dialect) {
    const std::size_t batch = p.requests.size();
    const bool verify = p.context_requests == 0 && p.generation_tokens > p.generation_requests;
    const std::string_view mode = p.kind == StepKind::dummy ? "IDLE" : p.kind == StepKind::mixed ? "MIXED" : p.context_requests > 0 ? "EXTEND" : verify ? "TARGET_VERIFY" : "DECODE";
    if (dialect == Dialect::engine_older) {
        if (p.kind == StepKind::dummy) return "step[idle]";
        if (p.kind == StepKind::mixed) return fmt::format("step[mixed bs={} ext={} dec={}]", batch, p.context_tokens, p.generation_tokens);
        return p.context_requests > 0 ? fmt::format("step[prefill bs={} toks={}]", batch, p.context_tokens) : fmt::format("step[decode bs={}]", batch);
    }
    std::string text = fmt::format("step[{} bs={}", mode, batch);
    if (p.context_requests > 0) text += fmt::format(" toks={}", p.context_tokens);
    if (dialect == Dialect::engine_detailed) {
        const Sums c = sums_of(p, true), g = sums_of(p, false);
        text += fmt::format(" c={} g={} c_sq={} c_sqsq={} c_sqsk={} c_sk={} g_sq={} g_sqsq={} g_sqsk={} g_sk={}", p.context_requests, p.generation_requests, c.sq,
                            c.sqsq, c.sqsk, c.sk, g.sq, g.sqsq, g.sqsk, g.sk);
    }
    return text + "]";
}

}  // namespace

std::string_view SpanWords::word(Role role) const {
    const Engine engine = options_.deployment.engine;
    switch (options_.recording.dialect) {
        case Dialect::none: return {};
        case Dialect::semantic: return look_up(kSemantic, role);
        case Dialect::engine_current:
        case Dialect::engine_detailed: return {};
        case Dialect::engine_older: return engine == Engine::sglang || engine == Engine::fsdp ? std::string_view{} : look_up(kVllmOlder, role);
        case Dialect::engine_scopes:
            if (engine == Engine::sglang) return look_up(kSglangScopes, role);
            return engine == Engine::fsdp ? std::string_view{} : look_up(kVllmScopes, role);
    }
    return {};
}

Name SpanWords::range(Role role) const { return names_->intern(word(role)); }

std::string SpanWords::step(const StepPlan& plan) const {
    const Dialect dialect = options_.recording.dialect;
    if (dialect == Dialect::none || plan.kind == StepKind::idle) return {};
    if (dialect == Dialect::semantic) {
        const std::string_view who = options_.deployment.engine == Engine::sglang ? "run_batch" : options_.deployment.engine == Engine::fsdp ? "fsdp.forward" : "worker.execute_model";
        return fmt::format("{} step={} {} tokens={} batch={}", who, plan.instance_step, phase_word(plan.kind), plan.tokens, plan.requests.size());
    }
    switch (options_.deployment.engine) {
        case Engine::sglang: return sglang_step(plan, dialect);
        // FSDP 2 writes about units alone: there is no range of a whole forward.
        case Engine::fsdp: return dialect == Dialect::engine_older ? "FullyShardedDataParallel.forward" : std::string{};
        default: return vllm_step(plan, dialect);
    }
}

std::string SpanWords::requests(const StepPlan& plan, const std::string& ids) { return fmt::format("step.requests step={} requests={}", plan.instance_step, ids); }

SpanWords::Operators SpanWords::operators(Role role) const {
    const bool sglang = options_.deployment.engine == Engine::sglang;
    switch (role) {
        case Role::qkv_gemm:
        case Role::o_gemm:
        case Role::gate_up_gemm:
        case Role::down_gemm:
        case Role::router_gemm:
        case Role::lm_head:
        case Role::draft_forward: return {"aten::linear", "aten::mm"};
        case Role::input_norm:
        case Role::post_norm: return {sglang ? "sgl_kernel::fused_add_rmsnorm" : "_C::fused_add_rms_norm", {}};
        case Role::qk_norm:
        case Role::final_norm: return {sglang ? "sgl_kernel::rmsnorm" : "_C::rms_norm", {}};
        case Role::rope: return {sglang ? "sgl_kernel::apply_rope_pos_ids_cos_sin_cache" : "_C::rotary_embedding", {}};
        case Role::kv_write: return {sglang ? "sgl_kernel::store_kv_cache" : "vllm::unified_kv_cache_update", sglang ? "" : "_C_cache_ops::reshape_and_cache_flash"};
        case Role::attention: return {sglang ? "sglang::unified_attention_with_output" : "vllm::unified_attention_with_output", {}};
        case Role::activation: return {sglang ? "sgl_kernel::silu_and_mul" : "_C::silu_and_mul", {}};
        case Role::moe_topk: return {"_moe_C::topk_softmax", {}};
        case Role::moe_align: return {"_moe_C::moe_align_block_size", {}};
        case Role::moe_up:
        case Role::moe_down: return {"vllm::inplace_fused_experts", {}};
        case Role::moe_sum: return {"_moe_C::moe_sum", {}};
        case Role::mamba_conv: return {"vllm::causal_conv1d", {}};
        case Role::mamba_scan: return {"_C::selective_scan_fwd", {}};
        case Role::mamba_update: return {"vllm::selective_state_update", {}};
        case Role::all_reduce: return {sglang ? "sglang::inplace_all_reduce" : "vllm::all_reduce", sglang ? "" : "_C_custom_ar::all_reduce"};
        case Role::all_gather: return {"c10d::_allgather_base_", "record_param_comms"};
        case Role::embedding: return {"aten::embedding", "aten::index_select"};
        case Role::fill: return {"aten::zero_", "aten::fill_"};
        case Role::gather_last: return {"aten::index", {}};
        case Role::logits_cast: return {"aten::to", "aten::_to_copy"};
        case Role::argmax: return {"aten::argmax", {}};
        case Role::softmax: return {"aten::softmax", "aten::_softmax"};
        case Role::logprobs: return {"aten::log_softmax", "aten::_log_softmax"};
        case Role::sort: return {"aten::sort", {}};
        case Role::sample: return {"aten::exponential_", {}};
        case Role::penalties: return {"aten::scatter_add_", {}};
        case Role::input_copy:
        case Role::block_table_copy:
        case Role::token_copy: return {"aten::copy_", {}};
        default: return {};
    }
}

std::span<const std::string_view> SpanWords::views(Role role) {
    static constexpr std::array<std::string_view, 2> kProduct{"aten::t>aten::transpose>aten::as_strided", "aten::empty"};
    static constexpr std::array<std::string_view, 9> kAttention{
        "aten::slice>aten::as_strided", "aten::slice>aten::as_strided", "aten::unbind>aten::select>aten::as_strided", "aten::select>aten::as_strided",
        "aten::expand>aten::as_strided", "aten::expand>aten::as_strided", "aten::expand>aten::as_strided", "aten::empty_like>aten::empty_strided", "aten::empty"};
    static constexpr std::array<std::string_view, 3> kWrite{"aten::slice>aten::as_strided", "aten::unbind>aten::select>aten::as_strided", "aten::view"};
    static constexpr std::array<std::string_view, 3> kCopy{"aten::slice>aten::as_strided", "aten::slice>aten::as_strided", "aten::slice>aten::as_strided"};
    static constexpr std::array<std::string_view, 2> kOne{"aten::view", "aten::empty"};
    switch (role) {
        case Role::qkv_gemm:
        case Role::o_gemm:
        case Role::gate_up_gemm:
        case Role::down_gemm:
        case Role::router_gemm:
        case Role::lm_head: return kProduct;
        case Role::attention: return kAttention;
        case Role::kv_write: return kWrite;
        case Role::input_copy:
        case Role::block_table_copy: return kCopy;
        case Role::rope:
        case Role::activation:
        case Role::gather_last:
        case Role::qk_norm: return kOne;
        default: return {};
    }
}

std::span<const std::string_view> SpanWords::questions(Role role) const {
    static constexpr std::array<std::string_view, 2> kGraph{"cudaStreamIsCapturing", "cudaDriverGetVersion"};
    static constexpr std::array<std::string_view, 2> kAttributes{"cudaFuncSetAttribute", "cudaFuncSetAttribute"};
    static constexpr std::array<std::string_view, 1> kCapturing{"cudaStreamIsCapturing"};
    switch (role) {
        case Role::graph: return kGraph;
        case Role::attention: return kAttributes;
        case Role::kv_write:
        case Role::all_reduce: return kCapturing;
        default: return {};
    }
}

std::span<const std::string_view> SpanWords::base_frames() const {
    static constexpr std::array<std::string_view, 7> kVllm{"<string>(1): <module>",
                                                            "multiprocessing/spawn.py(106): spawn_main",
                                                            "multiprocessing/spawn.py(122): _main",
                                                            "multiprocessing/process.py(292): _bootstrap",
                                                            "multiprocessing/process.py(108): run",
                                                            "vllm/v1/executor/multiproc_executor.py(698): worker_main",
                                                            "vllm/v1/executor/multiproc_executor.py(753): worker_busy_loop"};
    static constexpr std::array<std::string_view, 8> kSglang{"<string>(1): <module>",
                                                              "multiprocessing/spawn.py(106): spawn_main",
                                                              "multiprocessing/spawn.py(122): _main",
                                                              "multiprocessing/process.py(292): _bootstrap",
                                                              "multiprocessing/process.py(108): run",
                                                              "sglang/srt/managers/scheduler.py(2712): run_scheduler_process",
                                                              "torch/utils/_contextlib.py(116): decorate_context",
                                                              "sglang/srt/managers/scheduler.py(998): event_loop_normal"};
    switch (options_.deployment.engine) {
        case Engine::sglang: return kSglang;
        case Engine::fsdp: return {};
        default: return kVllm;
    }
}

SpanWords::Module SpanWords::module(Role role) {
    switch (role) {
        case Role::input_norm:
        case Role::post_norm:
        case Role::qk_norm: return {"RMSNorm", "vllm/model_executor/layers/layernorm.py(183): forward_cuda"};
        case Role::qkv_gemm: return {"QKVParallelLinear", "vllm/model_executor/layers/linear.py(498): forward"};
        case Role::o_gemm:
        case Role::down_gemm: return {"RowParallelLinear", "vllm/model_executor/layers/linear.py(1291): forward"};
        case Role::gate_up_gemm: return {"MergedColumnParallelLinear", "vllm/model_executor/layers/linear.py(498): forward"};
        case Role::rope: return {"RotaryEmbedding", "vllm/model_executor/layers/rotary_embedding/base.py(115): forward_cuda"};
        case Role::kv_write:
        case Role::attention:
        case Role::attention_combine: return {"Attention", "vllm/attention/layer.py(231): forward"};
        case Role::activation: return {"SiluAndMul", "vllm/model_executor/layers/activation.py(92): forward_cuda"};
        case Role::router_gemm: return {"ReplicatedLinear", "vllm/model_executor/layers/linear.py(358): forward"};
        case Role::moe_topk:
        case Role::moe_align:
        case Role::moe_up:
        case Role::moe_down:
        case Role::moe_sum: return {"FusedMoE", "vllm/model_executor/layers/fused_moe/layer.py(1520): forward"};
        case Role::all_reduce: return {"", "vllm/distributed/communication_op.py(12): tensor_model_parallel_all_reduce"};
        default: return {};
    }
}

std::string_view SpanWords::frame(Role role) const {
    if (options_.deployment.engine == Engine::sglang) {
        switch (role) {
            case Role::step: return "sglang/srt/managers/scheduler.py(1021): event_loop_normal";
            case Role::schedule: return "sglang/srt/managers/scheduler.py(1510): get_next_batch_to_run";
            case Role::rpc: return "sglang/srt/managers/scheduler.py(1893): run_batch";
            case Role::model_forward: return "sglang/srt/model_executor/model_runner.py(2140): forward";
            case Role::sampler: return "sglang/srt/model_executor/model_runner.py(2283): sample";
            case Role::update_from_output: return "sglang/srt/managers/scheduler_output_processor_mixin.py(38): process_batch_result";
            default: return {};
        }
    }
    if (options_.deployment.engine == Engine::fsdp) return role == Role::model_forward ? "torch/distributed/fsdp/_fully_shard/_fsdp_state.py(221): _pre_forward" : std::string_view{};
    switch (role) {
        case Role::step: return "vllm/v1/engine/core.py(331): step";
        case Role::schedule: return "vllm/v1/core/sched/scheduler.py(190): schedule";
        case Role::update_states: return "vllm/v1/worker/gpu_model_runner.py(637): _update_states";
        case Role::prepare_inputs: return "vllm/v1/worker/gpu_model_runner.py(1044): _prepare_inputs";
        case Role::model_forward: return "vllm/v1/worker/gpu_model_runner.py(2312): _model_forward";
        case Role::compute_logits: return "vllm/model_executor/models/qwen3.py(331): compute_logits";
        case Role::sampler: return "vllm/v1/sample/sampler.py(68): forward";
        case Role::bookkeeping: return "vllm/v1/worker/gpu_model_runner.py(2203): _bookkeeping_sync";
        case Role::update_from_output: return "vllm/v1/core/sched/scheduler.py(880): update_from_output";
        default: return {};
    }
}

}  // namespace faultline::simulator
