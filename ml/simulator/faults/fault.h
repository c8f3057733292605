// One injected mechanism (FAULTS §1 to §7): what it changes while a run is served. It acts on the model alone: options before the run, knobs of
// the scheduler, programs of threads, disturbances of machine, delays of transfers; what follows from that is the model's.
//
// `size` and the window come from FaultSettings; what a fault draws it draws from Noise with Draw::fault_*. The same mechanism may serve several kinds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "ml/simulator/base/run_options.h"
#include "ml/simulator/host/host_model.h"
#include "ml/simulator/logs/log_voice.h"
#include "ml/simulator/machine/machine.h"
#include "ml/simulator/serving/request_record.h"
#include "ml/simulator/serving/step_record.h"

namespace faultline::simulator {

enum class FaultClass : std::uint8_t { normal, memory_resource, cuda_kernel, runtime_driver, communication_network, scheduling_software };
[[nodiscard]] std::string_view fault_class_name(FaultClass c) noexcept;  ///< as in the field fault_type of CONTRACT.md

/// A scenario: a fault kind of FAULTS §1 to §5, or a look-alike of §6.
struct FaultInfo {
    std::string_view name{};    ///< worker-paused
    std::string_view id{};      ///< C2; L1 to L20 for look-alikes, in the order of FAULTS §6
    FaultClass type = FaultClass::normal;
    bool look_alike = false, reserved = false;
    std::string_view sentence{};  ///< what happens, for --list
    std::string_view size{};    ///< what `size` is: "length of the pause, ms"; empty: it has none
    double smallest = 0, largest = 0;  ///< of size, drawn log-uniformly (FAULTS §7)
    std::uint8_t engines = 0xFF;  ///< bit by Engine
    int ranks = 1;              ///< it needs at least so many
    bool host_bound = false;    ///< it shows only where the host decides how long a step is: a small model, launched kernel by kernel
    std::string_view ruled_out{};  ///< the look-alike checks that do not explain it, for the reference explanation
};
[[nodiscard]] const std::vector<FaultInfo>& fault_catalogue();  ///< all, by id
[[nodiscard]] const FaultInfo* fault_named(std::string_view name_or_id);

struct FaultSettings {
    const FaultInfo* info = nullptr;
    TimeNs start = 0, end = 0;  ///< true time; the mechanism acts in it
    double size = 0;
    std::vector<int> ranks;     ///< that it befalls; empty: as the kind has it
};

/// A clock that is lower than it should be, as counters show it.
struct SlowClock {
    TimeNs start = 0, end = 0;
    int device = -1;  ///< position in Topology::devices; -1: the hosts' CPUs
    double factor = 1;  ///< nominal over actual
};

/// What a fault may reach while a run is served.
struct FaultReach {
    const RunOptions& options;
    const DeviceModel& device;
    HostModel& host;
    Machine& machine;
    Names& names;
    const Noise& noise;
    std::vector<LogDraft>& logs;  ///< lines to be written at their times
};

/// What becomes of a KV cache on its way from a prefill to a decode instance.
enum class TransferEnd : std::uint8_t { arrives, lost, refused };  ///< lost: the prompt is computed again where it is decoded; refused: its request fails

class Fault {
public:
    /// Chooses what the settings leave open (ranks, size) from the seed.
    static std::unique_ptr<Fault> make(FaultSettings settings, const Noise& noise);
    virtual ~Fault() = default;

    [[nodiscard]] const FaultSettings& settings() const { return settings_; }
    [[nodiscard]] bool active(TimeNs time) const { return time >= settings_.start && time < settings_.end; }

    /// Before anything is built: what the kind needs (a hybrid model, two ranks, guided requests) and, unless `inject` is false, what it breaks in the
    /// configuration. With and without injection the run must differ only by the fault.
    virtual void configure(RunOptions& options, bool inject);
    // None of what follows is called on a run without injection.
    virtual void begin(FaultReach& reach);                                   ///< the machine stands at the start; disturbances known by time
    virtual void before_schedule(SchedulerKnobs& knobs, InstanceIndex instance, TimeNs now, FaultReach& reach);
    virtual bool change_plan(StepPlan& plan, FaultReach& reach);             ///< true: it changed it
    virtual void before_launch(std::span<const StepPlan> plans);             ///< of instances that take this turn together
    virtual bool change_kernels(StepKernels& kernels, const StepPlan& plan, int rank, FaultReach& reach);
    virtual bool change_program(ThreadProgram& program, const StepPlan& plan, FaultReach& reach);  ///< plan of the step; of arrivals: an idle one
    virtual void after_step(const StepRecord& record, FaultReach& reach);    ///< for the lines that follow
    [[nodiscard]] virtual double tokenize_factor(const Request& request, TimeNs now);
    [[nodiscard]] virtual TimeNs transfer_time(const Request& request, TimeNs usual, TimeNs now) const;  ///< of its KV cache
    /// How its transfer from `from` to `to` ends, and the lines about it.
    [[nodiscard]] virtual TransferEnd transfer_end(const Request& request, TimeNs from, TimeNs to, FaultReach& reach);
    /// Slots that nobody can have, as the engine's statistics count them.
    [[nodiscard]] virtual HeldSlots held(InstanceIndex instance, const Scheduler& scheduler, TimeNs now) const;
    /// Whether a line that the engine writes in normal service too tells of this fault where it is written in a step that this touched.
    [[nodiscard]] virtual bool told_by(std::string_view line) const;
    /// The run stands still from `now` on: lines of watchdogs. True: it may end `at` (out) with what was written.
    virtual bool stuck(TimeNs now, TimeNs& at, FaultReach& reach);

    [[nodiscard]] virtual std::vector<SlowClock> slow_clocks() const { return {}; }  ///< known after begin()

    /// Whether a change counts as visible although no time was lost (renamed kernels, contradictions, missing work).
    [[nodiscard]] virtual bool structural() const { return false; }
    [[nodiscard]] virtual std::vector<int> culprit_ranks(const StepRecord& record) const;
    /// The reference explanation by the template at the end of FAULTS.md, with the numbers of this step.
    [[nodiscard]] virtual std::string explain(const StepRecord& record) const;
    [[nodiscard]] virtual std::string explain(const RequestRecord& record) const;  ///< of one that waited outside of the steps

protected:
    explicit Fault(FaultSettings settings) : settings_(std::move(settings)) {}
    FaultSettings settings_;
};

}  // namespace faultline::simulator
