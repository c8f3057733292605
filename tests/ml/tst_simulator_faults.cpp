// The catalogue, and that every kind does by its mechanism what it says, in its window and nowhere else, and is explained with the run's numbers.
#include <QTest>

#include <algorithm>
#include <map>
#include <regex>
#include <set>
#include <tuple>

#include "ml/simulator/faults/fault.h"
#include "ml/simulator/faults/program_edit.h"

using namespace faultline;
using namespace faultline::simulator;

namespace {

constexpr TimeNs kSecond = 1'000'000'000, kStart = 1'770'000'000 * kSecond;

/// Everything that a fault could look for: prompts, drafts, grammars, penalties, a resumed victim, a misrouted token, full queues.
StepPlan rich_plan(StepNumber step, TimeNs scheduled, int prompt, int decodes) {
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

auto fields(const Op& op) {
    return std::tuple(op.kind, op.role, op.suspect, op.stream, op.group, op.name, op.device_name, op.cost, op.device_cost, op.signal);
}

bool same(const std::vector<Op>& a, const std::vector<Op>& b) {
    return std::equal(a.begin(), a.end(), b.begin(), b.end(), [](const Op& x, const Op& y) { return fields(x) == fields(y); });
}

bool same(const StepKernels& a, const StepKernels& b) {
    return same(a.inputs, b.inputs) && same(a.forward, b.forward) && same(a.logits, b.logits) && same(a.sampling, b.sampling) && same(a.draft, b.draft) &&
           same(a.outputs, b.outputs) && a.graphs == b.graphs;
}

bool default_knobs(const SchedulerKnobs& k) {
    const SchedulerKnobs d;
    return k.withheld_blocks == d.withheld_blocks && k.chunk_tokens == d.chunk_tokens && k.max_running == d.max_running && k.admit == d.admit && k.run == d.run &&
           k.prefix_cache == d.prefix_cache && k.ghost_drafts == d.ghost_drafts && k.draft_acceptance == d.draft_acceptance &&
           k.misroute_one_token_prefill == d.misroute_one_token_prefill && k.retract == d.retract;
}

RunOptions small_options(Engine engine, const FaultInfo& info) {
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
            for (std::size_t i = 0; i < host->places().instances.size(); ++i) {
                ++step;
                StepPlan plan = rich_plan(step, kStart + static_cast<TimeNs>(step) * 10'000'000, prompt, decodes);
                if (i > 0 && options.deployment.expert_parallel) {
                    plan.requests.clear();
                    plan.kind = StepKind::dummy;
                    count_tokens(plan);
                }
                plan.instance = static_cast<InstanceIndex>(i);
                take_step(plan, effects);
            }
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
    }
};

std::vector<Engine> engines_of(const FaultInfo& info) {
    std::vector<Engine> found;
    for (int e = 0; e < kEngineCount; ++e) {
        if ((info.engines >> e & 1) != 0) found.push_back(static_cast<Engine>(e));
    }
    return found;
}

std::string word(const FaultInfo& info, Engine engine) { return std::string(info.id) + " " + std::string(info.name) + " " + std::string(engine_name(engine)); }

auto facts(const RunOptions& o) {
    const Deployment& d = o.deployment;
    const Workload& w = o.workload;
    return std::tuple(std::tuple(d.model, d.tp, d.dp, d.nodes, d.prefill_decode, d.expert_parallel, d.graphs, d.async_scheduling, d.spec_tokens, d.custom_all_reduce,
                                 d.rdma, d.attention_backend, d.build, d.prefix_cache, d.chunk_tokens, d.draft_acceptance),
                      std::tuple(w.arrivals, w.rate, w.clients, w.prompt_median, w.output_median, w.prompt_spread, w.output_spread, w.prompt_max, w.output_max,
                                 w.shared_prefix, w.penalties, w.guided, w.top_k, w.logprobs, o.recording.startup));
}

}  // namespace

class TestSimulatorFaults : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void the_catalogue_is_large_enough();
    void names_and_sizes_are_sound();
    void a_drawn_size_lies_in_its_range();
    void twins_differ_only_where_a_look_alike_may_data() { every_kind(); }
    void twins_differ_only_where_a_look_alike_may();
    void acts_in_its_window_data() { every_kind(); }
    void acts_in_its_window();
    void leaves_the_rest_alone_data() { every_kind(); }
    void leaves_the_rest_alone();
    void one_rank_is_one_rank_data();
    void one_rank_is_one_rank();
    void is_explained_with_numbers_data() { every_kind(); }
    void is_explained_with_numbers();
    void an_edit_never_comes_between_a_graph_and_its_nodes();
    void unwinding_closes_what_standing_still_leaves_open();
    void a_graph_that_is_off_becomes_launches();
    void renamed_kernels_are_slower_by_the_size();
    void a_hang_waits_for_what_nobody_brings();
    void an_adapter_or_module_is_no_suspect();

