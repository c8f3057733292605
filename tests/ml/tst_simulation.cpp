// The rules that every simulated run obeys, whatever the engine: checked on all events of short runs.
#include <QTest>

#include <algorithm>
#include <set>
#include <tuple>

#include "ml/simulator/device/cards.h"
#include "tests/ml/simulated_run.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::test::KeepingSink;
using faultline::test::small_run;

namespace {

struct Served {
    KeepingSink sink;
    std::vector<std::pair<StepRecord, FaultClass>> steps;
    std::int64_t generation_tokens = 0, rejected = 0, last_chunks = 0, tokens_out = 0;
    bool blocks_conserved = true;
    Result<SimulationSummary> summary;

    explicit Served(const RunOptions& options, const std::optional<FaultChoice>& fault = {}) : summary(run(options, fault)) {}

    Result<SimulationSummary> run(const RunOptions& options, const std::optional<FaultChoice>& fault) {
        SimulationHooks hooks;
        hooks.sink = &sink;
        hooks.record = [&](const StepRecord& record, FaultClass label) { steps.emplace_back(record, label); };
        hooks.completed = [&](const StepPlan& plan, const StepOutcome& outcome, const Scheduler& scheduler) {
            for (const ScheduledRequest& r : plan.requests) {
                if (r.context) {
                    last_chunks += r.last_chunk ? 1 : 0;
                } else {
                    generation_tokens += r.tokens;
                }
            }
            rejected += outcome.drafts - outcome.accepted;
            tokens_out += outcome.tokens_out;
            blocks_conserved = blocks_conserved && scheduler.blocks_used() >= 0 && scheduler.blocks_used() <= scheduler.blocks_total();
        };
        return simulate_into(options, fault, hooks);
    }
};

/// What identifies an event apart from where it came in the stream.
auto key_of(const KeepingSink::Kept& kept) {
    const Event& e = kept.event;
    return std::tuple(e.start, e.duration, static_cast<int>(e.kind), static_cast<int>(e.process), static_cast<int>(e.thread), static_cast<int>(e.stream),
                      static_cast<std::uint32_t>(e.name), kept.text, e.correlation, e.step);
}

}  // namespace

class TestSimulation : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void every_engine_serves_data();
    void every_engine_serves();
    void same_seed_same_events();
    void all_ranks_leave_a_collective_together();
    void nothing_starts_before_its_launch_data() { every_engine_serves_data(); }
    void nothing_starts_before_its_launch();
    void four_products_a_layer_and_two_reductions();
    void tokens_out_are_tokens_scheduled_less_rejected_drafts_data();
    void tokens_out_are_tokens_scheduled_less_rejected_drafts();
    void a_stalled_api_server_delays_no_step();
    void without_the_fault_all_is_the_same_before_it_data();
    void without_the_fault_all_is_the_same_before_it();
    void a_paused_worker_is_found_and_costs_its_pause();
    void a_late_rank_has_the_short_collective();
    void counters_follow_a_slow_clock();
    void errors_say_what_to_do();
};

void TestSimulation::every_engine_serves_data() {
    QTest::addColumn<int>("engine");
    QTest::addColumn<int>("tp");
    QTest::addColumn<int>("graphs");
    for (int e = 0; e < kEngineCount; ++e) {
        for (const int tp : {1, 2}) {
            for (const GraphMode mode : {GraphMode::none, GraphMode::full}) {
                const std::string name = std::string(engine_name(static_cast<Engine>(e))) + " tp" + std::to_string(tp) + " " +
                                         std::string(graph_mode_name(mode));
                QTest::newRow(name.c_str()) << e << tp << static_cast<int>(mode);
            }
        }
    }
}

