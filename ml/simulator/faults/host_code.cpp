// Python that takes long in its place of the step: lists (A5), scans (E10), grammars (E8), planners (B7), sends (C11), page faults (A9, A12),
// a forward that stands still (E15).
#include <algorithm>
#include <initializer_list>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

/// Host work inside one range of the step, of a length that depends on the plan.
class HostCode : public Mechanism {
public:
    HostCode(FaultSettings settings, const Noise& noise, Manner manner) : Mechanism(std::move(settings), noise, manner) {}

    bool change_program(ThreadProgram& program, const StepPlan& plan, FaultReach& reach) override {
        if (!in_place(program, reach)) return false;
        const TimeNs cost = cost_of(plan, rank_of(program, reach));
        if (cost <= 0) return false;
        ProgramEdit edit(program.program, reach.names);
        const auto range = range_of(edit);
        if (!range) return false;
        const std::size_t place = edit.host_place(*range + 1);
        const std::size_t after = edit.put_work(place, cost, role(), reach.options.recording.python ? frame() : std::string_view{});
        edit.mark_range(*range);
        more(edit, after, plan, compute_stream(program, reach), reach);
        return true;
    }

protected:
    [[nodiscard]] virtual bool in_place(const ThreadProgram& program, const FaultReach& reach) const { return at_worker(program, reach); }
    [[nodiscard]] virtual TimeNs cost_of(const StepPlan& plan, int rank) = 0;
    [[nodiscard]] virtual std::optional<std::size_t> range_of(const ProgramEdit& edit) const = 0;
    [[nodiscard]] virtual Role role() const = 0;
    [[nodiscard]] virtual std::string_view frame() const = 0;
    virtual void more(ProgramEdit&, std::size_t, const StepPlan&, StreamIndex, FaultReach&) {}

    static Op copy_to_device(std::int64_t bytes, Role role, StreamIndex stream, Names& names) {
        return {.kind = OpKind::launch,
                .event = EventKind::runtime_call,
                .device_event = EventKind::memory_copy,
                .copy = CopyKind::pageable_to_device,
                .role = role,
                .suspect = true,
                .stream = stream,
                .name = names.intern("cudaMemcpyAsync"),
                .device_name = names.intern("Memcpy HtoD (Pageable -> Device)"),
                .cost = 9'000 + bytes / 12,
                .device_cost = 1'500 + bytes / 20,
                .bytes = bytes};
    }
};

/// A cost that grows with the tokens that requests have made (A5, E10).
class OverOutputs final : public HostCode {
public:
    OverOutputs(FaultSettings settings, const Noise& noise, bool penalties)
        : HostCode(std::move(settings), noise, {.scope = Scope::rank, .gap = true}), penalties_(penalties) {}
    void configure(RunOptions& options, bool inject) override {
        if (settings_.ranks.empty()) settings_.ranks = {0};  // the driver samples
        HostCode::configure(options, inject);
    }

private:
    [[nodiscard]] std::int64_t elements(const StepPlan& plan) const {
        std::int64_t longest = 0, requests = 0, all = 0;
        for (const ScheduledRequest& r : plan.requests) {
            if (penalties_ && !r.penalties) continue;
            ++requests;
            longest = std::max<std::int64_t>(longest, r.generated_before + 1);
            all += r.generated_before + 1;
        }
        return penalties_ ? requests * longest : all;
    }
    TimeNs cost_of(const StepPlan& plan, int) override {
        const std::int64_t n = elements(plan);
        if (n == 0) return 0;
        if (usual_ == 0) usual_ = n;
        const double share = std::clamp(static_cast<double>(n) / static_cast<double>(usual_), 0.3, 5.0);
        return jittered(static_cast<TimeNs>(share * static_cast<double>(milliseconds())), plan.step);
    }
    std::optional<std::size_t> range_of(const ProgramEdit& edit) const override {
        return penalties_ ? edit.range_of({Role::sampling_metadata, Role::sampler, Role::bookkeeping, Role::model_forward, Role::step})
                          : edit.range_of({Role::prepare_inputs, Role::bookkeeping, Role::model_forward, Role::step});
    }
    Role role() const override { return penalties_ ? Role::sampling_metadata : Role::update_states; }
    std::string_view frame() const override {
        return penalties_ ? "vllm/utils/__init__.py(1003): make_ndarray_with_pad" : "vllm/v1/worker/gpu_input_batch.py(912): update_async_output_token_ids";
    }
    void more(ProgramEdit& edit, std::size_t after, const StepPlan& plan, StreamIndex stream, FaultReach& reach) override {
        if (penalties_) edit.put(after, copy_to_device(8 * elements(plan), Role::penalties, stream, reach.names));
        if (const auto sampler = edit.range_of({Role::sampler}); penalties_ && sampler) edit.mark_range(*sampler);
    }
    bool penalties_;
    std::int64_t usual_ = 0;
};

