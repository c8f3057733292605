// What looks like a fault and is none (FAULTS §6). Most of it lies in load and recording (needs.cpp); here is what happens while a run lasts.
#include <algorithm>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

class LookAlike final : public Mechanism {
public:
    LookAlike(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::all}) {}

    void begin(FaultReach& reach) override {
        Mechanism::begin(reach);
        if (id() != "L18") return;
        // One factor over the whole capture.
        std::vector<int> devices;
        for (std::size_t d = 0; d < reach.host.topology().devices.size(); ++d) devices.push_back(static_cast<int>(d));
        const TimeNs from = reach.options.start, to = from + static_cast<TimeNs>(1e9 * (reach.options.duration_s + 600));
        reach.machine.disturb({.what = Disturbance::What::slow_host, .start = from, .end = to, .factor = size(), .threads = all_threads(reach), .suspect = false});
        reach.machine.disturb({.what = Disturbance::What::slow_all, .start = from, .end = to, .factor = 1 + 0.5 * (size() - 1), .devices = devices, .suspect = false});
    }
    void before_schedule(SchedulerKnobs& knobs, InstanceIndex instance, TimeNs now, FaultReach& reach) override {
        if (!active(now)) return;
        if (id() == "L7") knobs.prefix_cache = false;
        if (id() == "L13") knobs.draft_acceptance = 0.92;
        if (id() == "L8" && !done_ && instance == this->instance()) knobs.retract = 1;
        if (id() == "L17" && now >= next_) {
            next_ = now + seconds();
            for (const ThreadIndex t : place(reach).background) {
                Program program;
                program.add({.kind = OpKind::push, .role = Role::background});
                program.add({.kind = OpKind::work, .cost = 400'000});
                program.add({.kind = OpKind::pop});
                reach.machine.run(t, std::move(program), now);
            }
        }
    }
    /// The steps that look like something: truth names the look-alike there, and no fault.
    bool change_plan(StepPlan& plan, FaultReach&) override {
        if (!active(plan.scheduled)) return false;
        const auto any = [&](auto says) { return std::any_of(plan.requests.begin(), plan.requests.end(), says); };
        if (id() == "L1" || id() == "L7") return plan.context_tokens > 0;
        if (id() == "L2") return plan.kind == StepKind::decode;
        if (id() == "L8") done_ = done_ || !plan.preempted.empty();
        if (id() == "L8") return !plan.preempted.empty() || any([](const auto& r) { return r.resumed; });
        if (id() == "L9") return plan.finished.size() >= 3;
        if (id() == "L10") return plan.kind == StepKind::decode && plan.generation_requests == 1;
        if (id() == "L13") return any([](const auto& r) { return r.accepted > 0; });
        if (id() == "L15") return plan.kind == StepKind::dummy;
        if (id() == "L16") return any([](const auto& r) { return !r.context && r.generated_before <= 1; });
        if (id() == "L18") return true;
        if (id() == "L19") return any([](const auto& r) { return r.top_k || r.logprobs; });
        return false;
    }
    bool change_kernels(StepKernels& kernels, const StepPlan& plan, int, FaultReach&) override {
        if (id() != "L3" || !active(plan.scheduled) || kernels.padded_batch == 0) return false;
        const bool grown = kernels.padded_batch > padded_ && padded_ > 0;
        padded_ = kernels.padded_batch;
        return grown;
    }
    bool change_program(ThreadProgram& program, const StepPlan& plan, FaultReach& reach) override {
        if (program.part != ProgramPart::worker || !at_worker(program, reach)) return false;
        ProgramEdit edit(program.program, reach.names);
        if (id() == "L12") return late(edit, plan, rank_of(program, reach), reach);
        const bool stalls = id() == "L5" || id() == "L6" || id() == "L11" || id() == "L20";
        if (!stalls || (step_ != 0 && step_ != plan.step)) return false;
        const auto work = edit.work_of({id() == "L6" ? Role::all_reduce : Role::attention, Role::lm_head});
        if (!work) return false;
        std::size_t place = edit.host_place(*work);
        if (id() == "L5") {
            for (std::uint64_t n = 0; n < 4; ++n) place = edit.put_call(place, "cuModuleLoadData", jittered(2'500'000, n), Role::module_load, false);
            edit.put_call(place, "cudaMalloc", 1'200'000, Role::allocate, false);
        } else if (id() == "L6") {
            edit.put_call(place, "cuMemCreate", jittered(seconds(), 1), Role::driver_other, false);
        } else {
            rest(edit, place, jittered(id() == "L11" ? milliseconds() : seconds(), 1));
        }
        if (step_ == 0) line(plan, program, reach);
        step_ = plan.step;
        return true;
    }
    [[nodiscard]] TimeNs transfer_time(const Request&, TimeNs usual, TimeNs now) const override {
        return id() == "L16" && active(now) ? static_cast<TimeNs>(static_cast<double>(usual) * size()) : usual;
    }

private:
    /// Its usual jitter, a little more of it now and then.
    bool late(ProgramEdit& edit, const StepPlan& plan, int rank, const FaultReach& reach) const {
        const std::size_t ranks = place(reach).workers.size();
        if (uniform(plan.step) > 0.15 || rank != static_cast<int>(noise_.below(ranks, Draw::fault_choice, plan.step, 21))) return false;
        const auto range = edit.range_of({Role::prepare_inputs, Role::model_forward});
        if (range) rest(edit, edit.host_place(*range + 1), jittered(microseconds(), plan.step));
        return range.has_value();
    }
    /// Host time that nobody is to be blamed for.
    static void rest(ProgramEdit& edit, std::size_t place, TimeNs time) { edit.put(place, {.kind = OpKind::work, .cost = time}); }
    void line(const StepPlan& plan, const ThreadProgram& program, FaultReach& reach) const {
        const auto say = [&](std::string_view file, int number, std::string text) {
            reach.logs.push_back({plan.scheduled + 100'000'000, process(reach, program.thread), LogLevel::info, LogLayout::engine, std::string(file), number, std::move(text), false});
        };
        if (id() == "L6") {
            reach.logs.push_back({plan.scheduled + 50'000'000, process(reach, program.thread), LogLevel::info, LogLayout::nccl_info, "init.cc", 0,
                                  "ncclCommInitRankConfig comm 0x55d1c0a3b2f0 rank 0 nranks 2 cudaDev 0 busId 3b000 - Init START", false});
        }
        if (id() == "L11") say("eplb_state.py", 512, "Rearranging experts ...");
        if (id() == "L20") say("worker_manager.py", 96, "Loaded new LoRA adapter: name 'adapter-07', path '/models/adapters/07'");
    }

    bool done_ = false;
    StepNumber step_ = 0;
    TimeNs next_ = 0;
    int padded_ = 0;
};

}  // namespace

std::unique_ptr<Fault> make_look_alikes(const FaultSettings& settings, const Noise& noise) {
    if (settings.info->look_alike) return std::make_unique<LookAlike>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
