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
    Word{Role::compile, "worker.compile"}, Word{Role::runner, "runner.execute_model"}, Word{Role::preprocess, "preprocess"},
    Word{Role::spec_metadata, "spec_metadata"}, Word{Role::dp_coordinate, "dp.coordinate"}, Word{Role::graph_dispatch, "cudagraph.dispatch"},
    Word{Role::eager, "eager"}, Word{Role::grammar_bitmask, "sched.grammar_bitmask"}, Word{Role::sample_rpc, "exec.sample_tokens_rpc"},
    Word{Role::connector_meta, "kv_connector.build_meta"}, Word{Role::kv_save, "kv.wait_save"}, Word{Role::kv_finished, "kv.get_finished"},
    Word{Role::logits_gather, "logits.gather"}, Word{Role::expert_balance, "eplb.step"}, Word{Role::reply, "rpc.reply"},
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
    // v0 ended with 0.10, before vLLM wrote anything about its steps.
    if (engine == Engine::vllm_v0 && options_.recording.dialect != Dialect::semantic) return {};
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
    if (options_.deployment.engine == Engine::vllm_v0 && dialect != Dialect::semantic) return {};
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

}  // namespace faultline::simulator
