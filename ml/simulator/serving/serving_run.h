// Drives one run: takes turns with the engine's loops in the order of their clocks, lets the fault act, keeps the records. One thread.
//
// What a fault costs is measured, not assumed: while it may act, each turn is first rehearsed on a copy of the machine as it would be without it.
#pragma once

#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <stop_token>
#include <vector>

#include "ml/simulator/serving/front_door.h"
#include "ml/simulator/serving/gauges.h"
#include "ml/simulator/serving/simulation.h"
#include "ml/simulator/serving/step_book.h"

namespace faultline::simulator {

/// What the run is made of; built by simulate(), borrowed by the run.
struct RunParts {
    const RunOptions& options;
    const Noise& noise;
    Names& names;
    DeviceModel& device;
    HostModel& host;
    LogVoice& voice;
    Fault* fault = nullptr;  ///< null: none is injected
    TimeNs start = 0, end = 0;
};

struct RunListener {
    std::function<void(const StepRecord&, FaultClass)> step;
    std::function<void(const Request&, FaultClass, const RequestRecord&)> request;
    std::function<void(const StepPlan&, const StepOutcome&, const Scheduler&)> completed;
};

class ServingRun {
public:
    ServingRun(const RunParts& parts, Sink& sink, RunListener listener, std::function<std::string(ProcessIndex)> file_of);
    ~ServingRun();

    /// Serves from the start to the end, or until the run stands still. False: stopped.
    bool serve(std::stop_token stop);
    [[nodiscard]] const SimulationSummary& summary() const { return summary_; }
    [[nodiscard]] TimeNs ended() const { return ended_; }

private:
    struct Flight;
    struct Loop;

    /// The instances that take their turns together: one, or all that share collectives (expert parallelism).
    [[nodiscard]] std::vector<std::size_t> next_turn() const;
    void turn(const std::vector<std::size_t>& instances);
    [[nodiscard]] StepPlan schedule(std::size_t instance, TimeNs now);
    void launch(std::size_t instance, StepPlan plan, StepPlan unchanged);
    void finish_step(std::size_t instance);
    void wait_for_work(std::size_t instance, TimeNs now);
    void spin(std::size_t instance, TimeNs now);
    void run_all(std::vector<ThreadProgram> programs, const StepPlan& plan, Flight* flight);
    void close(Flight& flight, TimeNs core_lost);
    void depart(const Request& request);
    /// By how much a worker is behind the others when a step begins, held by what befell it before.
    [[nodiscard]] TimeNs carried(std::size_t instance) const;
    void stand_still(std::size_t instance);
    void settle(TimeNs now);
    void tell_held(std::size_t instance, TimeNs now);  ///< to the statistics
    [[nodiscard]] bool may_act(TimeNs now) const;
    [[nodiscard]] TimeNs now(std::size_t instance) const;
    [[nodiscard]] FrontDoor::Scene scene();

    RunParts parts_;
    RunListener listener_;
    Machine machine_;
    LogQueue logs_;
    std::vector<LogDraft> fault_logs_;
    Gauges gauges_;
    StepBook book_;
    FaultReach reach_;
    std::vector<Scheduler> schedulers_;
    FrontDoor door_;
    std::vector<Loop> loops_;
    std::map<RequestNumber, TouchedRequest> touched_requests_;  ///< of requests that are still served
    SimulationSummary summary_;
    StepNumber steps_ = 0;
    TimeNs ended_ = 0;
    bool together_ = false;  ///< all instances in lockstep
};

}  // namespace faultline::simulator
