#include "ml/simulator/faults/fault.h"

#include <array>
#include <cassert>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {

std::unique_ptr<Fault> Fault::make(FaultSettings settings, const Noise& noise) {
    assert(settings.info != nullptr);
    constexpr std::array<Maker, 15> kMakers{make_host_holes,       make_host_slowdowns,     make_host_code,       make_api_inserts,
                                            make_kernel_changes,   make_graph_changes,      make_device_slowdowns, make_collective_changes,
                                            make_hangs,            make_scheduler_faults,   make_front_end_faults, make_transfer_faults,
                                            make_structure_faults, make_look_alikes,        make_attention_fallback};
    for (const Maker maker : kMakers) {
        if (auto fault = maker(settings, noise)) return fault;
    }
    assert(false && "every kind of the catalogue has a mechanism");
    return nullptr;
}

void Fault::configure(RunOptions&, bool) {}
void Fault::begin(FaultReach&) {}
void Fault::before_schedule(SchedulerKnobs&, InstanceIndex, TimeNs, FaultReach&) {}
bool Fault::change_plan(StepPlan&, FaultReach&) { return false; }
bool Fault::change_kernels(StepKernels&, const StepPlan&, int, FaultReach&) { return false; }
bool Fault::change_program(ThreadProgram&, const StepPlan&, FaultReach&) { return false; }
void Fault::after_step(const StepRecord&, FaultReach&) {}
void Fault::before_launch(std::span<const StepPlan>) {}
double Fault::tokenize_factor(const Request&, TimeNs) { return 1; }
TimeNs Fault::transfer_time(const Request&, TimeNs usual, TimeNs) const { return usual; }
TransferEnd Fault::transfer_end(const Request&, TimeNs, TimeNs, FaultReach&) { return TransferEnd::arrives; }
HeldSlots Fault::held(InstanceIndex, const Scheduler&, TimeNs) const { return {}; }
bool Fault::told_by(std::string_view) const { return false; }
bool Fault::stuck(TimeNs, TimeNs&, FaultReach&) { return false; }
std::vector<int> Fault::culprit_ranks(const StepRecord&) const { return {}; }
std::string Fault::explain(const StepRecord&) const { return {}; }
std::string Fault::explain(const RequestRecord&) const { return {}; }

}  // namespace faultline::simulator
