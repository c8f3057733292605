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

bool Scheduler::State::room_for_more(const SchedulerKnobs& knobs) const {
    const int most = knobs.max_running > 0 ? knobs.max_running : options.deployment.max_num_seqs;
    return static_cast<int>(running.size()) < most;
}

bool Scheduler::State::put_running(LiveRequest& live, int tokens, StepPlan& plan, const SchedulerKnobs& knobs) {
    Request& r = live.request;
    const bool context = live.in_context();
    const int drafts = context ? 0 : tokens - 1;
    const int ghosts = context || knobs.ghost_drafts <= 0 ? 0 : knobs.ghost_drafts;
    const std::int64_t before = blocks.used();
    if (!blocks.hold(live.blocks, r.computed + tokens + ghosts, knobs.withheld_blocks)) {
        ++plan.failed_allocations;
        return false;
    }
    plan.new_blocks += static_cast<int>(blocks.used() - before);
    ScheduledRequest s;
    s.request = r.number;
    s.tokens = tokens + ghosts;
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

bool Scheduler::State::admit(StepPlan& plan, int& budget, bool whole, const SchedulerKnobs& knobs) {
    if (waiting.empty() || !room_for_more(knobs)) return false;
    LiveRequest& live = waiting.front();
    Request& r = live.request;
    const bool transferred = !live.in_context();  // its KV cache came from a prefill instance
    int cached = 0;
    if (!transferred && r.computed == 0 && options.deployment.prefix_cache) {
        const int warm = knobs.prefix_cache && r.prefix_group >= 0 ? std::min(blocks.warm_tokens(r.prefix_group), r.prefix_tokens) : 0;
        const int block = options.deployment.block_size;
        cached = std::min(warm, live.target - 1) / block * block;
    }
    int tokens = transferred ? 1 : live.target - cached - r.computed;
    bool misroute = false;
    if (!transferred && knobs.misroute_one_token_prefill && !live.scheduled && tokens > 1 && plan.context_requests == 0) {
        tokens = 1;
        misroute = true;
    } else if (!whole) {
        tokens = std::min(tokens, budget);
    }
    if (tokens <= 0 || (whole && tokens > budget && !plan.requests.empty())) return false;
    const int computed = r.computed;
    if (cached > 0) {
        blocks.share(live.blocks, r.prefix_group);
        r.computed = cached;
    }
    if (!put_running(live, tokens, plan, knobs)) {
        blocks.release(live.blocks, -1, 0);
        r.computed = computed;
        return false;
    }
    if (!transferred && computed == 0 && options.deployment.prefix_cache) note_lookup(cached, live.target, plan);
    ScheduledRequest& s = plan.requests.back();
    s.cached = cached;
    s.decode_route = misroute;
    if (s.first) r.cached = cached;
    if (s.context) ++plan.context_requests;
    budget -= tokens;
    running.splice(running.end(), waiting, waiting.begin());
    return true;
}

void Scheduler::State::preempt(std::list<LiveRequest>::iterator victim, StepPlan& plan) {
    Request& r = victim->request;
    blocks.release(victim->blocks, r.prefix_group, r.prefix_tokens);
    r.computed = 0;
    ++r.preemptions;
    ++preempted;
    victim->target = r.prompt_tokens + r.generated;
    victim->resumed = true;
    plan.preempted.push_back(r.number);
    std::erase_if(plan.requests, [&](const ScheduledRequest& s) { return s.request == r.number; });
    waiting.splice(waiting.begin(), running, victim);
}

/// The one that came last goes; never one whose token is under way, nor `keep`.
bool Scheduler::State::preempt_last(StepPlan& plan, const LiveRequest* keep) {
    for (auto at = running.end(); at != running.begin();) {
        --at;
        const bool planned =
            std::any_of(plan.requests.begin(), plan.requests.end(), [&](const ScheduledRequest& s) { return s.request == at->request.number; });
        if (&*at == keep || at->in_flight > 0 || planned) continue;
        preempt(at, plan);
        return true;
    }
    return false;
}

void Scheduler::State::leave(LiveRequest& live, RequestEnd end, TimeNs time) {
    Request& r = live.request;
    blocks.release(live.blocks, options.deployment.prefix_cache ? r.prefix_group : -1, r.prefix_tokens);
    r.end = end;
    r.ended = time;
    (end == RequestEnd::aborted ? aborted : finished).push_back(r.number);
    departed.push_back(r);
    here.erase(r.number);
    const auto same = [&](const LiveRequest& other) { return &other == &live; };
    if (running.remove_if(same) == 0) waiting.remove_if(same);
}

}  // namespace faultline::simulator
