// Calls that have no business in a steady step: the allocator (A4), mappings (A13), modules (B6, C7), synchronisations (C1), a workspace (D11).
#include <algorithm>
#include <set>
#include <string>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

class ApiInsert final : public Mechanism {
public:
    ApiInsert(FaultSettings settings, const Noise& noise)
        : Mechanism(std::move(settings), noise, {.scope = settings.info->id == "A4" ? Scope::rank : Scope::all, .gap = true}) {}

    bool change_program(ThreadProgram& program, const StepPlan& plan, FaultReach& reach) override {
        if (program.part != ProgramPart::worker || !at_worker(program, reach)) return false;
        ProgramEdit edit(program.program, reach.names);
        if (id() == "A4") return retry(edit, plan);
        if (id() == "A13") return map_blocks(edit, plan);
        if (id() == "B6") return compile(edit, plan, program, reach);
        if (id() == "C1") return synchronize(edit, plan, program, reach);
        if (id() == "C7") return load(edit, plan);
        return set_up(edit, plan);
    }

private:
    /// The first time, then one step in `rarity` or so; all ranks of a step draw alike.
    [[nodiscard]] bool now(const StepPlan& plan, double share) {
        if (first_ == 0) first_ = plan.step;
        return plan.step == first_ || uniform(plan.step, 11) < share;
    }
    [[nodiscard]] static std::size_t place_before(const ProgramEdit& edit, std::initializer_list<Role> work, double share, std::uint64_t n) {
        std::size_t place = 0;
        std::size_t from = 0;
        const auto many = static_cast<int>(share * static_cast<double>(n));
        for (int i = 0; i <= many; ++i) {
            const auto found = edit.work_of(work, from);
            if (!found) break;
            place = *found;
            from = *found + 1;
        }
        return edit.host_place(place);
    }
    bool retry(ProgramEdit& edit, const StepPlan& plan) {
        if (!now(plan, 0.03)) return false;
        std::size_t place = place_before(edit, {Role::qkv_gemm, Role::gate_up_gemm, Role::moe_up, Role::lm_head}, uniform(plan.step, 12), 40);
        const TimeNs length = jittered(milliseconds(), plan.step);
        for (int i = 0; i < 3; ++i) place = edit.put_call(place, "cudaFree", length / 5, Role::free);
        edit.put_call(place, "cudaMalloc", 2 * length / 5, Role::allocate);
        return true;
    }
    bool map_blocks(ProgramEdit& edit, const StepPlan& plan) {
        if (plan.new_blocks <= 0) return false;
        const auto range = edit.range_of({Role::prepare_inputs, Role::model_forward});
        if (!range) return false;
        std::size_t place = edit.host_place(*range + 1);
        for (int i = 0; i < std::min(plan.new_blocks, 24); ++i) {
            place = edit.put_call(place, i % 8 == 7 ? "cuMemUnmap" : "cuMemMap", jittered(milliseconds(), plan.step, static_cast<std::uint64_t>(i)), Role::driver_other);
        }
        edit.mark_range(*range);
        return true;
    }
    /// Once for each shape that was not seen: all ranks in the same step.
    bool compile(ProgramEdit& edit, const StepPlan& plan, const ThreadProgram& program, FaultReach& reach) {
        if (plan.step != seen_) {
            seen_ = plan.step;
            const int shape = plan.context_tokens > 0 ? -(plan.tokens / 512) : plan.generation_requests / 8;
            compiling_ = shapes_.size() < 12 && plan.scheduled >= rest_ && shapes_.insert(shape).second;
            if (compiling_) {
                rest_ = plan.scheduled + 3 * seconds();
                write(reach, plan.scheduled + seconds(), process(reach, program.thread), LogLevel::warning, "jit_monitor.py", 103,
                      "Triton kernel JIT compilation during inference: _fused_gate_kernel (shape " + std::to_string(plan.tokens) +
                          "). This causes a latency spike; consider extending warmup to cover this shape/config.");
            }
        }
        if (!compiling_) return false;
        const auto range = edit.range_of({Role::model_forward, Role::step});
        if (!range) return false;
        const std::size_t place = edit.put_work(edit.host_place(*range + 1), jittered(seconds(), plan.step), Role::compile,
                                                reach.options.recording.python ? "triton/compiler/compiler.py(276): compile" : std::string_view{});
        edit.put_call(place, "cuModuleLoadData", 1'800'000, Role::module_load);
        edit.mark_range(*range);
        return true;
    }
    bool synchronize(ProgramEdit& edit, const StepPlan& plan, const ThreadProgram& program, FaultReach& reach) {
        const auto range = edit.range_of({Role::sampler, Role::verify, Role::compute_logits, Role::model_forward});
        if (!range) return false;
        Op sync{.kind = OpKind::sync_stream,
                .event = EventKind::runtime_call,
                .role = Role::stream_sync,
                .suspect = true,
                .stream = compute_stream(program, reach),
                .name = reach.names.intern("cudaStreamSynchronize"),
                .cost = jittered(milliseconds(), plan.step)};
        edit.put(edit.host_place(*range + 1), sync);
        if (const auto prepare = edit.range_of({Role::attn_metadata, Role::model_forward})) {
            sync.cost = jittered(milliseconds(), plan.step, 2);
            edit.put(edit.host_place(*prepare + 1), sync);
        }
        return true;
    }
    bool load(ProgramEdit& edit, const StepPlan& plan) {
        if (!now(plan, 0.12)) return false;
        std::size_t place = place_before(edit, {Role::attention, Role::moe_up, Role::lm_head}, 0, 1);
        // As many as the path has kernels: 18 were seen in one step (FAULTS C7).
        const std::uint64_t loads = 3 + noise_.below(16, Draw::fault_choice, salt_ + 2, plan.step);
        for (std::uint64_t i = 0; i < loads; ++i) {
            place = edit.put_call(place, i == 0 ? "cuLibraryLoadData" : "cuModuleLoadData", jittered(milliseconds(), plan.step, i), Role::module_load);
        }
        return true;
    }
    bool set_up(ProgramEdit& edit, const StepPlan& plan) {
        if (first_ == 0) first_ = plan.step;
        if (plan.step != first_) return false;
        const std::size_t place = place_before(edit, {Role::all_reduce, Role::lm_head}, 0, 1);
        const std::size_t after = edit.put_call(place, "cudaMalloc", 4'000'000, Role::allocate);
        edit.put_call(after, "cuMulticastBindMem", jittered(seconds(), plan.step), Role::driver_other);
        return true;
    }

    StepNumber first_ = 0, seen_ = 0;
    bool compiling_ = false;
    TimeNs rest_ = 0;
    std::set<int> shapes_;
};

}  // namespace

std::unique_ptr<Fault> make_api_inserts(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    for (const std::string_view known : {"A4", "A13", "B6", "C1", "C7", "D11"}) {
        if (id == known) return std::make_unique<ApiInsert>(settings, noise);
    }
    return nullptr;
}

}  // namespace faultline::simulator
