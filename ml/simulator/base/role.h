// What an operation of a step is for, apart from its name: faults choose by role, names differ by engine, GPU and build (ENGINES §4.1).
#pragma once

#include <cstdint>
#include <string_view>

namespace faultline::simulator {

enum class Role : std::uint8_t {
    none,
    // device work of a step, in about the order in which it runs
    input_copy, block_table_copy, slot_mapping, fill, embedding, input_norm, qkv_gemm, qk_norm, rope, kv_write, attention_prepare, attention,
    attention_combine, o_gemm, all_reduce, post_norm, gate_up_gemm, activation, down_gemm,
    router_gemm, moe_topk, moe_align, moe_up, moe_down, moe_sum, expert_dispatch, expert_combine,
    mamba_conv, mamba_scan, mamba_update, final_norm, gather_last, lm_head, logits_gather, logits_cast, penalties, grammar_mask, softmax,
    sort, sample, argmax, logprobs, draft_forward, verify, token_copy, kv_transfer, all_gather, reduce_scatter, send_recv, graph,
    memory_gather,  ///< a gather that pulls rows through host memory
    // host side
    allocate, free, module_load, event_record, event_wait, stream_sync, query, driver_other,
    step, schedule, prefix_lookup, allocate_slots, rpc, rpc_wait, wait_output, update_states, prepare_inputs, attn_metadata, model_forward,
    compute_logits, sampler, sampling_metadata, grammar, bookkeeping, draft_propose, update_from_output, send_output, detokenize, tokenize,
    http, idle, background, gc, warm_up, capture, compile, add_request,
    runner, preprocess, spec_metadata, dp_coordinate, graph_dispatch, eager, grammar_bitmask, sample_rpc, connector_meta, kv_save, kv_finished,
    expert_balance, reply,
};
inline constexpr int kRoleCount = static_cast<int>(Role::reply) + 1;
[[nodiscard]] std::string_view role_name(Role role) noexcept;

}  // namespace faultline::simulator