void TestSimulation::every_engine_serves() {
    QFETCH(int, engine);
    QFETCH(int, tp);
    QFETCH(int, graphs);
    RunOptions options = small_run(static_cast<Engine>(engine), tp);
    options.deployment.graphs = static_cast<GraphMode>(graphs);
    const Served run(options);
    QVERIFY2(run.summary, run.summary ? "" : run.summary.error().sentence.c_str());
    QVERIFY(!run.summary->stuck);
    QVERIFY(run.summary->steps > 20);
    QVERIFY(run.summary->tokens_out > 100);
    QVERIFY(run.blocks_conserved);
    QCOMPARE(run.summary->faulty_steps, std::uint64_t{0});
    for (const auto& [record, label] : run.steps) {
        QCOMPARE(static_cast<int>(label), static_cast<int>(FaultClass::normal));
        QVERIFY(record.suspects.empty());
        QVERIFY(record.end > record.start);
    }
}

void TestSimulation::same_seed_same_events() {
    const RunOptions options = small_run(Engine::vllm_v1_online);
    const Served a(options), b(options);
    QVERIFY(a.sink.events.size() > 1000);
    QCOMPARE(a.sink.events.size(), b.sink.events.size());
    for (std::size_t i = 0; i < a.sink.events.size(); ++i) QVERIFY(key_of(a.sink.events[i]) == key_of(b.sink.events[i]));
    QVERIFY(a.sink.logs == b.sink.logs);
    RunOptions other = options;
    other.seed = 8;
    const Served c(other);
    QVERIFY(c.sink.events.front().event.start != a.sink.events.front().event.start);
}

void TestSimulation::all_ranks_leave_a_collective_together() {
    for (const Engine engine : {Engine::vllm_v1_online, Engine::vllm_v0, Engine::sglang, Engine::fsdp}) {
        const Served run(small_run(engine));
        QVERIFY(run.summary);
        std::map<int, std::vector<std::pair<TimeNs, TimeNs>>> by_stream;  // start, end of each collective in order
        for (const auto& kept : run.sink.events) {
            if (kept.event.group_size > 1) {
                by_stream[static_cast<int>(kept.event.stream)].emplace_back(kept.event.start, kept.event.start + kept.event.duration);
            }
        }
        QCOMPARE(by_stream.size(), std::size_t{2});
        const auto& first = by_stream.begin()->second;
        const auto& second = std::next(by_stream.begin())->second;
        QVERIFY(first.size() > 500);
        QCOMPARE(first.size(), second.size());
        for (std::size_t i = 0; i < first.size(); ++i) QCOMPARE(first[i].second, second[i].second);
    }
}

void TestSimulation::nothing_starts_before_its_launch() {
    QFETCH(int, engine);
    QFETCH(int, tp);
    QFETCH(int, graphs);
    RunOptions options = small_run(static_cast<Engine>(engine), tp);
    options.deployment.graphs = static_cast<GraphMode>(graphs);
    const Served run(options);
    std::map<std::pair<int, std::uint32_t>, TimeNs> launches;
    for (const auto& kept : run.sink.events) {
        const Event& e = kept.event;
        if (e.kind == EventKind::runtime_call || e.kind == EventKind::driver_call) launches[{static_cast<int>(e.process), e.correlation}] = e.start;
    }
    std::size_t checked = 0;
    for (const auto& kept : run.sink.events) {
        const Event& e = kept.event;
        if (e.kind != EventKind::kernel && e.kind != EventKind::memory_copy && e.kind != EventKind::memory_set) continue;
        const auto launch = launches.find({static_cast<int>(e.process), e.correlation});
        QVERIFY(launch != launches.end());
        QVERIFY(e.start >= launch->second);
        ++checked;
    }
    QVERIFY(checked > 1000);
}

