// The scheduler of one engine instance: continuous batching with a token budget, chunked prefill, paged KV blocks, prefix cache, preemption
// by recompute (vLLM) or retraction (SGLang), speculative drafts, and static batches in lockstep (FSDP). ENGINES §2.1, §2.4, §2.5.
//
// Policies by engine: vLLM v1 mixes prompt chunks with decodes, running first; v0 runs whole prompts alone before decodes; SGLang runs prefill
// batches (EXTEND) apart from decodes and admits by what it expects the running ones to need; FSDP takes a batch and decodes it to the end of its
// longest member.
// Budget of a step: chunk_tokens for vLLM v1 and for the EXTEND batches of SGLang. v0 has room for its longest possible request at least, as it
// refuses what is longer than max_num_batched_tokens; where that is above 32768 tokens it chunks prompts, and mixes them, as it does by default.
// Conserved: blocks in use, warm and withheld <= total; tokens out = scheduled generation tokens - rejected drafts. Deterministic. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <unordered_map>
#include <vector>

#include "ml/simulator/base/noise.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/workload/step_plan.h"

namespace faultline::simulator {

/// What faults may turn while a run lasts; the defaults change nothing.
struct SchedulerKnobs {
    std::int64_t withheld_blocks = 0;  ///< KV blocks that nobody can have (A1, A2, A10)
    int chunk_tokens = 0;              ///< instead of the deployment's (E4); 0: unchanged
    int max_running = 0;               ///< slots that are left (A10, E6); 0: unchanged
    bool admit = true;                 ///< false: nothing is taken from the waiting queue (E5, E6)
    bool run = true;                   ///< false: running requests get no token either (E5, E11): empty plans
    bool prefix_cache = true;          ///< false: lookups miss
    int ghost_drafts = 0;              ///< placeholders added to each verify, as far as the budget goes (E2)
    double draft_acceptance = -1;      ///< instead of the deployment's; < 0: unchanged
    bool misroute_one_token_prefill = false;  ///< E1: leave the last token of the budget for a new request and send it down the decode path
    int retract = 0;                   ///< running requests to preempt now, whatever the blocks (A2)
};

/// What a step gave, once its tokens are on the host.
struct StepOutcome {
    int tokens_out = 0, drafts = 0, accepted = 0;
    std::vector<RequestNumber> first_tokens, finished;
    std::vector<RequestNumber> prefilled;  ///< on a prefill instance: ready for the transfer
};

enum class InstanceDuty : std::uint8_t { both, prefill_only, decode_only };

class Scheduler {
public:
    Scheduler(const RunOptions& options, const Noise& noise, InstanceIndex instance, InstanceDuty duty, std::int64_t kv_blocks);
    Scheduler(Scheduler&&) noexcept;
    ~Scheduler();

    void add(Request request, TimeNs now);  ///< into the waiting queue (on a decode instance: with its KV already there)
    void abort(RequestNumber request, TimeNs now);

    /// The next step at `now`; kind idle where there is nothing to run. Sets all of the plan but the device model's fields and `step`.
    /// With asynchronous scheduling it may be called before complete() of the previous plan: each running request then counts on its token.
    [[nodiscard]] StepPlan schedule(TimeNs now, const SchedulerKnobs& knobs = {});
    /// The tokens of `plan` have arrived: lengths grow, requests finish.
    StepOutcome complete(const StepPlan& plan, TimeNs now);

    [[nodiscard]] bool has_work() const;  ///< anything waiting or running
    [[nodiscard]] int waiting() const;
    [[nodiscard]] int running() const;
    [[nodiscard]] std::int64_t blocks_total() const;
    [[nodiscard]] std::int64_t blocks_used() const;  ///< withheld ones too: they are gone for the engine's own count
    [[nodiscard]] std::int64_t blocks_warm() const;  ///< of prefixes that nobody refers to
    [[nodiscard]] double prefix_hit_rate() const;  ///< of the last thousand lookups or so, as the log line says it
    [[nodiscard]] std::int64_t preemptions() const;
    /// A request that is here, or left with the last complete() or schedule(); null else.
    [[nodiscard]] const Request* request(RequestNumber number) const;
    [[nodiscard]] std::vector<const Request*> requests() const;  ///< all that are here, waiting and running
    /// Takes out what has left since the last call (finished, aborted, prefilled), for the truth and the clients.
    [[nodiscard]] std::vector<Request> take_departed();

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace faultline::simulator
