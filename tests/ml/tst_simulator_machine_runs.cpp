// Runs as a whole: rehearsals on copies, inserted operations, seeds, memory, speed.
#include <QTest>
#include <chrono>
#include <map>
#include <tuple>

#include "ml/simulator/base/silent_sink.h"
#include "tests/ml/machine_scene.h"

using namespace faultline;
using namespace faultline::simulator;

namespace {

constexpr std::uint32_t kRange = 10;

/// Counts, so that the machine's own speed shows.
class Counting final : public SilentSink {
public:
    void event(const Event& e) override {
        ++events;
        time += e.duration;
    }
    std::uint64_t events = 0;
    TimeNs time = 0;
};

}  // namespace

class TestMachineRuns : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_rehearsal_on_a_copy_has_the_same_times_and_leaves_the_original_alone() {
        Scene scene(2);
        const std::uint16_t group = scene.group_of_all();
        for (int r = 0; r < 2; ++r) scene.run(r, busy_step(1, r, group, 60));
        scene.machine.advance();
        const std::uint32_t pending = scene.machine.new_signal();
        scene.run(0, program({wait_for(pending)}, 2));  // copies are made in the middle of things
        scene.run(1, program({collective(compute_of(1), group, kUs)}, 2));
        scene.machine.advance();
        const std::size_t told = scene.seen.events.size();
        Machine rehearsal = scene.machine;
        Recorder copy;
        rehearsal.set_sink(&copy);
        const auto go_on = [&](Machine& machine) {
            machine.set_signal(pending, kStart + 20 * kMs);
            machine.run(main_of(0), program({collective(compute_of(0), group, kUs)}, 2));
            for (int r = 0; r < 2; ++r) machine.run(main_of(r), busy_step(3, r, group, 60));
            machine.advance();
        };
        go_on(rehearsal);
        QCOMPARE(scene.seen.events.size(), told);
        go_on(scene.machine);
        const std::vector<SeenEvent> rest(scene.seen.events.begin() + static_cast<std::ptrdiff_t>(told), scene.seen.events.end());
        QCOMPARE(rest.size(), copy.events.size());
        QCOMPARE(hash_of(rest), hash_of(copy.events));
        QCOMPARE(rehearsal.step_end(3), scene.machine.step_end(3));
    }

    void an_inserted_operation_changes_no_jitter_of_the_others() {
        const auto durations = [](bool insert) {
            Scene scene(2);
            const std::uint16_t group = scene.group_of_all();
            for (int r = 0; r < 2; ++r) {
                Program p = busy_step(5, r, group, 30);
                if (insert && r == 0) {
                    p.insert(3, host_op(OpKind::work, 80 * kUs));
                    p.insert(6, host_op(OpKind::call, 30 * kUs, 45));
                }
                scene.run(r, std::move(p));
            }
            scene.machine.advance();
            std::vector<TimeNs> found;
            for (const SeenEvent& e : scene.seen.events) {
                if (e.name == static_cast<Name>(45) || e.group_size != 0 || !(e.call() || e.device()) || e.name == static_cast<Name>(41))
                    continue;
                found.push_back(e.duration);
            }
            // The collective's own cost: what the last rank to come has.
            std::map<TimeNs, TimeNs> shortest;
            for (const SeenEvent& e : scene.seen.named(60)) {
                const auto place = shortest.emplace(e.end(), e.duration).first;
                place->second = std::min(place->second, e.duration);
            }
            for (const auto& [end, duration] : shortest) found.push_back(duration);
            std::sort(found.begin(), found.end());
            return found;
        };
        const auto without = durations(false), with = durations(true);
        QVERIFY(without.size() > 80);
        QCOMPARE(with, without);
    }

    void seeds_decide_and_nothing_else() {
        const auto run = [](std::uint64_t seed, bool in_one_go) {
            Scene scene(2, seed);
            const std::uint16_t group = scene.group_of_all();
            for (StepNumber s = 1; s <= 5; ++s) {
                for (int r = 0; r < 2; ++r) scene.run(r, busy_step(s, r, group, 60));
                if (!in_one_go) scene.machine.advance();
            }
            scene.machine.advance();
            std::sort(scene.seen.events.begin(), scene.seen.events.end(), [](const SeenEvent& a, const SeenEvent& b) {
                return std::tie(a.start, a.process, a.stream, a.duration, a.external) <
                       std::tie(b.start, b.process, b.stream, b.duration, b.external);
            });
            return hash_of(scene.seen.events);
        };
        QCOMPARE(run(1, true), run(1, true));
        QCOMPARE(run(1, false), run(1, true));  // times follow from what is waited for, not from when advance() is called
        QVERIFY(run(1, true) != run(2, true));
    }

    void what_is_held_does_not_grow() {
        Scene scene(2);
        Counting counting;
        scene.machine.set_sink(&counting);
        std::size_t most_early = 0, most_late = 0;
        constexpr StepNumber kSteps = 1'000'000;
        for (StepNumber s = 1; s <= kSteps; ++s) {
            const std::uint32_t order = scene.machine.new_signal(), event = scene.machine.new_signal(), done = scene.machine.new_signal();
            scene.run(0, program({open_range(kRange), set(order, 10 * kUs), wait_for(done), host_op(OpKind::pop)}, s));
            scene.run(1, program({wait_for(order), kernel(compute_of(1), 5 * kUs), on_stream(OpKind::record_event, compute_of(1), event),
                                  on_stream(OpKind::sync_event, StreamIndex::none, event), set(done)},
                                 s));
            const TimeNs at = scene.machine.now(main_of(0));
            if (s % 50 == 0) {
                scene.machine.disturb({Disturbance::What::pause, at, at + 20 * kUs, 1, {main_of(0)}, {}});
                scene.machine.disturb({Disturbance::What::slow_all, at, at + 20 * kUs, 2, {}, {1}});
            }
            scene.machine.advance();
            if (s % 8 == 0) scene.machine.forget_before(s - 4, scene.machine.oldest_needed_signal() == kNoSignal ? done - 12 : 0);
            std::size_t& most = s <= 1'000 ? most_early : most_late;
            most = std::max(most, scene.machine.held());
        }
        QVERIFY(counting.events >= std::uint64_t{kSteps} * 4);
        QVERIFY2(most_late <= most_early + 4, qPrintable(QString("%1, then %2").arg(most_early).arg(most_late)));
        QVERIFY(most_late < 200);
    }

    /// Printed only: what the machine costs without writers.
    void speed() {
        for (const int count : {1, 4}) {
            Scene scene(count);
            Counting counting;
            scene.machine.set_sink(&counting);
            const std::uint16_t group = count > 1 ? scene.group_of_all() : kNoGroup;
            const auto begun = std::chrono::steady_clock::now();
            for (StepNumber s = 1; counting.events < 2'000'000; ++s) {
                for (int r = 0; r < count; ++r) scene.run(r, busy_step(s, r, group, 400));
                scene.machine.advance();
                scene.machine.forget_before(s, kNoSignal);
            }
            const std::chrono::duration<double> took = std::chrono::steady_clock::now() - begun;
            qInfo("%d ranks: %.2f million events/s, programs included", count, static_cast<double>(counting.events) / took.count() / 1e6);
        }
    }
};

QTEST_GUILESS_MAIN(TestMachineRuns)
#include "tst_simulator_machine_runs.moc"
