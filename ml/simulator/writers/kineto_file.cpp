#include "ml/simulator/writers/kineto_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <nlohmann/json.hpp>

#include "core/simulated.h"

namespace faultline::simulator {

namespace {

/// The system clock floored to three months, as Kineto takes its base (FORMATS §2.2).
constexpr TimeNs kQuarter = 7'889'238'000'000'000;

std::string_view category_of(EventKind kind) {
    switch (kind) {
        case EventKind::range: return "user_annotation";
        case EventKind::op: return "cpu_op";
        case EventKind::python: return "python_function";
        case EventKind::runtime_call: return "cuda_runtime";
        case EventKind::driver_call: return "cuda_driver";
        case EventKind::kernel: return "kernel";
        case EventKind::memory_copy: return "gpu_memcpy";
        case EventKind::memory_set: return "gpu_memset";
    }
    return "cpu_op";
}

std::string_view copy_text(CopyKind kind) {
    switch (kind) {
        case CopyKind::host_to_device: return "Memcpy HtoD (Pinned -> Device)";
        case CopyKind::device_to_host: return "Memcpy DtoH (Device -> Pinned)";
        case CopyKind::pageable_to_device: return "Memcpy HtoD (Pageable -> Device)";
        case CopyKind::device_to_pageable: return "Memcpy DtoH (Device -> Pageable)";
        case CopyKind::device_to_device:
        case CopyKind::none: break;
    }
    return "Memcpy DtoD (Device -> Device)";
}

nlohmann::ordered_json device_properties(const GpuFacts& gpu, int ordinal) {
    constexpr int kRegisters = 65536, kWarp = 32, kBlockThreads = 1024, kSharedPerBlock = 49152;
    return {{"id", ordinal},
            {"name", gpu.title},
            {"totalGlobalMem", gpu.memory},
            {"computeMajor", gpu.major},
            {"computeMinor", gpu.minor},
            {"maxThreadsPerBlock", kBlockThreads},
            {"maxThreadsPerMultiprocessor", gpu.threads_per_processor},
            {"regsPerBlock", kRegisters},
            {"warpSize", kWarp},
            {"sharedMemPerBlock", kSharedPerBlock},
            {"numSms", gpu.processors},
            {"regsPerMultiprocessor", kRegisters},
            {"sharedMemPerBlockOptin", gpu.shared_opt_in},
            {"sharedMemPerMultiprocessor", gpu.shared_per_processor}};
}

nlohmann::ordered_json distributed_info(int rank, int world) {
    nlohmann::ordered_json ranks = nlohmann::ordered_json::array();
    for (int i = 0; i < world; ++i) ranks.push_back(i);
    nlohmann::ordered_json group{{"pg_name", "0"}, {"pg_desc", "default_pg"}, {"backend_config", "cpu:gloo,cuda:nccl"}, {"pg_size", world}};
    group["ranks"] = std::move(ranks);
    nlohmann::ordered_json info{{"backend", "nccl"}, {"rank", rank}, {"world_size", world}, {"pg_count", 1}};
    info["pg_config"] = nlohmann::ordered_json::array({std::move(group)});
    info["nccl_version"] = "2.27.3";
    return info;
}

}  // namespace

KinetoFile::KinetoFile(std::unique_ptr<OutputFile> file, ProcessIndex process, const Topology& topology, KnownNames& names, TimeNs start)
    : file_(std::move(file)),
      topology_(topology),
      names_(names),
      clock_(topology.node_of(process).clock),
      pid_(topology.process(process).pid),
      process_(process),
      start_(clock_.at(start)) {
    base_ = start_ / kQuarter * kQuarter;
}

Result<std::unique_ptr<KinetoFile>> KinetoFile::open(const std::string& folder, const std::string& name, bool gzip, ProcessIndex process,
                                                     const RunOptions& options, const Topology& topology, KnownNames& names, TimeNs start) {
    auto file = OutputFile::open(folder + "/" + name, gzip);
    if (!file) return tl::unexpected<Error>(file.error());
    std::unique_ptr<KinetoFile> trace(new KinetoFile(std::move(*file), process, topology, names, start));
    trace->header(options);
    trace->rows();
    return trace;
}

void KinetoFile::header(const RunOptions& options) {
    const NodeIndex node = topology_.process(process_).node;
    gpu_ = gpu_facts(options.deployment.gpu);
    auto devices = nlohmann::ordered_json::array();
    int rank = -1, world = 0;
    for (const DeviceInfo& device : topology_.devices) {
        if (device.node == node) devices.push_back(device_properties(gpu_, device.ordinal));
        if (device.process == process_ && rank < 0) rank = device.rank;
        world = std::max(world, device.rank + 1);
    }
    file_->text("{\n  \"schemaVersion\": 1,\n  \"deviceProperties\": ");
    file_->text(devices.dump());
    file_->text(",\n  \"cupti_version\": 26,\n  \"cuda_runtime_version\": 12080,\n  \"cuda_driver_version\": 12080,\n  \"with_flops\": 0");
    if (rank >= 0) {
        file_->text(",\n  \"distributedInfo\": ");
        file_->text(distributed_info(rank, world).dump());
    }
    file_->text(fmt::format(",\n  \"{}\": 1,\n  \"host_name\": \"{}\",\n  \"displayTimeUnit\": \"ms\",\n  \"baseTimeNanoseconds\": {},\n",
                            kSimulatedKey, escaped(topology_.node_of(process_).host), base_));
    file_->text("  \"traceEvents\": [");
}

void KinetoFile::row_name(std::int64_t pid, std::int64_t tid, std::string_view what, std::string_view key, std::string_view json) {
    file_->text(fmt::format("{}\n  {{\n    \"name\": \"{}\", \"ph\": \"M\", \"ts\": ", index_++ == 0 ? "" : ",", what));
    file_->microseconds(start_ - base_);
    file_->text(fmt::format(", \"pid\": {}, \"tid\": {},\n    \"args\": {{\n      \"{}\": {}\n    }}\n  }}", pid, tid, key, json));
}

void KinetoFile::rows() {
    constexpr int kFirstDeviceRow = 5'000'000;  // Kineto sorts devices behind all processes
    const ProcessInfo& process = topology_.process(process_);
    const std::string title = process.title.empty() ? "python3" : process.title;
    row_name(pid_, 0, "process_name", "name", fmt::format("\"{}\"", escaped(title)));
    row_name(pid_, 0, "process_labels", "labels", "\"CPU\"");
    row_name(pid_, 0, "process_sort_index", "sort_index", std::to_string(pid_));
    for (const ThreadInfo& thread : topology_.threads) {
        if (thread.process != process_) continue;
        row_name(pid_, thread.tid, "thread_name", "name", fmt::format("\"thread {} ({})\"", thread.tid, escaped(thread.name)));
        row_name(pid_, thread.tid, "thread_sort_index", "sort_index", std::to_string(thread.tid));
    }
    for (std::size_t d = 0; d < topology_.devices.size(); ++d) {
        const DeviceInfo& device = topology_.devices[d];
        if (device.process != process_) continue;
        row_name(device.ordinal, 0, "process_name", "name", fmt::format("\"{}\"", escaped(title)));
        row_name(device.ordinal, 0, "process_labels", "labels", fmt::format("\"GPU {}\"", device.ordinal));
        row_name(device.ordinal, 0, "process_sort_index", "sort_index", std::to_string(kFirstDeviceRow + device.ordinal));
        for (const StreamInfo& stream : topology_.streams)
            if (stream.device == static_cast<int>(d))
                row_name(device.ordinal, stream.number, "thread_name", "name", fmt::format("\"stream {} \"", stream.number));
    }
}

void KinetoFile::begin(std::string_view category, const Event& event, std::string_view json, std::int64_t pid, std::int64_t tid) {
    begin(category, json, pid, tid, clock_.at(event.start), clock_.at(event.start + event.duration));
}

void KinetoFile::begin(std::string_view category, std::string_view json, std::int64_t pid, std::int64_t tid, TimeNs from, TimeNs until) {
    ts_ = from - base_;
    file_->text(index_++ == 0 ? "\n  {\n    \"ph\": \"X\", \"cat\": \"" : ",\n  {\n    \"ph\": \"X\", \"cat\": \"");
    file_->text(category);
    file_->text("\", \"name\": \"");
    file_->text(json);
    file_->text("\", \"pid\": ");
    file_->number(pid);
    file_->text(", \"tid\": ");
    file_->number(tid);
    file_->text(",\n    \"ts\": ");
    file_->microseconds(ts_);
    file_->text(", \"dur\": ");
    file_->microseconds(until - from);
    file_->text(",\n    \"args\": {\n      ");
}

void KinetoFile::flow(bool start, std::int64_t pid, std::int64_t tid, TimeNs ts, std::uint32_t correlation) {
    file_->text(start ? ",\n  {\n    \"ph\": \"s\", \"id\": " : ",\n  {\n    \"ph\": \"f\", \"id\": ");
    file_->number(correlation);
    file_->text(", \"pid\": ");
    file_->number(pid);
    file_->text(", \"tid\": ");
    file_->number(tid);
    file_->text(", \"ts\": ");
    file_->microseconds(ts);
    file_->text(start ? ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\"\n  }"
                      : ",\n    \"cat\": \"ac2g\", \"name\": \"ac2g\", \"bp\": \"e\"\n  }");
}

void KinetoFile::event(const Event& event) {
    const NameFacts* facts = &scratch_;
    if (!event.text.empty()) {
        // Annotations are texts of their own, of which only the escaped form is needed.
        if (event.kind == EventKind::range || event.kind == EventKind::op) {
            scratch_.json.clear();
            append_escaped(scratch_.json, event.text);
        } else {
            scratch_ = name_facts(event.text);
        }
    } else {
        facts = &names_.of(event.name);
    }
    if (event.stream == StreamIndex::none || event.kind < EventKind::kernel) {
        host(event, *facts);
    } else {
        device(event, *facts);
    }
}

void KinetoFile::host(const Event& event, const NameFacts& facts) {
    const std::int64_t tid = event.thread == ThreadIndex::none ? pid_ : topology_.thread(event.thread).tid;
    begin(category_of(event.kind), event, facts.json, pid_, tid);
    if (event.kind == EventKind::python) {
        frame_arguments(event, facts);
    } else if (event.kind == EventKind::range || event.kind == EventKind::op) {
        file_->text("\"External id\": ");
        file_->number(event.external);
        file_->text(", \"Record function id\": 0, \"Ev Idx\": ");
        file_->number(index_);
    } else {
        if (event.external != 0) {
            file_->text("\"External id\": ");
            file_->number(event.external);
            file_->text(", ");
        }
        if (facts.callback != 0) {
            file_->text("\"cbid\": ");
            file_->number(facts.callback);
            file_->text(", ");
        }
        file_->text("\"correlation\": ");
        file_->number(event.correlation);
    }
    if (event.cut) file_->text(", \"finished\": false");
    file_->text("\n    }\n  }");
    if (event.kind == EventKind::range && event.external != 0) {
        device_ranges_.ended(event.external, facts.json);
        device_ranges(false);
    }
    if (!facts.launches || event.correlation == 0 || (event.kind != EventKind::runtime_call && event.kind != EventKind::driver_call)) return;
    flow(true, pid_, tid, ts_, event.correlation);
    if (event.around != 0) device_ranges_.launched(event.around);
}

void KinetoFile::frame_arguments(const Event& event, const NameFacts& facts) {
    file_->text("\"Python parent id\": ");
    if (event.around != 0)
        file_->number(event.around);
    else
        file_->text("null");
    file_->text(", \"Python id\": ");
    file_->number(event.external);
    if (facts.module >= 0) {
        file_->text(", \"Python module id\": ");
        file_->number(facts.module);
    }
    file_->text(", \"Ev Idx\": ");
    file_->number(index_);
}

void KinetoFile::device_ranges(bool at_end) {
    device_ranges_.tell_done(
        [this](std::uint32_t id, std::string_view json, const DeviceRanges::Stretch& stretch) {
            constexpr TimeNs kMargin = 1;  // by which Kineto draws them around their work (FORMATS §2.2)
            begin("gpu_user_annotation", json, topology_.device_of(stretch.stream).ordinal, topology_.stream(stretch.stream).number,
                  clock_.at(stretch.start) - kMargin, clock_.at(stretch.end) + kMargin);
            file_->text("\"External id\": ");
            file_->number(id);
            file_->text("\n    }\n  }");
        },
        at_end);
}

void KinetoFile::device(const Event& event, const NameFacts& facts) {
    const int ordinal = topology_.device_of(event.stream).ordinal;
    const int stream = topology_.stream(event.stream).number;
    std::string_view json = facts.json;
    if (json.empty() && event.kind == EventKind::memory_copy) json = copy_text(event.copy);
    if (json.empty() && event.kind == EventKind::memory_set) json = "Memset (Device)";
    begin(category_of(event.kind), event, json, ordinal, stream);
    if (event.external != 0) {
        file_->text("\"External id\": ");
        file_->number(event.external);
        file_->text(", ");
    }
    if (event.kind == EventKind::kernel) file_->text("\"queued\": 0, ");
    file_->text("\"device\": ");
    file_->number(ordinal);
    file_->text(", \"context\": 1,\n      \"stream\": ");
    file_->number(stream);
    file_->text(", \"correlation\": ");
    file_->number(event.correlation);
    if (event.graph_node != 0) {
        file_->text(", \"graph node id\": ");
        file_->number(event.graph_node);
    }
    if (event.kind == EventKind::kernel) {
        kernel_arguments(event, facts);
    } else if (event.bytes >= 0) {
        file_->text(",\n      \"bytes\": ");
        file_->number(event.bytes);
        if (event.duration > 0) {
            file_->text(", \"memory bandwidth (GB/s)\": ");
            file_->thousandths(static_cast<std::uint64_t>(event.bytes) * 1000 / static_cast<std::uint64_t>(event.duration));
        }
    }
    file_->text("\n    }\n  }");
    if (event.correlation != 0) flow(false, ordinal, stream, ts_, event.correlation);
    if (event.around != 0) device_ranges_.worked(event.around, event.stream, event.start, event.start + event.duration);
}

void KinetoFile::kernel_arguments(const Event& event, const NameFacts& facts) {
    if (event.block != 0) {
        // In single precision, as Kineto computes them: the last digits show it.
        const float blocks = static_cast<float>(event.grid) / static_cast<float>(gpu_.processors), warps = blocks * static_cast<float>(event.block) / 32.0F;
        const auto millionths = [](float value) { return static_cast<std::uint64_t>(static_cast<double>(value) * 1e6 + 0.5); };
        file_->text(",\n      \"registers per thread\": ");
        file_->number(facts.registers);
        file_->text(", \"shared memory\": ");
        file_->number(facts.shared);
        file_->text(",\n      \"blocks per SM\": ");
        file_->millionths(millionths(blocks));
        file_->text(", \"warps per SM\": ");
        file_->millionths(millionths(warps));
        file_->text(",\n      \"grid\": [");
        file_->number(event.grid);
        file_->text(", 1, 1],\n      \"block\": [");
        file_->number(event.block);
        file_->text(", 1, 1],\n      \"est. achieved occupancy %\": ");
        file_->number(occupancy_percent(gpu_, facts.registers, facts.shared, event.grid, event.block));
    }
    if (!facts.collective || event.group_size == 0) return;
    file_->text(",\n      \"Collective name\": \"");
    file_->text(facts.collective_name);
    file_->text("\", \"dtype\": \"BFloat16\"");
    if (event.bytes >= 0) {
        file_->text(", \"In msg nelems\": ");
        file_->number(event.bytes / 2);
        file_->text(", \"Out msg nelems\": ");
        file_->number(event.bytes / 2);
    }
    file_->text(", \"Group size\": ");
    file_->number(std::uint32_t{event.group_size});
}

void KinetoFile::counter(const CounterEvent& counter) {
    file_->text(index_++ == 0 ? "\n  {\n" : ",\n  {\n");
    const std::string of = counter.device >= 0 ? fmt::format("GPU {}: ", counter.device) : std::string();
    file_->text(fmt::format("    \"ph\": \"C\", \"name\": \"{}{} [{}]\", \"pid\": {}, \"tid\": 0,\n    \"ts\": ", of, escaped(counter.name),
                            escaped(counter.unit), pid_));
    file_->microseconds(clock_.at(counter.time) - base_);
    file_->text(fmt::format(", \"args\": {{ \"\": {:.6g} }}\n  }}", counter.value));
}

Result<void> KinetoFile::finish(TimeNs end) {
    device_ranges(true);
    file_->text(index_ == 0 ? "\n" : ",\n");
    file_->text("  {\n    \"name\": \"Record Window End\", \"ph\": \"i\", \"s\": \"g\",\n    \"pid\": \"\", \"tid\": \"\", \"ts\": ");
    file_->microseconds(clock_.at(end) - base_);
    file_->text("\n  }\n  ],\n  \"traceName\": \"/tmp/");
    file_->text(std::to_string(pid_));
    file_->text(".pt.trace.json\"\n}\n");
    return file_->finish();
}

}  // namespace faultline::simulator
