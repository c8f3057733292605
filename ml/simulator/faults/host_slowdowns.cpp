// Everything on the host takes a multiple of its time: too few CPUs (A6), the wrong socket or clock (C8), a heap that was not frozen (E17).
#include <array>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

class HostSlowdown final : public Mechanism {
public:
    HostSlowdown(FaultSettings settings, const Noise& noise, Scope scope) : Mechanism(std::move(settings), noise, {.scope = scope}) {}

    void begin(FaultReach& reach) override {
        Mechanism::begin(reach);
        std::vector<ThreadIndex> threads;
        if (manner_.scope != Scope::rank && settings_.ranks.empty()) {
            threads = all_threads(reach);
        } else {
            // What one process runs: all of its threads.
            for (const int rank : settings_.ranks) {
                for (const ThreadIndex t : all_threads(reach)) {
                    if (process(reach, t) == worker_process(reach, rank)) threads.push_back(t);
                }
            }
        }
        // Only what an engineer would point at is marked, below; the disturbance stretches everything.
        reach.machine.disturb({.what = Disturbance::What::slow_host,
                               .start = settings_.start,
                               .end = settings_.end,
                               .factor = size(),
                               .threads = std::move(threads),
                               .suspect = false});
    }
    bool change_kernels(StepKernels& kernels, const StepPlan& plan, int rank, FaultReach&) override {
        if (id() != "C8" || !at_kernels(plan, rank)) return false;
        bool changed = false;
        for (Op& op : kernels.inputs) {  // copies from the other socket's memory
            if (op.copy == CopyKind::none) continue;
            op.device_cost = static_cast<TimeNs>(static_cast<double>(op.device_cost) * (1 + 0.5 * (size() - 1)));
            op.suspect = changed = true;
        }
        return changed;
    }
    bool change_program(ThreadProgram& program, const StepPlan&, FaultReach& reach) override {
        if (!at_worker(program, reach)) return false;
        ProgramEdit edit(program.program, reach.names);
        bool changed = false;
        if (const auto range = edit.range_of({Role::prepare_inputs, Role::model_forward, Role::step})) {
            edit.mark_range(*range);
            changed = true;
        }
        for (Op& op : program.program.ops) {
            if (op.kind != OpKind::graph_launch && !(op.kind == OpKind::launch && is_gemm(op.role))) continue;
            op.suspect = changed = true;
        }
        return changed;
    }
};

}  // namespace

std::unique_ptr<Fault> make_host_slowdowns(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "A6" || id == "E17") return std::make_unique<HostSlowdown>(settings, noise, Scope::all);
    if (id == "C8") return std::make_unique<HostSlowdown>(settings, noise, Scope::rank);
    return nullptr;
}

}  // namespace faultline::simulator
