#include "ml/simulator/workload/scheduler.h"

#include <algorithm>
#include <utility>

#include "ml/simulator/workload/scheduler_state.h"

namespace faultline::simulator {

Scheduler::Scheduler(const RunOptions& options, const Noise& noise, InstanceIndex instance, InstanceDuty duty, std::int64_t kv_blocks)
    : state_(std::make_unique<State>(options, noise, instance, duty, kv_blocks)) {}
Scheduler::Scheduler(Scheduler&&) noexcept = default;
Scheduler::~Scheduler() = default;

void Scheduler::add(Request request, TimeNs now) {
    LiveRequest live;
    live.request = std::move(request);
    if (live.request.received == kNull) live.request.received = now;
    live.target = live.request.prompt_tokens;
    state_->waiting.push_back(std::move(live));
    LiveRequest& kept = state_->waiting.back();
    state_->here[kept.request.number] = &kept;
}

void Scheduler::abort(RequestNumber request, TimeNs now) {
    const auto found = state_->here.find(request);
    if (found != state_->here.end()) state_->leave(*found->second, RequestEnd::aborted, now);
}

StepPlan Scheduler::schedule(TimeNs now, const SchedulerKnobs& knobs) {
    State& s = *state_;
    StepPlan plan;
    plan.instance = s.instance;
    plan.scheduled = now;
    plan.new_token_ratio_before = s.new_token_ratio;
    s.blocks.withhold(knobs.withheld_blocks);
    if (knobs.run) {
        switch (s.options.deployment.engine) {
            case Engine::vllm_v1_offline:
            case Engine::vllm_v1_online: s.schedule_mixed(plan, knobs); break;
            case Engine::vllm_v0: s.whole_prompts() ? s.schedule_prefill_first(plan, knobs) : s.schedule_mixed(plan, knobs); break;
            case Engine::sglang: s.schedule_prefill_first(plan, knobs); break;
            case Engine::fsdp: s.schedule_batch(plan, knobs); break;
        }
    }
    if (!plan.requests.empty()) ++s.steps;
    count_tokens(plan);
    plan.finished = std::exchange(s.finished, {});
    plan.aborted = std::exchange(s.aborted, {});
    plan.running = running();
    plan.waiting = waiting();
    plan.blocks_used = blocks_used();
    plan.blocks_total = s.blocks.total();
    plan.new_token_ratio = s.new_token_ratio;
    return plan;
}

StepOutcome Scheduler::complete(const StepPlan& plan, TimeNs now) {
    State& s = *state_;
    StepOutcome outcome;
    for (const ScheduledRequest& r : plan.requests) {
        outcome.drafts += r.drafts + r.ghost_drafts;
        outcome.accepted += r.accepted;
        const auto found = s.here.find(r.request);
        if (found == s.here.end()) continue;
        LiveRequest& live = *found->second;
        if (r.context) s.share_computed(live, r.computed_before + r.tokens);
        if (!r.last_chunk) continue;
        Request& request = live.request;
        const int tokens = 1 + r.accepted;
        live.in_flight -= tokens;
        request.computed -= r.drafts + r.ghost_drafts - r.accepted;
        request.generated += tokens;
        request.last_token = now;
        outcome.tokens_out += tokens;
        if (request.first_token == kNull) {
            request.first_token = now;
            outcome.first_tokens.push_back(request.number);
        }
        if (request.generated >= request.output_tokens) {
            outcome.finished.push_back(request.number);
            s.leave(live, request.generated < request.max_tokens ? RequestEnd::finished_stop : RequestEnd::finished_length, now);
        } else if (s.duty == InstanceDuty::prefill_only) {
            outcome.prefilled.push_back(request.number);
            s.leave(live, RequestEnd::running, now);
            s.departed.back().ended = kNull;
        }
    }
    return outcome;
}

bool Scheduler::has_work() const { return !state_->waiting.empty() || !state_->running.empty(); }
int Scheduler::waiting() const { return static_cast<int>(state_->waiting.size()); }
int Scheduler::running() const { return static_cast<int>(state_->running.size()); }
std::int64_t Scheduler::blocks_total() const { return state_->blocks.total(); }
std::int64_t Scheduler::blocks_used() const { return state_->blocks.used() + state_->blocks.withheld(); }
std::int64_t Scheduler::blocks_warm() const { return state_->blocks.warm(); }
std::int64_t Scheduler::preemptions() const { return state_->preempted; }

double Scheduler::prefix_hit_rate() const {
    return state_->asked > 0 ? static_cast<double>(state_->hit) / static_cast<double>(state_->asked) : 0;
}

const Request* Scheduler::request(RequestNumber number) const {
    const auto found = state_->here.find(number);
    if (found != state_->here.end()) return &found->second->request;
    const auto gone = std::find_if(state_->departed.begin(), state_->departed.end(), [&](const Request& r) { return r.number == number; });
    return gone == state_->departed.end() ? nullptr : &*gone;
}

std::vector<const Request*> Scheduler::requests() const {
    std::vector<const Request*> all;
    for (const auto* queue : {&state_->running, &state_->waiting}) {
        for (const LiveRequest& live : *queue) all.push_back(&live.request);
    }
    return all;
}

std::vector<Request> Scheduler::take_departed() { return std::exchange(state_->departed, {}); }

}  // namespace faultline::simulator
