// A handful of scripted events of two processes on two nodes, for tests of the writers.
#pragma once

#include <string>
#include <vector>

#include "ml/simulator/base/names.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/base/topology.h"
#include "ml/simulator/writers/trace_writer.h"

namespace faultline::simulator::test {

inline constexpr TimeNs kSceneStart = 1'764'547'200'123'456'789;
inline constexpr TimeNs kSceneEnd = kSceneStart + 9'000'000;

struct WriterScene {
    Topology topology;
    Names names;
    RunOptions options;

    WriterScene() {
        topology.nodes = {{"node-a", {kSceneStart - 77'000'000'000, 1'234'567, 40'000}, 0}, {"node-b", {kSceneStart, -98'765, -12'345}, 0}};
        topology.processes = {{NodeIndex{0}, ProcessRole::worker, InstanceIndex{0}, 4242, 0, -1, "VLLM::Worker_TP0"},
                              {NodeIndex{1}, ProcessRole::worker, InstanceIndex{0}, 4343, 1, -1, "VLLM::Worker_TP1"},
                              {NodeIndex{0}, ProcessRole::api_server, InstanceIndex{0}, 4100, -1, -1, ""}};
        topology.threads = {{ProcessIndex{0}, 4242, "MainThread"},
                            {ProcessIndex{1}, 4343, "MainThread"},
                            {ProcessIndex{0}, 4250, "Thread-1"},
                            {ProcessIndex{2}, 4100, "MainThread"}};
        topology.devices = {{NodeIndex{0}, 0, ProcessIndex{0}, 0}, {NodeIndex{1}, 0, ProcessIndex{1}, 1}};
        topology.streams = {{0, 7}, {1, 7}};
    }

    [[nodiscard]] Event host(EventKind kind, std::uint16_t process, TimeNs at, TimeNs length, const char* name) {
        Event e;
        e.kind = kind;
        e.process = ProcessIndex{process};
        e.thread = ThreadIndex{process};
        e.start = kSceneStart + at;
        e.duration = length;
        e.name = names.intern(name);
        return e;
    }
    [[nodiscard]] Event work(EventKind kind, std::uint16_t process, TimeNs at, TimeNs length, const char* name, std::uint32_t correlation) {
        Event e = host(kind, process, at, length, name);
        e.stream = StreamIndex{process};
        e.correlation = correlation;
        e.grid = 264;
        e.block = 128;
        e.bytes = 4096;
        return e;
    }

    /// What both processes leave. Texts are literals.
    [[nodiscard]] std::vector<Event> events() {
        std::vector<Event> all;
        for (std::uint16_t p = 0; p < 2; ++p) {
            Event step = host(EventKind::range, p, 1'000'001, 3'000'003, "");
            step.text = "execute_context_1(9)_generation_2(2) \"\\ \xC3\xBC\n.";
            all.push_back(step);
            all.push_back(host(EventKind::range, p, 1'000'100, 500'000, "prepare_inputs"));
            all.push_back(host(EventKind::range, p, 1'000'200, 10, ""));  // no name: left out
            all.push_back(host(EventKind::op, p, 1'600'000, 90'000, "aten::mm"));
            all.back().external = 17;
            const auto call = [&](EventKind kind, TimeNs at, const char* name, std::uint32_t correlation) {
                all.push_back(host(kind, p, at, 4'321, name));
                all.back().correlation = correlation;
                all.back().external = 17;
            };
            call(EventKind::runtime_call, 1'610'000, "cudaLaunchKernel", 100);
            call(EventKind::driver_call, 1'620'000, "cuLaunchKernelEx", 101);
            call(EventKind::runtime_call, 1'630'000, "cudaMemcpyAsync", 102);
            call(EventKind::runtime_call, 1'640'000, "cudaMemsetAsync", 103);
            call(EventKind::runtime_call, 1'650'000, "cudaGraphLaunch", 104);
            all.push_back(work(EventKind::kernel, p, 1'700'007, 30'001, "void ns::gemm<float, \"x\">(float*)", 100));
            all.push_back(
                work(EventKind::kernel, p, 1'740'000, 20'000, "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgs)", 101));
            all.back().group_size = 2;
            all.push_back(work(EventKind::memory_copy, p, 1'770'000, 2'000, "", 102));
            all.back().copy = CopyKind::pageable_to_device;
            all.push_back(work(EventKind::memory_set, p, 1'780'000, 1'000, "", 103));
            for (std::uint32_t node = 1; node <= 3; ++node) {
                all.push_back(work(EventKind::kernel, p, 1'790'000 + 10'000 * node, 9'999, "triton_poi_fused_add_0", 104));
                all.back().graph_node = node;
            }
        }
        all.push_back(host(EventKind::range, 0, -5, 50, "before the capture"));
        Event cut = host(EventKind::range, 0, 5'000'000, 4'000'000, "wait_output");
        cut.cut = true;
        all.push_back(cut);
        return all;
    }

    void write(Sink& sink) {
        for (const Event& event : events()) sink.event(event);
        sink.counter({kSceneStart + 2'000'000, NodeIndex{0}, 0, "GPU power", "W", 412.5});
        sink.counter({kSceneStart + 3'000'000, NodeIndex{0}, 0, "GPU power", "W", 400});
    }
};

}  // namespace faultline::simulator::test
