// Long runs of a scheduler, and what each engine promises in every step of them: its budget, its blocks, its tokens, its requests.
#include <QTest>

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "tests/ml/served_load.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::test::add_engines;
using faultline::test::answer_of;
using faultline::test::load_of;
using faultline::test::ServedLoad;

namespace {

std::int64_t blocks_for(std::int64_t tokens) { return (tokens + 15) / 16; }

/// Blocks that the requests of an engine need for what is computed of them.
std::int64_t needed_by(const Scheduler& scheduler) {
    std::int64_t blocks = 0;
    for (const Request* r : scheduler.requests()) blocks += blocks_for(r->computed);
    return blocks;
}

/// Tokens of a step at most, by the rules of the engine.
int budget_of(const RunOptions& options) {
    const int longest = options.workload.prompt_max + options.workload.output_max;
    switch (options.deployment.engine) {
        case Engine::vllm_v0: return longest <= 32'768 ? std::max(options.deployment.chunk_tokens, longest) : options.deployment.chunk_tokens;
        case Engine::fsdp: return options.workload.clients * longest;
        default: return options.deployment.chunk_tokens;
    }
}

bool each_once(const StepPlan& plan) {
    std::set<RequestNumber> seen;
    return std::all_of(plan.requests.begin(), plan.requests.end(), [&](const ScheduledRequest& r) { return seen.insert(r.request).second; });
}

auto facts(const StepPlan& p) {
    std::vector<std::tuple<RequestNumber, int, bool, bool, int, int, int>> rows;
    for (const ScheduledRequest& r : p.requests) rows.emplace_back(r.request, r.tokens, r.first, r.resumed, r.computed_before, r.cached, r.accepted);
    return std::tuple(rows, p.preempted, p.finished, p.aborted, p.blocks_used, p.new_blocks, p.waiting, p.new_token_ratio);
}

}  // namespace

class TestSimulatorWorkloadRuns : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void ten_thousand_steps_keep_their_blocks_and_tokens_data() { add_engines(); }
    void ten_thousand_steps_keep_their_blocks_and_tokens();
    void shared_prefixes_need_fewer_blocks_data() { add_engines(); }
    void shared_prefixes_need_fewer_blocks();
    void every_engine_keeps_its_budget_data() { add_engines(); }
    void every_engine_keeps_its_budget();
    void v0_chunks_prompts_only_where_they_may_be_long();
    void v0_refuses_what_is_longer_than_its_budget();
    void aborts_give_their_blocks_back_data() { add_engines(); }
    void aborts_give_their_blocks_back();
    void a_prefill_and_a_decode_instance_lose_nobody();
    void same_seed_same_plans_data() { add_engines(); }
    void same_seed_same_plans();
    void who_makes_less_than_allowed_has_stopped();
};

void TestSimulatorWorkloadRuns::ten_thousand_steps_keep_their_blocks_and_tokens() {
    QFETCH(int, engine);
    RunOptions options = load_of(static_cast<Engine>(engine));
    options.workload.shared_prefix = 0;
    options.workload.prompt_max = 1200;
    options.workload.aborts = 0.1;
    ServedLoad s(options, 400);
    for (int i = 0; i < 10'000; ++i) {
        SchedulerKnobs knobs;
        knobs.withheld_blocks = i / 500 % 3 == 2 ? 240 : 0;
        const StepPlan plan = s.step(knobs);
        QVERIFY(each_once(plan));
        // Without shared blocks and drafts a request holds what it needs, to the block.
        const std::int64_t needed = needed_by(s.scheduler);
        QCOMPARE(s.scheduler.blocks_used(), needed + std::min(knobs.withheld_blocks, std::int64_t{400} - needed));
        QVERIFY(s.scheduler.blocks_used() <= 400);
        QCOMPARE(s.scheduler.blocks_warm(), std::int64_t{0});
        QCOMPARE(s.tokens_out, s.scheduled - s.rejected + s.last_chunks);
        QCOMPARE(s.sent, s.done.size() + static_cast<std::size_t>(s.scheduler.running() + s.scheduler.waiting()));
    }
    QVERIFY(s.done.size() > 200);
    QVERIFY(static_cast<Engine>(engine) == Engine::fsdp || s.preempted > 20);
}

