// The scheduler decides wrongly, or cannot decide: preemption (A1), retraction (A2), leaked slots (A10), a misrouted token (E1), ghost drafts (E2),
// oversized chunks (E4), loops without tokens (E5, E6, E7, E11), and an overlap that is lost (E12).
#include <algorithm>

#include <fmt/format.h>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

class SchedulerFault final : public Mechanism {
public:
    SchedulerFault(FaultSettings settings, const Noise& noise)
        : Mechanism(std::move(settings), noise, {.scope = settings.info->id == "E1" || settings.info->id == "E2" || settings.info->id == "E4" ? Scope::all : Scope::core,
                                                 .gap = true,
                                                 .structural = settings.info->id != "E12" && settings.info->id != "E7"}) {}

    void before_schedule(SchedulerKnobs& knobs, InstanceIndex instance, TimeNs now, FaultReach& reach) override {
        if (!active(now) || (one_instance_ && instance != this->instance())) return;
        const double passed = static_cast<double>(now - settings_.start) / static_cast<double>(std::max<TimeNs>(settings_.end - settings_.start, 1));
        if (id() == "A1" || id() == "A2") {
            // Two thirds of the pool are gone: what runs outgrows the rest, again and again.
            knobs.withheld_blocks = reach.device.kv_blocks() * 13 / 20;
        } else if (id() == "A10") {
            knobs.max_running = std::max(1, static_cast<int>(size() + (1 - passed) * 2 * size()));
            leaked_ = std::max(0, reach.options.deployment.max_num_seqs - knobs.max_running);
        } else if (id() == "E1") {
            knobs.misroute_one_token_prefill = now >= rest_;
        } else if (id() == "E2") {
            knobs.ghost_drafts = std::max(1, static_cast<int>(size()));
        } else if (id() == "E4") {
            knobs.chunk_tokens = static_cast<int>(size());
        } else if (id() == "E5" || id() == "E11") {
            knobs.run = knobs.admit = false;
        } else if (id() == "E6") {
            knobs.admit = false;
            slots_ = reach.options.deployment.max_num_seqs;
        } else if (id() == "E7") {
            knobs.admit = false;
        }
    }
    [[nodiscard]] HeldSlots held(InstanceIndex instance, const Scheduler& scheduler, TimeNs now) const override {
        if (!active(now) || (one_instance_ && instance != this->instance())) return {};
        HeldSlots held;
        // Deferred and running requests together fill the batch; what leaks are slots of transfers that nobody gives back.
        if (id() == "E6") held.deferred = std::clamp(slots_ - scheduler.running(), 0, scheduler.waiting());
        if (id() == "A10") held.transferring = leaked_;
        held.stalled = (id() == "E5" || id() == "E11") && scheduler.has_work();
        return held;
    }
    [[nodiscard]] bool told_by(std::string_view line) const override {
        if (id() == "A2") return line.starts_with("KV cache pool is full");
        if (id() == "A1") return line.find("is preempted by PreemptionMode.RECOMPUTE") != std::string_view::npos || line.find("Preemptions: ") != std::string_view::npos;
        if (id() == "A10") return line.find("#transfer-req: ") != std::string_view::npos;
        return false;
    }
    bool change_plan(StepPlan& plan, FaultReach&) override {
        if (!active(plan.scheduled) || (one_instance_ && plan.instance != instance())) return false;
        if (id() == "A1" || id() == "A2") {
            return !plan.preempted.empty() || std::any_of(plan.requests.begin(), plan.requests.end(), [](const auto& r) { return r.resumed; });
        }
        if (id() == "E1") {
            const bool routed = std::any_of(plan.requests.begin(), plan.requests.end(), [](const auto& r) { return r.decode_route; });
            if (routed) rest_ = plan.scheduled + 700'000'000;
            return routed;
        }
        if (id() == "E2") return std::any_of(plan.requests.begin(), plan.requests.end(), [](const auto& r) { return r.ghost_drafts > 0; });
        if (id() == "E4") return plan.context_tokens > 2048 && plan.generation_requests >= 0;
        if (id() == "A10" || id() == "E6") return plan.waiting > 0;
        return false;
    }
    bool change_program(ThreadProgram& program, const StepPlan& plan, FaultReach& reach) override {
        if (program.part == ProgramPart::idle) check_idle(program, reach);
        if (!active(time_of(program, reach)) || program.program.step == 0) return false;
        ProgramEdit edit(program.program, reach.names);
        if (program.part == ProgramPart::begin_core && on_core(program, reach)) {
            const auto range = edit.range_of({Role::schedule});
            if (!range) return false;
            if (id() == "E7" && plan.waiting > 0) {
                edit.put_work(edit.host_place(*range + 1), jittered(milliseconds(), plan.step), Role::allocate_slots);
                if (const auto slots = edit.range_of({Role::allocate_slots})) edit.mark_range(*slots);
                edit.mark_range(*range);
                return true;
            }
            if (id() == "E12") {
                const std::size_t after = edit.put_work(edit.host_place(*range), jittered(milliseconds(), plan.step), Role::update_from_output);
                edit.mark_range(after);
                return true;
            }
            const bool marks = ((id() == "A1" || id() == "A2") && !plan.preempted.empty()) || ((id() == "A10" || id() == "E6") && plan.waiting > 0) ||
                               (id() == "E4" && plan.context_tokens > 2048) || id() == "E5" || id() == "E11";
            if (!marks) return false;
            // Only where blocks are short is it the allocation; else what decides.
            const auto slots = edit.range_of({Role::allocate_slots});
            edit.mark_range(slots && (id() == "A1" || id() == "A2") ? *slots : *range);
            return true;
        }
        if (program.part != ProgramPart::worker) return false;
        if (id() == "E1") return mark_work(edit, plan);
        const bool victim = (id() == "A1" || id() == "A2") && std::any_of(plan.requests.begin(), plan.requests.end(), [](const auto& r) { return r.resumed; });
        const bool ghosts = id() == "E2" && std::any_of(plan.requests.begin(), plan.requests.end(), [](const auto& r) { return r.ghost_drafts > 0; });
        if (!victim && !ghosts) return false;
        if (const auto forward = edit.range_of({Role::model_forward})) edit.mark_range(*forward);
        if (const auto verify = edit.range_of({Role::verify}); ghosts && verify) edit.mark_range(*verify);
        return true;
    }

private:
    /// SGLang counts its pool when it rests, and finds what is missing (FAULTS A10).
    void check_idle(const ThreadProgram& program, FaultReach& reach) {
        if (id() != "A10" || !sglang() || told_ || leaked_ == 0 || program.instance != instance() || !active(time_of(program, reach))) return;
        told_ = true;
        const int block = std::max(reach.options.deployment.block_size, 1);
        const std::int64_t total = reach.device.kv_blocks() * block, missing = std::min<std::int64_t>(static_cast<std::int64_t>(leaked_) * block, total);
        write(reach, time_of(program, reach), core_process(reach), LogLevel::error, "scheduler_runtime_checker_mixin.py", 187,
              fmt::format("ValueError: pool memory leak detected! [full] total={}, available={}, evictable=0, protected=0", total, total - missing));
    }
    bool mark_work(ProgramEdit& edit, const StepPlan& plan) const {
        if (std::none_of(plan.requests.begin(), plan.requests.end(), [](const auto& r) { return r.decode_route; })) return false;
        bool changed = false;
        for (std::size_t i = 0; i < edit.size(); ++i) {
            if (edit.at(i).role == Role::mamba_update && is_device_work(edit.at(i))) edit.at(i).suspect = changed = true;
        }
        return changed;
    }
    TimeNs rest_ = 0;
    int slots_ = 0, leaked_ = 0;
    bool told_ = false;
};

}  // namespace

std::unique_ptr<Fault> make_scheduler_faults(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    for (const std::string_view known : {"A1", "A2", "A10", "E1", "E2", "E4", "E5", "E6", "E7", "E11", "E12"}) {
        if (id == known) return std::make_unique<SchedulerFault>(settings, noise);
    }
    return nullptr;
}

}  // namespace faultline::simulator
