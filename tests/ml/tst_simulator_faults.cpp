// The catalogue, and that every kind does by its mechanism what it says, in its window and nowhere else, and is explained with the run's numbers.
#include <QTest>

#include <map>
#include <regex>
#include <set>

#include "tests/ml/fault_scene.h"

using namespace faultline;
using namespace faultline::simulator;
using namespace faultline::test;

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
    void is_explained_with_numbers_data() { every_kind(); }
    void is_explained_with_numbers();

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
    for (const Engine engine : engines_of(info)) {
        Scene scene(engine, info, kStart, kStart + 20 * kSecond);
        const Effects effects = scene.play();
        RunOptions with = small_options(engine, info), without = with;
        Fault::make({&info, kStart, kStart + kSecond, 0, {}}, Noise(5))->configure(with, true);
        Fault::make({&info, kStart, kStart + kSecond, 0, {}}, Noise(5))->configure(without, false);
        QVERIFY2(effects.any() || facts(with) != facts(without), word(info, engine).c_str());
        if (!info.look_alike) {
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

QTEST_APPLESS_MAIN(TestSimulatorFaults)
#include "tst_simulator_faults.moc"
