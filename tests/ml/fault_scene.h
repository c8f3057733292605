// What tests of faults share: a plan that holds everything a fault could look for, and a scene on which one acts for a few steps.
#pragma once

#include <QTest>

#include <algorithm>
#include <memory>
#include <set>
#include <string>
#include <tuple>
#include <vector>

#include "ml/simulator/faults/fault.h"
#include "ml/simulator/faults/program_edit.h"

namespace faultline::test {

using namespace faultline::simulator;

inline constexpr TimeNs kSecond = 1'000'000'000, kStart = 1'770'000'000 * kSecond;

/// Everything that a fault could look for: prompts, drafts, grammars, penalties, a resumed victim, a misrouted token, full queues.
inline StepPlan rich_plan(StepNumber step, TimeNs scheduled, int prompt, int decodes) {
    StepPlan plan;
    plan.step = step;
    plan.instance_step = step;
    plan.scheduled = scheduled;
    for (int i = 0; i < decodes; ++i) {
        ScheduledRequest r;
        r.request = static_cast<RequestNumber>(i);
        r.tokens = 6;
        r.drafts = 3;
        r.accepted = 1;
        r.ghost_drafts = 2;
        r.computed_before = 500 + 10 * i;
        r.generated_before = 40 + i;
        r.guided = r.penalties = r.random = true;
        r.resumed = i == 0;
        plan.requests.push_back(r);
    }
    if (prompt > 0) {
        ScheduledRequest r;
        r.request = 99;
        r.tokens = prompt;
        r.context = r.first = true;
        plan.requests.push_back(r);
        r.request = 100;
        r.tokens = 1;
        r.decode_route = true;
        plan.requests.push_back(r);
        plan.preempted = {3};
    }
    count_tokens(plan);
    plan.new_blocks = 9;
    plan.waiting = 5;
    plan.running = decodes;
    plan.failed_allocations = prompt > 0 ? 1 : 0;
    plan.blocks_total = 1000;
    plan.blocks_used = 980;
    return plan;
}

inline auto fields(const Op& op) {
    return std::tuple(op.kind, op.role, op.suspect, op.stream, op.group, op.name, op.device_name, op.cost, op.device_cost, op.signal);
}

inline bool same(const std::vector<Op>& a, const std::vector<Op>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Op& x, const Op& y) { return fields(x) == fields(y); });
}

inline bool same(const StepKernels& a, const StepKernels& b) {
    return same(a.inputs, b.inputs) && same(a.forward, b.forward) && same(a.logits, b.logits) && same(a.sampling, b.sampling) && same(a.draft, b.draft) &&
           same(a.outputs, b.outputs) && a.graphs == b.graphs;
}

inline bool default_knobs(const SchedulerKnobs& k) {
    const SchedulerKnobs d;
    return k.withheld_blocks == d.withheld_blocks && k.chunk_tokens == d.chunk_tokens && k.max_running == d.max_running && k.admit == d.admit && k.run == d.run &&
           k.prefix_cache == d.prefix_cache && k.ghost_drafts == d.ghost_drafts && k.draft_acceptance == d.draft_acceptance &&
           k.misroute_one_token_prefill == d.misroute_one_token_prefill && k.retract == d.retract;
}

inline RunOptions small_options(Engine engine, const FaultInfo& info) {
    RunOptions options;
    options.deployment.engine = engine;
    options.deployment.model = "qwen1.5-0.5b";
    options.deployment.tp = std::max(1, info.ranks);
    options.start = kStart;
    return options;
}

/// What a fault did to a few steps; programs are looked at, none is run.
struct Effects {
    bool plan = false, kernels = false, program = false, knobs = false, planned = false, tokenizing = false, transfer = false, claimed = false;
    int suspects = 0;
    std::set<int> ranks;  ///< whose programs or kernels have suspects
    std::vector<std::string> lines;
    [[nodiscard]] bool any() const { return plan || kernels || program || knobs || planned || tokenizing || transfer || !lines.empty(); }
};

class Scene {
public:
    Scene(Engine engine, const FaultInfo& info, TimeNs from, TimeNs to, std::vector<int> ranks = {}, std::uint64_t seed = 5)
        : options(small_options(engine, info)), noise(seed), fault(Fault::make({&info, from, to, 0, std::move(ranks)}, noise)) {
        fault->configure(options, true);
        device = std::make_unique<DeviceModel>(options.deployment, names, noise);
        host = HostModel::make(options, *device, names, noise, kStart);
        machine = std::make_unique<Machine>(host->topology(), noise, kStart);
        host->prepare(*machine);
        reach = std::make_unique<FaultReach>(FaultReach{options, *device, *host, *machine, names, noise, logs});
    }

    Effects play() {
        Effects effects;
        const std::size_t held = machine->held();
        fault->begin(*reach);
        effects.planned = machine->held() != held;
        // A rest before the first step: some things break on waking up.
        for (ThreadProgram& p : host->idle({}, kStart + 1'000'000, *machine)) change(p, StepPlan{}, effects);
        StepNumber step = 0;
        for (const auto& [prompt, decodes] : {std::pair{4000, 8}, {0, 8}, {0, 6}, {4000, 9}, {0, 7}, {0, 5}, {0, 8}, {0, 8}}) {
            std::vector<StepPlan> plans;
            for (std::size_t i = 0; i < host->places().instances.size(); ++i) {
                ++step;
                StepPlan plan = rich_plan(step, kStart + static_cast<TimeNs>(step) * 10'000'000, prompt, decodes);
                if (i > 0 && options.deployment.expert_parallel) {
                    plan.requests.clear();
                    plan.kind = StepKind::dummy;
                    count_tokens(plan);
                }
                plan.instance = static_cast<InstanceIndex>(i);
                plans.push_back(std::move(plan));
            }
            if (fault->active(plans.front().scheduled)) fault->before_launch(plans);
            for (StepPlan& plan : plans) take_step(std::move(plan), effects);
        }
        front(effects);
        for (const LogDraft& draft : logs) effects.lines.push_back(draft.text);
        return effects;
    }

