#include "ml/simulator/campaign/pilot.h"

#include <algorithm>

#include "ml/simulator/base/silent_sink.h"

namespace faultline::simulator {
namespace {

constexpr int kLeadIn = 12;    // steps: a closed loop begins with all of its prompts at once
constexpr int kEnough = 30;    // steps of a phase
constexpr int kMostSteps = 700;

/// Steps of each phase, from the lead-in to where there are enough of both.
struct PhaseCount {
    int steps = 0, prefill = 0, decode = 0;
    TimeNs from = 0, to = 0;

    bool add(const StepPlan& plan) {
        if (++steps == kLeadIn) from = plan.scheduled;
        if (steps <= kLeadIn) return false;
        to = plan.scheduled;
        ++(plan.context_tokens > 0 ? prefill : decode);
        return (prefill >= kEnough && decode >= kEnough) || steps >= kMostSteps;
    }
};

}  // namespace

Result<double> pilot_length(const SimulationJob& job, std::stop_token stop) {
    RunOptions options = job.options;
    options.duration_s = kLongestRun;
    options.max_steps = kMostSteps;
    options.recording.operators = options.recording.python = options.recording.samples = options.recording.counters = false;
    std::optional<FaultChoice> scenario = job.fault;
    if (scenario) scenario->inject = false;
    SilentSink nowhere;
    PhaseCount count;
    std::stop_source enough;
    const std::stop_callback asked(stop, [&] { enough.request_stop(); });
    SimulationHooks hooks;
    hooks.sink = &nowhere;
    hooks.completed = [&](const StepPlan& plan, const StepOutcome&, const Scheduler&) {
        if (count.add(plan)) enough.request_stop();
    };
    const auto served = simulate_into(options, scenario, hooks, enough.get_token());
    if (!served && served.error().code != ErrorCode::cancelled) return tl::unexpected<Error>(served.error());
    if (stop.stop_requested()) return fail(ErrorCode::cancelled, "The simulation was stopped");
    if (count.prefill == 0 || count.decode == 0) return kLongestRun;
    const double seconds = static_cast<double>(count.to - count.from) / 1e9;
    const double prefill = options.deployment.engine == Engine::fsdp ? kFsdpHistory : kHistory;
    const double half = seconds * std::max(prefill / count.prefill, kHistory / count.decode);
    return static_cast<double>(static_cast<int>(std::clamp(2 * half, kShortestRun, kLongestRun) * 10)) / 10;
}

Result<SimulationSummary> simulate_with_history(const SimulationJob& job, const Progress& progress) {
    const auto length = pilot_length(job, progress.stop);
    if (!length) return tl::unexpected<Error>(length.error());
    SimulationJob run = job;
    run.options.duration_s = *length;
    return simulate(run, progress);
}

}  // namespace faultline::simulator
