// SGLang admits by what it expects the running requests to need still, and retracts where it expected too little (ENGINES §2.5, FAULTS A2): PrefillAdder,
// check_decode_mem and retract_decode. The share that it expects falls with every decode and jumps with a retraction.
#include <algorithm>

#include "ml/simulator/workload/scheduler_state.h"

namespace faultline::simulator {
namespace {

constexpr double kLeastRatio = 0.14 * kInitialNewTokenRatio, kRatioDecay = (kInitialNewTokenRatio - kLeastRatio) / 600;
/// Steps that those who stay are given after a retraction.
constexpr int kRetractDecodeSteps = 20;
/// No request is expected to make more.
constexpr int kMostExpected = 4096;

int may_make(const LiveRequest& live) { return std::clamp(live.most_tokens() - live.expected(), 0, kMostExpected); }

}  // namespace

/// Of what the running ones may still make, the ratio is kept free for them.
void Scheduler::State::reserve_for_running() {
    // An engine with nothing to do starts anew.
    if (running.empty() && waiting.empty()) new_token_ratio = kInitialNewTokenRatio;
    if (running.empty()) full = false;
    reserved = 0;
    for (const LiveRequest& live : running) {
        if (!live.in_context()) reserved += new_token_ratio * may_make(live);
    }
}

/// For one that is admitted, all that it may make counts. The first is always taken: no request is allowed more than the pool. Withheld blocks count as
/// evictable here, which is what makes a retraction come again and again (A2): too many are admitted, and the room is not there when they decode.
bool Scheduler::State::promises_room(const LiveRequest& live, int tokens) {
    if (options.deployment.engine != Engine::sglang) return true;
    const double free = static_cast<double>((blocks.total() - blocks.used()) * options.deployment.block_size) - reserved;
    if (!running.empty() && (full || tokens + may_make(live) >= free)) {
        full = true;
        return false;
    }
    reserved += may_make(live);
    return true;
}

bool Scheduler::State::room_to_decode(const SchedulerKnobs& knobs) const {
    std::int64_t more = 0;
    for (const LiveRequest& live : running) {
        if (!live.in_context() && live.wants_tokens()) more += blocks.missing(live.blocks, live.request.computed + decode_tokens(live, knobs));
    }
    return more <= blocks.available();
}

/// The one that made the fewest tokens goes, of these the one with the longest prompt; with drafts the last one.
bool Scheduler::State::retract_one(StepPlan& plan) {
    auto victim = running.end();
    for (auto at = running.begin(); at != running.end(); ++at) {
        if (at->in_context() || !may_preempt(*at, plan)) continue;
        const Request& r = at->request;
        const bool sooner = victim == running.end() || options.deployment.spec_tokens > 0 || r.generated < victim->request.generated ||
                            (r.generated == victim->request.generated && r.prompt_tokens >= victim->request.prompt_tokens);
        if (sooner) victim = at;
    }
    if (victim == running.end() || running.size() == 1) return false;
    plan.tokens_gained += victim->blocks.own * options.deployment.block_size;
    preempt(victim, plan);
    return true;
}

void Scheduler::State::make_room_to_decode(StepPlan& plan, const SchedulerKnobs& knobs) {
    if (knobs.retract == 0 && room_to_decode(knobs)) {
        if (!running.empty()) new_token_ratio = std::max(kLeastRatio, new_token_ratio - kRatioDecay);
        return;
    }
    int retracted = 0;
    while ((retracted < std::max(1, knobs.retract) || !room_to_decode(knobs)) && retract_one(plan)) ++retracted;
    if (retracted == 0) return;
    double made = 0, allowed = 0;
    for (const LiveRequest& live : running) {
        if (live.in_context()) continue;
        made += live.expected() + kRetractDecodeSteps;
        allowed += live.most_tokens();
    }
    new_token_ratio = std::min(1.0, made / (allowed + 1));
}

}  // namespace faultline::simulator
