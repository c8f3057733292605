// The lines that engines write while they serve say what the scheduler did: statistics, batches, preemptions, drafts.
#include <QTest>

#include <string>
#include <vector>

#include "tests/ml/log_scene.h"

using namespace faultline;
using namespace faultline::simulator;

class TestSimulatorStatistics : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void statistics_of_v1_are_the_schedulers();
    void v1_falls_silent_when_idle();
    void statistics_of_v0_come_every_five_seconds();
    void preemptions_are_told_in_each_engines_words();
    void sglang_tells_every_prefill_and_every_fortieth_decode();
    void iterations_and_drafts_are_counted();
    void some_services_are_watched();
};

void TestSimulatorStatistics::statistics_of_v1_are_the_schedulers() {
    Service s(options_of(Engine::vllm_v1_online));
    for (RequestNumber i = 0; i < 12; ++i) s.add(i, 300 + static_cast<int>(i), 5000);
    s.tick();
    const TimeNs began = s.now;
    std::size_t before = 0;
    while (before == 0) {
        for (int i = 0; i < 5; ++i) s.step();
        s.tick();
        before = s.saying("Avg prompt").size();
    }
    const std::string first = s.saying("Avg prompt").front().text;
    auto values = status_of(first);
    const double seconds = static_cast<double>(s.now - began) / 1e9;
    QVERIFY2(near(values.at("Prompt throughput (tokens/s)"), static_cast<double>(s.context) / seconds, 0.06), first.c_str());
    QVERIFY2(near(values.at("Generation throughput (tokens/s)"), static_cast<double>(s.made) / seconds, 0.06), first.c_str());
    QCOMPARE(values.at("Running requests"), static_cast<double>(s.scheduler.running()));
    QCOMPARE(values.at("Waiting requests"), static_cast<double>(s.scheduler.waiting()));
    const double usage = 100 * static_cast<double>(s.scheduler.blocks_used()) / static_cast<double>(s.scheduler.blocks_total());
    QVERIFY(near(values.at("KV cache usage (%)"), usage, 0.06));
    QVERIFY(near(values.at("Prefix cache hit rate (%)"), 100 * s.scheduler.prefix_hit_rate(), 0.06));
    for (int i = 0; i < 1600; ++i) {
        s.step();
        if (i % 5 == 0) s.tick();
    }
    const auto all = s.saying("Avg prompt");
    QVERIFY(all.size() >= 3);
    for (std::size_t i = 1; i < all.size(); ++i) QVERIFY(near(static_cast<double>(all[i].time - all[i - 1].time) / 1e9, 10, 0.05));
}

void TestSimulatorStatistics::v1_falls_silent_when_idle() {
    Service s(options_of(Engine::vllm_v1_online));
    s.add(0, 100, 200);
    for (int i = 0; i < 600; ++i) {
        s.step();
        s.tick();
    }
    for (int i = 0; i < 100; ++i) {
        s.now += kSecond;
        s.tick();
    }
    const auto lines = s.saying("Avg prompt");
    QCOMPARE(lines.size(), std::size_t{2});  // the work, and once that there is none
    QCOMPARE(status_of(lines.back().text).at("Generation throughput (tokens/s)"), 0.0);
}

void TestSimulatorStatistics::statistics_of_v0_come_every_five_seconds() {
    Service s(options_of(Engine::vllm_v0));
    for (RequestNumber i = 0; i < 4; ++i) s.add(i, 200, 3000);
    for (int i = 0; i < 1500; ++i) {
        s.step();
        if (i % 10 == 0) s.tick();
    }
    const auto lines = s.saying("Avg prompt");
    QVERIFY(lines.size() >= 5);
    QCOMPARE(lines[1].time - lines[0].time, 5 * kSecond);
    QCOMPARE(status_of(lines.back().text).at("Running requests"), 4.0);
    const std::size_t before = lines.size();
    for (int i = 0; i < 41; ++i) {  // no step comes through any more
        s.now += kSecond;
        s.tick();
    }
    const auto after = s.saying("Avg prompt");
    QVERIFY(after.size() >= before + 3 && after.size() <= before + 5);
    QCOMPARE(status_of(after.back().text).at("Generation throughput (tokens/s)"), 0.0);
    QCOMPARE(status_of(after.back().text).at("Running requests"), 4.0);
}

