#include "ml/simulator/faults/catalogue_parts.h"

namespace faultline::simulator {
namespace {

constexpr FaultClass kSoftware = FaultClass::scheduling_software;

}  // namespace

std::vector<FaultInfo> scheduling_faults() {
    return {
        {.name = "one-token-prefill-misrouted", .id = "E1", .type = kSoftware,
         .sentence = "A new request with one token of budget is sent down the decode path of the Mamba layers; nothing is slower, its output is wrong.",
         .engines = kV1, .ruled_out = "kernels that change with the batch size"},
        {.name = "ghost-drafts", .id = "E2", .type = kSoftware,
         .sentence = "Placeholders that nobody drafted stay in the verify batch: more rows, slower steps, the same tokens.",
         .size = "placeholders for each request", .smallest = 1, .largest = 5, .engines = kV1, .ruled_out = "high acceptance, longer drafts"},
        {.name = "gc-pause", .id = "E3", .type = kSoftware,
         .sentence = "Python collects its oldest generation in one process; everything else waits, longer each time.", .size = "first pause, ms",
         .smallest = 10, .largest = 700, .ruled_out = "a longer prompt, a paused process"},
        {.name = "long-prefill", .id = "E4", .type = kSoftware,
         .sentence = "A long prompt is computed in oversized chunks; decoding requests get one token in each of those long steps.",
         .size = "tokens of a chunk", .smallest = 16384, .largest = 65536, .engines = kServing, .ruled_out = "slow kernels: each is right for its tokens"},
        {.name = "scheduler-deadlock", .id = "E5", .type = kSoftware,
         .sentence = "Nothing is running and nothing is admitted: the scheduler turns without tokens while requests wait.", .engines = kV1 | kSglang,
         .ruled_out = "an idle server"},
        {.name = "admission-stopped", .id = "E6", .type = kSoftware,
         .sentence = "Deferred requests fill the slots of the batch: no new request is admitted although the KV cache is free.", .engines = kV1 | kSglang,
         .ruled_out = "requests that finished, a full KV cache"},
        {.name = "unfittable-request", .id = "E7", .type = kSoftware,
         .sentence = "A request that can never fit is tried again in every step and blocks all behind it.", .size = "time for a try, ms", .smallest = 0.5,
         .largest = 20, .engines = kServing, .ruled_out = "a full KV cache, an idle server"},
        {.name = "grammar-slow", .id = "E8", .type = kSoftware,
         .sentence = "Filling the bitmask of structured output takes long and lies between forward and sampler.", .size = "time for the mask, ms", .smallest = 2,
         .largest = 60, .engines = kServing, .ruled_out = "sampling parameters, more tokens"},
        {.name = "frontend-bound", .id = "E9", .type = kSoftware,
         .sentence = "The event loop of the API server is busy tokenising; the engine is idle while clients wait.", .size = "factor on tokenising",
         .smallest = 8, .largest = 60, .engines = kOnline, .ruled_out = "a slow engine: its queue is empty and its steps are short"},
        {.name = "token-scan", .id = "E10", .type = kSoftware, .reserved = true,
         .sentence = "The input batch is scanned over all generated tokens in every step; the gap grows with the length of the outputs.",
         .size = "time for the scan, ms", .smallest = 5, .largest = 120, .engines = kServing, .ruled_out = "a longer context, penalties"},
        {.name = "spec-accounting-stall", .id = "E11", .type = kSoftware,
         .sentence = "The accounting of drafts leaves running requests that can never be scheduled: the engine spins and the workers wait.", .engines = kV1,
         .ruled_out = "an idle server"},
        {.name = "overlap-lost", .id = "E12", .type = kSoftware, .reserved = true,
         .sentence = "Asynchronous scheduling no longer overlaps: the output path of each step lies before the next launch.",
         .size = "gap between steps, ms", .smallest = 1, .largest = 10, .engines = kV1 | kSglang, .ruled_out = "more tokens, a profiler that was attached"},
        {.name = "preprocessing-blocks", .id = "E13", .type = kSoftware,
         .sentence = "Preprocessing one request blocks the event loop; everything behind it is idle, then comes at once.", .size = "factor on tokenising",
         .smallest = 50, .largest = 1000, .engines = kOnline, .ruled_out = "a burst of clients, an idle server"},
        {.name = "cache-eviction-deadlock", .id = "E14", .type = kSoftware,
         .sentence = "The pool is exhausted although nearly all of it could be evicted: the event loop stops until the watchdog ends it.", .engines = kSglang,
         .ruled_out = "an idle server, a full KV cache"},
        {.name = "silent-stop", .id = "E15", .type = kSoftware,
         .sentence = "The engine stands still inside a forward pass without a word, then goes on with a burst of prefills.", .size = "length of the stop, s",
         .smallest = 2, .largest = 60, .engines = kServing, .ruled_out = "an idle server, warm-up"},
        {.name = "stale-draft-crash", .id = "E16", .type = kSoftware,
         .sentence = "A stale draft makes the schedule of a request inconsistent: preparing the inputs throws before any kernel.", .engines = kV1,
         .ruled_out = "the drain at the end of a run"},
        {.name = "frozen-heap-regression", .id = "E17", .type = kSoftware,
         .sentence = "The heap was not frozen after capture: all host work is a little slower in every step.", .size = "factor on host times", .smallest = 1.04,
         .largest = 1.25, .engines = kV1, .ruled_out = "more tokens, a profiler that was attached"},
        {.name = "operator-order", .id = "E18", .type = kSoftware,
         .sentence = "Operators of a layer run in another order, or one runs twice.", .size = "places by which they move", .smallest = 1, .largest = 5,
         .ruled_out = "kernels that change with the batch size"},
    };
}

std::vector<FaultInfo> look_alikes() {
    std::vector<FaultInfo> list{
        {.name = "longer-prompts", .id = "L1", .sentence = "Prompts are longer and chunks larger; steps lie on the roofline of their tokens.",
         .size = "factor on prompts", .smallest = 1.5, .largest = 4, .engines = kServing},
        {.name = "context-growth", .id = "L2", .sentence = "Outputs are long: decode steps grow with the KV length, in attention alone.", .size = "factor on outputs",
         .smallest = 2, .largest = 6},
        {.name = "graph-size-step", .id = "L3", .sentence = "The batch grows past a graph size: all GEMMs step up together.", .engines = kServing},
        {.name = "cold-start", .id = "L4", .sentence = "The capture holds the start: loading, compilation and graph capture come before the first request.",
         .engines = kServing},
        {.name = "first-use-loading", .id = "L5", .sentence = "Modules are loaded and memory is allocated at the first use of shapes, once, on all ranks."},
        {.name = "lazy-communicator", .id = "L6", .sentence = "NCCL sets up a communicator at its first collective.", .size = "length of the set-up, s",
         .smallest = 0.1, .largest = 3, .ranks = 2},
        {.name = "prefix-cache-miss", .id = "L7", .sentence = "Prompts no longer hit the prefix cache: more tokens are computed.", .engines = kV1 | kSglang},
        {.name = "single-preemption", .id = "L8", .sentence = "One request is preempted once; the others go on.", .engines = kServing},
        {.name = "eos-wave", .id = "L9", .sentence = "Many requests finish at about the same time and the batch shrinks.", .engines = kServing},
        {.name = "small-batch-kernels", .id = "L10", .sentence = "The load is low: a batch of one uses kernels of other names.", .engines = kServing},
        {.name = "expert-rebalance", .id = "L11", .sentence = "Experts are spread unevenly and rebalanced as planned, with a line in the log.",
         .size = "length of a rebalancing, ms", .smallest = 20, .largest = 200, .engines = kV1 | kSglang, .ranks = 2},
        {.name = "late-rank-victims", .id = "L12", .sentence = "One rank is a little late now and then within its usual jitter; its peers have long collectives.",
         .size = "lateness, us", .smallest = 20, .largest = 150, .ranks = 2},
        {.name = "long-drafts", .id = "L13", .sentence = "Drafts are accepted more often: verify steps give more tokens.", .engines = kV1 | kSglang},
        {.name = "idle-server", .id = "L14", .sentence = "Hardly any request comes: the statistics line is silent.", .engines = kOnline},
        {.name = "dp-dummy-steps", .id = "L15", .sentence = "Idle data-parallel ranks run forwards without tokens to stay in lockstep.", .engines = kV1Online | kSglang,
         .ranks = 2},
        {.name = "transfer-wait", .id = "L16", .sentence = "A decode instance waits for KV caches within the usual range of transfers.",
         .size = "factor on transfers", .smallest = 1.1, .largest = 1.6, .engines = kV1Online | kSglang},
        {.name = "periodic-metrics", .id = "L17", .sentence = "Metrics are read with a fixed period: tiny copies and a busy background thread.",
         .size = "period, s", .smallest = 0.2, .largest = 2},
        {.name = "profiler-attached", .id = "L18", .sentence = "A profiler makes the whole capture slower by one factor.", .size = "factor", .smallest = 1.08,
         .largest = 1.18},
        {.name = "rich-sampling", .id = "L19", .sentence = "Requests ask for top-k, top-p and logprobs: sampling runs many more kernels.", .engines = kServing},
        {.name = "adapter-load", .id = "L20", .sentence = "An administrator loads an adapter: one stall with a line in the log.", .size = "length of the load, s",
         .smallest = 0.2, .largest = 2, .engines = kVllm | kSglang},
    };
    for (FaultInfo& info : list) info.look_alike = true;
    return list;
}

}  // namespace faultline::simulator