private:
    void every_kind();
};

void TestSimulatorFaults::every_kind() {
    QTest::addColumn<QString>("id");
    for (const FaultInfo& info : fault_catalogue()) QTest::newRow(std::string(info.id).c_str()) << QString::fromUtf8(info.id.data(), static_cast<int>(info.id.size()));
}

void TestSimulatorFaults::the_catalogue_is_large_enough() {
    std::map<FaultClass, int> of_class;
    std::set<std::string_view> reserved, look_alikes;
    for (const FaultInfo& info : fault_catalogue()) {
        if (info.look_alike) look_alikes.insert(info.id);
        else if (info.reserved) reserved.insert(info.id);
        else ++of_class[info.type];
        QCOMPARE(info.look_alike, info.type == FaultClass::normal);
    }
    int all = 0;
    for (const FaultClass c : {FaultClass::memory_resource, FaultClass::cuda_kernel, FaultClass::runtime_driver, FaultClass::communication_network,
                               FaultClass::scheduling_software}) {
        QVERIFY2(of_class[c] >= 9, std::string(fault_class_name(c)).c_str());
        all += of_class[c];
    }
    QVERIFY(all >= 48);
    QCOMPARE(reserved, (std::set<std::string_view>{"A9", "B10", "C3", "D6", "E10", "E12"}));
    QCOMPARE(look_alikes.size(), std::size_t{20});
    QCOMPARE(fault_named("C12"), nullptr);
}

