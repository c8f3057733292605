// What never goes on: a rank that dies or stops, a kernel or a collective without an end, an engine that throws. The others wait; watchdogs write.
#include <algorithm>

#include <fmt/format.h>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;

/// How a kind stops, and what is written about it.
enum class Stop : std::uint8_t { rank_thread, rank_kernel, all_kernels, collective, engine, dummy };

Stop stop_of(std::string_view id) {
    if (id == "B9" || id == "C6") return Stop::rank_kernel;
    if (id == "B11" || id == "A11") return Stop::all_kernels;
    if (id == "D2" || id == "D14") return Stop::collective;
    if (id == "E14" || id == "E16" || id == "A8" || id == "C10") return Stop::engine;
    if (id == "D10") return Stop::dummy;
    return Stop::rank_thread;  // A3, C4, C5, D1
}

class Hang final : public Mechanism {
public:
    Hang(FaultSettings settings, const Noise& noise)
        : Mechanism(std::move(settings), noise,
                    {.scope = stop_of(settings.info->id) == Stop::engine                                                            ? Scope::core
                              : stop_of(settings.info->id) == Stop::all_kernels || settings.info->id == "D2" || settings.info->id == "D10" ? Scope::all
                                                                                                                                     : Scope::rank,
                     .gap = true,
                     .structural = true}) {}

    void begin(FaultReach& reach) override {
        Mechanism::begin(reach);
        if (id() == "A8") {  // it swells first
            reach.machine.disturb({.what = Disturbance::What::slow_host, .start = settings_.start, .end = middle(), .factor = size(), .threads = {place(reach).core}});
        }
    }
    void before_launch(std::span<const StepPlan> plans) override {
        if (id() != "D10" || skipping_) return;
        const auto dummy = std::find_if(plans.begin(), plans.end(), [](const StepPlan& p) { return p.kind == StepKind::dummy; });
        if (dummy != plans.end()) skipping_ = dummy->instance;
    }
    bool change_program(ThreadProgram& program, const StepPlan& plan, FaultReach& reach) override {
        if (program.part == ProgramPart::idle && active(time_of(program, reach))) idled_ = true;
        if (program.program.step == 0 || !active(time_of(program, reach)) || (done_ != 0 && done_ != program.program.step)) return false;
        if (id() == "A8" && time_of(program, reach) < middle()) return false;
        if (stop_of(id()) == Stop::engine) return stop_engine(program, plan, reach);
        if (stop_of(id()) == Stop::dummy) return skip_dummy(program, reach);
        if (program.part != ProgramPart::worker) return false;
        if (id() == "A3" && plan.context_tokens == 0 && done_ == 0) return false;
        if (!befalls(program.instance, rank_of(program, reach))) return false;
        ProgramEdit edit(program.program, reach.names);
        switch (stop_of(id())) {
            case Stop::rank_thread: return stop_thread(edit, plan, reach);
            case Stop::rank_kernel:
            case Stop::all_kernels: return endless_kernel(edit, plan);
            case Stop::collective: return endless_collective(edit, plan);
            default: return false;
        }
    }
    bool stuck(TimeNs now, TimeNs& at, FaultReach& reach) override;
    [[nodiscard]] std::vector<int> culprit_ranks(const StepRecord& record) const override {
        // Ranks are numbered within their instance: those that run nothing, whosever step it is.
        return id() == "D10" && skipping_ ? record.ranks : Mechanism::culprit_ranks(record);
    }

private:
    [[nodiscard]] TimeNs middle() const { return settings_.start + (settings_.end - settings_.start) / 2; }

