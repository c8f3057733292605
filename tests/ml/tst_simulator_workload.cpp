// Arrivals and schedulers: nothing is lost, nothing is made up, whatever the engine and however little room there is.
#include <QTest>

#include <set>

#include "tests/ml/served_load.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::test::add_engines;
using faultline::test::load_of;
using faultline::test::ServedLoad;

class TestSimulatorWorkload : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void blocks_and_tokens_are_conserved_data() { add_engines(); }
    void blocks_and_tokens_are_conserved();
    void too_few_blocks_preempt_and_lose_nothing_data() { add_engines(); }
    void too_few_blocks_preempt_and_lose_nothing();
    void the_budget_is_kept();
    void drafts_are_rejected_and_never_overshoot();
    void a_batch_ends_with_its_longest();
    void common_prefixes_are_found_again();
    void one_token_goes_down_the_decode_path();
    void nothing_runs_that_must_not();
    void ghost_drafts_make_work_and_no_tokens();
    void asynchronous_plans_count_on_their_tokens();
    void a_request_is_what_its_number_says();
    void a_closed_loop_has_no_more_than_its_clients();
    void ids_look_like_those_of_the_engine();
};

void TestSimulatorWorkload::blocks_and_tokens_are_conserved() {
    QFETCH(int, engine);
    ServedLoad s(load_of(static_cast<Engine>(engine)));
    for (int i = 0; i < 4000; ++i) {
        const StepPlan plan = s.step();
        QVERIFY(plan.blocks_used >= 0 && plan.blocks_used <= plan.blocks_total);
    }
    QCOMPARE(s.tokens_out, s.scheduled - s.rejected + s.last_chunks);
    QVERIFY(s.done.size() > 100);
    for (const Request& r : s.done) {
        QCOMPARE(r.generated, r.output_tokens);
        QVERIFY(r.first_token <= r.last_token);
    }
    s.arrivals.stop();
    for (int i = 0; i < 2000 && s.scheduler.has_work(); ++i) s.step();
    QVERIFY(!s.scheduler.has_work());
    QCOMPARE(s.scheduler.blocks_used(), std::int64_t{0});
}

void TestSimulatorWorkload::too_few_blocks_preempt_and_lose_nothing() {
    QFETCH(int, engine);
    RunOptions options = load_of(static_cast<Engine>(engine));
    options.workload.prompt_max = 1200;
    ServedLoad s(options, 260);
    SchedulerKnobs knobs;
    knobs.withheld_blocks = 100;
    for (int i = 0; i < 6000; ++i) {
        const StepPlan plan = s.step(knobs);
        QVERIFY(plan.blocks_used >= 100 && plan.blocks_used <= plan.blocks_total);
    }
    if (static_cast<Engine>(engine) != Engine::fsdp) QVERIFY(s.preempted > 0);
    QVERIFY(s.done.size() > 20);
    for (const Request& r : s.done) QCOMPARE(r.generated, r.output_tokens);
    QCOMPARE(s.tokens_out, s.scheduled - s.rejected + s.last_chunks);
}

void TestSimulatorWorkload::the_budget_is_kept() {
    RunOptions options = load_of(Engine::vllm_v1_online);
    options.deployment.chunk_tokens = 256;
    ServedLoad s(options);
    bool mixed = false, chunked = false;
    for (int i = 0; i < 2000; ++i) {
        const StepPlan plan = s.step();
        QVERIFY(plan.tokens <= 256);
        mixed = mixed || plan.kind == StepKind::mixed;
        for (const ScheduledRequest& r : plan.requests) chunked = chunked || (r.context && !r.last_chunk);
    }
    QVERIFY(mixed);
    QVERIFY(chunked);
}

void TestSimulatorWorkload::drafts_are_rejected_and_never_overshoot() {
    RunOptions options = load_of(Engine::vllm_v1_online);
    options.deployment.spec_tokens = 4;
    ServedLoad s(options);
    for (int i = 0; i < 3000; ++i) s.step();
    QVERIFY(s.rejected > 0);
    QCOMPARE(s.tokens_out, s.scheduled - s.rejected + s.last_chunks);
    for (const Request& r : s.done) QCOMPARE(r.generated, r.output_tokens);
}

void TestSimulatorWorkload::a_batch_ends_with_its_longest() {
    ServedLoad s(load_of(Engine::fsdp));
    std::set<RequestNumber> batch;
    for (int i = 0; i < 600; ++i) {
        const StepPlan plan = s.step();
        if (plan.kind == StepKind::prefill) {
            batch.clear();
            for (const ScheduledRequest& r : plan.requests) batch.insert(r.request);
            QCOMPARE(batch.size(), std::size_t{12});
        }
        for (const ScheduledRequest& r : plan.requests) QVERIFY(batch.contains(r.request));
    }
}

