// Which requests go into a step: one policy an engine (ENGINES §2.1, §2.4, §2.5, §1.4).
#include <algorithm>
#include <limits>

#include "ml/simulator/workload/scheduler_state.h"

namespace faultline::simulator {

/// vLLM v1: running requests first, then waiting ones, out of one budget of tokens.
void Scheduler::State::schedule_mixed(StepPlan& plan, const SchedulerKnobs& knobs) {
    int budget = knobs.chunk_tokens > 0 ? knobs.chunk_tokens : options.deployment.chunk_tokens;
    const auto next_of = [&](std::list<LiveRequest>::iterator at) { return std::next(at); };
    for (auto at = running.begin(); at != running.end() && budget > 0;) {
        LiveRequest& live = *at;
        if (!live.wants_tokens()) {
            at = next_of(at);
            continue;
        }
        const int tokens = live.in_context() ? std::min(budget, live.target - live.request.computed) : std::min(budget, 1 + draft_tokens(live));
        bool placed = put_running(live, tokens, plan, knobs);
        while (!placed && preempt_last(plan, &live)) placed = put_running(live, tokens, plan, knobs);
        if (placed) {
            budget -= tokens;
            at = next_of(at);
        } else if (live.in_flight == 0) {
            const auto victim = at;
            at = next_of(at);
            preempt(victim, plan);
        } else {
            at = next_of(at);
        }
    }
    if (!plan.preempted.empty() || !knobs.admit) return;
    while (budget > 0 && admit(plan, budget, false, knobs)) {
    }
}

void Scheduler::State::decode_all(StepPlan& plan, const SchedulerKnobs& knobs) {
    for (auto at = running.begin(); at != running.end();) {
        LiveRequest& live = *at;
        if (live.in_context() || !live.wants_tokens()) {
            ++at;
            continue;
        }
        const int tokens = 1 + draft_tokens(live);
        bool placed = put_running(live, tokens, plan, knobs);
        while (!placed) {
            if (options.deployment.engine == Engine::sglang) {
                const std::size_t before = plan.preempted.size();
                retract(plan, 1);
                if (plan.preempted.size() == before) break;
                if (std::find(plan.preempted.begin(), plan.preempted.end(), live.request.number) != plan.preempted.end()) break;
            } else if (!preempt_last(plan, &live)) {
                break;
            }
            placed = put_running(live, tokens, plan, knobs);
        }
        const bool gone = std::find(plan.preempted.begin(), plan.preempted.end(), live.request.number) != plan.preempted.end();
        if (gone) {
            // The list went on without it: what is behind it comes in the next step.
            return;
        }
        ++at;
        if (!placed && live.in_flight == 0 && options.deployment.engine != Engine::sglang) preempt(std::prev(at), plan);
    }
}

/// SGLang: the request with the longest output goes back to the queue (retract_decode).
void Scheduler::State::retract(StepPlan& plan, int count) {
    for (int i = 0; i < count && running.size() > 1; ++i) {
        auto longest = running.end();
        for (auto at = running.begin(); at != running.end(); ++at) {
            const bool planned = std::any_of(plan.requests.begin(), plan.requests.end(),
                                             [&](const ScheduledRequest& s) { return s.request == at->request.number; });
            if (at->in_flight > 0 || planned || at->in_context()) continue;
            if (longest == running.end() || at->request.generated > longest->request.generated) longest = at;
        }
        if (longest == running.end()) return;
        preempt(longest, plan);
    }
}

/// vLLM v0 runs whole prompts before it decodes; SGLang batches of EXTEND, in chunks.
void Scheduler::State::schedule_prefill_first(StepPlan& plan, const SchedulerKnobs& knobs) {
    const bool whole = options.deployment.engine == Engine::vllm_v0;
    int budget = knobs.chunk_tokens > 0 ? knobs.chunk_tokens : options.deployment.chunk_tokens;
    for (LiveRequest& live : running) {
        if (!live.in_context() || budget <= 0) continue;
        const int tokens = std::min(budget, live.target - live.request.computed);
        if (put_running(live, tokens, plan, knobs)) budget -= tokens;
    }
    if (knobs.admit) {
        while (budget > 0 && admit(plan, budget, whole, knobs)) {
        }
    }
    if (plan.requests.empty()) decode_all(plan, knobs);
}

/// FSDP: a batch is taken, and decoded until its longest member has ended.
void Scheduler::State::schedule_batch(StepPlan& plan, const SchedulerKnobs& knobs) {
    if (running.empty() && knobs.admit) {
        int budget = std::numeric_limits<int>::max();
        while (static_cast<int>(running.size()) < options.workload.clients && admit(plan, budget, true, knobs)) {
        }
        return;
    }
    decode_all(plan, knobs);
}

}  // namespace faultline::simulator
