// A small place for the machine's tests: two ranks in processes of their own (or more), each with a main thread, a helper thread and three
// streams (compute, copy, communication), and a sink that remembers.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ml/simulator/base/silent_sink.h"
#include "ml/simulator/machine/machine.h"

namespace faultline::simulator {

struct SeenEvent : Event {
    std::string words;
    [[nodiscard]] TimeNs end() const { return start + duration; }
    [[nodiscard]] bool device() const {
        return kind == EventKind::kernel || kind == EventKind::memory_copy || kind == EventKind::memory_set;
    }
    [[nodiscard]] bool call() const { return kind == EventKind::runtime_call || kind == EventKind::driver_call; }
};

class Recorder final : public SilentSink {
public:
    void event(const Event& e) override {
        SeenEvent seen{e, std::string(e.text)};
        seen.text = {};
        events.push_back(seen);
    }
    void gap(const IdleGap& g) override { gaps.push_back(g); }

    template <class Wanted>
    [[nodiscard]] std::vector<SeenEvent> all(Wanted wanted) const {
        std::vector<SeenEvent> found;
        std::copy_if(events.begin(), events.end(), std::back_inserter(found), wanted);
        return found;
    }
    [[nodiscard]] std::vector<SeenEvent> on(StreamIndex stream) const {
        return all([=](const SeenEvent& e) { return e.device() && e.stream == stream; });
    }
    [[nodiscard]] std::vector<SeenEvent> named(std::uint32_t name) const {
        return all([=](const SeenEvent& e) { return e.name == static_cast<Name>(name); });
    }

    std::vector<SeenEvent> events;
    std::vector<IdleGap> gaps;
};

/// FNV-1a over every number of every event.
inline std::uint64_t hash_of(const std::vector<SeenEvent>& events) {
    std::uint64_t h = 0xcbf29ce484222325ULL;
    const auto eat = [&](std::uint64_t value) {
        for (int i = 0; i < 8; ++i) h = (h ^ (value >> (8 * i) & 0xFF)) * 0x100000001b3ULL;
    };
    for (const SeenEvent& e : events) {
        for (const std::uint64_t v :
             {static_cast<std::uint64_t>(e.kind), static_cast<std::uint64_t>(e.name), static_cast<std::uint64_t>(e.thread),
              static_cast<std::uint64_t>(e.stream), static_cast<std::uint64_t>(e.start), static_cast<std::uint64_t>(e.duration),
              static_cast<std::uint64_t>(e.correlation), static_cast<std::uint64_t>(e.external), static_cast<std::uint64_t>(e.graph_node),
              static_cast<std::uint64_t>(e.suspect)}) {
            eat(v);
        }
        for (const char c : e.words) eat(static_cast<unsigned char>(c));
    }
    return h;
}

inline Topology ranks(int count) {
    Topology topology;
    topology.nodes.emplace_back();
    for (int r = 0; r < count; ++r) {
        ProcessInfo process;
        process.pid = 100 + r;
        process.rank = r;
        topology.processes.push_back(process);
        for (int t = 0; t < 2; ++t) topology.threads.push_back({static_cast<ProcessIndex>(r), 1000 + 2 * r + t, "thread"});
        DeviceInfo device;
        device.ordinal = device.rank = r;
        device.process = static_cast<ProcessIndex>(r);
        topology.devices.push_back(device);
        for (const int number : {7, 20, 24}) topology.streams.push_back({r, number});
    }
    return topology;
}

inline ThreadIndex main_of(int rank) { return static_cast<ThreadIndex>(2 * rank); }
inline ThreadIndex helper_of(int rank) { return static_cast<ThreadIndex>(2 * rank + 1); }
inline StreamIndex compute_of(int rank) { return static_cast<StreamIndex>(3 * rank); }
inline StreamIndex copy_of(int rank) { return static_cast<StreamIndex>(3 * rank + 1); }
inline StreamIndex communication_of(int rank) { return static_cast<StreamIndex>(3 * rank + 2); }

inline constexpr TimeNs kStart = 1'000'000'000;
inline constexpr TimeNs kUs = 1'000, kMs = 1'000'000;

inline Op host_op(OpKind kind, TimeNs cost = 0, std::uint32_t name = 0) {
    Op op;
    op.kind = kind;
    op.cost = cost;
    op.name = static_cast<Name>(name);
    return op;
}
inline Op open_range(std::uint32_t name, EventKind kind = EventKind::range) {
    Op op = host_op(OpKind::push, 0, name);
    op.event = kind;
    return op;
}
inline Op kernel(StreamIndex stream, TimeNs cost, std::uint32_t name = 50, OpKind kind = OpKind::launch) {
    Op op = host_op(kind, kind == OpKind::launch ? 4 * kUs : 0, 40);
    op.event = EventKind::runtime_call;
    op.stream = stream;
    op.device_cost = cost;
    op.device_name = static_cast<Name>(name);
    return op;
}
inline Op collective(StreamIndex stream, std::uint16_t group, TimeNs cost, OpKind kind = OpKind::launch) {
    Op op = kernel(stream, cost, 60, kind);
    op.group = group;
    op.bound = Bound::link;
    return op;
}
inline Op on_stream(OpKind kind, StreamIndex stream, std::uint32_t signal = kNoSignal) {
    Op op = host_op(kind, 3 * kUs, 41);
    op.event = EventKind::runtime_call;
    op.stream = stream;
    op.signal = signal;
    return op;
}
inline Op wait_for(std::uint32_t signal, Role role = Role::none) {
    Op op = host_op(OpKind::wait);
    op.signal = signal;
    op.role = role;
    return op;
}
inline Op set(std::uint32_t signal, TimeNs transport = 0) {
    Op op = host_op(OpKind::signal, transport);
    op.signal = signal;
    return op;
}
inline Program program(std::initializer_list<Op> ops, StepNumber step = 1) {
    Program made;
    made.step = step;
    for (const Op& op : ops) made.add(op);
    return made;
}

struct Scene {
    explicit Scene(int count = 2, std::uint64_t seed = 1) : topology(ranks(count)), machine(topology, Noise(seed), kStart) {
        machine.set_sink(&seen);
    }

