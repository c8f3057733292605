#include "tests/support/planted_service.h"

#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <fstream>
#include <functional>
#include <memory>
#include <string_view>
#include <utility>

#include "tests/support/planted_model.h"
#include "tests/support/planted_schedule.h"

namespace faultline::test {

namespace {

constexpr TimeNs kBase = 1'767'225'600'000'000'000;  ///< baseTimeNanoseconds: 2026-01-01 00:00:00 UTC
constexpr TimeNs kBegin = 1'209'833'417'000'123;     ///< of the first step, after the base
constexpr TimeNs kMicro = 1'000, kMilli = 1'000'000;

struct DeviceOp {
    PlannedKernel kernel;
    TimeNs ready = 0;  ///< when its launch has arrived
    std::int64_t correlation = 0;
    int graph_node = -1;
    int bytes = 0;  ///< of a copy; 0 for a kernel
    bool to_device = true;
    TimeNs start = 0, end = 0;
};

std::string time_text(TimeNs ns) { return fmt::format("{}.{:03}", ns / kMicro, ns % kMicro); }

/// The engine process of one rank: its main thread, and the events it leaves.
class Rank {
public:
    Rank(const ServiceOptions& options, int rank) : options_(options), rank_(rank), pid_(4211 + rank), now_(kBegin - 400 * kMicro) {
        meta("process_name", pid_, "VLLM::EngineCore");
        meta("process_labels", pid_, "CPU", "labels");
        meta("process_labels", 0, "GPU 0", "labels");
        lines_.push_back(fmt::format(
            R"json({{"ph":"M","name":"thread_name","pid":{},"tid":{},"args":{{"name":"thread {} (python)"}}}})json", pid_, pid_, pid_));
    }

    TimeNs now() const { return now_; }
    void spend(TimeNs ns) { now_ += ns; }
    void wait_until(TimeNs t) { now_ = std::max(now_, t); }

    void annotation(std::string_view name, const std::function<void()>& inside) { nested("user_annotation", name, inside, true); }
    void range(std::string_view name, const std::function<void()>& inside) { nested("user_annotation", name, inside, options_.calls); }
    void op(std::string_view name, const std::function<void()>& inside) { nested("cpu_op", name, inside, options_.calls); }
    void frame(std::string_view name, const std::function<void()>& inside) {
        const std::int64_t id = ++frames_, parent = open_frame_;
        open_frame_ = id;
        const TimeNs start = now_;
        inside();
        open_frame_ = parent;
        if (options_.calls)
            event("python_function", name, pid_, pid_, start, now_ - start,
                  fmt::format(R"("Python parent id":{},"Python id":{})", parent == 0 ? "null" : std::to_string(parent), id));
    }

    std::int64_t call(std::string_view name, TimeNs ns, TimeNs until = 0) {
        const TimeNs start = now_;
        now_ = std::max(now_ + ns, until);
        ++correlation_;
        if (options_.calls)
            event(name == "cuLaunchKernelEx" ? "cuda_driver" : "cuda_runtime", name, pid_, pid_, start, now_ - start,
                  fmt::format(R"("External id":{},"correlation":{})", external_, correlation_));
        return correlation_;
    }

