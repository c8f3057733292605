// Processes, threads, devices and clocks of every engine (ENGINES §1).
#include <algorithm>

#include <fmt/format.h>

#include "ml/simulator/host/engine_host.h"

namespace faultline::simulator {
namespace {

constexpr TimeNs kDay = 86'400'000'000'000;
/// NTP keeps nodes of a cluster within a few hundred microseconds; crystals drift by up to 20 ppm between corrections.
constexpr double kClockSpreadNs = 180'000;
constexpr double kDriftPpb = 6'000, kMostDriftPpb = 20'000;

bool is_v1(Engine engine) { return engine == Engine::vllm_v1_offline || engine == Engine::vllm_v1_online; }

}  // namespace

NodeIndex EngineHost::add_node(TimeNs start) {
    const auto index = static_cast<std::uint64_t>(topology_.nodes.size());
    NodeInfo node;
    node.host = fmt::format("gpu-node-{:02}", 1 + noise_.below(40, Draw::process_ids, 7) + index);
    node.clock.origin = start;
    node.clock.offset = static_cast<TimeNs>(kClockSpreadNs * noise_.normal(Draw::clock, index, 0));
    node.clock.drift_ppb = static_cast<std::int64_t>(std::clamp(kDriftPpb * noise_.normal(Draw::clock, index, 1), -kMostDriftPpb, kMostDriftPpb));
    node.boot = start - static_cast<TimeNs>(static_cast<double>(kDay) * (3 + 60 * noise_.uniform(Draw::clock, index, 2)));
    topology_.nodes.push_back(node);
    return static_cast<NodeIndex>(index);
}

ProcessIndex EngineHost::add_process(NodeIndex node, ProcessRole role, std::string title, int rank, int dp_rank, InstanceIndex instance) {
    const auto index = static_cast<std::uint64_t>(topology_.processes.size());
    next_pid_ += 1 + static_cast<std::int64_t>(noise_.below(90, Draw::process_ids, index));
    topology_.processes.push_back({node, role, instance, next_pid_, rank, dp_rank, std::move(title)});
    return static_cast<ProcessIndex>(index);
}

ThreadIndex EngineHost::add_thread(ProcessIndex process, std::string name) {
    const auto index = static_cast<std::uint64_t>(topology_.threads.size());
    const bool main = name == "MainThread";
    const std::int64_t pid = topology_.process(process).pid;
    const std::int64_t tid = main ? pid : pid + 1000 + static_cast<std::int64_t>(index * 3 + noise_.below(3, Draw::process_ids, index, 1));
    topology_.threads.push_back({process, tid, std::move(name)});
    return static_cast<ThreadIndex>(index);
}

RankPlace EngineHost::add_device(NodeIndex node, ProcessIndex process, int rank, int ranks) {
    int ordinal = 0;
    for (const DeviceInfo& device : topology_.devices) ordinal += device.node == node ? 1 : 0;
    const int device = static_cast<int>(topology_.devices.size());
    topology_.devices.push_back({node, ordinal, process, rank});
    RankPlace place;
    place.rank = rank;
    place.ranks = ranks;
    const auto add_stream = [&](int number) {
        topology_.streams.push_back({device, number});
        return static_cast<StreamIndex>(topology_.streams.size() - 1);
    };
    place.compute = add_stream(7);
    place.copy = add_stream(20);
    place.communication = add_stream(24);
    place.between_nodes = options_.deployment.nodes > 1;
    return place;
}

void EngineHost::build_places(TimeNs start) {
    const Deployment& d = options_.deployment;
    next_pid_ = 1200 + static_cast<std::int64_t>(noise_.below(40'000, Draw::process_ids, 3));
    for (int n = 0; n < d.nodes; ++n) add_node(start);
    const NodeIndex first{};
    if (d.engine == Engine::vllm_v1_online || d.engine == Engine::vllm_v0) {
        places_.api = add_thread(add_process(first, ProcessRole::api_server, "VLLM::APIServer"), "MainThread");
    } else if (d.engine == Engine::sglang) {
        places_.api = add_thread(add_process(first, ProcessRole::api_server, "sglang::http_server"), "MainThread");
        places_.detokenizer = add_thread(add_process(first, ProcessRole::detokenizer, "sglang::detokenizer"), "MainThread");
    } else if (d.engine == Engine::vllm_v1_offline) {
        places_.client = add_thread(add_process(first, ProcessRole::client, "python"), "MainThread");
    }
    if (d.dp > 1) add_thread(add_process(first, ProcessRole::controller, d.engine == Engine::sglang ? "sglang::data_parallel_controller" : "VLLM::DPCoordinator"), "MainThread");
    if (d.prefill_decode) {
        build_instance(0, InstanceDuty::prefill_only);
        build_instance(1, InstanceDuty::decode_only);
        return;
    }
    for (int i = 0; i < d.dp; ++i) build_instance(i, InstanceDuty::both);
}

void EngineHost::build_instance(int index, InstanceDuty duty) {
    const Deployment& d = options_.deployment;
    InstancePlaces place;
    place.duty = duty;
    const auto instance = static_cast<InstanceIndex>(index);
    const int dp_rank = d.dp > 1 ? index : -1;
    const std::string dp = dp_rank >= 0 ? fmt::format("_DP{}", dp_rank) : std::string{};
    const auto node_of = [&](int rank) { return static_cast<NodeIndex>(d.tp >= d.nodes ? rank * d.nodes / d.tp : index % d.nodes); };
    // Where one process schedules and launches for rank 0: TP=1 of vLLM v1, v0, SGLang, FSDP.
    const bool separate = is_v1(d.engine) && d.tp > 1;
    if (separate) {
        const ProcessIndex core = add_process(node_of(0), ProcessRole::engine_core, "VLLM::EngineCore" + dp, -1, dp_rank, instance);
        place.core = add_thread(core, "MainThread");
        place.background.push_back(add_thread(core, "process_output_sockets"));
        add_thread(core, "process_input_sockets");
    }
    for (int rank = 0; rank < d.tp; ++rank) {
        ProcessRole role = ProcessRole::worker;
        std::string title;
        switch (d.engine) {
            case Engine::sglang:
                role = ProcessRole::scheduler;
                title = d.tp > 1 ? fmt::format("sglang::scheduler{}_TP{}", dp, rank) : "sglang::scheduler" + dp;
                break;
            case Engine::fsdp:
                role = ProcessRole::fsdp_rank;
                title = "python generate.py";
                break;
            case Engine::vllm_v0:
                role = rank == 0 ? ProcessRole::engine_core : ProcessRole::worker;
                title = rank == 0 ? "VLLM::EngineCore" : "VLLM::VllmWorkerProcess";
                break;
            default:
                role = separate ? ProcessRole::worker : ProcessRole::engine_core;
                title = separate ? fmt::format("VLLM::Worker{}_TP{}", dp, rank) : "VLLM::EngineCore" + dp;
        }
        const NodeIndex node = node_of(rank);
        const ProcessIndex process = add_process(node, role, std::move(title), rank, dp_rank, instance);
        place.workers.push_back(add_thread(process, "MainThread"));
        if (rank == 0 && !separate) place.core = place.workers.front();
        if (separate) add_thread(process, "DeathPipeMonitor");
        if (asynchronous()) place.output_threads.push_back(add_thread(process, "WorkerAsyncOutputCopy"));
        if (rank == 0) place.background.push_back(add_thread(process, d.engine == Engine::fsdp ? "pt_nccl_watchdg" : "OtelBatchSpanRecordProcessor"));
        if (rank == 0 && duty == InstanceDuty::decode_only) {
            place.transfer = add_thread(process, d.engine == Engine::sglang ? "Thread-7 (decode_thread)" : "Thread-4 (_async_loop)");
        }
        place.ranks.push_back(add_device(node, process, rank, d.tp));
    }
    places_.instances.push_back(std::move(place));
}

}  // namespace faultline::simulator
