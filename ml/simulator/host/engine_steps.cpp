// The parts of a step, as all engines have them (ENGINES §2, §6). Host costs grow with the batch; their sizes are estimates (ENGINES §4.5).
#include <algorithm>

#include "ml/simulator/host/engine_host.h"

namespace faultline::simulator {
namespace {

TimeNs per(TimeNs base, TimeNs each, std::size_t count) { return base + each * static_cast<TimeNs>(count); }

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

void EngineHost::write_schedule(ProgramWriter& w, const StepPlan& plan) const {
    const std::size_t batch = plan.requests.size();
    w.push(Role::schedule);
    w.work(Role::schedule, per(28'000, 900, batch));
    if (plan.asked_tokens > 0) {
        w.push(Role::prefix_lookup);
        w.work(Role::prefix_lookup, per(9'000, plan.asked_tokens / 40, 1));
        w.pop(Role::prefix_lookup);
    }
    w.push(Role::allocate_slots);
    w.work(Role::allocate_slots, per(7'000, 550, batch) + 30'000 * plan.failed_allocations + 12'000 * static_cast<TimeNs>(plan.preempted.size()));
    w.pop(Role::allocate_slots);
    w.pop(Role::schedule);
}

void EngineHost::write_forward(ProgramWriter& w, const StepPlan& plan, const StepKernels& kernels) const {
    const std::size_t batch = plan.requests.size();
    w.push(Role::update_states);
    w.work(Role::update_states, per(16'000, 700, batch));
    w.pop(Role::update_states);
    w.push(Role::prepare_inputs);
    w.work(Role::prepare_inputs, per(42'000, 1'100, batch) + plan.tokens * 6);
    w.operations(kernels.inputs);
    w.pop(Role::prepare_inputs);
    w.push(Role::attn_metadata);
    w.work(Role::attn_metadata, per(30'000, 350, batch));
    w.pop(Role::attn_metadata);
    w.push(Role::model_forward);
    w.work(Role::model_forward, 14'000);
    w.operations(kernels.forward);
    w.pop(Role::model_forward);
    if (kernels.logits.empty()) return;
    w.push(Role::compute_logits);
    w.work(Role::compute_logits, 9'000);
    w.operations(kernels.logits);
    w.pop(Role::compute_logits);
}

void EngineHost::write_sampling(ProgramWriter& w, const StepPlan& plan, const StepKernels& kernels, const RankPlace& place, std::uint32_t copied,
                                bool wait_here) const {
    if (kernels.logits.empty()) return;  // a dummy step samples nothing
    const auto any = [&](auto which) { return std::any_of(plan.requests.begin(), plan.requests.end(), which); };
    const std::size_t batch = plan.requests.size();
    w.push(Role::sample);
    if (any([](const ScheduledRequest& r) { return r.guided; })) {
        w.push(Role::grammar);
        w.work(Role::grammar, per(120'000, 25'000, static_cast<std::size_t>(std::count_if(plan.requests.begin(), plan.requests.end(), [](const auto& r) { return r.guided; }))));
        w.pop(Role::grammar);
    }
    if (any([](const ScheduledRequest& r) { return r.penalties; })) {
        TimeNs lists = 60'000;
        for (const ScheduledRequest& r : plan.requests) lists += r.penalties ? 9'000 + 40 * static_cast<TimeNs>(r.generated_before) : 0;
        w.push(Role::sampling_metadata);
        w.work(Role::sampling_metadata, lists);
        w.pop(Role::sampling_metadata);
    }
    const bool drafts = any([](const ScheduledRequest& r) { return r.drafts + r.ghost_drafts > 0; });
    const Role sampler = drafts ? Role::verify : Role::sampler;
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
    w.pop(Role::sample);
    w.push(Role::token_copy);
    w.work(Role::token_copy, per(9'000, 300, batch));
    w.pop(Role::token_copy);
}

void EngineHost::write_update(ProgramWriter& w, const StepPlan& plan, const StepOutcome& outcome) const {
    const std::size_t batch = plan.requests.size();
    w.push(Role::update_from_output);
    w.work(Role::update_from_output, per(20'000, 2'400, batch) + 4'000 * static_cast<TimeNs>(outcome.finished.size()));
    w.pop(Role::update_from_output);
    w.push(Role::send_output);
    w.work(Role::send_output, per(14'000, 900, batch));
    w.pop(Role::send_output);
}

}  // namespace faultline::simulator