void TestSimulatorStatistics::preemptions_are_told_in_each_engines_words() {
    const RequestRules rules = RequestRules::built_in();
    for (const Engine engine : {Engine::vllm_v0, Engine::vllm_v1_online, Engine::sglang}) {
        Service s(options_of(engine, engine == Engine::sglang ? 2 : 1));
        for (RequestNumber i = 0; i < 6; ++i) s.add(i, 200, 3000);
        for (int i = 0; i < 700; ++i) {
            SchedulerKnobs knobs;
            if (i == 100) knobs.retract = 1;
            s.step(knobs);
            if (i % 10 == 0) s.tick();
        }
        if (engine == Engine::vllm_v0) {
            const auto lines = s.saying("is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space");
            QCOMPARE(lines.size(), std::size_t{1});
            QVERIFY(lines.front().text.ends_with("total_num_cumulative_preemption=1"));
            const auto found = rules.match_log("scheduler.py:1754", lines.front().text);
            QCOMPARE(found.size(), std::size_t{1});
            QCOMPARE(static_cast<int>(found[0].event), static_cast<int>(RequestEvent::preempted));
        } else if (engine == Engine::sglang) {
            const auto lines = s.saying("KV cache pool is full. Retract requests. #retracted_reqs: 1, ");
            QCOMPARE(lines.size(), std::size_t{2});  // both ranks
            QCOMPARE(status_of(lines[0].text).at("Retracted requests"), 1.0);
        } else {
            const auto lines = s.saying("Preemptions: ");
            QCOMPARE(lines.size(), std::size_t{1});
            QCOMPARE(status_of(lines[0].text).at("Preemptions"), 1.0);
        }
    }
}

void TestSimulatorStatistics::sglang_tells_every_prefill_and_every_fortieth_decode() {
    Service s(options_of(Engine::sglang));
    std::int64_t prefills = 0;
    for (int i = 0; i < 900; ++i) {
        if (i % 90 == 0) s.add(static_cast<RequestNumber>(i), 150, 2000);
        const std::int64_t before = s.context;
        s.step();
        if (s.context > before) ++prefills;
    }
    const auto prefill = s.saying("Prefill batch, ");
    const auto decode = s.saying("Decode batch, ");
    QCOMPARE(static_cast<std::int64_t>(prefill.size()), prefills);
    QCOMPARE(static_cast<std::int64_t>(decode.size()), s.decode_steps / 40);
    QCOMPARE(status_of(prefill.front().text).at("New sequences"), 1.0);
    QVERIFY(status_of(prefill.front().text).at("New tokens") > 0);
    auto last = status_of(decode.back().text);
    QCOMPARE(last.at("CUDA graph"), 1.0);
    // 40 steps of 20 ms; one token of each running request a step.
    const double running = last.at("Running requests");
    QVERIFY2(near(last.at("Generation throughput (tokens/s)"), running / 0.02, running / 0.02 * 0.3), decode.back().text.c_str());
    const std::string text = written(s.options, s.topology, s.said);
    compare_all(s.options, s.said, read_back(text));
}

void TestSimulatorStatistics::iterations_and_drafts_are_counted() {
    RunOptions options = options_of(Engine::vllm_v1_online);
    options.recording.iteration_log = true;
    options.deployment.spec_tokens = 3;
    Service s(options);
    for (RequestNumber i = 0; i < 3; ++i) s.add(i, 100, 4000);
    for (int i = 0; i < 700; ++i) {
        s.step();
        if (i % 10 == 0) s.tick();
    }
    const auto iterations = s.saying("Iteration(");
    QCOMPARE(iterations.size(), std::size_t{700});
    auto last = status_of(iterations.back().text);
    QCOMPARE(last.at("Iteration"), 699.0);
    QCOMPARE(last.at("Iteration time (ms)"), 20.0);
    QCOMPARE(last.at("Generation requests"), 3.0);
    const auto metrics = s.saying("SpecDecoding metrics: ");
    QVERIFY(!metrics.empty());
    auto drafts = status_of(metrics.back().text);
    QVERIFY(drafts.at("Drafted tokens") > 0);
    QVERIFY(near(drafts.at("Draft acceptance rate (%)"), 100 * drafts.at("Accepted tokens") / drafts.at("Drafted tokens"), 0.06));
    QVERIFY(drafts.at("Per-position acceptance rate 1") >= drafts.at("Per-position acceptance rate 3"));
    QVERIFY(near(drafts.at("Mean acceptance length"), 1 + 3 * drafts.at("Accepted tokens") / drafts.at("Drafted tokens"), 0.01));
}

void TestSimulatorStatistics::some_services_are_watched() {
    int watched = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
        RunOptions options = options_of(Engine::vllm_v1_online);
        options.seed = seed;
        Service s(options);
        for (int i = 0; i < 120; ++i) {
            s.now += kSecond;
            s.tick();
        }
        const auto probes = s.saying("GET /health HTTP/1.1");
        QCOMPARE(s.said.size(), probes.size());  // nothing else is said by an engine without work
        if (probes.empty()) continue;
        ++watched;
        QVERIFY(probes.size() >= 7 && probes.size() <= 25);
        QCOMPARE(probes[1].time - probes[0].time, probes[3].time - probes[2].time);
        for (const LogLine& line : read_back(written(s.options, s.topology, s.said))) QCOMPARE(line.level, std::string("INFO"));
    }
    QVERIFY(watched > 5 && watched < 20);
}

QTEST_APPLESS_MAIN(TestSimulatorStatistics)
#include "tst_simulator_statistics.moc"
