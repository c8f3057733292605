// The parts of a step, as all engines have them (ENGINES §2, §6). Host costs grow with the batch; their sizes are estimates (ENGINES §4.5).
#include <algorithm>

#include "ml/simulator/host/engine_host.h"

namespace faultline::simulator {
namespace {

TimeNs per(TimeNs base, TimeNs each, std::size_t count) { return base + each * static_cast<TimeNs>(count); }

std::size_t guided(const StepPlan& plan) {
    return static_cast<std::size_t>(std::count_if(plan.requests.begin(), plan.requests.end(), [](const auto& r) { return r.guided; }));
}

bool drafts(const StepPlan& plan) {
    return std::any_of(plan.requests.begin(), plan.requests.end(), [](const auto& r) { return r.drafts + r.ghost_drafts > 0; });
}

/// Operations by role, each run of the same in a range of that role where `ranged` says so.
template <class Ranged>
void write_by_role(ProgramWriter& w, const std::vector<Op>& ops, Ranged ranged) {
    for (std::size_t i = 0; i < ops.size();) {
        std::size_t end = i + 1;
        while (end < ops.size() && ops[end].role == ops[i].role) ++end;
        const std::vector<Op> run(ops.begin() + static_cast<std::ptrdiff_t>(i), ops.begin() + static_cast<std::ptrdiff_t>(end));
        const Role role = ops[i].role;
        const bool range = ranged(role);
        if (range) w.push(role);
        w.operations(run);
        if (range) w.pop(role);
        i = end;
    }
}

}  // namespace

std::string EngineHost::ids_of(const StepPlan& plan) const {
    // A range text is capped (ENGINES §2.7): the first few dozen requests.
    constexpr std::size_t kMost = 64;
    std::string ids;
    std::size_t count = 0;
    for (const ScheduledRequest& r : plan.requests) {
        const auto found = ids_.find(r.request);
        if (found == ids_.end() || count++ >= kMost) continue;
        if (!ids.empty()) ids += ',';
        ids += found->second;
    }
    return ids;
}

void EngineHost::forget_ids(const StepPlan& plan) {
    for (const auto* gone : {&plan.finished, &plan.aborted}) {
        for (const RequestNumber number : *gone) ids_.erase(number);
    }
}

void EngineHost::write_arrivals(ProgramWriter& w, const StepPlan& plan) const {
    for (const ScheduledRequest& r : plan.requests) {
        if (!r.first) continue;
        w.push(Role::add_request);
        w.work(Role::add_request, 11'000);
        w.pop(Role::add_request);
    }
}

void EngineHost::write_requests(ProgramWriter& w, const StepPlan& plan, int rank) const {
    if (!words_.semantic() || !options_.recording.request_ids || rank != 0) return;
    w.push_text(Role::update_states, SpanWords::requests(plan, ids_of(plan)));
    w.work(Role::update_states, 600);
    w.pop_one(Role::update_states);
}

void EngineHost::write_part(ProgramWriter& w, Role role, TimeNs cost) {
    w.push(role);
    w.work(role, cost);
    w.pop(role);
}

void EngineHost::write_schedule(ProgramWriter& w, const StepPlan& plan) const {
    const std::size_t batch = plan.requests.size();
    w.push(Role::schedule);
    w.work(Role::schedule, per(28'000, 900, batch));
    if (plan.asked_tokens > 0) write_part(w, Role::prefix_lookup, per(9'000, plan.asked_tokens / 40, 1));
    write_part(w, Role::allocate_slots, per(7'000, 550, batch) + 30'000 * plan.failed_allocations + 12'000 * static_cast<TimeNs>(plan.preempted.size()));
    if (options_.deployment.prefill_decode) write_part(w, Role::connector_meta, per(11'000, 800, batch));
    w.pop(Role::schedule);
}

void EngineHost::write_grammar_bitmask(ProgramWriter& w, const StepPlan& plan) const {
    if (const std::size_t n = guided(plan); n > 0) write_part(w, Role::grammar_bitmask, per(40'000, 18'000, n));
}

void EngineHost::write_inputs(ProgramWriter& w, const StepPlan& plan, const StepKernels& kernels) const {
    const std::size_t batch = plan.requests.size();
    w.push(Role::prepare_inputs);
    w.work(Role::prepare_inputs, per(42'000, 1'100, batch) + plan.tokens * 6);
    write_by_role(w, kernels.inputs, [](Role role) { return role == Role::input_copy || role == Role::block_table_copy || role == Role::slot_mapping; });
    if (drafts(plan)) write_part(w, Role::spec_metadata, per(14'000, 500, batch));
    w.pop(Role::prepare_inputs);
}

void EngineHost::write_forward(ProgramWriter& w, const StepPlan& plan, const StepKernels& kernels) const {
    const std::size_t batch = plan.requests.size();
    const Deployment& d = options_.deployment;
    const InstanceDuty duty = at(plan.instance).duty;
    w.push(Role::runner);
    write_part(w, Role::update_states, per(16'000, 700, batch));
    if (d.dp > 1) write_part(w, Role::dp_coordinate, 46'000);
    write_inputs(w, plan, kernels);
    if (d.graphs != GraphMode::none) write_part(w, Role::graph_dispatch, 5'000);
    write_part(w, Role::attn_metadata, per(30'000, 350, batch));
    write_part(w, Role::preprocess, 8'000);
    const bool fetches = duty == InstanceDuty::decode_only && std::any_of(plan.requests.begin(), plan.requests.end(), [](const auto& r) { return r.first; });
    if (fetches) write_part(w, Role::kv_transfer, 34'000);
    w.push(Role::model_forward);
    w.work(Role::model_forward, 14'000);
    const bool eager = kernels.graphs == GraphMode::none;
    if (eager) w.push(Role::eager);
    w.operations(kernels.forward);
    if (eager) w.pop(Role::eager);
    if (duty == InstanceDuty::prefill_only) write_part(w, Role::kv_save, per(15'000, 2'000, batch));
    w.pop(Role::model_forward);
    if (duty != InstanceDuty::both) write_part(w, Role::kv_finished, 7'000);
    if (!kernels.logits.empty()) {
        w.push(Role::compute_logits);
        w.work(Role::compute_logits, 9'000);
        write_by_role(w, kernels.logits, [](Role role) { return role == Role::logits_gather; });
        w.pop(Role::compute_logits);
    }
    w.pop(Role::runner);
}

void EngineHost::write_sampling(ProgramWriter& w, const StepPlan& plan, const StepKernels& kernels, const RankPlace& place, std::uint32_t copied,
                                bool wait_here) const {
    if (kernels.logits.empty()) return;  // a dummy step samples nothing
    const std::size_t batch = plan.requests.size();
    w.push(Role::sample);
    if (const std::size_t n = guided(plan); n > 0) write_part(w, Role::grammar, per(120'000, 25'000, n));
    if (std::any_of(plan.requests.begin(), plan.requests.end(), [](const ScheduledRequest& r) { return r.penalties; })) {
        TimeNs lists = 60'000;
        for (const ScheduledRequest& r : plan.requests) lists += r.penalties ? 9'000 + 40 * static_cast<TimeNs>(r.generated_before) : 0;
        write_part(w, Role::sampling_metadata, lists);
    }
    const Role sampler = drafts(plan) ? Role::verify : Role::sampler;
    w.push(sampler);
    w.work(sampler, per(24'000, 260, batch));
    w.operations(kernels.sampling);
    w.pop(sampler);
    if (!kernels.draft.empty()) {
        w.push(Role::draft_propose);
        w.work(Role::draft_propose, 60'000);
        w.operations(kernels.draft);
        w.pop(Role::draft_propose);
    }
    w.push(Role::bookkeeping);
    w.operations(kernels.outputs);
    w.record(copied, place.compute);
    if (wait_here) w.wait_event(copied);
    w.work(Role::bookkeeping, per(12'000, 900, batch));
    w.pop(Role::bookkeeping);
    if (options_.deployment.expert_parallel) write_part(w, Role::expert_balance, 6'000);
    w.pop(Role::sample);
    write_part(w, Role::token_copy, per(9'000, 300, batch));
}

void EngineHost::write_update(ProgramWriter& w, const StepPlan& plan, const StepOutcome& outcome) const {
    const std::size_t batch = plan.requests.size();
    write_part(w, Role::update_from_output, per(20'000, 2'400, batch) + 4'000 * static_cast<TimeNs>(outcome.finished.size()));
    write_part(w, Role::send_output, per(14'000, 900, batch));
}

}  // namespace faultline::simulator