    std::uint16_t group_of_all() {
        std::vector<StreamIndex> members;
        for (std::size_t r = 0; r < topology.devices.size(); ++r) members.push_back(compute_of(static_cast<int>(r)));
        return machine.add_group(members);
    }
    void run(int rank, Program program, TimeNs not_before = 0) { machine.run(main_of(rank), std::move(program), not_before); }

    Topology topology;
    Machine machine;
    Recorder seen;
};

/// A step as a rank of a tensor-parallel group runs it: ranges, launches with operators around them, a graph with collectives, a wait at
/// the end.
inline Program busy_step(StepNumber step, int rank, std::uint16_t group, int nodes) {
    Program p;
    p.step = step;
    Op range = open_range(0);
    range.text = p.add_text("execute_" + std::to_string(step));
    p.add(range);
    for (int i = 0; i < 10; ++i) {
        p.add(open_range(11, EventKind::op));
        p.add(host_op(OpKind::work, 4 * kUs));
        p.add(kernel(compute_of(rank), 3 * kUs));
        p.add(host_op(OpKind::pop));
    }
    p.add(kernel(compute_of(rank), 0, 51, OpKind::graph_launch)).cost = 60 * kUs;
    for (int i = 0; i < nodes; ++i) {
        const bool together = group != kNoGroup && i % 6 == 5;
        p.add(together ? collective(compute_of(rank), group, 8 * kUs, OpKind::node) : kernel(compute_of(rank), 9 * kUs, 52, OpKind::node));
    }
    p.add(on_stream(OpKind::sync_stream, compute_of(rank)));
    p.add(host_op(OpKind::pop));
    return p;
}

}  // namespace faultline::simulator
