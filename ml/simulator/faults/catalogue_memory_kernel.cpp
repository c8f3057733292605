#include "ml/simulator/faults/catalogue_parts.h"

namespace faultline::simulator {
namespace {

constexpr FaultClass kMemory = FaultClass::memory_resource, kKernel = FaultClass::cuda_kernel;

}  // namespace

std::vector<FaultInfo> memory_faults() {
    return {
        {.name = "kv-preemption", .id = "A1", .type = kMemory,
         .sentence = "The KV cache is full: running requests are preempted and their prompts computed again.",
         .size = "context of the requests that are preempted, tokens", .smallest = 500, .largest = 8000, .engines = kVllm,
         .ruled_out = "a single preemption, a longer prompt"},
        {.name = "sglang-retraction", .id = "A2", .type = kMemory,
         .sentence = "The KV pool of SGLang is full: decode requests are retracted again and again and their long contexts extended anew.",
         .size = "context of the requests that are retracted, tokens", .smallest = 500, .largest = 8000, .engines = kSglang,
         .ruled_out = "an occasional retraction, requests that finished"},
        {.name = "oom-in-step", .id = "A3", .type = kMemory,
         .sentence = "An allocation inside a prefill fails on one rank: its step ends in the middle of a layer and the engine dies.",
         .ruled_out = "the drain at the end of a run"},
        {.name = "allocator-retry", .id = "A4", .type = kMemory,
         .sentence = "The caching allocator of one rank frees its cache and allocates again in the middle of a forward pass.",
         .size = "length of a retry, ms", .smallest = 5, .largest = 200, .ruled_out = "first use of a shape, warm-up"},
        {.name = "sampler-host-list", .id = "A5", .type = kMemory,
         .sentence = "The sampler builds a padded list of all generated tokens on the host in every step with penalties.",
         .size = "time for the list, ms", .smallest = 5, .largest = 120, .engines = kServing, .ruled_out = "top-k or top-p sampling, a longer context"},
        {.name = "cpu-starvation", .id = "A6", .type = kMemory,
         .sentence = "The container has too few CPUs: everything on the host takes a multiple of its time.", .size = "factor on host times", .smallest = 1.3,
         .largest = 3, .ruled_out = "more tokens, a profiler that was attached"},
        {.name = "cfs-throttling", .id = "A7", .type = kMemory,
         .sentence = "The CPU quota of the pod is used up: all its threads freeze until the next period of 100 ms.", .size = "length of a freeze, ms",
         .smallest = 20, .largest = 95, .ruled_out = "requests with grammars alone, garbage collection"},
        {.name = "host-oom-kill", .id = "A8", .type = kMemory,
         .sentence = "A process leaks host memory, grows slow, and is killed by the kernel.", .size = "factor on host times at the end", .smallest = 1.2,
         .largest = 2.5, .ruled_out = "the drain at the end of a run"},
        {.name = "page-cache-pressure", .id = "A9", .type = kMemory, .reserved = true,
         .sentence = "Rows of a table in host memory were paged out: one gather per prefill chunk waits for the disk.", .size = "length of a gather, ms",
         .smallest = 100, .largest = 420, .ruled_out = "a longer prompt, first use of a shape"},
        {.name = "slot-leak", .id = "A10", .type = kMemory,
         .sentence = "Request slots are never given back: the batch shrinks to one while the KV cache is nearly empty and the queue grows.",
         .size = "slots that are left at the end", .smallest = 1, .largest = 4, .engines = kV1 | kSglang, .ruled_out = "requests that finished, an empty queue"},
        {.name = "kv-full-verify-hang", .id = "A11", .type = kMemory,
         .sentence = "With the KV pool nearly full, all ranks of a speculative verify step wait for a copy to the host that never ends.", .engines = kSglang,
         .ruled_out = "an idle server"},
        {.name = "page-compaction-spikes", .id = "A12", .type = kMemory,
         .sentence = "Huge pages are being compacted: one process at a time faults for milliseconds while it prepares inputs or tokenises.",
         .size = "length of a spike, ms", .smallest = 5, .largest = 50, .ruled_out = "garbage collection, more tokens"},
        {.name = "kv-mapping-cost", .id = "A13", .type = kMemory,
         .sentence = "KV blocks are mapped on demand: each new block costs mapping calls of the driver on the path of the step.",
         .size = "cost of a mapping call, ms", .smallest = 0.05, .largest = 0.8, .engines = kServing, .ruled_out = "first use of a shape, a longer prompt"},
    };
}

std::vector<FaultInfo> kernel_faults() {
    return {
        {.name = "attention-tile", .id = "B1", .type = kKernel,
         .sentence = "The attention kernel comes from a build without the right tile: another template, slower in every call.",
         .size = "factor on the kernel", .smallest = 1.1, .largest = 2, .ruled_out = "a longer context, prefill instead of decode variants"},
        {.name = "sm-contention", .id = "B2", .type = kKernel,
         .sentence = "Another process computes on one GPU: all kernels of that rank are stretched in bursts.", .size = "factor on kernels", .smallest = 1.3,
         .largest = 3, .ruled_out = "a larger batch, the next graph size, victims in the collective"},
        {.name = "gpu-clock-drop", .id = "B3", .type = kKernel,
         .sentence = "One GPU runs at a lower clock: its compute-bound kernels are slower, its peers wait in collectives.",
         .size = "nominal over actual clock", .smallest = 1.15, .largest = 2.1, .ruled_out = "more tokens, a network that is slow for all ranks"},
        {.name = "graphs-off", .id = "B4", .type = kKernel,
         .sentence = "CUDA graphs are not replayed: hundreds of launches take the place of one, and the GPU waits for the host.",
         .size = "host time beside each launch, us", .smallest = 5, .largest = 35, .engines = kServing, .ruled_out = "mixed steps, a batch of another graph size"},
        {.name = "graph-bucket-miss", .id = "B5", .type = kKernel,
         .sentence = "Some batch sizes have no full graph and run piecewise with eager attention.", .size = "host time beside each launch, us", .smallest = 5,
         .largest = 35, .engines = kServing, .ruled_out = "mixed steps, the next graph size alone"},
        {.name = "kernel-jit", .id = "B6", .type = kKernel,
         .sentence = "A kernel is compiled while requests are served, once for each new shape.", .size = "length of a compilation, s", .smallest = 0.05,
         .largest = 14, .ruled_out = "warm-up, a longer prompt"},
        {.name = "kernel-replanning", .id = "B7", .type = kKernel,
         .sentence = "After a large step the planner of a kernel tunes anew for the small shape, for seconds on the main thread.",
         .size = "length of the planning, s", .smallest = 0.5, .largest = 17.5, .engines = kServing, .ruled_out = "first use of a shape, a mixed step"},
        {.name = "moe-untuned", .id = "B8", .type = kKernel,
         .sentence = "There is no tuned configuration for the fused MoE kernel: it runs with defaults.", .size = "factor on the kernel", .smallest = 1.1,
         .largest = 2, .engines = kServing, .ruled_out = "more distinct experts, a larger batch"},
        {.name = "illegal-access", .id = "B9", .type = kKernel,
         .sentence = "A kernel of one rank accesses memory that is not its own: the rank dies, the others hang in the next collective.",
         .ruled_out = "the drain at the end of a run, a network that is slow for all ranks"},
        {.name = "split-kv-heuristic", .id = "B10", .type = kKernel, .reserved = true,
         .sentence = "Decode attention is split too finely: combining the parts costs as much as the attention itself.",
         .size = "factor on the usual cost of combining", .smallest = 1.1, .largest = 2, .ruled_out = "a longer context"},
        {.name = "gpu-livelock", .id = "B11", .type = kKernel,
         .sentence = "A kernel never ends: the GPU is busy, no token comes, no call returns.", .ruled_out = "an idle server, a collective that waits for a late rank"},
        {.name = "attention-fallback", .id = "B12", .type = kKernel,
         .sentence = "The engine chose a fall-back attention backend: the whole family of kernels is another one.", .size = "factor on attention",
         .smallest = 1.1, .largest = 1.5, .ruled_out = "prefill instead of decode variants, a longer context"},
    };
}

}  // namespace faultline::simulator
