#include "ml/simulator/base/role.h"

namespace faultline::simulator {

std::string_view role_name(Role role) noexcept {
    switch (role) {
        case Role::none: return "none";
        case Role::input_copy: return "input_copy";
        case Role::block_table_copy: return "block_table_copy";
        case Role::slot_mapping: return "slot_mapping";
        case Role::fill: return "fill";
        case Role::embedding: return "embedding";
        case Role::input_norm: return "input_norm";
        case Role::qkv_gemm: return "qkv_gemm";
        case Role::qk_norm: return "qk_norm";
        case Role::rope: return "rope";
        case Role::kv_write: return "kv_write";
        case Role::attention_prepare: return "attention_prepare";
        case Role::attention: return "attention";
        case Role::attention_combine: return "attention_combine";
        case Role::o_gemm: return "o_gemm";
        case Role::all_reduce: return "all_reduce";
        case Role::post_norm: return "post_norm";
        case Role::gate_up_gemm: return "gate_up_gemm";
        case Role::activation: return "activation";
        case Role::down_gemm: return "down_gemm";
        case Role::router_gemm: return "router_gemm";
        case Role::moe_topk: return "moe_topk";
        case Role::moe_align: return "moe_align";
        case Role::moe_up: return "moe_up";
        case Role::moe_down: return "moe_down";
        case Role::moe_sum: return "moe_sum";
        case Role::expert_dispatch: return "expert_dispatch";
        case Role::expert_combine: return "expert_combine";
        case Role::mamba_conv: return "mamba_conv";
        case Role::mamba_scan: return "mamba_scan";
        case Role::mamba_update: return "mamba_update";
        case Role::final_norm: return "final_norm";
        case Role::gather_last: return "gather_last";
        case Role::lm_head: return "lm_head";
        case Role::logits_gather: return "logits_gather";
        case Role::logits_cast: return "logits_cast";
        case Role::penalties: return "penalties";
        case Role::grammar_mask: return "grammar_mask";
        case Role::softmax: return "softmax";
        case Role::sort: return "sort";
        case Role::sample: return "sample";
        case Role::argmax: return "argmax";
        case Role::logprobs: return "logprobs";
        case Role::draft_forward: return "draft_forward";
        case Role::verify: return "verify";
        case Role::token_copy: return "token_copy";
        case Role::kv_transfer: return "kv_transfer";
        case Role::all_gather: return "all_gather";
        case Role::reduce_scatter: return "reduce_scatter";
        case Role::send_recv: return "send_recv";
        case Role::graph: return "graph";
        case Role::memory_gather: return "memory_gather";
        case Role::allocate: return "allocate";
        case Role::free: return "free";
        case Role::module_load: return "module_load";
        case Role::event_record: return "event_record";
        case Role::event_wait: return "event_wait";
        case Role::stream_sync: return "stream_sync";
        case Role::query: return "query";
        case Role::driver_other: return "driver_other";
        case Role::step: return "step";
        case Role::schedule: return "schedule";
        case Role::prefix_lookup: return "prefix_lookup";
        case Role::allocate_slots: return "allocate_slots";
        case Role::rpc: return "rpc";
        case Role::rpc_wait: return "rpc_wait";
        case Role::wait_output: return "wait_output";
        case Role::update_states: return "update_states";
        case Role::prepare_inputs: return "prepare_inputs";
        case Role::attn_metadata: return "attn_metadata";
        case Role::model_forward: return "model_forward";
        case Role::compute_logits: return "compute_logits";
        case Role::sampler: return "sampler";
        case Role::sampling_metadata: return "sampling_metadata";
        case Role::grammar: return "grammar";
        case Role::bookkeeping: return "bookkeeping";
        case Role::draft_propose: return "draft_propose";
        case Role::update_from_output: return "update_from_output";
        case Role::send_output: return "send_output";
        case Role::detokenize: return "detokenize";
        case Role::tokenize: return "tokenize";
        case Role::http: return "http";
        case Role::idle: return "idle";
        case Role::background: return "background";
        case Role::gc: return "gc";
        case Role::warm_up: return "warm_up";
        case Role::capture: return "capture";
        case Role::compile: return "compile";
        case Role::add_request: return "add_request";
    }
    return {};
}

}  // namespace faultline::simulator
