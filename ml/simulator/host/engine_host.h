// What the hosts of all engines share: places, the API server, writing steps. Private to this folder.
#pragma once

#include <map>
#include <utility>

#include "ml/simulator/host/host_model.h"
#include "ml/simulator/host/program_writer.h"

namespace faultline::simulator {

class EngineHost : public HostModel {
public:
    EngineHost(const RunOptions& options, const DeviceModel& device, Names& names, const Noise& noise, TimeNs start);
    EngineHost(const EngineHost& other) : HostModel(other), options_(other.options_), device_(other.device_), names_(other.names_), noise_(other.noise_),
          words_(other.words_), paths_(other.paths_), kit_{options_, words_, paths_, names_}, in_flight_(other.in_flight_), ids_(other.ids_), next_pid_(other.next_pid_) {}

    void prepare(Machine& machine) override;
    [[nodiscard]] std::vector<ThreadProgram> end_turn(InstanceIndex instance) override;
    [[nodiscard]] std::vector<ThreadProgram> idle(InstanceIndex instance, TimeNs until, Machine& machine) override;
    [[nodiscard]] ThreadProgram arrival(const Request& request, std::uint32_t arrived, Machine& machine, double tokenize_factor) override;
    [[nodiscard]] std::vector<ThreadProgram> deliver(int requests, int tokens, TimeNs time, std::uint32_t sent, Machine& machine) override;
    [[nodiscard]] ThreadProgram take_over(const Request& request, TimeNs time) override;
    [[nodiscard]] std::vector<ThreadProgram> start_up(Machine& machine) override;

protected:
    /// Signals of a step that is not over.
    struct Flight {
        std::uint32_t order = kNoSignal, reply = kNoSignal;
    };

    // engine_places.cpp
    NodeIndex add_node(TimeNs start);
    ProcessIndex add_process(NodeIndex node, ProcessRole role, std::string title, int rank = -1, int dp_rank = -1, InstanceIndex instance = {});
    ThreadIndex add_thread(ProcessIndex process, std::string name);
    /// A device of its own with its streams, launched on by `process`.
    RankPlace add_device(NodeIndex node, ProcessIndex process, int rank, int ranks);
    void build_places(TimeNs start);
    void build_instance(int index, InstanceDuty duty);

    [[nodiscard]] static ThreadProgram thread_program(ThreadIndex thread, ProgramPart part, InstanceIndex instance, int rank, Program program) {
        return {thread, std::move(program), 0, part, instance, rank};
    }

    void write_warm_up(ProgramWriter& w, const RankPlace& place) const;
    // engine_steps.cpp: the parts of a step, into a program
    /// A range of a role with nothing but host work in it.
    static void write_part(ProgramWriter& w, Role role, TimeNs cost);
    void write_arrivals(ProgramWriter& w, const StepPlan& plan) const;
    /// The side range that names the requests of a step, on rank 0 (semantic dialect).
    void write_requests(ProgramWriter& w, const StepPlan& plan, int rank) const;
    void write_schedule(ProgramWriter& w, const StepPlan& plan) const;
    void write_grammar_bitmask(ProgramWriter& w, const StepPlan& plan) const;
    void write_inputs(ProgramWriter& w, const StepPlan& plan, const StepKernels& kernels) const;
    void write_forward(ProgramWriter& w, const StepPlan& plan, const StepKernels& kernels) const;
    void write_sampling(ProgramWriter& w, const StepPlan& plan, const StepKernels& kernels, const RankPlace& place, std::uint32_t copied, bool wait_here) const;
    void write_update(ProgramWriter& w, const StepPlan& plan, const StepOutcome& outcome) const;

    [[nodiscard]] const InstancePlaces& at(InstanceIndex instance) const { return places_.instances[static_cast<std::size_t>(instance)]; }
    [[nodiscard]] bool asynchronous() const { return options_.deployment.async_scheduling; }
    void remember_ids(const Request& request) { ids_[request.number] = request.id; }
    [[nodiscard]] std::string ids_of(const StepPlan& plan) const;
    void forget_ids(const StepPlan& plan);

    const RunOptions options_;
    const DeviceModel& device_;
    Names& names_;
    Noise noise_;
    SpanWords words_;
    LaunchPaths paths_;
    WritingKit kit_;
    std::map<StepNumber, Flight> in_flight_;
    std::map<RequestNumber, std::string> ids_;  ///< of requests that are here, for the ranges that name them
    std::int64_t next_pid_ = 0;
};

}  // namespace faultline::simulator
