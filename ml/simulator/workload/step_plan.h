// What the scheduler decided for one step: which requests get how many tokens, and what that does to the KV cache. The device model turns it
// into kernels, the host model into ranges, the logs into lines; a fault may change it on the way.
#pragma once

#include <cstdint>
#include <vector>

#include "ml/simulator/workload/request.h"

namespace faultline::simulator {

enum class StepKind : std::uint8_t { prefill, decode, mixed, dummy, idle };  ///< dummy: a forward without tokens (DP lockstep); idle: none

struct ScheduledRequest {
    RequestNumber request = 0;
    int tokens = 0;        ///< computed in this step, drafts included
    bool context = false;  ///< prompt tokens (or recomputed ones)
    bool first = false;    ///< first time that it is scheduled: "new" in SchedulerOutput
    bool resumed = false;  ///< after preemption or retraction
    bool last_chunk = true;   ///< makes a token at the end
    int computed_before = 0;  ///< length of its KV cache when the step starts
    int cached = 0;           ///< tokens found in the prefix cache by this step
    int drafts = 0;           ///< of `tokens`, speculative
    int accepted = 0;         ///< drafts that will be accepted
    int ghost_drafts = 0;     ///< placeholders that nobody drafted (E2); part of `tokens`
    int generated_before = 0; ///< output length so far
    bool random = false, top_k = false, penalties = false, guided = false, logprobs = false;
    bool decode_route = false;  ///< a prompt token that was sent down the decode path (E1)
};

struct StepPlan {
    StepNumber step = 0;
    InstanceIndex instance{};
    std::uint32_t instance_step = 0;  ///< step counter of the instance, from 0: what logs and texts show
    StepKind kind = StepKind::idle;
    TimeNs scheduled = 0;
    std::vector<ScheduledRequest> requests;
    std::vector<RequestNumber> preempted, finished, aborted;  ///< finished and aborted: dropped since the previous step
    int tokens = 0, context_requests = 0, context_tokens = 0, generation_requests = 0, generation_tokens = 0;
    std::int64_t context_kv = 0, generation_kv = 0;  ///< sums of KV length, this step's tokens included
    int running = 0, waiting = 0;                    ///< after scheduling
    std::int64_t blocks_used = 0, blocks_total = 0;
    int new_blocks = 0;                 ///< allocated by this step
    int failed_allocations = 0;         ///< allocate_slots that gave nothing
    std::int64_t hit_tokens = 0, asked_tokens = 0;  ///< of prefix lookups in this step
    std::int64_t tokens_gained = 0;                      ///< SGLang: room that its retractions made
    double new_token_ratio_before = 0, new_token_ratio = 0;  ///< SGLang: before and after this step
    int distinct_experts = 0;           ///< touched per MoE layer on average; the device model fills it in
    int padded_batch = 0;               ///< rows of the graph; the device model fills it in

    [[nodiscard]] double kv_usage() const { return blocks_total > 0 ? static_cast<double>(blocks_used) / static_cast<double>(blocks_total) : 0; }
};

/// Sets kind and sums from `requests`; to be called by whoever changes the list.
void count_tokens(StepPlan& plan);

}  // namespace faultline::simulator