void TestSimulation::four_products_a_layer_and_two_reductions() {
    RunOptions options = small_run(Engine::vllm_v1_online);
    options.deployment.graphs = GraphMode::none;
    const Served run(options);
    const int layers = model_named(options.deployment.model)->layers;
    std::map<StepNumber, std::pair<int, int>> counts;
    for (const auto& kept : run.sink.events) {
        const Event& e = kept.event;
        if (e.kind != EventKind::kernel) continue;
        if (e.role == Role::qkv_gemm || e.role == Role::o_gemm || e.role == Role::gate_up_gemm || e.role == Role::down_gemm) ++counts[e.step].first;
        if (e.role == Role::all_reduce) ++counts[e.step].second;
    }
    QVERIFY(counts.size() > 20);
    for (const auto& [step, count] : counts) {
        QCOMPARE(count.first, 2 * 4 * layers);         // two ranks
        QCOMPARE(count.second, 2 * (2 * layers + 1));
    }
}

void TestSimulation::tokens_out_are_tokens_scheduled_less_rejected_drafts_data() {
    QTest::addColumn<int>("engine");
    QTest::addColumn<int>("drafts");
    QTest::newRow("v1") << static_cast<int>(Engine::vllm_v1_online) << 0;
    QTest::newRow("v1 with drafts") << static_cast<int>(Engine::vllm_v1_online) << 3;
    QTest::newRow("v0") << static_cast<int>(Engine::vllm_v0) << 0;
    QTest::newRow("sglang") << static_cast<int>(Engine::sglang) << 0;
}

void TestSimulation::tokens_out_are_tokens_scheduled_less_rejected_drafts() {
    QFETCH(int, engine);
    QFETCH(int, drafts);
    RunOptions options = small_run(static_cast<Engine>(engine));
    options.deployment.spec_tokens = drafts;
    options.workload.aborts = 0;
    const Served run(options);
    QVERIFY(run.tokens_out > 100);
    QCOMPARE(run.tokens_out, run.generation_tokens - run.rejected + run.last_chunks);
    QCOMPARE(run.rejected > 0, drafts > 0);
}

void TestSimulation::a_stalled_api_server_delays_no_step() {
    RunOptions options = small_run(Engine::vllm_v1_online);
    options.duration_s = 3;
    const FaultInfo* info = nullptr;
    for (const FaultInfo& f : fault_catalogue()) {
        if (f.id == "E9") info = &f;
    }
    QVERIFY(info != nullptr);
    const Served run(options, FaultChoice{.info = info});
    QVERIFY(run.summary);
    std::size_t rehearsed = 0;
    for (const auto& [record, label] : run.steps) {
        if (record.rehearsed == kNull) continue;
        ++rehearsed;
        QCOMPARE(record.end - record.start, record.rehearsed);
    }
    QVERIFY(rehearsed > 0 || run.summary->steps > 20);
}

void TestSimulation::without_the_fault_all_is_the_same_before_it_data() {
    QTest::addColumn<QString>("name");
    for (const FaultInfo& f : fault_catalogue()) QTest::newRow(std::string(f.name).c_str()) << QString::fromUtf8(f.name.data(), static_cast<int>(f.name.size()));
}

void TestSimulation::without_the_fault_all_is_the_same_before_it() {
    QFETCH(QString, name);
    const FaultInfo* info = fault_named(name.toStdString());
    Engine engine = Engine::vllm_v1_online;
    for (int e = kEngineCount - 1; e >= 0; --e) {
        if (info->engines >> e & 1) engine = static_cast<Engine>(e);
    }
    if (info->engines >> static_cast<int>(Engine::vllm_v1_online) & 1) engine = Engine::vllm_v1_online;
    const RunOptions options = small_run(engine, std::max(2, info->ranks));
    const Served with(options, FaultChoice{.info = info});
    const Served without(options, FaultChoice{.info = info, .inject = false});
    QVERIFY2(with.summary, with.summary ? "" : with.summary.error().sentence.c_str());
    QVERIFY2(without.summary, without.summary ? "" : without.summary.error().sentence.c_str());
    QCOMPARE(without.summary->faulty_steps, std::uint64_t{0});
    if (info->look_alike) {
        QCOMPARE(with.summary->faulty_steps, std::uint64_t{0});
    } else {
        QVERIFY2(with.summary->faulty_steps > 0 || with.summary->faulty_requests > 0, "nothing is labelled");
    }
    // Events up to the first one that is touched are the same.
    TimeNs first = *with.summary->fault_start;
    for (const auto& [record, label] : with.steps) {
        if (record.touched) first = std::min(first, record.start);
    }
    const auto before = [&](const KeepingSink& sink) {
        std::multiset<decltype(key_of(sink.events.front()))> events;
        for (const auto& kept : sink.events) {
            if (kept.event.start + kept.event.duration < first && kept.event.step > 0) events.insert(key_of(kept));
        }
        return events;
    };
    QVERIFY(!with.sink.events.empty());
    // Some look-alikes are the load of the whole run.
    if (!info->look_alike) QVERIFY(before(with.sink) == before(without.sink));
    QVERIFY(before(with.sink).size() > 1000 || info->look_alike);
}

