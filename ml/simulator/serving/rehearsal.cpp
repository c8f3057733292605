#include "ml/simulator/serving/rehearsal.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "ml/simulator/base/silent_sink.h"

namespace faultline::simulator {
namespace {

bool on_device(const Event& event) {
    return event.kind == EventKind::kernel || event.kind == EventKind::memory_copy || event.kind == EventKind::memory_set;
}

class DeviceEnd final : public SilentSink {
public:
    explicit DeviceEnd(StepNumber step) : step_(step) {}
    void event(const Event& event) override {
        if (event.step == step_ && on_device(event)) end = std::max(end, event.start + event.duration);
    }

    TimeNs end = 0;

private:
    StepNumber step_;
};

void play(Machine& machine, std::vector<ThreadProgram> programs) {
    for (ThreadProgram& p : programs) machine.run(p.thread, std::move(p.program), p.not_before);
    machine.advance();
}

}  // namespace

StepRehearsal rehearse_step(const Machine& machine, const HostModel& host, const StepPlan& plan, const std::vector<StepKernels>& kernels) {
    Machine copy = machine;
    DeviceEnd device(plan.step);
    copy.set_sink(&device);
    copy.calm();
    StepPrograms programs = host.clone()->begin(plan, kernels, copy);
    play(copy, std::move(programs.programs));
    return {device.end, copy.signal_time(programs.done)};
}

TimeNs rehearse_end(const Machine& machine, const HostModel& host, const StepPlan& plan, const StepOutcome& outcome, ThreadIndex core) {
    Machine copy = machine;
    copy.set_sink(nullptr);
    copy.calm();
    play(copy, host.clone()->end(plan, outcome, copy));
    return copy.now(core);
}

}  // namespace faultline::simulator