    RunOptions options;
    Names names;
    Noise noise;
    std::unique_ptr<Fault> fault;
    std::unique_ptr<DeviceModel> device;
    std::unique_ptr<HostModel> host;
    std::unique_ptr<Machine> machine;
    std::vector<LogDraft> logs;
    std::unique_ptr<FaultReach> reach;
    std::vector<ThreadProgram> programs;  ///< of all steps, as they were changed

private:
    void take_step(StepPlan plan, Effects& effects) {
        SchedulerKnobs knobs;
        const std::size_t held = machine->held();
        fault->before_schedule(knobs, plan.instance, plan.scheduled, *reach);
        effects.planned = effects.planned || machine->held() != held;
        effects.knobs = effects.knobs || !default_knobs(knobs);
        effects.plan = fault->change_plan(plan, *reach) || effects.plan;
        std::vector<StepKernels> kernels;
        const std::vector<RankPlace>& ranks = host->places().instances[static_cast<std::size_t>(plan.instance)].ranks;
        for (std::size_t r = 0; r < ranks.size(); ++r) {
            kernels.push_back(device->kernels(plan, ranks[r]));
            const StepKernels before = kernels.back();
            const bool said = fault->change_kernels(kernels.back(), plan, static_cast<int>(r), *reach);
            const bool changed = !same(before, kernels.back());
            QVERIFY2(!changed || said, "kernels were changed and nobody was told");
            effects.kernels = effects.kernels || changed;
        }
        std::vector<ThreadProgram> all = host->begin(plan, kernels, *machine).programs;
        for (ThreadProgram& p : host->end(plan, {}, *machine)) all.push_back(std::move(p));
        for (ThreadProgram& p : all) change(p, plan, effects);
    }
    void change(ThreadProgram& p, const StepPlan& plan, Effects& effects) {
        const std::vector<Op> before = p.program.ops;
        effects.claimed = fault->change_program(p, plan, *reach) || effects.claimed;
        effects.program = effects.program || !same(before, p.program.ops);
        check_sound(p.program);
        const bool stands_still = p.program.ops.empty() || p.program.ops.back().kind == OpKind::wait;
        if (!stands_still) QCOMPARE(depth_of(p.program.ops), depth_of(before));
        for (const Op& op : p.program.ops) {
            if (!op.suspect) continue;
            ++effects.suspects;
            effects.ranks.insert(p.rank);
        }
        programs.push_back(p);
    }
    /// What a program leaves open (or closes of what an earlier one opened): no change of it may alter that.
    static int depth_of(const std::vector<Op>& ops) {
        int depth = 0;
        for (const Op& op : ops) depth += op.kind == OpKind::push ? 1 : op.kind == OpKind::pop ? -1 : 0;
        return depth;
    }
    /// Nothing between a graph launch and its nodes; no key twice.
    static void check_sound(const Program& program) {
        std::set<std::uint32_t> keys;
        bool graph = false;
        for (const Op& op : program.ops) {
            QVERIFY2(op.key == 0 || keys.insert(op.key).second, "a key twice in a program");
            if (op.kind == OpKind::node) QVERIFY2(graph, "a node outside of a graph launch");
            else graph = op.kind == OpKind::graph_launch;
        }
    }
    void front(Effects& effects) {
        Request request;
        request.sent = kStart + 20'000'000;
        request.prompt_tokens = 500;
        request.id = "chatcmpl-0";
        effects.tokenizing = fault->tokenize_factor(request, request.sent) != 1;
        effects.transfer = fault->transfer_time(request, 5'000'000, request.sent) != 5'000'000;
        ThreadProgram program = host->arrival(request, machine->new_signal(), *machine, 1);
        if (program.thread != ThreadIndex::none) change(program, StepPlan{}, effects);
        request.instance = static_cast<InstanceIndex>(host->places().instances.size() - 1);
        program = host->take_over(request, request.sent);
        if (program.thread != ThreadIndex::none) change(program, StepPlan{}, effects);
    }
};

inline std::vector<Engine> engines_of(const FaultInfo& info) {
    std::vector<Engine> found;
    for (int e = 0; e < kEngineCount; ++e) {
        if ((info.engines >> e & 1) != 0) found.push_back(static_cast<Engine>(e));
    }
    return found;
}

inline std::string word(const FaultInfo& info, Engine engine) { return std::string(info.id) + " " + std::string(info.name) + " " + std::string(engine_name(engine)); }

inline auto facts(const RunOptions& o) {
    const Deployment& d = o.deployment;
    const Workload& w = o.workload;
    return std::tuple(std::tuple(d.model, d.tp, d.dp, d.nodes, d.prefill_decode, d.expert_parallel, d.graphs, d.async_scheduling, d.spec_tokens, d.custom_all_reduce,
                                 d.rdma, d.attention_backend, d.build, d.prefix_cache, d.chunk_tokens, d.draft_acceptance),
                      std::tuple(w.arrivals, w.rate, w.clients, w.prompt_median, w.output_median, w.prompt_spread, w.output_spread, w.prompt_max, w.output_max,
                                 w.shared_prefix, w.penalties, w.guided, w.top_k, w.logprobs, o.recording.startup));
}

}  // namespace faultline::test