void TestSimulation::a_paused_worker_is_found_and_costs_its_pause() {
    const FaultInfo* info = fault_named("C2");
    QVERIFY(info != nullptr);
    RunOptions options = small_run(Engine::vllm_v1_online);
    options.duration_s = 3;
    const Served run(options, FaultChoice{.info = info, .ranks = {1}});
    QVERIFY(run.summary);
    std::size_t faulty = 0;
    for (const auto& [record, label] : run.steps) {
        if (label == FaultClass::normal) continue;
        ++faulty;
        QCOMPARE(static_cast<int>(label), static_cast<int>(FaultClass::runtime_driver));
        QVERIFY(record.end - record.start > record.rehearsed);
        QVERIFY(!record.suspects.empty());
        for (const SuspectOperator& s : record.suspects) QCOMPARE(s.rank, 1);
    }
    QVERIFY(faulty > 0);
    QVERIFY(faulty < run.steps.size() / 4);
}

void TestSimulation::a_late_rank_has_the_short_collective() {
    RunOptions options = small_run(Engine::vllm_v1_online);
    options.duration_s = 3;
    const Served run(options, FaultChoice{.info = fault_named("C2"), .ranks = {1}});
    for (const auto& [record, label] : run.steps) {
        // Where the pause comes after the last collective of a step nobody waits in one.
        if (label == FaultClass::normal || record.longest_wait < 5'000'000) continue;
        QCOMPARE(record.waiting_rank, 0);  // the longest collective is the victim's
        return;
    }
    QFAIL("no step in which a collective was long");
}

void TestSimulation::counters_follow_a_slow_clock() {
    RunOptions options = small_run(Engine::vllm_v1_online);
    options.duration_s = 3;
    const Served run(options, FaultChoice{.info = fault_named("B3"), .intensity = 1, .ranks = {0}});
    const Served twin(options, FaultChoice{.info = fault_named("B3"), .inject = false, .ranks = {0}});
    const auto lowest = [](const Served& served) {
        double clock = 1e9;
        for (const auto& [time, value] : served.sink.counters) {
            if (value > 500) clock = std::min(clock, value);
        }
        return clock;
    };
    QVERIFY(lowest(run) < 0.95 * lowest(twin));
}

void TestSimulation::errors_say_what_to_do() {
    RunOptions options = small_run(Engine::vllm_v1_online);
    options.deployment.model = "no-such-model";
    KeepingSink sink;
    const auto unknown = simulate_into(options, {}, {&sink, {}, {}});
    QVERIFY(!unknown);
    QCOMPARE(exit_status(unknown.error().code), 2);
    QVERIFY(unknown.error().hint.find("qwen3-8b") != std::string::npos);
    options = small_run(Engine::vllm_v1_online, 1);
    options.deployment.model = "qwen3-32b";
    options.deployment.gpu = "a40";
    const auto large = simulate_into(options, {}, {&sink, {}, {}});
    QVERIFY(!large);
    QVERIFY(large.error().hint.find("--tp") != std::string::npos);
}

QTEST_APPLESS_MAIN(TestSimulation)
#include "tst_simulation.moc"
