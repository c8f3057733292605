// What a campaign is made of, and that nothing outside of the truth tells what a run is.
#include <QTest>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <set>

#include "ml/simulator/base/silent_sink.h"
#include "ml/simulator/campaign/apportion.h"
#include "ml/simulator/campaign/campaign.h"
#include "ml/simulator/campaign/pilot.h"
#include "tests/ml/trivial_classifier.h"

using namespace faultline;
using namespace faultline::simulator;
using faultline::test::Labelled;
using faultline::test::tell;

namespace {

CampaignPlan paper_plan(std::uint64_t seed = 1) { return plan_campaign({CampaignSize::paper, seed, false, {}}, fault_catalogue()); }

int class_index(const CampaignRun& run) { return static_cast<int>(run.type); }

}  // namespace

class TestSimulatorCampaign : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void parts_add_up();
    void shares_are_those_of_the_paper();
    void classes_give_way_where_an_engine_has_none();
    void at_least_sixty_runs_and_twelve_for_the_test();
    void every_class_and_engine_is_in_every_plan();
    void reserved_kinds_are_never_in_it();
    void reserved_runs_are_test_runs();
    void large_is_eight_times_as_large();
    void the_same_seed_is_the_same_plan();
    void kinds_run_where_they_exist();
    void runs_have_room_for_a_history();
    void rarer_requests_make_a_longer_run();
    void a_pilot_can_be_stopped();
    void what_only_a_host_shows_is_planned_where_it_decides();
    void names_and_numbers_tell_nothing_data();
    void names_and_numbers_tell_nothing();
    void the_classifier_would_find_an_order();
};

void TestSimulatorCampaign::parts_add_up() {
    QVERIFY(apportion(10, {1, 1, 1}) == (std::vector<int>{4, 3, 3}));
    QVERIFY(apportion(7, {0, 2, 5}) == (std::vector<int>{0, 2, 5}));
    QVERIFY(apportion(3, {}).empty());
    QVERIFY(apportion(3, {0, 0}) == (std::vector<int>{0, 0}));
}

void TestSimulatorCampaign::shares_are_those_of_the_paper() {
    const CampaignPlan plan = paper_plan();
    int traces = 0, faulty = 0;
    std::array<int, 6> by_class{};
    std::map<Engine, std::array<int, 3>> by_engine;
    for (const CampaignRun& run : plan.runs) {
        const Engine engine = run.job.options.deployment.engine;
        traces += run.faulty_traces + run.normal_traces;
        faulty += run.faulty_traces;
        by_class[static_cast<std::size_t>(class_index(run))] += run.faulty_traces;
        by_engine[engine][0] += run.faulty_traces + run.normal_traces;
        by_engine[engine][1] += run.faulty_traces;
        by_engine[engine][2] += run.steps;
        QVERIFY(run.faulty_traces <= 3);
        QCOMPARE(run.faulty_traces > 0, run.type != FaultClass::normal);
        QVERIFY(run.steps >= run.faulty_traces + run.normal_traces);
    }
    QCOMPARE(traces, 300);
    QCOMPARE(faulty, 127);  // 42.3 %
    QCOMPARE(by_class[0], 0);
    for (std::size_t c = 0; c < 5; ++c) {
        const double wanted = 127 * kClassShares[c] / 1001.0;
        QVERIFY2(std::abs(by_class[c + 1] - wanted) <= 1, std::to_string(by_class[c + 1]).c_str());
    }
    for (const EngineShare& share : kPaperShares) {
        QCOMPARE(by_engine[share.engine][0], share.traces);
        QCOMPARE(by_engine[share.engine][1], share.faulty);
        QCOMPARE(by_engine[share.engine][2], share.steps);
    }
}

