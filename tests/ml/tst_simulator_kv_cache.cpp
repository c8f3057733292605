// The KV cache: blocks are conserved whatever is done to it, withheld ones are nobody's, and a common prefix is shared while it is computed.
#include <QTest>

#include <algorithm>
#include <array>
#include <vector>

#include "ml/simulator/workload/kv_blocks.h"
#include "tests/ml/served_load.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::test::answer_of;
using faultline::test::load_of;

namespace {

constexpr int kBlock = 16;

/// What the holders say of blocks in use: their own ones, and of each prefix as far as the one that refers to most of it.
std::int64_t used_by(const std::vector<KvBlocks::Held>& holders) {
    std::array<std::int64_t, 8> longest{};
    std::int64_t own = 0;
    for (const KvBlocks::Held& h : holders) {
        own += h.own;
        if (h.prefix < 0) continue;
        std::int64_t& most = longest[static_cast<std::size_t>(h.prefix)];
        most = std::max(most, h.shared);
    }
    for (const std::int64_t most : longest) own += most;
    return own;
}

Request prompt_of(RequestNumber number, int tokens, int prefix) {
    Request r = answer_of(number, tokens, 400);
    r.prefix_group = 0;
    r.prefix_tokens = prefix;
    return r;
}

}  // namespace

class TestSimulatorKvCache : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void blocks_are_conserved_whatever_happens();
    void a_prefix_is_shared_while_it_is_computed();
    void what_two_computed_is_kept_once();
    void warm_blocks_go_from_the_end_of_the_oldest();
    void withheld_blocks_are_nobodys();
    void a_running_prompt_is_found_by_the_next();
    void a_longer_holder_makes_the_prefix_longer();
};