    bool stop_engine(ThreadProgram& program, const StepPlan&, FaultReach& reach) {
        ProgramEdit edit(program.program, reach.names);
        if (id() == "C10") {  // after a rest the order never reaches the workers
            if (!idled_ && time_of(program, reach) < middle()) return false;
            const auto order = edit.range_of({Role::rpc});
            if (program.part == ProgramPart::begin_core && order) {
                // Workers that rested since before the window are told once more.
                if (!active(reach.machine.now(worker(reach, 0)))) return false;
                edit.mark_range(*order);
            } else if (program.part == ProgramPart::worker) {
                edit.cut(0, false);
                edit.wait_for(reach.machine.new_signal());
            } else {
                return false;
            }
            done_ = program.program.step;
            return true;
        }
        const bool worker = id() == "E16" || engine_ == Engine::fsdp;  // there a rank is the engine
        if (worker && engine_ == Engine::fsdp && !on_core(program, reach)) return false;
        if (worker ? program.part != ProgramPart::worker : !(program.part == ProgramPart::begin_core && on_core(program, reach))) return false;
        if (one_instance_ && program.instance != instance()) return false;
        const auto range = worker ? edit.range_of({Role::prepare_inputs, Role::model_forward}) : edit.range_of({Role::schedule, Role::step});
        if (!range) return false;
        edit.mark_range(*range);
        edit.cut(*range + 1, id() == "E16");
        edit.wait_for(reach.machine.new_signal());
        done_ = program.program.step;
        return true;
    }
    bool stop_thread(ProgramEdit& edit, const StepPlan& plan, FaultReach& reach) {
        const bool before_collective = id() == "D1";
        std::vector<std::size_t> places;
        for (std::size_t i = 0; i < edit.size(); ++i) {
            const Op& op = edit.at(i);
            if (before_collective ? is_collective(op) : is_gemm(op.role) && is_device_work(op)) places.push_back(i);
        }
        if (places.empty()) return false;
        const std::size_t at = edit.host_place(places[places.size() / 2]);
        if (const auto range = edit.range_of({Role::model_forward, Role::step})) edit.mark_range(*range);
        std::size_t end = at;
        if (id() == "A3") end = edit.put_call(at, "cudaMalloc", 2'400'000, Role::allocate);
        if (id() == "C4") {
            end = edit.put_call(at, "cudaEventQuery", 3'000, Role::query);
            end = edit.put_call(end, "cudaFree", jittered(seconds(), plan.step), Role::free);
        }
        // The last call before the stop stands for it.
        for (std::size_t i = end; i > 0; --i) {
            if (!is_call(edit.at(i - 1))) continue;
            edit.at(i - 1).suspect = true;
            break;
        }
        edit.cut(end, id() == "A3");
        edit.wait_for(reach.machine.new_signal());
        done_ = plan.step;
        return true;
    }
    bool endless_kernel(ProgramEdit& edit, const StepPlan& plan) {
        std::size_t last = edit.size();
        const bool copy = id() == "A11";
        for (std::size_t i = 0; i < edit.size(); ++i) {
            const Op& op = edit.at(i);
            if (copy ? op.role == Role::token_copy && is_device_work(op) : is_attention(op.role) && is_device_work(op)) {
                last = i;
                if (!copy && op.layer >= 7) break;
            }
        }
        if (last == edit.size()) return false;
        edit.at(last).device_cost = kForever;
        edit.at(last).suspect = true;
        for (std::size_t i = last; i > 0; --i) {  // the last one that was seen to end
            if (!is_device_work(edit.at(i - 1))) continue;
            edit.at(i - 1).suspect = true;
            break;
        }
        if (const auto range = edit.range_of({copy ? Role::bookkeeping : Role::model_forward, Role::step})) edit.mark_range(*range);
        done_ = plan.step;
        return true;
    }
    bool endless_collective(ProgramEdit& edit, const StepPlan& plan) {
        for (std::size_t i = edit.size() / 2; i < edit.size(); ++i) {
            if (!is_collective(edit.at(i))) continue;
            edit.at(i).device_cost = kForever;
            edit.at(i).suspect = true;
            for (std::size_t k = i; k > 0; --k) {
                if (!is_device_work(edit.at(k - 1))) continue;
                edit.at(k - 1).suspect = true;
                break;
            }
            if (const auto range = edit.range_of({Role::model_forward, Role::step})) edit.mark_range(*range);
            done_ = plan.step;
            return true;
        }
        return false;
    }
    /// One instance rests and launches nothing, not even its dummy step; the busy ones never get out of their first exchange of tokens.
    bool skip_dummy(ThreadProgram& program, const FaultReach& reach) {
        if (!skipping_ || program.program.step == 0) return false;
        if (program.part != ProgramPart::worker) return false;
        if (program.instance == *skipping_) {
            program.program.ops.clear();
            return true;
        }
        ProgramEdit edit(program.program, reach.names);
        const auto dispatch = edit.work_of({Role::expert_dispatch});
        if (!dispatch) return false;
        edit.at(*dispatch).suspect = true;
        // Neither it nor a graph that holds it is ever seen to end: the last work before it, its launch, and the forward stand for it.
        bool before = false;
        for (std::size_t i = *dispatch; i > 0; --i) {
            Op& op = edit.at(i - 1);
            if (is_device_work(op) && !before) op.suspect = before = true;
            if (edit.at(*dispatch).kind == OpKind::node && op.kind == OpKind::graph_launch) {
                op.suspect = true;
                break;
            }
        }
        if (const auto range = edit.range_of({Role::model_forward, Role::step})) edit.mark_range(*range);
        return true;
    }
    [[nodiscard]] std::string culprit_words(const StepRecord& record) const override {
        if (id() != "D10" || !skipping_) return {};
        const int instance = static_cast<int>(*skipping_);
        if (record.plan.instance == *skipping_) return fmt::format("the ranks of DP{} show no kernels of this step and", instance);
        return fmt::format("the ranks of DP{} have no kernels at all, and rank {} of DP{} shows", instance, record.ranks.empty() ? 0 : record.ranks.front(),
                           static_cast<int>(record.plan.instance));
    }

    bool idled_ = false;
    std::optional<InstanceIndex> skipping_;  ///< the one that launches no dummy step (D10)
    StepNumber done_ = 0;  ///< the step that does not end; all ranks of it are changed
};

bool Hang::stuck(TimeNs now, TimeNs& at, FaultReach& reach) {
    const int rank = first_rank();
    const ProcessIndex core = core_process(reach), victim = worker_process(reach, rank);
    const std::int64_t pid = reach.host.topology().process(victim).pid;
    const auto kernel_log = [&](TimeNs after, std::string text) { write(reach, now + after, victim, LogLevel::error, "", 0, std::move(text), LogLayout::kernel); };
    const auto engine = [&](TimeNs after, LogLevel level, std::string_view file, int line, std::string text) {
        write(reach, now + after, core, level, file, line, std::move(text));
    };
    const std::string dead = sglang() ? "SIGQUIT received. signum=None, frame=None. It usually means one child failed." : "EngineCore encountered a fatal error.";
    TimeNs last = 12 * kSecond;
    if (id() == "A3") {
        const std::string text = "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 384.00 MiB. GPU 0 has a total capacity of 79.11 GiB of which 211.94 MiB is "
                                 "free. Of the allocated memory 74.20 GiB is allocated by PyTorch, and 402.27 MiB is reserved by PyTorch but unallocated.";
        write(reach, now + kSecond / 4, victim, LogLevel::error, "multiproc_executor.py", 596, text);
        engine(kSecond / 2, LogLevel::error, "core.py", 845, dead);
    } else if (id() == "A8") {
        kernel_log(kSecond / 2, fmt::format("Out of memory: Killed process {} (python) total-vm:91230452kB, anon-rss:62914560kB, file-rss:71680kB", reach.host.topology().process(core).pid));
        write(reach, now + 2 * kSecond, ProcessIndex{}, LogLevel::error, "core_client.py", 562, sglang() ? dead : "Engine core proc EngineCore_0 died unexpectedly, shutting down client.");
    } else if (id() == "B9") {
        write(reach, now + kSecond / 3, victim, LogLevel::error, "ProcessGroupNCCL.cpp", 2057,
              fmt::format("[PG ID 2 PG GUID 3 Rank {}] Process group watchdog thread terminated with exception: CUDA error: an illegal memory access was encountered", rank),
              LogLayout::torch_cpp);
        engine(kSecond, LogLevel::error, "core.py", 845, dead);
    } else if (id() == "C4") {
        kernel_log(6 * kSecond, fmt::format("NVRM: Xid (PCI:0000:3b:00): 119, pid={}, name=python, Timeout after 6s of waiting for RPC response from GPU0 GSP! Expected function 76 "
                                            "(GSP_RM_CONTROL) (0x20802a02 0x8).", pid));
    } else if (id() == "C5") {
        kernel_log(kSecond / 5, fmt::format("NVRM: Xid (PCI:0000:06:00): 79, pid='<unknown>', name=<unknown>, GPU has fallen off the bus."));
    } else if (id() == "C6") {
        kernel_log(kSecond / 10, fmt::format("NVRM: Xid (PCI:0000:5e:00): 48, pid={}, name=python, DBE (double bit error) ECC Error", pid));
        kernel_log(kSecond / 10 + 4'000'000, "NVRM: Xid (PCI:0000:5e:00): 63, pid='<unknown>', name=<unknown>, Row Remapper: New row marked for remapping, reset gpu to activate.");
    } else if (id() == "D1") {
        last = 605 * kSecond;
        for (std::size_t r = 0; r < place(reach).workers.size(); ++r) {
            if (static_cast<int>(r) == rank) continue;
            write(reach, now + 600 * kSecond + static_cast<TimeNs>(r) * 3'000'000, worker_process(reach, static_cast<int>(r)), LogLevel::error, "ProcessGroupNCCL.cpp", 632,
                  fmt::format("[Rank {}] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=158046, OpType=ALLREDUCE, NumelIn=32768, NumelOut=32768, "
                              "Timeout(ms)=600000) ran for 600027 milliseconds before timing out.", r),
                  LogLayout::torch_cpp);
        }
    } else if (id() == "D14") {
        kernel_log(kSecond / 4, fmt::format("NVRM: Xid (PCI:0000:ab:00): 43, pid={}, name=python, Ch 00000008", pid));
    } else if (id() == "E16") {
        engine(kSecond / 10, LogLevel::error, "core.py", 845, dead + "\nTraceback (most recent call last):\n  File \"vllm/v1/worker/gpu_model_runner.py\", line 1062, in _prepare_inputs\n"
                                                               "    req_indices = np.repeat(self.arange_np[:num_reqs], num_scheduled_tokens)\nValueError: repeats may not contain negative values.");
    }
    const bool silent = id() == "D14" || id() == "B9" || id() == "A3" || id() == "A8" || id() == "E16";
    if (!silent && sglang()) {
        last = std::max(last, 302 * kSecond);
        if (id() == "E14") {
            const std::int64_t total = reach.device.kv_blocks() * std::max(reach.options.deployment.block_size, 1), available = std::min<std::int64_t>(256, total / 2);
            engine(kSecond / 5, LogLevel::error, "scheduler_runtime_checker_mixin.py", 214,
                   fmt::format("[full] total={}, available={}, evictable={}, protected=0", total, available, total - available));
        }
        write(reach, now + 300 * kSecond, core, LogLevel::error, "", 0, "Scheduler watchdog timeout (self.watchdog_timeout=300, self.soft=False)");
    } else if (!silent && engine_ != Engine::fsdp) {
        last = std::max(last, 65 * kSecond);
        engine(60 * kSecond, LogLevel::info, "shm_broadcast.py", 501,
               "No available shared memory broadcast block found in 60 seconds. This typically happens when some processes are hanging or doing some time-consuming work "
               "(e.g. compilation, weight/kv cache quantization).");
        if (id() == "B11" || id() == "C6" || id() == "C10") {
            last = 305 * kSecond;
            engine(300 * kSecond, LogLevel::error, "core.py", 845, "EngineCore encountered a fatal error.\nTimeoutError: RPC call to sample_tokens timed out.");
        }
    }
    at = now + last;
    return true;
}

}  // namespace

std::unique_ptr<Fault> make_hangs(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    for (const std::string_view known : {"A3", "A8", "A11", "B9", "B11", "C4", "C5", "C6", "C10", "D1", "D2", "D10", "D14", "E14", "E16"}) {
        if (id == known) return std::make_unique<Hang>(settings, noise);
    }
    return nullptr;
}

}  // namespace faultline::simulator