void TestSimulatorWorkloadRuns::shared_prefixes_need_fewer_blocks() {
    QFETCH(int, engine);
    RunOptions options = load_of(static_cast<Engine>(engine));
    options.workload.shared_prefix = 0.7;
    options.deployment.spec_tokens = 3;
    ServedLoad s(options, 600);
    std::int64_t saved = 0, most_warm = 0;
    for (int i = 0; i < 5'000; ++i) {
        SchedulerKnobs knobs;
        knobs.withheld_blocks = i / 500 % 3 == 2 ? 300 : 0;
        s.step(knobs);
        QVERIFY(s.scheduler.blocks_used() + s.scheduler.blocks_warm() <= s.scheduler.blocks_total());
        if (knobs.withheld_blocks > 0) continue;
        // Room for rejected drafts is kept until the next step needs it: a block at most.
        const std::int64_t needed = needed_by(s.scheduler);
        QVERIFY(s.scheduler.blocks_used() <= needed + s.scheduler.running());
        saved = std::max(saved, needed - s.scheduler.blocks_used());
        most_warm = std::max(most_warm, s.scheduler.blocks_warm());
    }
    QVERIFY(saved > 10);
    QVERIFY(most_warm > 10);
    QVERIFY(s.rejected > 0);
    QCOMPARE(s.tokens_out, s.scheduled - s.rejected + s.last_chunks);
}

void TestSimulatorWorkloadRuns::every_engine_keeps_its_budget() {
    QFETCH(int, engine);
    RunOptions options = load_of(static_cast<Engine>(engine));
    options.deployment.chunk_tokens = 200;
    options.deployment.spec_tokens = static_cast<Engine>(engine) == Engine::fsdp ? 0 : 3;
    options.workload.prompt_max = 2000;
    const int budget = budget_of(options);
    ServedLoad s(options);
    int most = 0;
    for (int i = 0; i < 3'000; ++i) {
        const StepPlan plan = s.step();
        QVERIFY(plan.tokens <= budget);
        most = std::max(most, plan.context_tokens);
        if (static_cast<Engine>(engine) != Engine::vllm_v0) continue;
        for (const ScheduledRequest& r : plan.requests) QVERIFY(!r.context || r.last_chunk);
    }
    QVERIFY(most > 190);
}

