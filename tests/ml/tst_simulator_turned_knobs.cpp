// What faults turn, and what follows from it: a misrouted token (E1), ghost drafts (E2), a pool that is too small (A2).
#include <QTest>

#include <algorithm>
#include <bit>
#include <map>

#include "tests/ml/served_load.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::test::answer_of;
using faultline::test::load_of;
using faultline::test::ServedLoad;

class TestSimulatorTurnedKnobs : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_misrouted_token_is_the_last_of_its_budget();
    void ghost_drafts_stay_inside_of_the_budget();
    void sglang_retracts_where_it_expected_too_little();
    void a_withheld_pool_retracts_again_and_again();
};

void TestSimulatorTurnedKnobs::a_misrouted_token_is_the_last_of_its_budget() {
    RunOptions options = load_of(Engine::vllm_v1_online);
    options.workload.rate = 200;  // several prompts are waiting
    ServedLoad s(options);
    SchedulerKnobs knobs;
    knobs.misroute_one_token_prefill = true;
    int routed = 0, left = 0;
    for (int i = 0; i < 200; ++i) {
        const StepPlan plan = s.step(knobs);
        for (std::size_t k = 0; k < plan.requests.size(); ++k) {
            if (!plan.requests[k].decode_route) continue;
            ++routed;
            left += plan.waiting > 0 ? 1 : 0;
            QCOMPARE(k + 1, plan.requests.size());  // nobody comes behind it
            QCOMPARE(plan.requests[k].tokens, 1);
        }
    }
    QVERIFY(routed > 10);
    QVERIFY(left > 0);
}

void TestSimulatorTurnedKnobs::ghost_drafts_stay_inside_of_the_budget() {
    for (const Engine engine : {Engine::vllm_v1_online, Engine::vllm_v0}) {
        RunOptions options = load_of(engine);
        options.deployment.spec_tokens = 3;
        options.deployment.chunk_tokens = engine == Engine::vllm_v0 ? 1 : 60;
        options.workload.prompt_median = 20;
        options.workload.prompt_max = 400;
        options.workload.rate = 150;
        const int budget = engine == Engine::vllm_v0 ? 400 + options.workload.output_max : 60;
        ServedLoad s(options);
        SchedulerKnobs knobs;
        knobs.ghost_drafts = engine == Engine::vllm_v0 ? 60 : 5;
        bool all = false, cut = false;
        for (int i = 0; i < 2'000; ++i) {
            const StepPlan plan = s.step(knobs);
            QVERIFY(plan.tokens <= budget);
            for (const ScheduledRequest& r : plan.requests) {
                QCOMPARE(r.tokens - r.drafts - r.ghost_drafts, r.context ? r.tokens : 1);
                all = all || r.ghost_drafts == knobs.ghost_drafts;
                cut = cut || (!r.context && r.ghost_drafts < knobs.ghost_drafts);
            }
        }
        QVERIFY(all && cut);
        QCOMPARE(s.tokens_out, s.scheduled - s.rejected + s.last_chunks);
    }
}

void TestSimulatorTurnedKnobs::sglang_retracts_where_it_expected_too_little() {
    RunOptions options = load_of(Engine::sglang);
    options.deployment.max_num_seqs = 128;
    Scheduler scheduler(options, Noise(1), InstanceIndex{}, InstanceDuty::both, 1600);
    // One answer is long enough for the engine to expect little of the others; they come together, and every tenth is short.
    scheduler.add(answer_of(0, 60, 1'500), 0);
    double ratio = 0.7;
    int retractions = 0, admitted = 0, most_running = 0;
    std::size_t done = 0;
    for (TimeNs now = 1; now < 40'000 && scheduler.has_work(); ++now) {
        for (RequestNumber n = 1; now == 700 && n <= 100; ++n) scheduler.add(answer_of(n, 60, n % 10 == 1 ? 5 : 800), now);
        const StepPlan plan = scheduler.schedule(now);
        QCOMPARE(plan.new_token_ratio_before, ratio);
        if (now == 700) admitted = plan.context_requests;
        most_running = std::max(most_running, plan.running);
        std::map<RequestNumber, int> made;
        for (const ScheduledRequest& r : plan.requests) made[r.request] = r.generated_before;
        if (!plan.preempted.empty()) {
            ++retractions;
            QVERIFY(plan.tokens_gained > 0);
            int fewest = 1'500;
            for (const auto& [request, tokens] : made) fewest = std::min(fewest, tokens);
            for (const RequestNumber r : plan.preempted) QVERIFY(scheduler.request(r)->generated <= fewest);
            double sum = 0, allowed = 0;
            for (const auto& [request, tokens] : made) {
                sum += tokens + 20;
                allowed += scheduler.request(request)->max_tokens;
            }
            QCOMPARE(plan.new_token_ratio, std::min(1.0, sum / (allowed + 1)));
        } else if (plan.kind == StepKind::decode) {
            QCOMPARE(plan.new_token_ratio, std::max(0.098, ratio - 0.602 / 600));
        } else {
            QCOMPARE(plan.new_token_ratio, ratio);
        }
        ratio = plan.new_token_ratio;
        scheduler.complete(plan, now);
        for (const Request& r : scheduler.take_departed()) {
            QCOMPARE(r.generated, r.output_tokens);
            ++done;
        }
    }
    // Each is promised all of its answer at first, in 25600 tokens of room; as soon as one has left, far less is kept free for those that run.
    QVERIFY(admitted < 40);
    QVERIFY(most_running > 60);
    QVERIFY(retractions > 20);
    QCOMPARE(done, std::size_t{101});
}

void TestSimulatorTurnedKnobs::a_withheld_pool_retracts_again_and_again() {
    RunOptions options = load_of(Engine::sglang);
    options.workload.arrivals = Arrivals::closed_loop;
    options.workload.clients = 16;
    options.workload.output_median = 160;
    options.workload.output_max = 600;
    options.workload.prompt_max = 1500;
    const std::int64_t blocks = 16 * ((2 * 300 + 160) / 16 + 1) + 64;
    ServedLoad healthy(options, blocks), withheld(options, blocks);
    SchedulerKnobs knobs;
    knobs.withheld_blocks = blocks * 11 / 20;
    int busy = 0;  // hundreds of steps with a retraction in them
    for (int i = 0; i < 3'000; ++i) {
        healthy.step();
        const std::uint64_t before = withheld.preempted;
        withheld.step(knobs);
        if (withheld.preempted > before) busy |= 1 << i / 100;
    }
    QCOMPARE(healthy.preempted, std::uint64_t{0});
    QVERIFY(std::popcount(static_cast<unsigned>(busy)) > 20);
    QVERIFY(withheld.tokens_out < healthy.tokens_out);
}

QTEST_APPLESS_MAIN(TestSimulatorTurnedKnobs)
#include "tst_simulator_turned_knobs.moc"