class GrammarSlow final : public HostCode {
public:
    GrammarSlow(FaultSettings settings, const Noise& noise) : HostCode(std::move(settings), noise, {.scope = Scope::core, .gap = true}) {}

private:
    bool in_place(const ThreadProgram& program, const FaultReach& reach) const override {
        return at_worker(program, reach) ? rank_of(program, reach) == 0 : at_core(program, reach);
    }
    TimeNs cost_of(const StepPlan& plan, int) override {
        const auto guided = std::count_if(plan.requests.begin(), plan.requests.end(), [](const ScheduledRequest& r) { return r.guided; });
        if (guided == 0) return 0;
        return jittered(static_cast<TimeNs>(static_cast<double>(milliseconds()) * (0.8 + 0.2 * static_cast<double>(std::min<std::int64_t>(guided, 16)))), plan.step);
    }
    std::optional<std::size_t> range_of(const ProgramEdit& edit) const override { return edit.range_of({Role::grammar}); }
    Role role() const override { return Role::grammar; }
    std::string_view frame() const override { return "vllm/v1/structured_output/utils.py(88): apply_grammar_bitmask"; }
};

class Replanning final : public HostCode {
public:
    Replanning(FaultSettings settings, const Noise& noise) : HostCode(std::move(settings), noise, {.scope = Scope::all, .gap = true}) {}

private:
    TimeNs cost_of(const StepPlan& plan, int) override {
        if (plan.step != seen_) {  // once for all ranks of the step
            const bool shrinks = last_tokens_ > 2 * plan.tokens && plan.context_tokens == 0;
            planning_ = (shrinks && plan.scheduled >= rest_) || rest_ == 0;
            if (planning_) rest_ = plan.scheduled + 4 * seconds();
            last_tokens_ = plan.tokens;
            seen_ = plan.step;
        }
        return planning_ ? jittered(seconds(), plan.step) : 0;
    }
    std::optional<std::size_t> range_of(const ProgramEdit& edit) const override { return edit.range_of({Role::attn_metadata, Role::model_forward, Role::step}); }
    Role role() const override { return Role::attn_metadata; }
    std::string_view frame() const override { return "flashinfer/autotuner.py(431): choose_one"; }
    StepNumber seen_ = 0;
    int last_tokens_ = 0;
    TimeNs rest_ = 0;
    bool planning_ = false;
};

class SerialSends final : public Mechanism {
public:
    SerialSends(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::core, .gap = true}) {}

    bool change_program(ThreadProgram& program, const StepPlan& plan, FaultReach& reach) override {
        if (!at_core(program, reach) || !on_core(program, reach) || program.program.step == 0) return false;
        ProgramEdit edit(program.program, reach.names);
        const auto range = edit.range_of({Role::rpc});
        if (!range) return false;
        edit.mark_range(*range);
        const std::vector<RankPlace>& ranks = reach.host.places().instances[static_cast<std::size_t>(program.instance)].ranks;
        const std::size_t end = edit.end_of(*range);
        std::vector<std::size_t> sends;
        for (std::size_t i = *range; i < end; ++i) {
            if (edit.at(i).kind == OpKind::signal) sends.push_back(i);
        }
        // One message that all read costs as many serialisations as there are readers.
        const bool one = sends.size() <= 1;
        if (sends.empty()) sends.push_back(*range + 1);
        for (std::size_t k = sends.size(); k-- > 0;) {
            const TimeNs cost = jittered(milliseconds(), plan.step, k) * (one ? static_cast<TimeNs>(ranks.size()) : 1);
            edit.put_work(edit.host_place(sends[k]), cost, Role::rpc,
                          reach.options.recording.python ? std::string_view("pickle.py(1534): dumps") : std::string_view{});
        }
        return true;
    }
};

