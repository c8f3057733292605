// How one request gets into a plan, and out of the engine again.
#include <algorithm>
#include <utility>

#include "ml/simulator/workload/scheduler_state.h"

namespace faultline::simulator {
namespace {

/// Lookups that the hit rate of the log is about.
constexpr std::size_t kLookups = 1000;

}  // namespace

int Scheduler::State::draft_tokens(const LiveRequest& live) const {
    // With asynchronous scheduling the next plan is made before it is known what was accepted: no drafts then.
    if (options.deployment.async_scheduling || options.deployment.spec_tokens <= 0) return 0;
    return std::max(0, std::min(options.deployment.spec_tokens, live.request.output_tokens - live.expected() - 1));
}

/// Drafts are verified with the token before them; placeholders that nobody drafted (E2) come behind them.
int Scheduler::State::decode_tokens(const LiveRequest& live, const SchedulerKnobs& knobs) const {
    return 1 + draft_tokens(live) + std::max(0, knobs.ghost_drafts);
}

bool Scheduler::State::room_for_more(const SchedulerKnobs& knobs) const {
    const int most = knobs.max_running > 0 ? knobs.max_running : options.deployment.max_num_seqs;
    return static_cast<int>(running.size()) < most;
}

bool Scheduler::State::put_running(LiveRequest& live, int tokens, StepPlan& plan, const SchedulerKnobs& knobs) {
    Request& r = live.request;
    const bool context = live.in_context();
    const int drafts = context ? 0 : std::min(tokens - 1, draft_tokens(live));
    const int ghosts = context ? 0 : tokens - 1 - drafts;
    const std::int64_t before = blocks.used();
    if (!blocks.hold(live.blocks, r.computed + tokens)) {
        ++plan.failed_allocations;
        return false;
    }
    plan.new_blocks += static_cast<int>(blocks.used() - before);
    ScheduledRequest s;
    s.request = r.number;
    s.tokens = tokens;
    s.context = context;
    s.first = !live.scheduled;
    s.resumed = live.resumed;
    s.computed_before = r.computed;
    s.last_chunk = !context || r.computed + tokens >= live.target;
    s.drafts = drafts;
    s.ghost_drafts = ghosts;
    s.generated_before = live.expected();
    s.random = r.random;
    s.top_k = r.top_k;
    s.penalties = r.penalties;
    s.guided = r.guided;
    s.logprobs = r.logprobs;
    const double rate = knobs.draft_acceptance >= 0 ? knobs.draft_acceptance : options.deployment.draft_acceptance;
    while (s.accepted < drafts && noise.chance(rate, Draw::accept, r.number, steps, static_cast<std::uint64_t>(s.accepted))) ++s.accepted;
    live.scheduled = true;
    live.resumed = false;
    r.computed += s.tokens;
    if (s.last_chunk) live.in_flight += 1 + s.accepted;
    if (r.scheduled == kNull) r.scheduled = plan.scheduled;
    plan.requests.push_back(s);
    return true;
}

void Scheduler::State::note_lookup(std::int64_t hits, std::int64_t asks, StepPlan& plan) {
    plan.hit_tokens += hits;
    plan.asked_tokens += asks;
    lookups.emplace_back(hits, asks);
    hit += hits;
    asked += asks;
    if (lookups.size() > kLookups) {
        hit -= lookups.front().first;
        asked -= lookups.front().second;
        lookups.pop_front();
    }
}

/// Tokens of its prompt that are in the prefix cache, in whole blocks; one at least is left to compute, for the token that it makes.
int Scheduler::State::cached_tokens(const LiveRequest& live, const SchedulerKnobs& knobs) const {
    const Request& r = live.request;
    if (!options.deployment.prefix_cache || !knobs.prefix_cache || r.prefix_group < 0 || !live.in_context()) return 0;
    const int block = options.deployment.block_size;
    return std::min({blocks.cached_tokens(r.prefix_group), r.prefix_tokens, live.target - 1}) / block * block;
}

/// What is computed of a common prefix is there for others at once, while its request still runs (vLLM v1 and SGLang).
void Scheduler::State::share_computed(LiveRequest& live, int tokens) {
    const Request& r = live.request;
    if (!options.deployment.prefix_cache || r.prefix_group < 0 || r.computed < tokens) return;
    blocks.publish(live.blocks, r.prefix_group, std::min(tokens, r.prefix_tokens));
}

bool Scheduler::State::admit(StepPlan& plan, int& budget, bool whole, const SchedulerKnobs& knobs) {
    if (waiting.empty() || !room_for_more(knobs)) return false;
    LiveRequest& live = waiting.front();
    Request& r = live.request;
    const bool transferred = !live.in_context();  // its KV cache came from a prefill instance
    const int cached = cached_tokens(live, knobs);
    int tokens = transferred ? 1 : live.target - cached;
    bool misroute = false;
    if (!transferred && knobs.misroute_one_token_prefill && !live.scheduled && tokens > 1 && plan.context_requests == 0) {
        misroute = true;
    } else if (whole && tokens > budget) {
        return false;
    }
    const int computed = r.computed, all = tokens;
    tokens = misroute ? 1 : std::min(tokens, budget);
    if (cached > 0) {
        blocks.share(live.blocks, r.prefix_group, cached);
        r.computed = cached;
    }
    if (!promises_room(live, computed + all) || !put_running(live, tokens, plan, knobs)) {
        blocks.release(live.blocks);
        r.computed = computed;
        return false;
    }
    if (!transferred && options.deployment.prefix_cache) note_lookup(cached, live.target, plan);
    ScheduledRequest& s = plan.requests.back();
    s.cached = cached;
    s.decode_route = misroute;
    if (s.first && s.context) r.cached = cached;
    if (s.context) ++plan.context_requests;
    // The misrouted token is the last one of the budget (E1).
    budget = misroute ? 0 : budget - tokens;
    running.splice(running.end(), waiting, waiting.begin());
    return true;
}

void Scheduler::State::preempt(std::list<LiveRequest>::iterator victim, StepPlan& plan) {
    Request& r = victim->request;
    blocks.release(victim->blocks);
    r.computed = 0;
    ++r.preemptions;
    ++preempted;
    victim->target = r.prompt_tokens + r.generated;
    victim->resumed = true;
    full = false;
    plan.preempted.push_back(r.number);
    // SGLang puts it behind those that wait, vLLM before them.
    waiting.splice(options.deployment.engine == Engine::sglang ? waiting.end() : waiting.begin(), running, victim);
}

/// Never one whose token is under way, or that has its place in this step.
bool Scheduler::State::may_preempt(const LiveRequest& live, const StepPlan& plan) const {
    return live.in_flight == 0 &&
           std::none_of(plan.requests.begin(), plan.requests.end(), [&](const ScheduledRequest& s) { return s.request == live.request.number; });
}

/// The one that came last goes, but never `keep`.
bool Scheduler::State::preempt_last(StepPlan& plan, const LiveRequest* keep) {
    for (auto at = running.end(); at != running.begin();) {
        --at;
        if (&*at == keep || !may_preempt(*at, plan)) continue;
        preempt(at, plan);
        return true;
    }
    return false;
}

void Scheduler::State::leave(LiveRequest& live, RequestEnd end, TimeNs time) {
    Request& r = live.request;
    blocks.release(live.blocks);
    full = false;
    r.end = end;
    r.ended = time;
    (end == RequestEnd::aborted ? aborted : finished).push_back(r.number);
    departed.push_back(r);
    here.erase(r.number);
    const auto same = [&](const LiveRequest& other) { return &other == &live; };
    if (running.remove_if(same) == 0) waiting.remove_if(same);
}

}  // namespace faultline::simulator
