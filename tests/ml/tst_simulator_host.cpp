// What the hosts of engines write: balanced, understood by the step grammar, and with the processes that engines have.
#include <QTest>

#include <map>
#include <set>

#include "core/step_grammar.h"
#include "ml/simulator/host/host_model.h"

using namespace faultline;
using namespace faultline::simulator;

namespace {

StepPlan plan_of(int decodes, int prompt) {
    StepPlan plan;
    plan.step = 1;
    plan.instance_step = 41;
    for (int i = 0; i < decodes; ++i) {
        ScheduledRequest r;
        r.request = static_cast<RequestNumber>(i);
        r.tokens = 1;
        r.computed_before = 500;
        plan.requests.push_back(r);
    }
    if (prompt > 0) {
        ScheduledRequest r;
        r.request = 99;
        r.tokens = prompt;
        r.context = r.first = true;
        plan.requests.push_back(r);
    }
    count_tokens(plan);
    return plan;
}

/// A host with all that it needs, and the programs of one turn.
struct Scene {
    RunOptions options;
    Names names;
    Noise noise{4};
    std::unique_ptr<DeviceModel> device;
    std::unique_ptr<HostModel> host;
    std::unique_ptr<Machine> machine;

    explicit Scene(Engine engine, int tp = 2, Dialect dialect = Dialect::semantic, bool async = false) {
        options.deployment.engine = engine;
        options.deployment.model = "qwen1.5-0.5b";
        options.deployment.tp = tp;
        options.deployment.async_scheduling = async;
        options.deployment.graphs = GraphMode::none;
        options.recording.dialect = dialect;
        options.recording.python = true;
    }
    void make() {
        device = std::make_unique<DeviceModel>(options.deployment, names, noise);
        host = HostModel::make(options, *device, names, noise, 1'000'000'000);
        machine = std::make_unique<Machine>(host->topology(), noise, 1'000'000'000);
        host->prepare(*machine);
    }
    StepPrograms begin(const StepPlan& plan) {
        std::vector<StepKernels> kernels;
        for (const RankPlace& rank : host->places().instances.front().ranks) kernels.push_back(device->kernels(plan, rank));
        return host->begin(plan, kernels, *machine);
    }
    std::vector<ThreadProgram> turn(const StepPlan& plan, std::string* text = nullptr) {
        StepPrograms step = begin(plan);
        if (text != nullptr) *text = step.text;
        std::vector<ThreadProgram> all = std::move(step.programs);
        for (ThreadProgram& p : host->end(plan, {}, *machine)) all.push_back(std::move(p));
        for (ThreadProgram& p : host->end_turn({})) all.push_back(std::move(p));
        return all;
    }
};

void add_engines() {
    QTest::addColumn<int>("engine");
    QTest::addColumn<int>("tp");
    QTest::addColumn<bool>("async");
    for (int e = 0; e < kEngineCount; ++e) {
        for (const int tp : {1, 2, 4}) {
            QTest::newRow((std::string(engine_name(static_cast<Engine>(e))) + std::to_string(tp)).c_str()) << e << tp << false;
            if (static_cast<Engine>(e) == Engine::vllm_v1_online || static_cast<Engine>(e) == Engine::sglang) {
                QTest::newRow((std::string(engine_name(static_cast<Engine>(e))) + std::to_string(tp) + " async").c_str()) << e << tp << true;
            }
        }
    }
}

void note_ranges(const Scene& scene, const ThreadProgram& program, std::set<std::string>& seen) {
    for (const Op& op : program.program.ops) {
        if (op.kind == OpKind::push && op.event == EventKind::range && op.name != Name::none) seen.insert(std::string(scene.names.text(op.name)));
    }
}

}  // namespace

class TestSimulatorHost : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void ranges_are_balanced_and_waits_are_answered_data() { add_engines(); }
    void ranges_are_balanced_and_waits_are_answered();
    void every_dialect_is_understood_data();
    void every_dialect_is_understood();
    void every_semantic_span_has_its_place();
    void processes_are_those_of_the_engine();
    void two_nodes_have_two_clocks();
    void requests_are_named_in_a_side_range();
    void operators_and_frames_stand_around_launches();
    void a_clone_is_independent();
};

void TestSimulatorHost::ranges_are_balanced_and_waits_are_answered() {
    QFETCH(int, engine);
    QFETCH(int, tp);
    QFETCH(bool, async);
    Scene scene(static_cast<Engine>(engine), tp, Dialect::semantic, async);
    scene.make();
    std::map<ThreadIndex, int> depth;
    std::set<std::uint32_t> set, waited;
    for (const ThreadProgram& p : scene.turn(plan_of(6, 100))) {
        for (const Op& op : p.program.ops) {
            if (op.kind == OpKind::push) ++depth[p.thread];
            if (op.kind == OpKind::pop) QVERIFY(--depth[p.thread] >= 0);
            if (op.kind == OpKind::signal) set.insert(op.signal);
            if (op.kind == OpKind::wait) waited.insert(op.signal);
        }
        scene.machine->run(p.thread, p.program, p.not_before);
    }
    for (const auto& [thread, open] : depth) QCOMPARE(open, 0);
    for (const std::uint32_t signal : waited) QVERIFY(set.contains(signal));
    scene.machine->advance();
    for (std::size_t t = 0; t < scene.host->topology().threads.size(); ++t) QVERIFY(scene.machine->idle(static_cast<ThreadIndex>(t)));
    QVERIFY(scene.machine->step_end(1) > 1'000'000'000);
}

void TestSimulatorHost::every_dialect_is_understood_data() {
    QTest::addColumn<int>("engine");
    QTest::addColumn<int>("dialect");
    for (const Engine engine : {Engine::vllm_v1_offline, Engine::vllm_v1_online, Engine::sglang}) {
        for (const Dialect dialect : {Dialect::semantic, Dialect::engine_current, Dialect::engine_older, Dialect::engine_detailed, Dialect::engine_scopes}) {
            QTest::newRow((std::string(engine_name(engine)) + " " + std::string(dialect_name(dialect))).c_str()) << static_cast<int>(engine) << static_cast<int>(dialect);
        }
    }
    QTest::newRow("fsdp") << static_cast<int>(Engine::fsdp) << static_cast<int>(Dialect::semantic);
    QTest::newRow("vllm-v0") << static_cast<int>(Engine::vllm_v0) << static_cast<int>(Dialect::semantic);
}

void TestSimulatorHost::every_dialect_is_understood() {
    QFETCH(int, engine);
    QFETCH(int, dialect);
    const StepGrammar grammar = StepGrammar::built_in();
    Scene scene(static_cast<Engine>(engine), 1, static_cast<Dialect>(dialect));
    scene.make();
    const bool counts_tokens = static_cast<Dialect>(dialect) != Dialect::engine_older || static_cast<Engine>(engine) == Engine::sglang;
    for (const StepPlan& plan : {plan_of(6, 0), plan_of(0, 300)}) {
        const std::string text = scene.begin(plan).text;
        const auto found = grammar.match(SpanKind::range, text);
        QVERIFY2(found, text.c_str());
        QVERIFY(found->role == StepRole::step);
        QCOMPARE(static_cast<int>(found->phase), static_cast<int>(plan.context_requests > 0 ? StepPhase::prefill : StepPhase::decode));
        if (!counts_tokens) continue;
        const std::int64_t tokens = found->tokens ? *found->tokens : found->context_tokens.value_or(0) + found->generation_tokens.value_or(0);
        QCOMPARE(tokens == 0 ? std::int64_t{found->batch.value_or(0)} : tokens, std::int64_t{plan.tokens});
    }
}

void TestSimulatorHost::every_semantic_span_has_its_place() {
    // ENGINES §6 without pp.recv and mm_encoder: there is no pipeline parallelism and no picture in what is simulated.
    std::set<std::string> seen;
    const auto look = [&](Scene& scene, const StepPlan& plan) {
        for (const ThreadProgram& p : scene.turn(plan)) note_ranges(scene, p, seen);
    };
    Scene experts(Engine::vllm_v1_online, 2);
    experts.options.deployment.dp = 2;
    experts.options.deployment.expert_parallel = true;
    experts.options.deployment.graphs = GraphMode::full;
    experts.options.deployment.spec_tokens = 2;
    experts.make();
    StepPlan plan = plan_of(6, 0);
    plan.requests[0].guided = plan.requests[1].penalties = true;
    look(experts, plan);
    plan.requests[2].drafts = 2;
    look(experts, plan);
    plan = plan_of(6, 1000);
    plan.asked_tokens = 100;
    look(experts, plan);
    for (const ThreadProgram& p : experts.host->idle({}, 2'000'000'000, *experts.machine)) note_ranges(experts, p, seen);
    Scene split(Engine::vllm_v1_online, 1, Dialect::semantic, true);
    split.options.deployment.prefill_decode = true;
    split.make();
    for (int instance = 0; instance < 2; ++instance) {
        plan = plan_of(instance == 0 ? 0 : 3, instance == 0 ? 100 : 0);
        plan.instance = static_cast<InstanceIndex>(instance);
        plan.requests.front().first = true;
        look(split, plan);
    }
    for (const char* name :
         {"core.step", "core.wait_input", "core.add_request", "sched.schedule", "sched.prefix_lookup", "sched.allocate_slots", "exec.execute_model_rpc",
          "sched.grammar_bitmask", "exec.wait_output", "exec.sample_tokens_rpc", "sched.update_from_output", "core.send_outputs", "kv_connector.build_meta",
          "rpc.wait", "runner.execute_model", "update_states", "prepare_inputs", "block_table.commit", "slot_mapping", "input_ids.copy", "spec_metadata",
          "dp.coordinate", "cudagraph.dispatch", "attn_metadata", "preprocess", "kv.start_load", "model_forward", "graph.replay", "eager", "kv.wait_save",
          "kv.get_finished", "compute_logits", "logits.gather", "runner.sample_tokens", "grammar.apply", "sampling_metadata", "sampler", "rejection_sampler",
          "bookkeeping_sync", "draft.propose", "eplb.step", "output.build", "rpc.reply", "async_output_copy"}) {
        QVERIFY2(seen.contains(name), name);
    }
}

void TestSimulatorHost::processes_are_those_of_the_engine() {
    const auto count = [](Engine engine, int tp, ProcessRole role) {
        Scene scene(engine, tp);
        scene.make();
        int n = 0;
        for (const ProcessInfo& p : scene.host->topology().processes) n += p.role == role ? 1 : 0;
        return n;
    };
    QCOMPARE(count(Engine::vllm_v1_online, 1, ProcessRole::worker), 0);  // ENGINES §1.1: one process where TP is 1
    QCOMPARE(count(Engine::vllm_v1_online, 4, ProcessRole::worker), 4);
    QCOMPARE(count(Engine::vllm_v1_online, 4, ProcessRole::engine_core), 1);
    QCOMPARE(count(Engine::vllm_v0, 4, ProcessRole::worker), 3);  // rank 0 is the engine
    QCOMPARE(count(Engine::sglang, 4, ProcessRole::scheduler), 4);
    QCOMPARE(count(Engine::sglang, 4, ProcessRole::worker), 0);
    QCOMPARE(count(Engine::fsdp, 2, ProcessRole::fsdp_rank), 2);
    QCOMPARE(count(Engine::fsdp, 2, ProcessRole::api_server), 0);
    Scene scene(Engine::vllm_v1_online, 4);
    scene.make();
    std::set<std::int64_t> pids, tids;
    for (const ProcessInfo& p : scene.host->topology().processes) QVERIFY(pids.insert(p.pid).second);
    for (const ThreadInfo& t : scene.host->topology().threads) QVERIFY(tids.insert(t.tid).second);
}

void TestSimulatorHost::two_nodes_have_two_clocks() {
    Scene scene(Engine::vllm_v1_online, 4);
    scene.options.deployment.nodes = 2;
    scene.make();
    const Topology& t = scene.host->topology();
    QCOMPARE(t.nodes.size(), std::size_t{2});
    QVERIFY(t.nodes[0].clock.offset != t.nodes[1].clock.offset);
    QVERIFY(t.nodes[0].host != t.nodes[1].host);
    int second = 0;
    for (const DeviceInfo& d : t.devices) second += d.node == NodeIndex{1} ? 1 : 0;
    QCOMPARE(second, 2);
    QVERIFY(scene.host->places().instances.front().ranks.front().between_nodes);
}

void TestSimulatorHost::requests_are_named_in_a_side_range() {
    for (const bool named : {true, false}) {
        Scene scene(Engine::vllm_v1_online, 1);
        scene.options.recording.request_ids = named;
        scene.make();
        Request request;
        request.id = "chatcmpl-00000000000000000000000000000001-0000000a";
        request.number = 3;
        (void)scene.host->arrival(request, scene.machine->new_signal(), *scene.machine, 1);
        bool found = false;
        for (const ThreadProgram& p : scene.turn(plan_of(6, 0))) {
            for (const std::string& text : p.program.texts) found = found || text.find("requests=" + request.id) != std::string::npos;
        }
        QCOMPARE(found, named);
    }
}

void TestSimulatorHost::operators_and_frames_stand_around_launches() {
    for (const bool on : {true, false}) {
        Scene scene(Engine::vllm_v1_online, 1);
        scene.options.recording.operators = scene.options.recording.python = on;
        scene.make();
        int operators = 0, frames = 0;
        for (const ThreadProgram& p : scene.turn(plan_of(6, 0))) {
            for (const Op& op : p.program.ops) {
                operators += op.kind == OpKind::push && op.event == EventKind::op ? 1 : 0;
                frames += op.kind == OpKind::push && op.event == EventKind::python ? 1 : 0;
            }
        }
        QCOMPARE(operators > 200, on);
        QCOMPARE(frames > 200, on);
        if (!on) QCOMPARE(operators + frames, 0);
    }
}

void TestSimulatorHost::a_clone_is_independent() {
    Scene scene(Engine::vllm_v1_online, 2);
    scene.make();
    const StepPlan plan = plan_of(4, 0);
    StepPrograms first = scene.begin(plan);
    Machine copy = *scene.machine;
    const std::unique_ptr<HostModel> clone = scene.host->clone();
    (void)clone->end(plan, {}, copy);
    QVERIFY(!scene.host->end(plan, {}, *scene.machine).empty());  // the clone took nothing away
}

QTEST_APPLESS_MAIN(TestSimulatorHost)
#include "tst_simulator_host.moc"