void TestSimulatorFaults::names_and_sizes_are_sound() {
    std::set<std::string_view> names, ids;
    for (const FaultInfo& info : fault_catalogue()) {
        QVERIFY2(names.insert(info.name).second && ids.insert(info.id).second, std::string(info.name).c_str());
        QVERIFY(std::all_of(info.name.begin(), info.name.end(), [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-'; }));
        QVERIFY(info.sentence.size() > 20 && info.sentence.back() == '.');
        QCOMPARE(info.size.empty(), info.largest == 0);
        QVERIFY2(info.largest == 0 || (info.smallest > 0 && info.smallest < info.largest), std::string(info.name).c_str());
        QVERIFY2(!engines_of(info).empty(), std::string(info.name).c_str());
        QVERIFY2(info.look_alike || !info.ruled_out.empty(), std::string(info.name).c_str());
        QCOMPARE(fault_named(info.name), &info);
        QCOMPARE(fault_named(info.id), &info);
        if (info.look_alike) continue;
        const char letter = "ABCDE"[static_cast<int>(info.type) - 1];
        QCOMPARE(info.id.front(), letter);
    }
}

void TestSimulatorFaults::a_drawn_size_lies_in_its_range() {
    for (const FaultInfo& info : fault_catalogue()) {
        for (std::uint64_t seed = 1; seed < 6; ++seed) {
            const auto fault = Fault::make({&info, kStart, kStart + kSecond, 0, {}}, Noise(seed));
            QVERIFY(fault != nullptr);
            if (info.largest > 0) QVERIFY(fault->settings().size >= info.smallest && fault->settings().size <= info.largest);
        }
    }
}

void TestSimulatorFaults::twins_differ_only_where_a_look_alike_may() {
    QFETCH(QString, id);
    const FaultInfo& info = *fault_named(id.toStdString());
    for (const Engine engine : engines_of(info)) {
        RunOptions with = small_options(engine, info), without = with;
        Fault::make({&info, kStart, kStart + kSecond, 0, {}}, Noise(3))->configure(with, true);
        Fault::make({&info, kStart, kStart + kSecond, 0, {}}, Noise(3))->configure(without, false);
        // Faults begin in the middle of a run; only a look-alike may be the load itself.
        if (!info.look_alike) QVERIFY2(facts(with) == facts(without), word(info, engine).c_str());
        QVERIFY2(with.deployment.tp * with.deployment.dp >= info.ranks, word(info, engine).c_str());
        QCOMPARE(std::get<0>(facts(with)), std::get<0>(facts(without)));
    }
}

void TestSimulatorFaults::acts_in_its_window() {
    QFETCH(QString, id);
    const FaultInfo& info = *fault_named(id.toStdString());
    // What is no operator of a step: transfers between instances, work that is absent.
    static const std::set<std::string_view> unmarked{"D8", "D9", "D10"};
    for (const Engine engine : engines_of(info)) {
        Scene scene(engine, info, kStart, kStart + 20 * kSecond);
        const Effects effects = scene.play();
        RunOptions with = small_options(engine, info), without = with;
        Fault::make({&info, kStart, kStart + kSecond, 0, {}}, Noise(5))->configure(with, true);
        Fault::make({&info, kStart, kStart + kSecond, 0, {}}, Noise(5))->configure(without, false);
        QVERIFY2(effects.any() || facts(with) != facts(without), word(info, engine).c_str());
        if (!info.look_alike && !unmarked.contains(info.id)) {
            QVERIFY2(effects.suspects > 0 || effects.planned, ("nothing is marked: " + word(info, engine)).c_str());
        }
        for (const std::string& line : effects.lines) {
            QVERIFY2(line.find("inject") == std::string::npos && line.find(info.name) == std::string::npos, line.c_str());
        }
    }
}

void TestSimulatorFaults::leaves_the_rest_alone() {
    QFETCH(QString, id);
    const FaultInfo& info = *fault_named(id.toStdString());
    for (const Engine engine : engines_of(info)) {
        Scene scene(engine, info, kStart + 3600 * kSecond, kStart + 3700 * kSecond);
        const Effects effects = scene.play();
        QVERIFY2(!effects.plan && !effects.kernels && !effects.program && !effects.knobs && !effects.claimed, word(info, engine).c_str());
        QVERIFY2(!effects.tokenizing && !effects.transfer, word(info, engine).c_str());
        QCOMPARE(effects.suspects, 0);
        for (const LogDraft& draft : scene.logs) QVERIFY2(draft.time >= kStart + 3600 * kSecond, draft.text.c_str());
    }
}

void TestSimulatorFaults::one_rank_is_one_rank_data() {
    QTest::addColumn<QString>("id");
    for (const char* id : {"A3", "A4", "A5", "B9", "C4", "C5", "C6", "C8", "D1"}) QTest::newRow(id) << QString(id);
}

void TestSimulatorFaults::one_rank_is_one_rank() {
    QFETCH(QString, id);
    FaultInfo info = *fault_named(id.toStdString());
    info.ranks = 4;
    Scene scene(Engine::vllm_v1_online, info, kStart, kStart + 20 * kSecond, {2});
    const Effects effects = scene.play();
    QCOMPARE(effects.ranks, std::set<int>{2});
    StepRecord record;
    record.ranks = {0, 1, 2, 3};
    QCOMPARE(scene.fault->culprit_ranks(record), std::vector<int>{2});
    // Left to the seed, ranks are drawn from all there are.
    std::set<int> drawn;
    for (std::uint64_t seed = 1; seed < 60; ++seed) {
        RunOptions options = small_options(Engine::vllm_v1_online, info);
        const auto fault = Fault::make({&info, kStart, kStart + kSecond, 0, {}}, Noise(seed));
        fault->configure(options, true);
        QCOMPARE(fault->settings().ranks.size(), std::size_t{1});
        drawn.insert(fault->settings().ranks.front());
    }
    if (id != "A5") QCOMPARE(drawn, (std::set<int>{0, 1, 2, 3}));
}

void TestSimulatorFaults::is_explained_with_numbers() {
    QFETCH(QString, id);
    const FaultInfo& info = *fault_named(id.toStdString());
    if (info.look_alike) return;
    RunOptions options = small_options(engines_of(info).back(), info);
    const auto fault = Fault::make({&info, kStart, kStart + kSecond, 0, {1}}, Noise(3));
    fault->configure(options, true);
    StepRecord record;
    record.plan = rich_plan(7, kStart, 100, 4);
    record.requests = {"chatcmpl-51", "chatcmpl-52"};
    record.ranks = {0, 1};
    record.start = kStart;
    record.end = kStart + 48'250'000;
    record.usual = 12'340'000;
    record.rehearsed = 12'000'000;
    record.touched = true;
    record.longest_wait = 35'500'000;
    record.waiting_rank = 0;
    record.waiting_in = "vllm::cross_device_reduce_1stage";
    SuspectOperator suspect;
    suspect.rank = 1;
    suspect.name = "cudaLaunchKernel_of_rank_1";
    suspect.duration = 35'000'000;
    record.suspects = {suspect};
    const std::string text = fault->explain(record);
    QVERIFY2(text.find("48.25 ms") != std::string::npos && text.find("12.34 ms") != std::string::npos, text.c_str());
    QVERIFY2(text.find("cudaLaunchKernel_of_rank_1") != std::string::npos && text.find("chatcmpl-51") != std::string::npos, text.c_str());
    QVERIFY2(text.find("no log line names it") != std::string::npos || text.find("log") != std::string::npos, text.c_str());
    QVERIFY2(text.find("ruled out: " + std::string(info.ruled_out)) != std::string::npos, text.c_str());
    QVERIFY2(text.find(info.name) == std::string::npos, text.c_str());
    QVERIFY2(!std::regex_search(text, std::regex("\\b" + std::string(info.id) + "\\b")), text.c_str());
    const std::vector<int> culprits = fault->culprit_ranks(record);
    if (!culprits.empty()) QVERIFY2(text.find("rank 1") != std::string::npos || text.find("server") != std::string::npos, text.c_str());
    // A line that names it is quoted, and no comparison is invented.
    record.suspect_logs = {"NVRM: Xid (PCI:0000:3b:00): 119\nmore"};
    record.usual = record.rehearsed = kNull;
    const std::string quoted = fault->explain(record);
    QVERIFY2(quoted.find("Xid (PCI:0000:3b:00): 119;") != std::string::npos && quoted.find("P99") == std::string::npos, quoted.c_str());
}

void TestSimulatorFaults::an_edit_never_comes_between_a_graph_and_its_nodes() {
    Names names;
    Program program;
    program.add({.kind = OpKind::push, .role = Role::model_forward});
    program.add({.kind = OpKind::graph_launch, .role = Role::graph});
    for (int i = 0; i < 5; ++i) program.add({.kind = OpKind::node, .role = i == 3 ? Role::attention : Role::qkv_gemm});
    program.add({.kind = OpKind::pop});
    ProgramEdit edit(program, names);
    const auto work = edit.work_of({Role::attention});
    QVERIFY(work.has_value());
    QCOMPARE(*work, std::size_t{5});
    QCOMPARE(edit.host_place(*work), std::size_t{1});
    QCOMPARE(edit.host_place(1), std::size_t{1});
    QCOMPARE(edit.host_place(7), std::size_t{7});
    const std::size_t after = edit.put_call(edit.host_place(*work), "cudaMalloc", 500, Role::allocate);
    QCOMPARE(after, std::size_t{2});
    QCOMPARE(edit.at(1).event, EventKind::runtime_call);
    QCOMPARE(edit.at(2).kind, OpKind::graph_launch);
    edit.put_call(2, "cuModuleLoadData", 500, Role::module_load);
    QCOMPARE(edit.at(2).event, EventKind::driver_call);
    // A range that is not in the capture is stood for by its first call.
    edit.at(1).suspect = false;
    edit.mark_range(0);
    QVERIFY(edit.at(0).suspect && edit.at(1).suspect);
}

void TestSimulatorFaults::unwinding_closes_what_standing_still_leaves_open() {
    for (const bool unwind : {true, false}) {
        Names names;
        Program program;
        program.add({.kind = OpKind::push, .role = Role::step});
        program.add({.kind = OpKind::push, .role = Role::model_forward});
        program.add({.kind = OpKind::work, .cost = 10});
        program.add({.kind = OpKind::work, .cost = 20});
        program.add({.kind = OpKind::pop});
        program.add({.kind = OpKind::pop});
        ProgramEdit(program, names).cut(3, unwind);
        QCOMPARE(program.ops.size(), std::size_t{unwind ? 5U : 3U});
        QCOMPARE(program.ops[2].cost, TimeNs{10});
    }
}

void TestSimulatorFaults::a_graph_that_is_off_becomes_launches() {
    for (const char* id : {"B4", "B5"}) {
        const FaultInfo& info = *fault_named(id);
        Scene scene(Engine::vllm_v1_online, info, kStart, kStart + kSecond);
        scene.fault->begin(*scene.reach);
        const RankPlace& rank = scene.host->places().instances.front().ranks.front();
        bool checked = false;
        for (int decodes = 1; decodes <= 40; ++decodes) {
            StepPlan plan;
            plan.step = 3;
            plan.scheduled = kStart + 1000;
            for (int i = 0; i < decodes; ++i) {
                ScheduledRequest r;
                r.request = static_cast<RequestNumber>(i);
                r.tokens = 1;
                r.computed_before = 300;
                plan.requests.push_back(r);
            }
            count_tokens(plan);
            const StepKernels before = scene.device->kernels(plan, rank);
            StepKernels after = before;
            if (!scene.fault->change_kernels(after, plan, 0, *scene.reach)) continue;
            checked = true;
            const auto count = [](const StepKernels& k, OpKind kind) {
                return std::count_if(k.forward.begin(), k.forward.end(), [&](const Op& op) { return op.kind == kind; });
            };
            const auto work = [](const StepKernels& k) { return std::count_if(k.forward.begin(), k.forward.end(), is_device_work); };
            QCOMPARE(before.graphs, GraphMode::full);
            QCOMPARE(count(before, OpKind::graph_launch), 1);
            QCOMPARE(work(after), work(before));  // the same kernels, launched in another way
            if (id == std::string("B4")) {
                QCOMPARE(count(after, OpKind::node), 0);
                QCOMPARE(count(after, OpKind::graph_launch), 0);
                QCOMPARE(after.graphs, GraphMode::none);
            } else {
                QCOMPARE(after.graphs, GraphMode::piecewise);
                QCOMPARE(count(after, OpKind::graph_launch), scene.device->model().layers + 1);
            }
        }
        QVERIFY2(checked, id);
    }
}

void TestSimulatorFaults::renamed_kernels_are_slower_by_the_size() {
    for (const char* id : {"B1", "B8", "B12"}) {
        const FaultInfo& info = *fault_named(id);
        Scene scene(Engine::vllm_v1_online, info, kStart, kStart + kSecond);
        scene.fault->begin(*scene.reach);
        const RankPlace& rank = scene.host->places().instances.front().ranks.front();
        const StepPlan plan = rich_plan(2, kStart + 1000, 0, 6);
        const StepKernels before = scene.device->kernels(plan, rank);
        StepKernels after = before;
        QVERIFY(scene.fault->change_kernels(after, plan, 0, *scene.reach));
        QVERIFY(scene.fault->structural());
        int renamed = 0;
        for (std::size_t i = 0; i < after.forward.size(); ++i) {
            const Op &a = before.forward[i], &b = after.forward[i];
            if (!b.suspect) {
                QVERIFY(fields(a) == fields(b));
                continue;
            }
            const double factor = static_cast<double>(b.device_cost) / static_cast<double>(a.device_cost);
            QVERIFY2(std::abs(factor - scene.fault->settings().size) < 0.01, id);
            if (a.device_name != b.device_name) ++renamed;
        }
        if (id != std::string("B8")) QVERIFY2(renamed >= scene.device->model().layers, id);
    }
}

void TestSimulatorFaults::a_hang_waits_for_what_nobody_brings() {
    for (const char* id : {"A3", "A8", "A11", "B9", "B11", "C4", "C5", "C6", "C10", "D1", "D2", "D14", "E14", "E16"}) {
        const FaultInfo& info = *fault_named(id);
        // A8 grows for the first half of its window.
        Scene scene(engines_of(info).back(), info, kStart - 10 * kSecond, kStart + 9 * kSecond);
        const Effects effects = scene.play();
        const bool waits = std::any_of(scene.programs.begin(), scene.programs.end(), [&](const ThreadProgram& p) {
            if (p.program.ops.empty()) return false;
            const Op& last = p.program.ops.back();
            return (last.kind == OpKind::wait && last.signal != kNoSignal) ||
                   std::any_of(p.program.ops.begin(), p.program.ops.end(), [](const Op& op) { return op.device_cost == kForever; });
        });
        QVERIFY2(waits && effects.program, id);
        TimeNs end = 0;
        scene.logs.clear();
        QVERIFY2(scene.fault->stuck(kStart + kSecond, end, *scene.reach), id);
        QVERIFY2(end > kStart + kSecond, id);
        for (const LogDraft& draft : scene.logs) QVERIFY2(draft.suspect && draft.time > kStart + kSecond && draft.time <= end, draft.text.c_str());
    }
}

void TestSimulatorFaults::an_adapter_or_module_is_no_suspect() {
    for (const FaultInfo& info : fault_catalogue()) {
        if (!info.look_alike) continue;
        for (const Engine engine : engines_of(info)) {
            Scene scene(engine, info, kStart, kStart + 20 * kSecond);
            QVERIFY2(scene.play().suspects == 0, word(info, engine).c_str());
            for (const LogDraft& draft : scene.logs) QVERIFY2(!draft.suspect, draft.text.c_str());
        }
    }
}

QTEST_APPLESS_MAIN(TestSimulatorFaults)
#include "tst_simulator_faults.moc"