    void launch(PlannedKernel kernel, TimeNs host_ns) {
        const std::int64_t id = call("cudaLaunchKernel", host_ns);
        ops.push_back({std::move(kernel), now_ + 3 * kMicro, id});
    }
    void copy(int bytes, bool to_device) {
        const std::int64_t id = call("cudaMemcpyAsync", 4'500);
        ops.push_back({{to_device ? "Memcpy HtoD (Pinned -> Device)" : "Memcpy DtoH (Device -> Pinned)", 1'400},
                       now_ + 2 * kMicro,
                       id,
                       -1,
                       bytes,
                       to_device});
    }
    void launch_graph(std::vector<PlannedKernel> kernels, TimeNs host_ns) {
        const std::int64_t id = call("cudaGraphLaunch", host_ns);
        int node = 0;
        for (PlannedKernel& k : kernels) ops.push_back({std::move(k), now_ + 5 * kMicro, id, node++});
    }

    /// Writes the device work that was given its times, and forgets it.
    void write_device_work() {
        for (const DeviceOp& op : ops) {
            if (options_.graph_rows && op.graph_node >= 0) continue;
            std::string args = R"("device":0,"context":1,"stream":7)";
            if (options_.calls) args += fmt::format(R"(,"correlation":{})", op.correlation);
            if (op.bytes > 0) args += fmt::format(R"(,"bytes":{})", op.bytes);
            if (op.graph_node >= 0) args += fmt::format(R"(,"graph id":1,"graph node id":{})", 100'000 + op.graph_node);
            event(op.bytes > 0 ? "gpu_memcpy" : "kernel", op.kernel.name, 0, 7, op.start, op.end - op.start, args);
        }
        ops.clear();
    }

    std::string json() const {
        std::string text = fmt::format(
            R"({{"schemaVersion":1,"deviceProperties":[{{"id":0,"name":"NVIDIA H100 80GB HBM3"}}],"baseTimeNanoseconds":{},)", kBase);
        if (options_.ranks > 1)
            text += fmt::format(R"("distributedInfo":{{"backend":"nccl","rank":{},"world_size":{}}},)", rank_, options_.ranks);
        text += "\"traceEvents\":[\n";
        for (std::size_t i = 0; i < lines_.size(); ++i) text += (i == 0 ? "" : ",\n") + lines_[i];
        return text + "\n]}\n";
    }

    std::deque<DeviceOp> ops;
    TimeNs device_free = 0;

private:
    void nested(std::string_view category, std::string_view name, const std::function<void()>& inside, bool write) {
        const TimeNs start = now_;
        const std::int64_t outer = external_;
        external_ = ++externals_;
        const std::int64_t own = external_;
        now_ += 1'200;
        inside();
        now_ += 700;
        external_ = outer;
        if (write) event(category, name, pid_, pid_, start, now_ - start, fmt::format(R"("External id":{})", own));
    }
    void event(std::string_view category, std::string_view name, int pid, int tid, TimeNs start, TimeNs ns, std::string_view args) {
        lines_.push_back(fmt::format(R"({{"ph":"X","cat":"{}","name":"{}","pid":{},"tid":{},"ts":{},"dur":{},"args":{{{}}}}})", category,
                                     name, pid, tid, time_text(start), time_text(ns), args));
    }
    void meta(std::string_view what, int pid, std::string_view value, std::string_view key = "name") {
        lines_.push_back(fmt::format(R"({{"ph":"M","name":"{}","pid":{},"tid":0,"args":{{"{}":"{}"}}}})", what, pid, key, value));
    }

    const ServiceOptions& options_;
    int rank_, pid_;
    TimeNs now_;
    std::int64_t correlation_ = 80'000, external_ = 0, externals_ = 0, frames_ = 0, open_frame_ = 0;
    std::vector<std::string> lines_;
};

/// All ranks of the service, step by step.
class Serving {
public:
    explicit Serving(const ServiceOptions& options) : options_(options), chance_(options.seed), model_(options_, chance_) {
        schedule_ = make_schedule(options, chance_);
        for (int r = 0; r < options.ranks; ++r) ranks_.push_back(std::make_unique<Rank>(options_, r));
    }

    PlantedService run() {
        PlantedService service;
        for (std::size_t i = 0; i < schedule_.steps.size(); ++i) {
            service.steps.push_back(serve(schedule_.steps[i], i));
            if (schedule_.steps[i].planted == Plant::endless_kernel) break;
        }
        for (const std::unique_ptr<Rank>& rank : ranks_) service.traces.push_back(rank->json());
        service.requests = requests(service.steps);
        service.log = service_log(service.steps, service.requests);
        return service;
    }

private:
    PlannedStep serve(const ScheduledStep& step, std::size_t at) {
        PlannedStep planned{step.text(), step.phase(), step.tokens(), step.batch(), {}, step.planted, 0, 0};
        for (const std::size_t r : step.requests) planned.requests.push_back(schedule_.requests[r].id);
        const bool decode_kernels = step.phase() == StepPhase::decode && step.planted != Plant::contradiction;
        const std::vector<PlannedKernel> kernels = model_.forward(step, decode_kernels);
        for (std::size_t r = 0; r < ranks_.size(); ++r) {
            Rank& rank = *ranks_[r];
            rank.range("schedule: allocate_slots", [&] { rank.spend(chance_.about(60'000, 0.2)); });
            rank.spend(chance_.about(90'000, 0.2));
            if (step.planted == Plant::late_rank && r == 1) rank.spend(20 * kMilli);
            if (r == 0) planned.start = rank.now() + kBase;
            execute(rank, step, at, kernels);
            sample(rank, step);
        }
        run_device(step);
        for (const std::unique_ptr<Rank>& rank : ranks_) {
            planned.end = std::max(planned.end, rank->ops.back().end + kBase);
            finish(*rank, step);
        }
        after(step);
        return planned;
    }

    void execute(Rank& rank, const ScheduledStep& step, std::size_t at, const std::vector<PlannedKernel>& kernels) {
        const bool graph = step.phase() == StepPhase::decode && step.planted != Plant::eager && step.planted != Plant::contradiction;
        rank.annotation(step.text(), [&] {
            rank.range("gpu_model_runner: preprocess", [&] {
                rank.spend(chance_.about(60'000 + 3'000.0 * static_cast<double>(step.batch()), 0.1));
                if (at == 0) rank.call("cuModuleLoadData", 18 * kMilli);
                if (step.planted == Plant::long_malloc) rank.call("cudaMalloc", 25 * kMilli);
                if (step.planted == Plant::long_free) rank.call("cudaFree", 25 * kMilli);
                for (int i = 0; i < 3; ++i) rank.op("aten::copy_", [&] { rank.copy(8 * static_cast<int>(step.tokens()), true); });
                rank.op("vllm::compute_slot_mapping", [&] { rank.launch({"_compute_slot_mapping_kernel", 2'900}, chance_.about(4'000)); });
                if (step.planted == Plant::long_sync) rank.call("cudaStreamSynchronize", 25 * kMilli);
            });
            rank.range("gpu_model_runner: forward", [&] {
                if (graph) {
                    rank.op("vllm::graph_replay", [&] { rank.launch_graph(kernels, chance_.about(70'000)); });
                    return;
                }
                for (const PlannedKernel& k : kernels)
                    rank.op(op_of(k), [&] {
                        rank.spend(chance_.about(9'000));
                        rank.launch(k, chance_.about(4'200));
                    });
            });
        });
    }

    static std::string_view op_of(const PlannedKernel& k) {
        if (k.attention) return "vllm::unified_attention_with_output";
        if (k.collective) return "vllm::all_reduce";
        return k.name.starts_with("nvjet") || k.name.find("gemvx") != std::string::npos ? "aten::mm" : "_C::fused";
    }

    void sample(Rank& rank, const ScheduledStep& step) {
        const double rows = static_cast<double>(step.batch());
        const double factor = step.planted == Plant::slow_kernels || step.slow ? 2.5 : 1;
        rank.range("gpu_model_runner: postprocess", [&] {
            rank.op("aten::index_select", [&] { rank.launch({"indexSelectSmallIndex", chance_.about(3'000)}, chance_.about(4'200)); });
            rank.op("aten::mm", [&] {
                rank.launch({"nvjet_tst_256x8_64x6_2x1_v_bz_TNT", chance_.about((280'000 + 500 * rows) * factor)}, chance_.about(4'200));
            });
        });
        rank.range("gpu_model_runner: sample", [&] {
            rank.frame("vllm/v1/sample/sampler.py(88): forward", [&] {
                rank.spend(chance_.about(30'000));
                if (step.planted == Plant::host_stall)
                    rank.frame("vllm/utils/torch_utils.py(170): make_ndarray_with_pad", [&] { rank.spend(30 * kMilli); });
                rank.op("aten::softmax", [&] {
                    rank.launch({"void cunn_SoftMaxForward<4, float, float, float>()", chance_.about((21'000 + 900 * rows) * factor)},
                                chance_.about(4'200));
                });
                rank.op("aten::argmax", [&] {
                    rank.launch(
                        {"void reduce_kernel<512, 1, ReduceOp<float, ArgMaxOps<float>>>()", chance_.about((15'000 + 700 * rows) * factor)},
                        chance_.about(4'200));
                });
            });
        });
        rank.op("aten::copy_", [&] { rank.copy(8 * static_cast<int>(step.batch()), false); });
    }

    /// Gives the device work of all ranks its times; a collective ends on every rank at once.
    void run_device(const ScheduledStep& step) {
        const std::size_t count = ranks_.front()->ops.size();
        std::size_t last_endless = count;
        if (step.planted == Plant::endless_kernel)
            for (std::size_t i = 0; i < count; ++i)
                if (ranks_.front()->ops[i].kernel.collective || (options_.ranks == 1 && ranks_.front()->ops[i].graph_node >= 0))
                    last_endless = i;
        for (std::size_t i = 0; i < count; ++i) {
            TimeNs latest = 0;
            for (const std::unique_ptr<Rank>& rank : ranks_) {
                DeviceOp& op = rank->ops[i];
                op.start = std::max(rank->device_free + (op.graph_node >= 0 ? 750 : 900), op.ready);
                latest = std::max(latest, op.start);
            }
            for (const std::unique_ptr<Rank>& rank : ranks_) {
                DeviceOp& op = rank->ops[i];
                op.end = (op.kernel.collective ? latest : op.start) + op.kernel.ns;
                if (i == last_endless) op.end = op.start + 30'000 * kMilli;
                rank->device_free = op.end;
            }
        }
    }

    void finish(Rank& rank, const ScheduledStep& step) {
        const TimeNs end = rank.ops.back().end;
        rank.range("gpu_model_runner: bookkeep", [&] {
            rank.call("cudaStreamSynchronize", 3'000, end + 4 * kMicro);
            rank.spend(chance_.about(25'000 + 3'000.0 * static_cast<double>(step.batch()), 0.1));
        });
        rank.write_device_work();
    }

    /// The next step starts on all ranks when the last is done.
    void after(const ScheduledStep& step) {
        TimeNs next = 0;
        for (const std::unique_ptr<Rank>& rank : ranks_) next = std::max(next, rank->now());
        for (const std::unique_ptr<Rank>& rank : ranks_) {
            rank->wait_until(next);
            if (step.planted == Plant::stall || step.planted == Plant::idle) rank->spend(3'000 * kMilli);
            if (step.planted == Plant::empty_schedule)
                for (int i = 0; i < 150; ++i) {
                    rank->range("schedule: allocate_slots", [&] { rank->spend(chance_.about(60'000, 0.2)); });
                    rank->spend(20 * kMilli);
                }
        }
    }

    std::vector<PlannedRequest> requests(const std::vector<PlannedStep>& steps) {
        std::vector<PlannedRequest> all;
        for (PlannedRequest r : schedule_.requests) {
            const auto first = static_cast<std::size_t>(r.first_step), last = static_cast<std::size_t>(r.last_step);
            if (first >= steps.size()) continue;
            r.arrival = steps[first].start - 4 * kMilli;
            const bool hung = steps.back().planted == Plant::endless_kernel && last + 1 >= steps.size();
            r.end = hung ? 0 : steps[std::min(last, steps.size() - 1)].end + kMilli;
            all.push_back(std::move(r));
        }
        return all;
    }

    const ServiceOptions options_;
    Chance chance_;
    PlantedModel model_;
    Schedule schedule_;
    std::vector<std::unique_ptr<Rank>> ranks_;
};

bool write_text(const std::string& path, const std::string& text) {
    std::ofstream file(path, std::ios::binary);
    file << text;
    return static_cast<bool>(file.flush());
}

}  // namespace

int PlantedService::position(Plant what) const {
    for (std::size_t i = 0; i < steps.size(); ++i)
        if (steps[i].planted == what) return static_cast<int>(i);
    return -1;
}

PlantedService make_service(const ServiceOptions& options) { return Serving(options).run(); }

bool write_service(PlantedService& service, const std::string& folder) {
    service.trace_paths.clear();
    for (std::size_t r = 0; r < service.traces.size(); ++r) {
        service.trace_paths.push_back(fmt::format("{}/rank{}.pt.trace.json", folder, r));
        if (!write_text(service.trace_paths.back(), service.traces[r])) return false;
    }
    service.log_path = folder + "/service.log";
    return write_text(service.log_path, service.log);
}

}  // namespace faultline::test