void TestSimulatorCampaign::classes_give_way_where_an_engine_has_none() {
    std::array<std::array<bool, 5>, kEngineCount> possible{};
    for (auto& row : possible) row.fill(true);
    possible[static_cast<std::size_t>(Engine::fsdp)] = {true, true, false, false, false};
    const FaultMatrix matrix = fault_matrix(1, possible);
    std::array<int, 5> columns{};
    for (const EngineShare& share : kPaperShares) {
        int row = 0;
        for (std::size_t c = 0; c < 5; ++c) {
            row += matrix[static_cast<std::size_t>(share.engine)][c];
            columns[c] += matrix[static_cast<std::size_t>(share.engine)][c];
        }
        QCOMPARE(row, share.faulty);
    }
    QCOMPARE(matrix[static_cast<std::size_t>(Engine::fsdp)][2], 0);
    for (std::size_t c = 0; c < 5; ++c) QVERIFY(std::abs(columns[c] - 127 * kClassShares[c] / 1001.0) <= 1);
}

void TestSimulatorCampaign::at_least_sixty_runs_and_twelve_for_the_test() {
    const CampaignPlan plan = paper_plan();
    QVERIFY(plan.runs.size() >= 60);
    std::map<Split, int> splits;
    std::set<std::string> dirs;
    int look_alikes = 0;
    for (const CampaignRun& run : plan.runs) {
        ++splits[run.split];
        dirs.insert(run.dir);
        look_alikes += run.scenario() != nullptr && run.scenario()->look_alike ? 1 : 0;
    }
    QCOMPARE(splits[Split::test], 12);
    QVERIFY(splits[Split::validation] >= 6);
    QVERIFY(splits[Split::train] >= 40);
    QCOMPARE(dirs.size(), plan.runs.size());  // whole runs: a run is in one split
    const double share = static_cast<double>(look_alikes) / static_cast<double>(plan.runs.size());
    QVERIFY2(share >= 0.08 && share <= 0.12, std::to_string(share).c_str());
}

void TestSimulatorCampaign::every_class_and_engine_is_in_every_plan() {
    for (const std::uint64_t seed : {1U, 2U, 3U}) {
        std::set<int> test_classes;
        std::set<Engine> engines;
        for (const CampaignRun& run : paper_plan(seed).runs) {
            engines.insert(run.job.options.deployment.engine);
            if (run.split == Split::test) test_classes.insert(class_index(run));
        }
        QCOMPARE(engines.size(), std::size_t{5});
        QCOMPARE(test_classes.size(), std::size_t{6});  // the five classes and normal
    }
}

void TestSimulatorCampaign::reserved_kinds_are_never_in_it() {
    for (const CampaignSize size : {CampaignSize::paper, CampaignSize::large}) {
        for (const CampaignRun& run : plan_campaign({size, 5, false, {}}, fault_catalogue()).runs) {
            if (run.job.fault) QVERIFY2(!run.job.fault->info->reserved, run.job.fault->info->id.data());
        }
    }
}

void TestSimulatorCampaign::reserved_runs_are_test_runs() {
    const CampaignPlan plan = plan_campaign({CampaignSize::paper, 1, true, {}}, fault_catalogue());
    std::set<std::string_view> kinds;
    for (const CampaignRun& run : plan.runs) {
        QVERIFY(run.injected() && run.scenario()->reserved);
        QCOMPARE(static_cast<int>(run.split), static_cast<int>(Split::test));
        kinds.insert(run.scenario()->id);
    }
    QVERIFY(kinds == (std::set<std::string_view>{"A9", "B10", "C3", "D6", "E10", "E12"}));
    QVERIFY(plan.hash != paper_plan().hash);
    QCOMPARE(plan.runs.size(), std::size_t{4 * 6});
}

