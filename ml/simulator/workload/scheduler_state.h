// What the policies of a scheduler share: its queues, its blocks, and how a request gets into a plan. Private to this folder.
#pragma once

#include <algorithm>
#include <deque>
#include <list>

#include "ml/simulator/workload/kv_blocks.h"
#include "ml/simulator/workload/scheduler.h"

namespace faultline::simulator {

/// SGLang with --schedule-conservativeness 1.
inline constexpr double kInitialNewTokenRatio = 0.7;

/// A request that is here.
struct LiveRequest {
    Request request;
    KvBlocks::Held blocks;
    int target = 0;      ///< tokens that must be computed before it can go on: its prompt, after a preemption what it had made too
    int in_flight = 0;   ///< tokens that it will get from plans that are not complete yet
    bool scheduled = false, resumed = false;

    [[nodiscard]] bool in_context() const { return request.computed < target; }
    [[nodiscard]] int expected() const { return request.generated + in_flight; }
    [[nodiscard]] bool wants_tokens() const { return in_context() || expected() < request.output_tokens; }
    /// Tokens that its client lets it make at most.
    [[nodiscard]] int most_tokens() const { return std::max(request.max_tokens, request.output_tokens); }
};

struct Scheduler::State {
    RunOptions options;
    Noise noise;
    InstanceIndex instance;
    InstanceDuty duty;
    KvBlocks blocks;
    std::list<LiveRequest> waiting, running;  ///< lists: requests stay where they are in memory
    std::unordered_map<RequestNumber, LiveRequest*> here;
    std::vector<Request> departed;  ///< to be taken
    std::vector<RequestNumber> finished, aborted;
    std::deque<std::pair<std::int64_t, std::int64_t>> lookups;  ///< hit and asked tokens of late
    std::int64_t hit = 0, asked = 0, preempted = 0;
    std::uint64_t steps = 0;
    double new_token_ratio = kInitialNewTokenRatio;  ///< SGLang: share of the tokens that requests may still make that is kept free for them
    double reserved = 0;                             ///< SGLang: tokens that this step keeps free for what runs
    bool full = false;                               ///< SGLang: nobody is admitted before a running request has left

    State(const RunOptions& run_options, const Noise& run_noise, InstanceIndex index, InstanceDuty instance_duty, std::int64_t kv_blocks)
        : options(run_options), noise(run_noise), instance(index), duty(instance_duty), blocks(kv_blocks, run_options.deployment.block_size) {}

    // scheduler_steps.cpp
    [[nodiscard]] bool put_running(LiveRequest& live, int tokens, StepPlan& plan, const SchedulerKnobs& knobs);
    [[nodiscard]] int cached_tokens(const LiveRequest& live, const SchedulerKnobs& knobs) const;
    void share_computed(LiveRequest& live, int tokens);
    [[nodiscard]] bool admit(StepPlan& plan, int& budget, bool whole, const SchedulerKnobs& knobs);
    [[nodiscard]] bool room_for_more(const SchedulerKnobs& knobs) const;
    [[nodiscard]] int draft_tokens(const LiveRequest& live) const;
    [[nodiscard]] int decode_tokens(const LiveRequest& live, const SchedulerKnobs& knobs) const;
    void preempt(std::list<LiveRequest>::iterator victim, StepPlan& plan);
    [[nodiscard]] bool may_preempt(const LiveRequest& live, const StepPlan& plan) const;
    [[nodiscard]] bool preempt_last(StepPlan& plan, const LiveRequest* keep);
    void leave(LiveRequest& live, RequestEnd end, TimeNs time);
    void note_lookup(std::int64_t hits, std::int64_t asks, StepPlan& plan);

    // scheduler_policies.cpp
    [[nodiscard]] bool whole_prompts() const;
    [[nodiscard]] int token_budget(const SchedulerKnobs& knobs) const;
    void schedule_mixed(StepPlan& plan, const SchedulerKnobs& knobs);          ///< vLLM v1, and v0 with chunked prefill
    void schedule_prefill_first(StepPlan& plan, const SchedulerKnobs& knobs);  ///< vLLM v0 and SGLang
    void schedule_batch(StepPlan& plan, const SchedulerKnobs& knobs);          ///< FSDP
    void prefill(StepPlan& plan, const SchedulerKnobs& knobs, bool whole);
    void preempt_told(StepPlan& plan, const SchedulerKnobs& knobs);
    void decode_all(StepPlan& plan, const SchedulerKnobs& knobs, int budget);

    // scheduler_sglang.cpp
    void reserve_for_running();
    [[nodiscard]] bool promises_room(const LiveRequest& live, int tokens);
    [[nodiscard]] bool room_to_decode(const SchedulerKnobs& knobs) const;
    [[nodiscard]] bool retract_one(StepPlan& plan);
    void make_room_to_decode(StepPlan& plan, const SchedulerKnobs& knobs);
};

}  // namespace faultline::simulator