void TestSimulatorKvCache::blocks_are_conserved_whatever_happens() {
    const Noise noise(3);
    KvBlocks blocks(300, kBlock);
    std::vector<KvBlocks::Held> held(24);
    std::vector<int> computed(held.size());
    std::int64_t refused = 0, shared = 0, most_warm = 0;
    for (std::uint64_t i = 0; i < 30'000; ++i) {
        const auto draw = [&](std::uint64_t n, std::uint64_t what) { return static_cast<int>(noise.below(n, Draw::other, i, what)); };
        const auto at = static_cast<std::size_t>(draw(held.size(), 0));
        const int group = static_cast<int>(at % 5);
        if (i % 50 == 0) blocks.withhold(i % 100 == 0 ? draw(250, 1) : 0);
        if (draw(6, 2) == 0) {
            blocks.release(held[at]);
            computed[at] = 0;
        } else {
            if (computed[at] == 0) {
                const int found = blocks.cached_tokens(group) / kBlock * kBlock;
                blocks.share(held[at], group, found);
                computed[at] = found;
                shared += found;
            }
            const int more = 1 + draw(120, 3);
            if (blocks.hold(held[at], computed[at] + more)) {
                computed[at] += more;
                blocks.publish(held[at], group, std::min(computed[at], 200 + 40 * group));
                QVERIFY((held[at].own + held[at].shared) * kBlock >= computed[at]);
            } else {
                ++refused;
            }
        }
        QVERIFY(blocks.warm() >= 0 && blocks.withheld() >= 0 && blocks.available() >= 0);
        QVERIFY(blocks.used() + blocks.warm() + blocks.withheld() <= blocks.total());
        QCOMPARE(blocks.used(), used_by(held));
        most_warm = std::max(most_warm, blocks.warm());
    }
    QVERIFY(refused > 100);
    QVERIFY(shared > 10'000);
    QVERIFY(most_warm > 10);
    for (KvBlocks::Held& h : held) blocks.release(h);
    blocks.withhold(0);
    QCOMPARE(blocks.used(), std::int64_t{0});
    KvBlocks::Held all;
    QVERIFY(blocks.hold(all, 300 * kBlock));
    QCOMPARE(blocks.warm(), std::int64_t{0});
}

void TestSimulatorKvCache::a_prefix_is_shared_while_it_is_computed() {
    KvBlocks blocks(100, kBlock);
    KvBlocks::Held first, second;
    QVERIFY(blocks.hold(first, 100));  // 7 blocks
    QCOMPARE(blocks.cached_tokens(0), 0);
    blocks.publish(first, 0, 40);
    QCOMPARE(blocks.cached_tokens(0), 32);
    QCOMPARE(blocks.used(), std::int64_t{7});
    blocks.share(second, 0, 32);
    QVERIFY(blocks.hold(second, 70));  // two of its five are there
    QCOMPARE(blocks.used(), std::int64_t{10});
    blocks.publish(first, 0, 80);
    QCOMPARE(blocks.cached_tokens(0), 80);
    blocks.release(first);
    QCOMPARE(blocks.cached_tokens(0), 80);
    QCOMPARE(blocks.warm(), std::int64_t{3});
    QCOMPARE(blocks.used(), std::int64_t{5});
}

void TestSimulatorKvCache::what_two_computed_is_kept_once() {
    KvBlocks blocks(100, kBlock);
    KvBlocks::Held first, second;
    QVERIFY(blocks.hold(first, 64));
    QVERIFY(blocks.hold(second, 96));
    QCOMPARE(blocks.used(), std::int64_t{10});
    blocks.publish(first, 0, 64);
    blocks.publish(second, 0, 64);
    QCOMPARE(blocks.used(), std::int64_t{6});
    blocks.release(first);
    QCOMPARE(blocks.warm(), std::int64_t{0});
    QCOMPARE(blocks.used(), std::int64_t{6});
}

void TestSimulatorKvCache::warm_blocks_go_from_the_end_of_the_oldest() {
    KvBlocks blocks(20, kBlock);
    for (const int group : {0, 1}) {
        KvBlocks::Held held;
        QVERIFY(blocks.hold(held, 8 * kBlock));
        blocks.publish(held, group, 8 * kBlock);
        blocks.release(held);
    }
    QCOMPARE(blocks.warm(), std::int64_t{16});
    KvBlocks::Held held;
    QVERIFY(blocks.hold(held, 7 * kBlock));
    QCOMPARE(blocks.cached_tokens(0), 5 * kBlock);
    QCOMPARE(blocks.cached_tokens(1), 8 * kBlock);
}

void TestSimulatorKvCache::withheld_blocks_are_nobodys() {
    KvBlocks blocks(100, kBlock);
    KvBlocks::Held first, second;
    QVERIFY(blocks.hold(first, 60 * kBlock));
    QVERIFY(blocks.hold(second, 30 * kBlock));
    blocks.publish(second, 0, 30 * kBlock);
    blocks.release(second);
    QCOMPARE(blocks.warm(), std::int64_t{30});
    blocks.withhold(20);  // ten are empty, ten were warm
    QCOMPARE(blocks.withheld(), std::int64_t{20});
    QCOMPARE(blocks.warm(), std::int64_t{20});
    blocks.withhold(70);
    QCOMPARE(blocks.withheld(), std::int64_t{40});  // the others are in use
    QCOMPARE(blocks.cached_tokens(0), 0);
    QVERIFY(!blocks.hold(second, 1));
    blocks.release(first);
    QCOMPARE(blocks.withheld(), std::int64_t{70});
    QVERIFY(blocks.hold(second, 30 * kBlock));
    QVERIFY(!blocks.hold(first, 1));
    blocks.withhold(0);
    QVERIFY(blocks.hold(first, 70 * kBlock));
}

void TestSimulatorKvCache::a_running_prompt_is_found_by_the_next() {
    for (const Engine engine : {Engine::vllm_v1_online, Engine::sglang}) {
        RunOptions options = load_of(engine);
        Scheduler scheduler(options, Noise(1), InstanceIndex{}, InstanceDuty::both, 1000);
        scheduler.add(prompt_of(0, 300, 256), 0);
        scheduler.complete(scheduler.schedule(1), 1);
        scheduler.add(prompt_of(1, 400, 256), 1);
        const StepPlan plan = scheduler.schedule(2);
        QCOMPARE(plan.context_requests, 1);
        QCOMPARE(plan.requests.back().cached, 256);
        QCOMPARE(plan.requests.back().tokens, 144);
        QCOMPARE(scheduler.running(), 2);  // the first one still runs
        QCOMPARE(plan.blocks_used, std::int64_t{16 + 3 + 9});
        RunOptions cold = options;
        cold.deployment.prefix_cache = false;
        Scheduler without(cold, Noise(1), InstanceIndex{}, InstanceDuty::both, 1000);
        without.add(prompt_of(0, 300, 256), 0);
        without.complete(without.schedule(1), 1);
        without.add(prompt_of(1, 400, 256), 1);
        QCOMPARE(without.schedule(2).requests.back().cached, 0);
    }
}

void TestSimulatorKvCache::a_longer_holder_makes_the_prefix_longer() {
    RunOptions options = load_of(Engine::vllm_v1_online);
    options.deployment.chunk_tokens = 100;
    Scheduler scheduler(options, Noise(1), InstanceIndex{}, InstanceDuty::both, 1000);
    TimeNs now = 0;
    const auto step = [&] {
        const StepPlan plan = scheduler.schedule(++now);
        scheduler.complete(plan, now);
        return plan;
    };
    // One that goes away after a chunk leaves what it computed; the next finds that, and leaves more.
    const std::array<int, 3> expected{0, 96, 192};
    for (RequestNumber n = 0; n < 3; ++n) {
        scheduler.add(prompt_of(n, 600, 512), now);
        const StepPlan plan = step();
        QCOMPARE(plan.requests.front().cached, expected[n]);
        QCOMPARE(plan.requests.front().computed_before, expected[n]);
        scheduler.abort(n, now);
        QCOMPARE(scheduler.blocks_used(), std::int64_t{0});
    }
    QCOMPARE(scheduler.blocks_warm(), std::int64_t{(192 + 100) / kBlock});
}

QTEST_APPLESS_MAIN(TestSimulatorKvCache)
#include "tst_simulator_kv_cache.moc"