void TestSimulatorCampaign::large_is_eight_times_as_large() {
    const CampaignPlan plan = plan_campaign({CampaignSize::large, 1, false, {}}, fault_catalogue());
    QVERIFY(plan.runs.size() >= 8 * 60);
    int traces = 0, faulty = 0, tests = 0;
    std::set<std::string_view> kinds, look_alikes, models, gpus;
    std::set<std::uint64_t> seeds;
    std::set<int> formats, dialects, graphs, ranks;
    for (const CampaignRun& run : plan.runs) {
        traces += run.faulty_traces + run.normal_traces;
        faulty += run.faulty_traces;
        tests += run.split == Split::test ? 1 : 0;
        if (const FaultInfo* scenario = run.scenario()) (scenario->look_alike ? look_alikes : kinds).insert(scenario->id);
        seeds.insert(run.job.options.seed);
        models.insert(run.job.options.deployment.model);
        gpus.insert(run.job.options.deployment.gpu);
        formats.insert(static_cast<int>(run.job.format));
        dialects.insert(static_cast<int>(run.job.options.recording.dialect));
        graphs.insert(static_cast<int>(run.job.options.deployment.graphs));
        ranks.insert(run.job.options.deployment.tp);
    }
    QCOMPARE(traces, 8 * 300);
    QCOMPARE(faulty, 8 * 127);
    QCOMPARE(tests, 8 * 12);
    QCOMPARE(seeds.size(), plan.runs.size());
    std::size_t usable = 0, alike = 0;
    for (const FaultInfo& info : fault_catalogue()) {
        usable += !info.reserved && !info.look_alike ? 1 : 0;
        alike += info.look_alike ? 1 : 0;
    }
    QCOMPARE(kinds.size(), usable);
    QCOMPARE(look_alikes.size(), alike);
    QVERIFY(models.size() >= 3 && gpus.size() == 5 && formats.size() == 3 && dialects.size() >= 5 && graphs.size() == 3 &&
            ranks.size() >= 3);
}

void TestSimulatorCampaign::the_same_seed_is_the_same_plan() {
    const CampaignPlan a = paper_plan(), b = paper_plan(), c = paper_plan(2);
    QCOMPARE(a.hash, b.hash);
    QVERIFY(a.hash != c.hash);
    QVERIFY(a.runs.front().job.options.seed != c.runs.front().job.options.seed);
    QCOMPARE(a.runs.size(), b.runs.size());
    const CampaignPlan kineto = plan_campaign({CampaignSize::paper, 1, false, TraceFormat::kineto}, fault_catalogue());
    for (const CampaignRun& run : kineto.runs) QCOMPARE(static_cast<int>(run.job.format), static_cast<int>(TraceFormat::kineto));
    QVERIFY(kineto.hash != a.hash);
}

void TestSimulatorCampaign::kinds_run_where_they_exist() {
    for (const std::uint64_t seed : {1U, 4U}) {
        for (const CampaignRun& run : plan_campaign({CampaignSize::large, seed, false, {}}, fault_catalogue()).runs) {
            const Deployment& d = run.job.options.deployment;
            if (!run.job.fault) continue;
            QVERIFY((run.job.fault->info->engines >> static_cast<int>(d.engine) & 1) != 0);
            QVERIFY(d.tp >= run.job.fault->info->ranks);
            QCOMPARE(run.type, run.injected() && !run.scenario()->look_alike ? run.scenario()->type : FaultClass::normal);
            QVERIFY(d.engine != Engine::fsdp || d.tp >= 2);
            QVERIFY(d.nodes == 1 || d.tp > 1);
        }
    }
}

/// Steps that read prompts and others, before the middle of a run of `length` without its fault.
std::pair<int, int> steps_before_the_middle(SimulationJob job, double length) {
    job.options.duration_s = length / 2;
    if (job.fault) job.fault->inject = false;
    std::pair<int, int> steps;
    SilentSink nowhere;
    SimulationHooks hooks;
    hooks.sink = &nowhere;
    hooks.record = [&](const StepRecord& record, FaultClass) { ++(record.plan.context_tokens > 0 ? steps.first : steps.second); };
    simulate_into(job.options, job.fault, hooks).value();
    return steps;
}