void TestSimulatorWorkload::common_prefixes_are_found_again() {
    RunOptions options = load_of(Engine::vllm_v1_online);
    options.workload.shared_prefix = 0.8;
    ServedLoad with(options);
    for (int i = 0; i < 2000; ++i) with.step();
    QVERIFY(with.hits > 1000);
    QVERIFY(with.scheduler.prefix_hit_rate() > 0.1);
    ServedLoad without(options);
    SchedulerKnobs knobs;
    knobs.prefix_cache = false;
    for (int i = 0; i < 2000; ++i) without.step(knobs);
    QCOMPARE(without.hits, std::uint64_t{0});
}

void TestSimulatorWorkload::one_token_goes_down_the_decode_path() {
    ServedLoad s(load_of(Engine::vllm_v1_online));
    for (int i = 0; i < 50; ++i) s.step();
    SchedulerKnobs knobs;
    knobs.misroute_one_token_prefill = true;
    int routed = 0;
    for (int i = 0; i < 50; ++i) {
        for (const ScheduledRequest& r : s.step(knobs).requests) {
            if (!r.decode_route) continue;
            ++routed;
            QCOMPARE(r.tokens, 1);
            QVERIFY(r.first);
            QVERIFY(r.context);
        }
    }
    QVERIFY(routed > 0);
}

void TestSimulatorWorkload::nothing_runs_that_must_not() {
    ServedLoad s(load_of(Engine::vllm_v1_online));
    for (int i = 0; i < 50; ++i) s.step();
    SchedulerKnobs closed;
    closed.admit = false;
    for (int i = 0; i < 20; ++i) {
        for (const ScheduledRequest& r : s.step(closed).requests) QVERIFY(!r.first);
    }
    SchedulerKnobs still;
    still.run = false;
    const StepPlan plan = s.step(still);
    QVERIFY(plan.requests.empty());
    QVERIFY(plan.kind == StepKind::idle);
    QVERIFY(s.scheduler.has_work());
}

void TestSimulatorWorkload::ghost_drafts_make_work_and_no_tokens() {
    ServedLoad s(load_of(Engine::vllm_v1_online));
    for (int i = 0; i < 50; ++i) s.step();
    SchedulerKnobs knobs;
    knobs.ghost_drafts = 3;
    for (int i = 0; i < 50; ++i) {
        for (const ScheduledRequest& r : s.step(knobs).requests) {
            if (!r.context) QCOMPARE(r.tokens, 4);
        }
    }
    QCOMPARE(s.tokens_out, s.scheduled - s.rejected + s.last_chunks);
}

void TestSimulatorWorkload::asynchronous_plans_count_on_their_tokens() {
    RunOptions options = load_of(Engine::vllm_v1_online);
    options.deployment.async_scheduling = true;
    const Noise noise(3);
    Scheduler scheduler(options, noise, InstanceIndex{}, InstanceDuty::both, 4000);
    ArrivalSource arrivals(options, noise, 0);
    for (int i = 0; i < 10; ++i) scheduler.add(arrivals.take(), 0);
    std::int64_t out = 0, wanted = 0;
    StepPlan previous = scheduler.schedule(0);
    for (TimeNs now = 1; now < 5000; ++now) {
        StepPlan next = scheduler.schedule(now);
        out += scheduler.complete(previous, now).tokens_out;
        for (const Request& r : scheduler.take_departed()) {
            QCOMPARE(r.generated, r.output_tokens);
            wanted += r.output_tokens;
        }
        previous = std::move(next);
    }
    QVERIFY(!scheduler.has_work());
    QCOMPARE(out, wanted);
}

void TestSimulatorWorkload::a_request_is_what_its_number_says() {
    RunOptions slow = load_of(Engine::vllm_v1_online), fast = slow;
    fast.workload.rate = 400;
    const Noise noise(5);
    ArrivalSource a(slow, noise, 0), b(fast, noise, 0);
    for (int i = 0; i < 200; ++i) {
        const Request x = a.take(), y = b.take();
        QCOMPARE(x.id, y.id);
        QCOMPARE(x.prompt_tokens, y.prompt_tokens);
        QCOMPARE(x.output_tokens, y.output_tokens);
        QVERIFY(y.sent < x.sent);
    }
}

void TestSimulatorWorkload::a_closed_loop_has_no_more_than_its_clients() {
    RunOptions options = load_of(Engine::sglang);
    options.workload.arrivals = Arrivals::closed_loop;
    ServedLoad s(options);
    for (int i = 0; i < 2000; ++i) s.step();
    QVERIFY(s.most_at_once <= 12);
    QVERIFY(s.done.size() > 50);
}

void TestSimulatorWorkload::ids_look_like_those_of_the_engine() {
    const auto first = [](Engine engine) {
        ArrivalSource arrivals(load_of(engine), Noise(1), 0);
        return arrivals.take().id;
    };
    QCOMPARE(first(Engine::vllm_v1_online).size(), std::string("chatcmpl-").size() + 32 + 1 + 8);
    QVERIFY(first(Engine::vllm_v1_offline).starts_with("cmpl-"));
    QCOMPARE(first(Engine::sglang).size(), std::size_t{32});
}

QTEST_APPLESS_MAIN(TestSimulatorWorkload)
#include "tst_simulator_workload.moc"
