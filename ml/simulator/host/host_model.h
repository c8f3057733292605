// The host side of an engine: its processes and threads, what they do in a step, and what they write about it (ENGINES §1, §2, §3, §6).
//
// Programs always open every semantic range, with its role; a range that the chosen dialect does not write has neither name nor text, and
// writers leave it out (stack samples still see it). Launches get operators and Python frames around them where those are recorded.
// One turn of an engine's loop is begin(N) then end(N); with asynchronous scheduling (and SGLang's overlap) begin(N+1) then end(N); end_turn()
// closes it. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ml/simulator/base/names.h"
#include "ml/simulator/base/noise.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/base/topology.h"
#include "ml/simulator/device/device_model.h"
#include "ml/simulator/machine/machine.h"
#include "ml/simulator/workload/scheduler.h"

namespace faultline::simulator {

struct InstancePlaces {
    InstanceDuty duty = InstanceDuty::both;
    ThreadIndex core = ThreadIndex::none;      ///< of the loop that schedules: EngineCore, v0's engine, SGLang's scheduler 0, FSDP's rank 0
    std::vector<ThreadIndex> workers;          ///< that launch, by rank; workers[0] == core where they are in one process
    std::vector<ThreadIndex> output_threads;   ///< WorkerAsyncOutputCopy by rank; empty without asynchronous scheduling
    std::vector<ThreadIndex> background;       ///< exporter, grammar pool, watchdog: threads that do little
    ThreadIndex transfer = ThreadIndex::none;  ///< asks prefill instances for KV caches; of decode instances alone
    std::vector<RankPlace> ranks;
};

struct Places {
    ThreadIndex api = ThreadIndex::none;          ///< event loop of the API server; none: offline and FSDP
    ThreadIndex detokenizer = ThreadIndex::none;  ///< SGLang
    ThreadIndex client = ThreadIndex::none;       ///< that gave an offline batch and takes its texts
    std::vector<InstancePlaces> instances;
};

/// Which piece of a step a program is, for faults that look for their place.
enum class ProgramPart : std::uint8_t { begin_core, worker, output, end_core, turn_end, idle, api, start_up, follower };

struct ThreadProgram {
    ThreadIndex thread = ThreadIndex::none;
    Program program;
    TimeNs not_before = 0;
    ProgramPart part{};
    InstanceIndex instance{};
    int rank = -1;  ///< of workers
};

struct StepPrograms {
    std::vector<ThreadProgram> programs;
    std::uint32_t done = kNoSignal;  ///< set when the step's tokens are with the core: StepOutcome may be computed from then on
    std::string text;                ///< the name under which the step stands in the capture; empty where the dialect writes none
};

class HostModel {
public:
    static std::unique_ptr<HostModel> make(const RunOptions& options, const DeviceModel& device, Names& names, const Noise& noise, TimeNs start);
    virtual ~HostModel() = default;
    /// A model in the same state, for the rehearsal of a turn on a copy of the machine; it refers to the same device model and names.
    [[nodiscard]] virtual std::unique_ptr<HostModel> clone() const = 0;

    [[nodiscard]] const Topology& topology() const { return topology_; }
    /// Groups and signals that last for the run; fills in RankPlace::group. Once, before anything else.
    virtual void prepare(Machine& machine) = 0;
    [[nodiscard]] const Places& places() const { return places_; }

    /// Begins turns: schedules `plan` and launches it on all ranks; `kernels` by rank.
    [[nodiscard]] virtual StepPrograms begin(const StepPlan& plan, const std::vector<StepKernels>& kernels, Machine& machine) = 0;
    /// The core takes the tokens of `plan` (waits for its `done`), updates, sends outputs.
    [[nodiscard]] virtual std::vector<ThreadProgram> end(const StepPlan& plan, const StepOutcome& outcome, Machine& machine) = 0;
    [[nodiscard]] virtual std::vector<ThreadProgram> end_turn(InstanceIndex instance) = 0;
    /// Nothing to run until `until`: the core sleeps on its queue (or polls: SGLang).
    [[nodiscard]] virtual std::vector<ThreadProgram> idle(InstanceIndex instance, TimeNs until, Machine& machine) = 0;

    /// A request comes to the API server at `request.sent`: HTTP, tokenising, hand-over; `arrived` is set when the scheduler has it. Where there is no API
    /// server the core itself takes it. `tokenize_factor` stretches its tokenising (E9, E13).
    [[nodiscard]] virtual ThreadProgram arrival(const Request& request, std::uint32_t arrived, Machine& machine, double tokenize_factor) = 0;
    /// Tokens of a step go back to the clients at `time`: detokenising and SSE for `tokens` of `requests`; `sent` is set when the last has gone out.
    [[nodiscard]] virtual std::vector<ThreadProgram> deliver(int requests, int tokens, TimeNs time, std::uint32_t sent, Machine& machine) = 0;

    /// The KV cache of a request is asked for by the instance that decodes it, at `time`; without a thread where there is none that does so.
    [[nodiscard]] virtual ThreadProgram take_over(const Request& request, TimeNs time) = 0;

    /// Start of all processes: load, profile run, compile, graph capture.
    [[nodiscard]] virtual std::vector<ThreadProgram> start_up(Machine& machine) = 0;

protected:
    Topology topology_;
    Places places_;
};

}  // namespace faultline::simulator
