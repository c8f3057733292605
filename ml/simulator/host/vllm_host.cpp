// vLLM: v1 with an engine core and workers (one process where TP is 1), v0 with the engine as rank 0 (ENGINES §1.1, §1.2, §2.1, §2.2, §2.4).
#include <utility>

#include "ml/simulator/host/engines.h"

namespace faultline::simulator {
namespace {

/// Shared-memory queues between the core and its workers; v0 broadcasts over gloo.
constexpr TimeNs kOrderTransport = 70'000, kReplyTransport = 55'000, kBroadcastTransport = 160'000;

class VllmHost final : public EngineHost {
public:
    using EngineHost::EngineHost;
    [[nodiscard]] std::unique_ptr<HostModel> clone() const override { return std::make_unique<VllmHost>(*this); }

    [[nodiscard]] StepPrograms begin(const StepPlan& plan, const std::vector<StepKernels>& kernels, Machine& machine) override;
    [[nodiscard]] std::vector<ThreadProgram> end(const StepPlan& plan, const StepOutcome& outcome, Machine& machine) override;

private:
    void write_core(ProgramWriter& w, const StepPlan& plan, const std::vector<std::uint32_t>& orders, bool in_core) const;
    void write_execute(ProgramWriter& w, const StepPlan& plan, const StepKernels& kernels, int rank, const std::string& text) const;
    /// What the core does while the devices work, and the call that samples (ENGINES §2.1).
    void write_sample_call(ProgramWriter& w, const StepPlan& plan) const;
    [[nodiscard]] bool v0() const { return options_.deployment.engine == Engine::vllm_v0; }
};

void VllmHost::write_core(ProgramWriter& w, const StepPlan& plan, const std::vector<std::uint32_t>& orders, bool in_core) const {
    w.push_base(BaseFrames::core);
    write_arrivals(w, plan);
    w.push(Role::step);
    write_schedule(w, plan);
    if (plan.kind == StepKind::idle) return;
    w.push(Role::rpc);
    w.work(Role::rpc, 24'000 + 900 * static_cast<TimeNs>(plan.requests.size()));
    for (const std::uint32_t order : orders) w.set(order, v0() ? kBroadcastTransport : kOrderTransport);
    if (in_core) return;  // its own rank's part lies inside of the call
    w.pop(Role::rpc);
    write_sample_call(w, plan);
    w.pop(Role::sample_rpc);
}

void VllmHost::write_sample_call(ProgramWriter& w, const StepPlan& plan) const {
    write_grammar_bitmask(w, plan);
    w.push(Role::sample_rpc);
    w.work(Role::sample_rpc, 13'000);
}

void VllmHost::write_execute(ProgramWriter& w, const StepPlan& plan, const StepKernels& kernels, int rank, const std::string& text) const {
    const bool python = options_.recording.python;
    if (python) w.push_named(Role::step, EventKind::python, v0() ? "vllm/worker/worker_base.py(361): execute_model" : "vllm/v1/worker/gpu_worker.py(534): execute_model");
    w.push_text(Role::step, text);
    write_requests(w, plan, rank);
    write_forward(w, plan, kernels);
    w.pop_one(Role::step);
    if (python) w.pop_one(Role::step);
}

StepPrograms VllmHost::begin(const StepPlan& plan, const std::vector<StepKernels>& kernels, Machine& machine) {
    const InstancePlaces& place = at(plan.instance);
    StepPrograms step;
    step.text = words_.step(plan);
    const auto add = [&](ThreadIndex thread, ProgramPart part, int rank, Program program) {
        step.programs.push_back(thread_program(thread, part, plan.instance, rank, std::move(program)));
    };
    const std::size_t ranks = plan.kind == StepKind::idle ? 0 : place.workers.size();
    std::vector<std::uint32_t> orders;
    const std::size_t in_core = !place.workers.empty() && place.workers.front() == place.core ? 1 : 0;
    for (std::size_t r = in_core; r < ranks; ++r) orders.push_back(machine.new_signal());
    Flight flight;
    flight.reply = machine.new_signal();
    ProgramWriter core(kit_, &machine, plan.step);
    write_core(core, plan, orders, in_core > 0);
    add(place.core, ProgramPart::begin_core, -1, core.take());
    for (std::size_t r = 0; r < ranks; ++r) {
        ProgramWriter w(kit_, &machine, plan.step);
        const bool inside = r < in_core;
        if (!inside) {
            w.push_base(BaseFrames::worker);
            w.push(Role::rpc_wait);
            w.wait(Role::rpc_wait, orders[r - in_core]);
            w.pop(Role::rpc_wait);
        }
        const std::uint32_t copied = machine.new_signal();
        write_execute(w, plan, kernels[r], place.ranks[r].rank, step.text);
        if (inside) {
            w.pop(Role::rpc);
            write_sample_call(w, plan);
        }
        write_sampling(w, plan, kernels[r], place.ranks[r], copied, !asynchronous());
        const bool replies = !asynchronous() || kernels[r].logits.empty();
        if (!inside && replies) write_part(w, Role::reply, 9'000);
        if (r == 0 && replies) w.set(flight.reply, inside ? 0 : kReplyTransport);
        if (inside) {
            w.pop(Role::sample_rpc);
        } else {
            w.pop_base(BaseFrames::worker);
        }
        add(place.workers[r], ProgramPart::worker, static_cast<int>(r), w.take());
        if (replies) continue;
        ProgramWriter out(kit_, &machine, plan.step);
        out.push(Role::event_wait);
        out.wait_event(copied);
        out.work(Role::event_wait, 18'000);
        out.pop(Role::event_wait);
        if (r == 0) out.set(flight.reply, inside ? 4'000 : kReplyTransport);
        add(place.output_threads[r], ProgramPart::output, static_cast<int>(r), out.take());
    }
    step.done = flight.reply;
    if (ranks > 0) in_flight_[plan.step] = flight;
    return step;
}

std::vector<ThreadProgram> VllmHost::end(const StepPlan& plan, const StepOutcome& outcome, Machine& machine) {
    ProgramWriter w(kit_, &machine, plan.step);
    w.push(Role::wait_output);
    w.wait(Role::wait_output, in_flight_.at(plan.step).reply);
    w.pop(Role::wait_output);
    write_update(w, plan, outcome);
    in_flight_.erase(plan.step);
    forget_ids(plan);
    std::vector<ThreadProgram> programs;
    programs.push_back(thread_program(at(plan.instance).core, ProgramPart::end_core, plan.instance, -1, w.take()));
    return programs;
}

}  // namespace

std::unique_ptr<HostModel> make_vllm_host(const RunOptions& options, const DeviceModel& device, Names& names, const Noise& noise, TimeNs start) {
    return std::make_unique<VllmHost>(options, device, names, noise, start);
}

}  // namespace faultline::simulator
