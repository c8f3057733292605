// What faults change in kernels and programs, and how they keep them sound: renamed and slower kernels, graphs, hangs, one rank of many.
#include <QTest>

#include <algorithm>
#include <map>
#include <set>
#include <string_view>

#include "tests/ml/fault_scene.h"

using namespace faultline;
using namespace faultline::simulator;
using namespace faultline::test;

class TestSimulatorFaultsChanges : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void one_rank_is_one_rank_data();
    void one_rank_is_one_rank();
    void an_edit_never_comes_between_a_graph_and_its_nodes();
    void unwinding_closes_what_standing_still_leaves_open();
    void a_graph_that_is_off_becomes_launches();
    void renamed_kernels_are_slower_by_the_size();
    void another_backend_has_other_kernels_and_another_number_of_them_data();
    void another_backend_has_other_kernels_and_another_number_of_them();
    void a_link_that_replays_is_one_ranks();
    void a_shared_gpu_is_planned_a_little_ahead();
    void a_hang_waits_for_what_nobody_brings();
    void an_adapter_or_module_is_no_suspect();
};

void TestSimulatorFaultsChanges::one_rank_is_one_rank_data() {
    QTest::addColumn<QString>("id");
    for (const char* id : {"A3", "A4", "A5", "B9", "C4", "C5", "C6", "C8", "D1"}) QTest::newRow(id) << QString(id);
}

void TestSimulatorFaultsChanges::one_rank_is_one_rank() {
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

void TestSimulatorFaultsChanges::an_edit_never_comes_between_a_graph_and_its_nodes() {
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

void TestSimulatorFaultsChanges::unwinding_closes_what_standing_still_leaves_open() {
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

void TestSimulatorFaultsChanges::a_graph_that_is_off_becomes_launches() {
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

void TestSimulatorFaultsChanges::renamed_kernels_are_slower_by_the_size() {
    for (const char* id : {"B1", "B8"}) {
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

void TestSimulatorFaultsChanges::a_hang_waits_for_what_nobody_brings() {
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

void TestSimulatorFaultsChanges::an_adapter_or_module_is_no_suspect() {
    for (const FaultInfo& info : fault_catalogue()) {
        if (!info.look_alike) continue;
        for (const Engine engine : engines_of(info)) {
            Scene scene(engine, info, kStart, kStart + 20 * kSecond);
            QVERIFY2(scene.play().suspects == 0, word(info, engine).c_str());
            for (const LogDraft& draft : scene.logs) QVERIFY2(!draft.suspect, draft.text.c_str());
        }
    }
}

void TestSimulatorFaultsChanges::another_backend_has_other_kernels_and_another_number_of_them_data() {
    QTest::addColumn<int>("engine");
    for (int e = 0; e < kEngineCount; ++e) QTest::newRow(std::string(engine_name(static_cast<Engine>(e))).c_str()) << e;
}

void TestSimulatorFaultsChanges::another_backend_has_other_kernels_and_another_number_of_them() {
    QFETCH(int, engine);
    const FaultInfo& info = *fault_named("B12");
    Scene scene(static_cast<Engine>(engine), info, kStart, kStart + kSecond);
    scene.fault->begin(*scene.reach);
    const RankPlace& rank = scene.host->places().instances.front().ranks.front();
    bool another_number = false;
    for (const int prompt : {0, 600}) {
        const StepPlan plan = rich_plan(2, kStart + 1000, prompt, 6);
        const StepKernels before = scene.device->kernels(plan, rank);
        StepKernels after = before;
        QVERIFY(scene.fault->change_kernels(after, plan, 0, *scene.reach));
        const auto count = [](const StepKernels& k) {
            return std::count_if(k.forward.begin(), k.forward.end(), [](const Op& op) { return is_device_work(op) && is_attention(op.role); });
        };
        std::set<Name> meant;
        TimeNs usual = 0, slow = 0;
        for (const Op& op : before.forward) {
            if (!is_device_work(op) || !is_attention(op.role)) continue;
            meant.insert(op.device_name);
            if (op.role == Role::attention) usual += op.device_cost;
        }
        std::vector<Op> others_before, others_after;
        for (const Op& op : before.forward) {
            if (!is_attention(op.role)) others_before.push_back(op);
        }
        for (const Op& op : after.forward) {
            if (!is_attention(op.role)) {
                others_after.push_back(op);
                continue;
            }
            QVERIFY(!meant.contains(op.device_name));
            QVERIFY(op.suspect);
            if (op.role == Role::attention) slow += op.device_cost;
        }
        QVERIFY(same(others_before, others_after));
        QVERIFY(static_cast<double>(slow) > 0.99 * scene.fault->settings().size * static_cast<double>(usual));
        another_number = another_number || count(after) != count(before);
    }
    QVERIFY(another_number);
    const bool serves = static_cast<Engine>(engine) != Engine::fsdp;
    QCOMPARE(scene.logs.size(), std::size_t{serves ? 1U : 0U});
    if (serves) QVERIFY(scene.logs.front().text.find(" backend") != std::string::npos);
}

void TestSimulatorFaultsChanges::a_link_that_replays_is_one_ranks() {
    FaultInfo info = *fault_named("D12");
    info.ranks = 4;
    Scene scene(Engine::vllm_v1_online, info, kStart, kStart + 20 * kSecond);
    scene.fault->begin(*scene.reach);
    const std::vector<int> culprits = scene.fault->settings().ranks;
    QCOMPARE(culprits.size(), std::size_t{1});
    StepRecord record;
    record.ranks = {0, 1, 2, 3};
    QCOMPARE(scene.fault->culprit_ranks(record), culprits);
    const StepPlan plan = rich_plan(2, kStart + 1000, 0, 6);
    for (const RankPlace& rank : scene.host->places().instances.front().ranks) {
        const StepKernels before = scene.device->kernels(plan, rank);
        StepKernels after = before;
        QVERIFY(scene.fault->change_kernels(after, plan, rank.rank, *scene.reach));
        for (std::size_t i = 0; i < after.forward.size(); ++i) {
            const bool collective = is_collective(after.forward[i]);
            QCOMPARE(after.forward[i].suspect, collective && rank.rank == culprits.front());
            QCOMPARE(after.forward[i].device_cost > before.forward[i].device_cost, collective);  // they leave it together
        }
    }
}

void TestSimulatorFaultsChanges::a_shared_gpu_is_planned_a_little_ahead() {
    Scene scene(Engine::vllm_v1_online, *fault_named("B2"), kStart, kStart + 7200 * kSecond);
    scene.fault->begin(*scene.reach);
    const std::size_t first = scene.machine->held();
    QVERIFY(first > 0 && first < 400);
    SchedulerKnobs knobs;
    scene.fault->before_schedule(knobs, {}, kStart + 60 * kSecond, *scene.reach);
    QVERIFY(scene.machine->held() > first);
    QVERIFY(scene.machine->held() < 8 * first);
}
QTEST_APPLESS_MAIN(TestSimulatorFaultsChanges)
#include "tst_simulator_faults_changes.moc"