void TestSimulatorWorkloadRuns::v0_chunks_prompts_only_where_they_may_be_long() {
    RunOptions options = load_of(Engine::vllm_v0);
    options.workload.prompt_max = 60'000;
    options.workload.prompt_median = 3'000;
    options.workload.rate = 4;
    ServedLoad s(options, 20'000);
    bool chunked = false, mixed = false;
    for (int i = 0; i < 1'000; ++i) {
        const StepPlan plan = s.step();
        QVERIFY(plan.tokens <= options.deployment.chunk_tokens);
        mixed = mixed || plan.kind == StepKind::mixed;
        for (const ScheduledRequest& r : plan.requests) chunked = chunked || !r.last_chunk;
    }
    QVERIFY(chunked && mixed);
}

void TestSimulatorWorkloadRuns::v0_refuses_what_is_longer_than_its_budget() {
    RunOptions options = load_of(Engine::vllm_v0);
    options.workload.prompt_max = 4'000;
    Scheduler scheduler(options, Noise(1), InstanceIndex{}, InstanceDuty::both, 4000);
    scheduler.add(answer_of(0, 4'500, 10), 0);
    scheduler.add(answer_of(1, 4'000, 10), 0);
    const StepPlan plan = scheduler.schedule(1);
    QCOMPARE(plan.requests.size(), std::size_t{1});
    QCOMPARE(plan.requests.front().request, RequestNumber{1});
    const std::vector<Request> gone = scheduler.take_departed();
    QCOMPARE(gone.size(), std::size_t{1});
    QVERIFY(gone.front().end == RequestEnd::failed);
    QCOMPARE(gone.front().generated, 0);
}

void TestSimulatorWorkloadRuns::aborts_give_their_blocks_back() {
    QFETCH(int, engine);
    RunOptions options = load_of(static_cast<Engine>(engine));
    options.workload.aborts = 0.5;
    options.workload.shared_prefix = 0.5;
    ServedLoad s(options);
    for (int i = 0; i < 3'000; ++i) s.step();
    if (static_cast<Engine>(engine) == Engine::vllm_v1_online) {
        // One that runs and one that waits.
        s.scheduler.add(answer_of(900'000, 2'000, 10), s.now);
        const StepPlan plan = s.step();
        QCOMPARE(plan.requests.back().request, RequestNumber{900'000});
        const std::int64_t before = s.scheduler.blocks_used(), held = blocks_for(plan.requests.back().tokens);
        s.scheduler.abort(900'000, s.now);
        QCOMPARE(s.scheduler.blocks_used(), before - held);
        s.scheduler.add(answer_of(900'001, 100, 10), s.now);
        s.scheduler.abort(900'001, s.now);
        s.scheduler.abort(900'002, s.now);  // nobody knows it
        const std::vector<Request> gone = s.scheduler.take_departed();
        QCOMPARE(gone.size(), std::size_t{2});
        QCOMPARE(s.step().aborted.size(), std::size_t{2});
    }
    s.arrivals.stop();
    for (int i = 0; i < 2'000 && s.scheduler.has_work(); ++i) s.step();
    QVERIFY(!s.scheduler.has_work());
    QCOMPARE(s.scheduler.blocks_used(), std::int64_t{0});
    QCOMPARE(s.sent, s.done.size());
    std::size_t aborted = 0;
    for (const Request& r : s.done) {
        aborted += r.end == RequestEnd::aborted ? 1 : 0;
        QCOMPARE(r.end == RequestEnd::aborted, r.generated < r.output_tokens);
    }
    const bool batch = static_cast<Engine>(engine) == Engine::vllm_v1_offline || static_cast<Engine>(engine) == Engine::fsdp;
    QCOMPARE(aborted > 50, !batch);
}

void TestSimulatorWorkloadRuns::a_prefill_and_a_decode_instance_lose_nobody() {
    RunOptions options = load_of(Engine::vllm_v1_online);
    options.deployment.prefill_decode = true;
    options.workload.shared_prefix = 0.5;
    const Noise noise(4);
    ArrivalSource arrivals(options, noise, 0);
    Scheduler prefill(options, noise, InstanceIndex{0}, InstanceDuty::prefill_only, 1000);
    Scheduler decode(options, noise, InstanceIndex{1}, InstanceDuty::decode_only, 300);
    std::map<RequestNumber, int> prompts, firsts;
    std::vector<Request> done;
    std::size_t handed_over = 0, told = 0, preempted = 0;
    const auto follow = [&](Scheduler& scheduler, TimeNs now) {
        const StepPlan plan = scheduler.schedule(now);
        preempted += plan.preempted.size();
        const StepOutcome outcome = scheduler.complete(plan, now);
        for (Request& r : scheduler.take_departed()) {
            if (r.end == RequestEnd::running) {
                told += static_cast<std::size_t>(std::count(outcome.prefilled.begin(), outcome.prefilled.end(), r.number));
                ++handed_over;
                decode.add(std::move(r), now);
            } else {
                done.push_back(std::move(r));
            }
        }
        return plan;
    };
    for (TimeNs now = 0; now < 20'000'000'000; now += 5'000'000) {
        while (now < 10'000'000'000 && *arrivals.next_time() <= now) {
            Request r = arrivals.take();
            prompts[r.number] = r.prompt_tokens;
            prefill.add(std::move(r), now);
        }
        for (const ScheduledRequest& r : follow(prefill, now).requests) QVERIFY(r.context);
        for (const ScheduledRequest& r : follow(decode, now).requests) {
            if (!r.first) continue;
            ++firsts[r.request];
            QVERIFY(!r.context);
            QCOMPARE(r.computed_before, prompts[r.request]);
            QCOMPARE(r.generated_before, 1);
        }
    }
    QVERIFY(!prefill.has_work() && !decode.has_work());
    QCOMPARE(prefill.blocks_used() + decode.blocks_used(), std::int64_t{0});
    QVERIFY(done.size() > 100);
    QVERIFY(preempted > 0);
    QCOMPARE(done.size(), prompts.size());
    QCOMPARE(firsts.size(), handed_over);
    QCOMPARE(told, handed_over);
    for (const auto& [request, times] : firsts) QCOMPARE(times, 1);
    bool hit = false;
    for (const Request& r : done) {
        QCOMPARE(r.generated, r.output_tokens);
        hit = hit || r.cached > 0;
    }
    QVERIFY(hit);  // what the prefill instance found is not forgotten by the decode instance
}

void TestSimulatorWorkloadRuns::same_seed_same_plans() {
    QFETCH(int, engine);
    RunOptions options = load_of(static_cast<Engine>(engine));
    options.workload.shared_prefix = 0.5;
    options.workload.prompt_max = 1500;
    options.deployment.spec_tokens = 2;
    options.workload.aborts = 0.05;
    ServedLoad a(options, 300), b(options, 300), c(options, 300, 12);
    bool other = false;
    for (int i = 0; i < 1'500; ++i) {
        const auto plan = facts(a.step());
        QVERIFY(plan == facts(b.step()));
        other = other || plan != facts(c.step());
    }
    QVERIFY(other);
    QCOMPARE(a.done.size(), b.done.size());
}

void TestSimulatorWorkloadRuns::who_makes_less_than_allowed_has_stopped() {
    ServedLoad s(load_of(Engine::vllm_v1_online));
    for (int i = 0; i < 4'000; ++i) s.step();
    std::size_t stopped = 0;
    for (const Request& r : s.done) {
        QVERIFY(r.generated <= r.max_tokens && r.max_tokens <= s.options.workload.output_max);
        QVERIFY(r.end == (r.generated == r.max_tokens ? RequestEnd::finished_length : RequestEnd::finished_stop));
        stopped += r.end == RequestEnd::finished_stop ? 1 : 0;
    }
    QVERIFY(s.done.size() > 300);
    QVERIFY(stopped > s.done.size() * 7 / 10 && stopped < s.done.size() * 9 / 10);
}

QTEST_APPLESS_MAIN(TestSimulatorWorkloadRuns)
#include "tst_simulator_workload_runs.moc"