void TestSimulatorCampaign::runs_have_room_for_a_history() {
    std::set<Engine> seen;
    for (const CampaignRun& run : paper_plan().runs) {
        QVERIFY(!run.job.fault || !run.job.fault->duration_s);
        const Engine engine = run.job.options.deployment.engine;
        if (!seen.insert(engine).second) continue;
        const auto length = pilot_length(run.job);
        QVERIFY(length);
        QVERIFY(*length >= kShortestRun && *length <= kLongestRun);
        const auto [prefill, decode] = steps_before_the_middle(run.job, *length);
        QVERIFY2(prefill >= (engine == Engine::fsdp ? 30 : 60) && decode >= 60, fmt::format("{}: {} and {}", engine_name(engine), prefill, decode).c_str());
    }
    QCOMPARE(seen.size(), kEngineCount);
}

void TestSimulatorCampaign::rarer_requests_make_a_longer_run() {
    SimulationJob job;
    job.options.workload.rate = 30;
    const double often = pilot_length(job).value();
    job.options.workload.rate = 2;
    QVERIFY(pilot_length(job).value() > 3 * often);
    job.options.workload.rate = 0.001;  // nothing comes while the pilot looks
    QCOMPARE(pilot_length(job).value(), kLongestRun);
}

void TestSimulatorCampaign::a_pilot_can_be_stopped() {
    std::stop_source stop;
    stop.request_stop();
    const auto length = pilot_length(paper_plan().runs.front().job, stop.get_token());
    QVERIFY(!length);
    QCOMPARE(exit_status(length.error().code), 5);
}

/// C8 hides behind a GPU that is busy (FAULTS C8): it is planned where the host decides.
void TestSimulatorCampaign::what_only_a_host_shows_is_planned_where_it_decides() {
    int found = 0;
    for (const CampaignRun& run : plan_campaign({CampaignSize::large, 1, false, {}}, fault_catalogue()).runs) {
        if (!run.job.fault || !run.job.fault->info->host_bound) continue;
        ++found;
        QCOMPARE(run.job.options.deployment.graphs, GraphMode::none);
        QCOMPARE(run.job.options.deployment.model, std::string("qwen1.5-0.5b"));
    }
    QVERIFY(found > 0);
}

void TestSimulatorCampaign::names_and_numbers_tell_nothing_data() {
    QTest::addColumn<int>("seed");
    QTest::addColumn<bool>("binary");
    for (const int seed : {1, 2, 3}) {
        QTest::addRow("faulty or not, seed %d", seed) << seed << true;
        QTest::addRow("class, seed %d", seed) << seed << false;
    }
}

void TestSimulatorCampaign::names_and_numbers_tell_nothing() {
    QFETCH(int, seed);
    QFETCH(bool, binary);
    std::vector<Labelled> runs;
    for (const CampaignRun& run : paper_plan(static_cast<std::uint64_t>(seed)).runs) {
        Labelled labelled;
        test::add_text(labelled.features, run.dir);
        test::add_text(labelled.features, std::to_string(run.job.options.seed));
        test::add_number(labelled.features, run.job.options.seed);
        test::add_number(labelled.features, runs.size());  // the order
        labelled.label = binary ? class_index(run) > 0 : class_index(run);
        runs.push_back(std::move(labelled));
    }
    const auto told = tell(runs);
    QVERIFY2(told.by_luck > 0.02, qPrintable(QStringLiteral("accuracy %1, by luck %2").arg(told.accuracy).arg(told.by_luck)));
}

void TestSimulatorCampaign::the_classifier_would_find_an_order() {
    std::vector<Labelled> runs;
    CampaignPlan plan = paper_plan();
    std::stable_sort(plan.runs.begin(), plan.runs.end(), [](const CampaignRun& a, const CampaignRun& b) { return a.type < b.type; });
    for (const CampaignRun& run : plan.runs) {
        Labelled labelled;
        test::add_number(labelled.features, runs.size());
        labelled.label = class_index(run);
        runs.push_back(std::move(labelled));
    }
    QVERIFY(tell(runs).by_luck < 0.02);
}

QTEST_APPLESS_MAIN(TestSimulatorCampaign)
#include "tst_simulator_campaign.moc"