/// Reading a table from host memory that was paged out (A9): only chunks of prompts.
class PagedOutGather final : public HostCode {
public:
    PagedOutGather(FaultSettings settings, const Noise& noise) : HostCode(std::move(settings), noise, {.scope = Scope::all, .gap = true, .in_prefill = true}) {}

private:
    TimeNs cost_of(const StepPlan& plan, int) override { return plan.context_tokens < 16 ? 0 : jittered(milliseconds(), plan.step); }
    std::optional<std::size_t> range_of(const ProgramEdit& edit) const override { return edit.range_of({Role::model_forward, Role::prepare_inputs, Role::step}); }
    Role role() const override { return Role::memory_gather; }
    std::string_view frame() const override { return "torch/nn/functional.py(2542): embedding"; }
    void more(ProgramEdit& edit, std::size_t after, const StepPlan& plan, StreamIndex stream, FaultReach& reach) override {
        edit.put(after, copy_to_device(8192LL * plan.context_tokens, Role::memory_gather, stream, reach.names));
    }
};

class CompactionSpikes final : public HostCode {
public:
    CompactionSpikes(FaultSettings settings, const Noise& noise) : HostCode(std::move(settings), noise, {.scope = Scope::all, .gap = true, .roams = true}) {}

    bool change_program(ThreadProgram& program, const StepPlan& plan, FaultReach& reach) override {
        if (program.part != ProgramPart::api) {
            ranks_ = static_cast<int>(reach.host.places().instances[static_cast<std::size_t>(program.instance)].ranks.size());
            return HostCode::change_program(program, plan, reach);
        }
        const TimeNs now = time_of(program, reach);
        if (!active(now) || uniform(7, static_cast<std::uint64_t>(now)) > 0.15) return false;
        ProgramEdit edit(program.program, reach.names);
        const auto range = edit.range_of({Role::tokenize});
        if (!range) return false;
        edit.put_work(*range + 1, milliseconds(), Role::tokenize);
        edit.mark_range(*range);
        return true;
    }

private:
    TimeNs cost_of(const StepPlan& plan, int rank) override {
        if (first_ == 0) first_ = plan.step;
        const bool hit = plan.step == first_ || uniform(8, plan.step) < 0.08;
        const auto who = static_cast<int>(uniform(9, plan.step) * std::max(ranks_, 1));
        return hit && (rank == who || !settings_.ranks.empty()) ? jittered(milliseconds(), plan.step) : 0;
    }
    std::optional<std::size_t> range_of(const ProgramEdit& edit) const override { return edit.range_of({Role::prepare_inputs, Role::model_forward, Role::step}); }
    Role role() const override { return Role::prepare_inputs; }
    std::string_view frame() const override { return {}; }
    StepNumber first_ = 0;
    int ranks_ = 1;
};

class SilentStop final : public HostCode {
public:
    SilentStop(FaultSettings settings, const Noise& noise) : HostCode(std::move(settings), noise, {.scope = Scope::rank, .gap = true}) {}

private:
    TimeNs cost_of(const StepPlan& plan, int) override {
        if (plan.scheduled < rest_) return 0;
        rest_ = plan.scheduled + 6 * seconds();
        return seconds();
    }
    std::optional<std::size_t> range_of(const ProgramEdit& edit) const override { return edit.range_of({Role::model_forward, Role::step}); }
    Role role() const override { return Role::model_forward; }
    std::string_view frame() const override { return "vllm/compilation/piecewise_backend.py(95): __call__"; }
    TimeNs rest_ = 0;
};

}  // namespace

std::unique_ptr<Fault> make_host_code(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "A5" || id == "E10") return std::make_unique<OverOutputs>(settings, noise, id == "A5");
    if (id == "E8") return std::make_unique<GrammarSlow>(settings, noise);
    if (id == "B7") return std::make_unique<Replanning>(settings, noise);
    if (id == "C11") return std::make_unique<SerialSends>(settings, noise);
    if (id == "A9") return std::make_unique<PagedOutGather>(settings, noise);
    if (id == "A12") return std::make_unique<CompactionSpikes>(settings, noise);
    if (id == "E15") return std::make_unique<SilentStop>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
