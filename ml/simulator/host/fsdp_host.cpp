// FSDP inference: identical ranks, each with the same loop around generate(); no scheduler (ENGINES §1.4, §2.6).
#include <utility>

#include <fmt/format.h>

#include "ml/simulator/host/engines.h"

namespace faultline::simulator {
namespace {

class FsdpHost final : public EngineHost {
public:
    using EngineHost::EngineHost;
    [[nodiscard]] std::unique_ptr<HostModel> clone() const override { return std::make_unique<FsdpHost>(*this); }

    [[nodiscard]] StepPrograms begin(const StepPlan& plan, const std::vector<StepKernels>& kernels, Machine& machine) override;
    [[nodiscard]] std::vector<ThreadProgram> end(const StepPlan& plan, const StepOutcome& outcome, Machine& machine) override;
    [[nodiscard]] std::vector<ThreadProgram> end_turn(InstanceIndex) override { return {}; }

private:
    void write_units(ProgramWriter& w, const std::vector<Op>& forward) const;
};

/// The forward unit by unit, with what FSDP writes about each (ENGINES §3).
void FsdpHost::write_units(ProgramWriter& w, const std::vector<Op>& forward) const {
    const Dialect dialect = options_.recording.dialect;
    const bool units = dialect != Dialect::none && dialect != Dialect::semantic;
    std::vector<Op> part;
    int open = -2;
    const auto flush = [&] {
        if (part.empty()) return;
        w.operations(part);
        part.clear();
    };
    const auto close = [&] {
        flush();
        if (open > -2 && units) w.pop_one(Role::model_forward);
        open = -2;
    };
    for (const Op& op : forward) {
        if (op.role == Role::all_gather) {
            close();
            if (units) {
                const std::string name = op.layer < 0 ? std::string("root") : fmt::format("layers.{}", op.layer);
                w.push_text(Role::all_gather, dialect == Dialect::engine_older ? "FullyShardedDataParallel._pre_forward" : fmt::format("FSDP::all_gather ({})", name));
            }
            w.operations({op});
            if (units) w.pop_one(Role::all_gather);
            continue;
        }
        if (op.role == Role::event_record || op.role == Role::event_wait) {
            flush();
            part.push_back(op);
            continue;
        }
        if (units && op.layer != open) {
            close();
            open = op.layer;
            const std::string name = op.layer < 0 ? std::string("root") : fmt::format("layers.{}", op.layer);
            w.push_text(Role::model_forward, dialect == Dialect::engine_older ? "FullyShardedDataParallel._post_forward" : fmt::format("FSDP::pre_forward ({})", name));
        }
        part.push_back(op);
    }
    close();
}

StepPrograms FsdpHost::begin(const StepPlan& plan, const std::vector<StepKernels>& kernels, Machine& machine) {
    const InstancePlaces& place = at(plan.instance);
    StepPrograms step;
    step.text = words_.step(plan);
    step.done = machine.new_signal();
    if (plan.kind == StepKind::idle) return step;
    for (std::size_t r = 0; r < place.workers.size(); ++r) {
        ProgramWriter w(kit_, &machine, plan.step);
        w.push_base(BaseFrames::core);
        write_part(w, Role::schedule, 60'000 + 500 * static_cast<TimeNs>(plan.requests.size()));  // generate(): masks, cache positions
        w.push_text(Role::step, step.text);
        write_requests(w, plan, static_cast<int>(r));
        w.push(Role::prepare_inputs);
        w.work(Role::prepare_inputs, 40'000);
        w.operations(kernels[r].inputs);
        w.pop(Role::prepare_inputs);
        w.push(Role::model_forward);
        write_units(w, kernels[r].forward);
        w.pop(Role::model_forward);
        w.push(Role::compute_logits);
        w.operations(kernels[r].logits);
        w.pop(Role::compute_logits);
        const std::uint32_t copied = machine.new_signal();
        write_sampling(w, plan, kernels[r], place.ranks[r], copied, true);
        w.pop_one(Role::step);
        w.pop_base(BaseFrames::core);
        if (r == 0) w.set(step.done, 0);
        step.programs.push_back(thread_program(place.workers[r], ProgramPart::worker, plan.instance, static_cast<int>(r), w.take()));
    }
    return step;
}

std::vector<ThreadProgram> FsdpHost::end(const StepPlan& plan, const StepOutcome&, Machine& machine) {
    std::vector<ThreadProgram> programs;
    forget_ids(plan);
    for (std::size_t r = 0; r < at(plan.instance).workers.size(); ++r) {
        ProgramWriter w(kit_, &machine, plan.step);
        write_part(w, Role::update_from_output, 22'000 + 800 * static_cast<TimeNs>(plan.requests.size()));
        programs.push_back(thread_program(at(plan.instance).workers[r], ProgramPart::end_core, plan.instance, static_cast<int>(r), w.take()));
    }
    return programs;
}

}  // namespace

std::unique_ptr<HostModel> make_fsdp_host(const RunOptions& options, const DeviceModel& device, Names& names, const Noise& noise, TimeNs start) {
    return std::make_unique<FsdpHost>(options, device, names, noise, start);
}

}  // namespace faultline::simulator
