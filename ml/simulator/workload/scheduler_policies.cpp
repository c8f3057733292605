// Which requests go into a step: one policy an engine (ENGINES §2.1, §2.4, §2.5, §1.4).
#include <algorithm>
#include <limits>

#include "ml/simulator/workload/scheduler_state.h"

namespace faultline::simulator {
namespace {

constexpr int kNoLimit = std::numeric_limits<int>::max();
/// vLLM v0 chunks prompts by default where a model may be longer than this.
constexpr int kLongestWhole = 32'768;

/// No request of this load is longer, its answer included: what an operator gives as max_model_len.
int longest_request(const Workload& load) { return load.prompt_max + load.output_max; }

}  // namespace

bool Scheduler::State::whole_prompts() const {
    return options.deployment.engine == Engine::vllm_v0 && longest_request(options.workload) <= kLongestWhole;
}

/// Tokens of a step at most. Without chunks, v0 has room for max_model_len tokens at least (ENGINES §2.4).
int Scheduler::State::token_budget(const SchedulerKnobs& knobs) const {
    const int chunk = knobs.chunk_tokens > 0 ? knobs.chunk_tokens : options.deployment.chunk_tokens;
    return whole_prompts() ? std::max(chunk, longest_request(options.workload)) : chunk;
}

/// vLLM v1: running requests first, then waiting ones, out of one budget of tokens.
void Scheduler::State::schedule_mixed(StepPlan& plan, const SchedulerKnobs& knobs) {
    int budget = token_budget(knobs);
    preempt_told(plan, knobs);
    for (auto at = running.begin(); at != running.end() && budget > 0;) {
        LiveRequest& live = *at;
        if (!live.wants_tokens()) {
            ++at;
            continue;
        }
        const int wanted = live.in_context() ? live.target - live.request.computed : decode_tokens(live, knobs);
        const int tokens = std::min(budget, wanted);
        bool placed = put_running(live, tokens, plan, knobs);
        while (!placed && preempt_last(plan, &live)) placed = put_running(live, tokens, plan, knobs);
        const auto tried = at++;
        if (placed) {
            budget -= tokens;
        } else if (live.in_flight == 0) {
            preempt(tried, plan);
        }
    }
    if (!plan.preempted.empty() || !knobs.admit) return;
    while (budget > 0 && admit(plan, budget, false, knobs)) {
    }
}

/// A preemption that happens whatever the blocks; never the last request.
void Scheduler::State::preempt_told(StepPlan& plan, const SchedulerKnobs& knobs) {
    for (int i = 0; i < knobs.retract && running.size() > 1; ++i) {
        if (!preempt_last(plan, nullptr)) return;
    }
}

void Scheduler::State::decode_all(StepPlan& plan, const SchedulerKnobs& knobs, int budget) {
    for (auto at = running.begin(); at != running.end() && budget > 0;) {
        LiveRequest& live = *at;
        if (live.in_context() || !live.wants_tokens()) {
            ++at;
            continue;
        }
        const int tokens = std::min(budget, decode_tokens(live, knobs));
        // SGLang has made the room before; whom it could not make room for, with everybody's token under way, waits for a step.
        const bool preempts = options.deployment.engine != Engine::sglang;
        bool placed = put_running(live, tokens, plan, knobs);
        while (!placed && preempts && preempt_last(plan, &live)) placed = put_running(live, tokens, plan, knobs);
        const auto tried = at++;
        if (placed) {
            budget -= tokens;
        } else if (preempts && live.in_flight == 0) {
            preempt(tried, plan);
        }
    }
}

/// vLLM v0 runs whole prompts before it decodes; SGLang batches of EXTEND, in chunks.
void Scheduler::State::schedule_prefill_first(StepPlan& plan, const SchedulerKnobs& knobs) {
    const bool sglang = options.deployment.engine == Engine::sglang;
    if (knobs.retract > 0) sglang ? make_room_to_decode(plan, knobs) : preempt_told(plan, knobs);
    if (plan.preempted.empty()) {
        prefill(plan, knobs, !sglang);
        if (!plan.requests.empty()) return;
        if (sglang) make_room_to_decode(plan, knobs);
    }
    decode_all(plan, knobs, sglang ? kNoLimit : token_budget(knobs));
}

void Scheduler::State::prefill(StepPlan& plan, const SchedulerKnobs& knobs, bool whole) {
    int budget = token_budget(knobs);
    reserve_for_running();
    for (LiveRequest& live : running) {
        if (!live.in_context() || budget <= 0) continue;
        const int tokens = std::min(budget, live.target - live.request.computed);
        if (put_running(live, tokens, plan, knobs)) budget -= tokens;
    }
    if (!knobs.admit) return;
    // v0 ignores what is longer than its budget: "Input prompt (... tokens) is too long and exceeds limit of ...".
    while (whole && !waiting.empty() && waiting.front().target > token_budget(knobs)) leave(waiting.front(), RequestEnd::failed, plan.scheduled);
    while (budget > 0 && admit(plan, budget, whole, knobs)) {
    }
}

/// FSDP: a batch is taken, and decoded until its longest member has ended.
void Scheduler::State::schedule_batch(StepPlan& plan, const SchedulerKnobs& knobs) {
    if (running.empty() && knobs.admit) {
        int budget = kNoLimit;
        while (static_cast<int>(running.size()) < options.workload.clients && admit(plan, budget, true, knobs)) {
        }
        return;
    }
    decode_all(plan, knobs, kNoLimit);
}

}  // namespace faultline::simulator
