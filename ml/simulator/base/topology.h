// Where a run takes place: nodes with clocks of their own, processes, threads, devices, streams (ENGINES §1). Built once by the host model,
// const while the run lasts.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ml/simulator/base/event.h"

namespace faultline::simulator {

/// What a node's clock shows at a true time: offset, and a drift since `origin` in parts per billion. Integers, so that it is exact.
struct NodeClock {
    TimeNs origin = 0;
    TimeNs offset = 0;
    std::int64_t drift_ppb = 0;

    [[nodiscard]] constexpr TimeNs at(TimeNs true_time) const noexcept {
        const TimeNs passed = true_time - origin;
        return true_time + offset + passed / 1'000'000'000 * drift_ppb + passed % 1'000'000'000 * drift_ppb / 1'000'000'000;
    }
};

struct NodeInfo {
    std::string host;
    NodeClock clock;
    TimeNs boot = 0;  ///< true time; for stamps since boot
};

/// Who a process is; log prefixes and process titles follow from it and from the engine.
enum class ProcessRole : std::uint8_t { client, api_server, engine_core, worker, scheduler, detokenizer, controller, fsdp_rank, other };

struct ProcessInfo {
    NodeIndex node{};
    ProcessRole role{};
    InstanceIndex instance{};
    std::int64_t pid = 0;
    int rank = -1;     ///< in its group (TP, FSDP); -1: none
    int dp_rank = -1;  ///< -1: no data parallelism
    std::string title; ///< VLLM::EngineCore
};

struct ThreadInfo {
    ProcessIndex process{};
    std::int64_t tid = 0;
    std::string name;  ///< MainThread
};

struct DeviceInfo {
    NodeIndex node{};
    int ordinal = 0;         ///< on the node
    ProcessIndex process{};  ///< that launches on it
    int rank = 0;
};

struct StreamInfo {
    int device = 0;   ///< position in Topology::devices
    int number = 7;   ///< as the profiler shows it
};

struct Topology {
    std::vector<NodeInfo> nodes;
    std::vector<ProcessInfo> processes;
    std::vector<ThreadInfo> threads;
    std::vector<DeviceInfo> devices;
    std::vector<StreamInfo> streams;

    [[nodiscard]] const ProcessInfo& process(ProcessIndex p) const { return processes[static_cast<std::size_t>(p)]; }
    [[nodiscard]] const ThreadInfo& thread(ThreadIndex t) const { return threads[static_cast<std::size_t>(t)]; }
    [[nodiscard]] const StreamInfo& stream(StreamIndex s) const { return streams[static_cast<std::size_t>(s)]; }
    [[nodiscard]] const DeviceInfo& device_of(StreamIndex s) const { return devices[static_cast<std::size_t>(stream(s).device)]; }
    [[nodiscard]] const NodeInfo& node_of(ProcessIndex p) const { return nodes[static_cast<std::size_t>(process(p).node)]; }
};

}  // namespace faultline::simulator
