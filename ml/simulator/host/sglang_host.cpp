// SGLang: every rank schedules the same batch and launches it, in one process (ENGINES §1.3, §2.5). Overlap mode runs one batch ahead.
#include <utility>

#include "ml/simulator/host/engines.h"

namespace faultline::simulator {
namespace {

/// Rank 0 broadcasts what it received over gloo.
constexpr TimeNs kBroadcast = 110'000;

class SglangHost final : public EngineHost {
public:
    using EngineHost::EngineHost;
    [[nodiscard]] std::unique_ptr<HostModel> clone() const override { return std::make_unique<SglangHost>(*this); }

    [[nodiscard]] StepPrograms begin(const StepPlan& plan, const std::vector<StepKernels>& kernels, Machine& machine) override;
    [[nodiscard]] std::vector<ThreadProgram> end(const StepPlan& plan, const StepOutcome& outcome, Machine& machine) override;
    [[nodiscard]] std::vector<ThreadProgram> end_turn(InstanceIndex instance) override;

private:
    [[nodiscard]] ThreadProgram program(const StepPlan& plan, std::size_t rank, ProgramPart part, Program ops) const {
        return thread_program(at(plan.instance).workers[rank], part, plan.instance, static_cast<int>(rank), std::move(ops));
    }
};

StepPrograms SglangHost::begin(const StepPlan& plan, const std::vector<StepKernels>& kernels, Machine& machine) {
    const InstancePlaces& place = at(plan.instance);
    StepPrograms step;
    step.text = words_.step(plan);
    step.done = machine.new_signal();
    std::vector<std::uint32_t> copies;
    const std::uint32_t requests = machine.new_signal();
    for (std::size_t r = 0; r < place.workers.size(); ++r) {
        ProgramWriter w(kit_, &machine, plan.step);
        w.push_base(BaseFrames::core);
        w.push(Role::step);
        if (r == 0) {
            w.push(Role::add_request);
            w.work(Role::add_request, 11'000);
            w.pop(Role::add_request);
            if (place.workers.size() > 1) w.set(requests, kBroadcast);
        } else {
            w.push(Role::rpc_wait);
            w.wait(Role::rpc_wait, requests);
            w.pop(Role::rpc_wait);
        }
        write_schedule(w, plan);
        if (plan.kind == StepKind::idle) {
            step.programs.push_back(program(plan, r, ProgramPart::begin_core, w.take()));
            continue;
        }
        step.programs.push_back(program(plan, r, ProgramPart::begin_core, w.take()));
        ProgramWriter run(kit_, &machine, plan.step);
        run.push(Role::rpc);
        run.push_text(Role::step, step.text);
        write_requests(run, plan, static_cast<int>(r));
        copies.push_back(machine.new_signal());
        write_forward(run, plan, kernels[r]);
        write_sampling(run, plan, kernels[r], place.ranks[r], copies.back(), !asynchronous());
        run.pop_one(Role::step);
        run.pop(Role::rpc);
        if (r == 0 && !asynchronous()) run.set(step.done, 0);
        step.programs.push_back(program(plan, r, ProgramPart::worker, run.take()));
        if (r == 0 && asynchronous()) {
            // Who waits for the copy of the tokens is the loop itself, one batch later; the event alone says when they are there.
            ProgramWriter out(kit_, &machine, plan.step);
            out.push(Role::event_wait);
            out.wait_event(copies.back());
            out.pop(Role::event_wait);
            out.set(step.done, 0);
            step.programs.push_back(thread_program(place.output_threads.front(), ProgramPart::output, plan.instance, 0, out.take()));
        }
    }
    if (plan.kind != StepKind::idle) in_flight_[plan.step] = {kNoSignal, step.done};
    return step;
}

std::vector<ThreadProgram> SglangHost::end(const StepPlan& plan, const StepOutcome& outcome, Machine& machine) {
    std::vector<ThreadProgram> programs;
    const Flight flight = in_flight_.at(plan.step);
    for (std::size_t r = 0; r < at(plan.instance).workers.size(); ++r) {
        ProgramWriter w(kit_, &machine, plan.step);
        if (r == 0 || asynchronous()) {
            w.push(Role::wait_output);
            w.wait(Role::wait_output, flight.reply);
            w.pop(Role::wait_output);
        }
        write_update(w, plan, outcome);
        programs.push_back(program(plan, r, ProgramPart::end_core, w.take()));
    }
    in_flight_.erase(plan.step);
    forget_ids(plan);
    return programs;
}

std::vector<ThreadProgram> SglangHost::end_turn(InstanceIndex instance) {
    std::vector<ThreadProgram> programs;
    StepPlan plan;
    plan.instance = instance;
    for (std::size_t r = 0; r < at(instance).workers.size(); ++r) {
        ProgramWriter w(kit_, nullptr, 0);
        w.pop(Role::step);
        w.pop_base(BaseFrames::core);
        programs.push_back(program(plan, r, ProgramPart::turn_end, w.take()));
    }
    return programs;
}

}  // namespace

std::unique_ptr<HostModel> make_sglang_host(const RunOptions& options, const DeviceModel& device, Names& names, const Noise& noise, TimeNs start) {
    return std::make_unique<SglangHost>(options, device, names, noise, start);
}

}  // namespace faultline::simulator
