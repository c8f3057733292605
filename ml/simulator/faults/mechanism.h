// What all mechanisms share: which ranks, threads and processes they befall, draws of their own, lines for the logs, the explanation.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "ml/simulator/faults/fault.h"
#include "ml/simulator/faults/program_edit.h"

namespace faultline::simulator {

enum class Scope : std::uint8_t { rank, all, core, front_end };

struct Manner {
    Scope scope = Scope::all;
    bool gap = false;         ///< the culprit shows a gap, not a long operator
    bool structural = false;
    bool in_prefill = false;  ///< what it needs happens where prompts are computed
    bool roams = false;       ///< another rank from time to time: the culprit is the one with suspects
};

class Mechanism : public Fault {
public:
    void configure(RunOptions& options, bool inject) override;
    void begin(FaultReach& reach) override;
    [[nodiscard]] bool structural() const override { return manner_.structural; }
    [[nodiscard]] std::vector<int> culprit_ranks(const StepRecord& record) const override;
    [[nodiscard]] std::string explain(const StepRecord& record) const override;
    [[nodiscard]] std::string explain(const RequestRecord& record) const override;

protected:
    Mechanism(FaultSettings settings, const Noise& noise, Manner manner);

    [[nodiscard]] std::string_view id() const { return settings_.info->id; }
    [[nodiscard]] double size() const { return settings_.size; }
    [[nodiscard]] TimeNs milliseconds() const { return static_cast<TimeNs>(settings_.size * 1e6); }
    [[nodiscard]] TimeNs microseconds() const { return static_cast<TimeNs>(settings_.size * 1e3); }
    [[nodiscard]] TimeNs seconds() const { return static_cast<TimeNs>(settings_.size * 1e9); }

    // Draws of this fault: the same for every rank and program of a step.
    [[nodiscard]] double uniform(std::uint64_t a, std::uint64_t b = 0) const { return noise_.uniform(Draw::fault_choice, salt_, a, b); }
    [[nodiscard]] double between(double lo, double hi, std::uint64_t a, std::uint64_t b = 0) const {
        return noise_.log_uniform(lo, hi, Draw::fault_choice, salt_, a, b);
    }
    [[nodiscard]] TimeNs jittered(TimeNs time, std::uint64_t a, std::uint64_t b = 0) const {
        return noise_.jitter(time, 0.12, Draw::fault_choice, salt_ + 1, a, b);
    }

    [[nodiscard]] static TimeNs time_of(const ThreadProgram& program, const FaultReach& reach);
    [[nodiscard]] static int rank_of(const ThreadProgram& program, const FaultReach& reach);  ///< -1: a thread of no rank
    [[nodiscard]] bool befalls(InstanceIndex instance, int rank) const;  ///< rank by the settings
    /// A worker's program in the window, on a rank that this befalls.
    [[nodiscard]] bool at_worker(const ThreadProgram& program, const FaultReach& reach) const;
    [[nodiscard]] bool at_core(const ThreadProgram& program, const FaultReach& reach) const;
    [[nodiscard]] bool at_kernels(const StepPlan& plan, int rank) const { return active(plan.scheduled) && befalls(plan.instance, rank); }

    [[nodiscard]] InstanceIndex instance() const { return instance_; }
    [[nodiscard]] const InstancePlaces& place(const FaultReach& reach) const;
    [[nodiscard]] int first_rank() const { return settings_.ranks.empty() ? 0 : settings_.ranks.front(); }
    [[nodiscard]] ThreadIndex worker(const FaultReach& reach, int rank) const;
    [[nodiscard]] bool on_core(const ThreadProgram& program, const FaultReach& reach) const {
        return program.thread == reach.host.places().instances[static_cast<std::size_t>(program.instance)].core;
    }
    [[nodiscard]] static StreamIndex compute_stream(const ThreadProgram& program, const FaultReach& reach);
    [[nodiscard]] int device(const FaultReach& reach, int rank) const;  ///< position in Topology::devices; -1: none
    [[nodiscard]] static std::vector<ThreadIndex> all_threads(const FaultReach& reach);
    [[nodiscard]] static ProcessIndex process(const FaultReach& reach, ThreadIndex thread);
    [[nodiscard]] ProcessIndex core_process(const FaultReach& reach) const { return process(reach, place(reach).core); }
    [[nodiscard]] ProcessIndex worker_process(const FaultReach& reach, int rank) const { return process(reach, worker(reach, rank)); }
    [[nodiscard]] bool sglang() const { return engine_ == Engine::sglang; }

    static void write(FaultReach& reach, TimeNs time, ProcessIndex process, LogLevel level, std::string_view file, int line, std::string text,
                      LogLayout layout = LogLayout::engine);

    /// What else names it in the logs although this fault does not write it; empty: nothing.
    [[nodiscard]] virtual std::string other_line(const StepRecord& record) const;

    /// Who shows it, where the scope does not say so: "rank 1 shows"; empty: it does.
    [[nodiscard]] virtual std::string culprit_words(const StepRecord& record) const;

    Noise noise_;
    Manner manner_;
    std::uint64_t salt_ = 0;
    Engine engine_ = Engine::vllm_v1_online;
    InstanceIndex instance_{};  ///< of those that befall one rank
    bool one_instance_ = false;
};

/// Each takes the kinds that it knows; null for others.
using Maker = std::unique_ptr<Fault> (*)(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_host_holes(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_host_slowdowns(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_host_code(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_api_inserts(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_kernel_changes(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_attention_fallback(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_graph_changes(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_device_slowdowns(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_collective_changes(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_hangs(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_scheduler_faults(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_front_end_faults(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_transfer_faults(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_structure_faults(const FaultSettings&, const Noise&);
std::unique_ptr<Fault> make_look_alikes(const FaultSettings&, const Noise&);

/// What a kind needs of the run to happen at all, fault or not (FAULTS, ENGINES): tp, a model, requests of a sort.
void configure_needs(std::string_view id, double size, RunOptions& options);
/// What a look-alike changes in load or recording.
void configure_look_alike(std::string_view id, double size, RunOptions& options);

}  // namespace faultline::simulator
