#include "ml/simulator/faults/catalogue_parts.h"

namespace faultline::simulator {
namespace {

constexpr FaultClass kDriver = FaultClass::runtime_driver, kNetwork = FaultClass::communication_network;

}  // namespace

std::vector<FaultInfo> driver_faults() {
    return {
        {.name = "hidden-sync", .id = "C1", .type = kDriver,
         .sentence = "A read of device memory hidden in the hot path waits for the GPU in every step and drains the launch pipeline.",
         .size = "length of a synchronisation beyond the wait, ms", .smallest = 0.05, .largest = 2, .ruled_out = "sampling parameters, a profiler that was attached"},
        {.name = "worker-paused", .id = "C2", .type = kDriver,
         .sentence = "One worker process is stopped for a while; its peers wait in the collective.", .size = "length of the pause, ms", .smallest = 10,
         .largest = 5000, .ruled_out = "a longer prompt, victims of a late rank"},
        {.name = "telemetry-driver-lock", .id = "C3", .type = kDriver, .reserved = true,
         .sentence = "A telemetry poller takes the lock of the driver: calls of all processes of a node are slow at once, with a fixed period.",
         .size = "length of a poll, ms", .smallest = 5, .largest = 100, .ruled_out = "small periodic copies, garbage collection"},
        {.name = "gsp-timeout", .id = "C4", .type = kDriver,
         .sentence = "The firmware of one GPU stops answering: a driver call blocks for seconds, then the channel is dead.",
         .size = "time in which the call blocks, s", .smallest = 6, .largest = 60, .ruled_out = "an idle server"},
        {.name = "gpu-lost", .id = "C5", .type = kDriver, .sentence = "One GPU falls off the bus; its peers hang in the collective.",
         .ruled_out = "a network that is slow for all ranks"},
        {.name = "ecc-error", .id = "C6", .type = kDriver, .sentence = "An uncorrectable memory error stops the work of one GPU.",
         .ruled_out = "speculative decoding, a kernel that is wrong on all ranks"},
        {.name = "lazy-module-load", .id = "C7", .type = kDriver,
         .sentence = "Kernels are loaded at first use, again and again in steady service, because a rare path was never warmed up.",
         .size = "length of a load, ms", .smallest = 1, .largest = 10, .ruled_out = "warm-up, first use of a shape"},
        {.name = "cpu-placement", .id = "C8", .type = kDriver,
         .sentence = "A process runs on cores of the wrong socket or at a low clock: its host work and copies take longer.", .size = "factor on host times",
         .smallest = 1.3, .largest = 2, .host_bound = true, .ruled_out = "more tokens, a profiler that was attached"},
        {.name = "gil-held", .id = "C9", .type = kDriver,
         .sentence = "A background thread holds the interpreter lock while it serialises telemetry; the main thread waits for it.",
         .size = "time for which it is held, ms", .smallest = 20, .largest = 400, .ruled_out = "garbage collection, small periodic copies"},
        {.name = "idle-wakeup-lost", .id = "C10", .type = kDriver,
         .sentence = "After an idle period the workers never wake up: requests are queued and nothing runs.", .engines = kV1Online, .ranks = 2,
         .ruled_out = "an idle server"},
        {.name = "serial-sends", .id = "C11", .type = kDriver,
         .sentence = "The engine sends the step to its ranks one after the other; the gap between decode steps grows with their number.",
         .size = "time for one send, ms", .smallest = 1, .largest = 8, .engines = kVllm, .ranks = 2, .ruled_out = "more tokens, a profiler that was attached"},
    };
}

std::vector<FaultInfo> network_faults() {
    return {
        {.name = "collective-timeout", .id = "D1", .type = kNetwork,
         .sentence = "One rank never enters a collective; the others wait in it until the watchdog ends them.", .ranks = 2, .ruled_out = "an idle server"},
        {.name = "custom-allreduce-deadlock", .id = "D2", .type = kNetwork,
         .sentence = "The barrier of the custom all-reduce is never passed: the kernel spins on all ranks for ever.", .engines = kServing, .ranks = 2,
         .ruled_out = "a rank that is late"},
        {.name = "p2p-unavailable", .id = "D3", .type = kNetwork,
         .sentence = "GPUs cannot reach each other directly: NCCL over shared memory takes the place of the custom all-reduce.",
         .size = "factor on collectives", .smallest = 3, .largest = 10, .engines = kServing, .ranks = 2, .ruled_out = "a rank that is late, more tokens"},
        {.name = "socket-fallback", .id = "D4", .type = kNetwork,
         .sentence = "Traffic between nodes goes through TCP sockets instead of RDMA.", .size = "factor on collectives", .smallest = 3, .largest = 10, .ranks = 2,
         .ruled_out = "a rank that is late, more tokens"},
        {.name = "nic-errors", .id = "D5", .type = kNetwork,
         .sentence = "One network card loses completions: some collectives wait for a retransmission.", .size = "delay of a collective, ms", .smallest = 1,
         .largest = 2000, .ranks = 2, .ruled_out = "a rank that is late, first use of a communicator"},
        {.name = "rack-congestion", .id = "D6", .type = kNetwork, .reserved = true,
         .sentence = "Links between racks are oversubscribed: large messages are slow, small ones are not.", .size = "factor on large collectives",
         .smallest = 3, .largest = 10, .ranks = 2, .ruled_out = "a rank that is late, more tokens"},
        {.name = "rank-skew", .id = "D7", .type = kNetwork,
         .sentence = "One rank, a different one from step to step, comes late to collectives because its share of the work is larger.",
         .size = "lateness, us", .smallest = 50, .largest = 500, .ranks = 2, .ruled_out = "victims of the late rank, a slow network"},
        {.name = "kv-transfer-slow", .id = "D8", .type = kNetwork,
         .sentence = "KV caches travel slowly from prefill to decode instances; requests wait between them.", .size = "delay of a transfer, s", .smallest = 0.1,
         .largest = 30, .engines = kV1Online | kSglang, .ranks = 1, .ruled_out = "a wait within the usual range, a longer prompt"},
        {.name = "kv-transfer-failed", .id = "D9", .type = kNetwork,
         .sentence = "Transfers of KV caches fail: requests wait for the timeout and are computed again on the decode instance.",
         .size = "timeout, s", .smallest = 0.1, .largest = 30, .engines = kV1Online | kSglang, .ranks = 1,
         .ruled_out = "a wait within the usual range, preemption"},
        {.name = "dummy-step-skipped", .id = "D10", .type = kNetwork,
         .sentence = "An idle data-parallel rank skips its dummy step; the busy one hangs in the expert dispatch.", .engines = kV1Online | kSglang, .ranks = 2,
         .ruled_out = "a rank that is only late"},
        {.name = "workspace-init-stall", .id = "D11", .type = kNetwork,
         .sentence = "The workspace of the all-reduce is set up at its first use in service; all ranks stand still meanwhile.",
         .size = "length of the set-up, s", .smallest = 3, .largest = 30, .engines = kServing, .ranks = 2,
         .ruled_out = "first use of a communicator at start-up, warm-up"},
        {.name = "nvlink-errors", .id = "D12", .type = kNetwork,
         .sentence = "Links of one GPU report errors and replay packets: collectives that it takes part in are slower.", .size = "factor on collectives",
         .smallest = 1.5, .largest = 6, .ranks = 2, .ruled_out = "a rank that is late, more tokens"},
        {.name = "link-delay", .id = "D13", .type = kNetwork,
         .sentence = "The link between nodes has a delay with jitter and loses packets: every collective over it takes longer.",
         .size = "delay of a collective, ms", .smallest = 1, .largest = 50, .ranks = 2, .ruled_out = "a rank that is late, more tokens"},
        {.name = "channel-reset-wedge", .id = "D14", .type = kNetwork,
         .sentence = "After a channel reset one GPU no longer advances its collectives although its process lives; no engine says a word.", .ranks = 2,
         .ruled_out = "an idle server, a rank that is only late"},
    };
}

}  // namespace faultline::simulator
