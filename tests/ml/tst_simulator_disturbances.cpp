// What befalls threads, devices and links: how far it stretches what runs then, and what it marks.
#include <QTest>
#include <limits>

#include "tests/ml/machine_scene.h"

using namespace faultline;
using namespace faultline::simulator;

namespace {

using What = Disturbance::What;

Disturbance thread_trouble(What what, TimeNs start, TimeNs end, double factor = 1, bool suspect = true) {
    return {what, kStart + start, kStart + end, factor, {main_of(0)}, {}, suspect};
}
Disturbance device_trouble(What what, TimeNs start, TimeNs end, double factor, std::vector<int> devices = {0}) {
    return {what, kStart + start, kStart + end, factor, {}, std::move(devices), true};
}

/// Ranges of about 100 us with a call of about 10 us in each.
Program python(int count, bool calls = true) {
    Program p;
    p.step = 1;
    for (int i = 0; i < count; ++i) {
        p.add(open_range(static_cast<std::uint32_t>(100 + i)));
        p.add(host_op(OpKind::work, 100 * kUs));
        if (calls) p.add(host_op(OpKind::call, 10 * kUs, static_cast<std::uint32_t>(200 + i))).event = EventKind::runtime_call;
        p.add(host_op(OpKind::pop));
    }
    return p;
}

Program kernels(int count, TimeNs cost, Bound bound = Bound::none) {
    Program p;
    p.step = 1;
    for (int i = 0; i < count; ++i) p.add(kernel(compute_of(0), cost)).bound = bound;
    return p;
}

std::vector<std::uint32_t> suspects(const Recorder& seen) {
    std::vector<std::uint32_t> names;
    for (const SeenEvent& e : seen.events) {
        if (e.suspect) names.push_back(static_cast<std::uint32_t>(e.name));
    }
    return names;
}

TimeNs busy(const Recorder& seen, StreamIndex stream) {
    TimeNs sum = 0;
    for (const SeenEvent& e : seen.on(stream)) sum += e.duration;
    return sum;
}

}  // namespace

class TestDisturbances : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_pause_stretches_what_it_meets_and_marks_it_and_the_first_call_after() {
        Scene usual, paused;
        usual.run(0, python(10));
        usual.machine.advance();
        const SeenEvent third = usual.seen.named(102).at(0);
        paused.machine.disturb({What::pause, third.start + 50 * kUs, third.start + 50 * kUs + 30 * kMs, 1, {main_of(0)}, {}, true});
        paused.run(0, python(10));
        paused.machine.advance();
        QCOMPARE(paused.seen.named(102).at(0).duration, third.duration + 30 * kMs);
        QCOMPARE(paused.machine.now(main_of(0)), usual.machine.now(main_of(0)) + 30 * kMs);
        QCOMPARE(suspects(paused.seen), (std::vector<std::uint32_t>{202, 102}));
        QVERIFY(suspects(usual.seen).empty());
    }

    void a_pause_inside_a_call_marks_that_call_and_the_next_range() {
        Scene usual, paused;
        usual.run(0, python(4));
        usual.machine.advance();
        const SeenEvent call = usual.seen.named(201).at(0);
        paused.machine.disturb({What::pause, call.start + 2 * kUs, call.start + 2 * kUs + kMs, 1, {main_of(0)}, {}, true});
        paused.run(0, python(4));
        paused.machine.advance();
        QCOMPARE(paused.seen.named(201).at(0).duration, call.duration + kMs);
        QCOMPARE(suspects(paused.seen), (std::vector<std::uint32_t>{201, 102}));
    }

    void the_mark_after_a_hole_waits_for_something_that_is_in_the_capture() {
        Scene scene;
        scene.machine.disturb(thread_trouble(What::pause, 50 * kUs, kMs));
        scene.run(0, program({host_op(OpKind::work, 100 * kUs), open_range(0), host_op(OpKind::pop), open_range(30), host_op(OpKind::pop),
                              open_range(31), host_op(OpKind::pop)}));
        scene.machine.advance();
        QCOMPARE(suspects(scene.seen), (std::vector<std::uint32_t>{0, 30}));
    }

    void a_pause_of_a_waiting_thread_only_delays_what_comes_after() {
        for (const bool over : {true, false}) {
            Scene scene;
            const std::uint32_t order = scene.machine.new_signal();
            scene.machine.disturb(thread_trouble(What::pause, 2 * kMs, over ? 3 * kMs : 9 * kMs));
            Program p;
            p.add(open_range(20));
            p.add(wait_for(order));
            p.add(host_op(OpKind::pop));
            p.add(open_range(21));
            p.add(host_op(OpKind::pop));
            scene.run(0, std::move(p));
            scene.machine.set_signal(order, kStart + 5 * kMs);
            scene.machine.advance();
            QCOMPARE(scene.seen.named(20).at(0).end(), kStart + (over ? 5 : 9) * kMs);
            QCOMPARE(suspects(scene.seen), over ? std::vector<std::uint32_t>{} : std::vector<std::uint32_t>{21});
        }
    }

    void peers_of_a_paused_rank_wait_in_the_collective() {
        Scene scene(2);
        const std::uint16_t group = scene.machine.add_group({compute_of(0), compute_of(1)});
        scene.machine.disturb(thread_trouble(What::pause, 50 * kUs, 20 * kMs));
        for (int r = 0; r < 2; ++r) scene.run(r, program({host_op(OpKind::work, 100 * kUs), collective(compute_of(r), group, 10 * kUs)}));
        scene.machine.advance();
        QVERIFY(scene.seen.on(compute_of(0)).at(0).duration < 13 * kUs);
        QVERIFY(scene.seen.on(compute_of(1)).at(0).duration > 19 * kMs);
        QVERIFY(!scene.seen.on(compute_of(1)).at(0).suspect);  // a victim
        QVERIFY(scene.seen.all([](const SeenEvent& e) { return e.call() && e.thread == main_of(0); }).at(0).suspect);
    }

    void slow_hosts_stretch_by_the_share_inside_the_window() {
        Scene usual, slow;
        usual.run(0, python(20, false));
        usual.machine.advance();
        slow.machine.disturb(thread_trouble(What::slow_host, 500 * kUs, 1'000 * kUs, 2));
        slow.run(0, python(20, false));
        slow.machine.advance();
        // In 500 us of the window 250 us of work get done.
        QVERIFY(std::abs(slow.machine.now(main_of(0)) - usual.machine.now(main_of(0)) - 250 * kUs) < 100);
        for (const SeenEvent& e : slow.seen.events) QCOMPARE(e.suspect, e.start < kStart + 1'000 * kUs && e.end() > kStart + 500 * kUs);
    }

    void held_calls_return_at_the_end_and_python_goes_on() {
        Scene scene;
        scene.machine.disturb(thread_trouble(What::hold_calls, 300 * kUs, 5 * kMs));
        scene.run(0, python(6));
        scene.machine.advance();
        int held = 0;
        for (const SeenEvent& e : scene.seen.events) {
            if (!e.call() || !e.suspect) continue;
            ++held;
            QCOMPARE(e.end(), kStart + 5 * kMs);
        }
        QCOMPARE(held, 1);
        QVERIFY(scene.machine.now(main_of(0)) < kStart + 6 * kMs);
        Scene only;
        only.machine.disturb(thread_trouble(What::hold_calls, 100 * kUs, 5 * kMs));
        only.run(0, python(6, false));
        only.machine.advance();
        QVERIFY(only.machine.now(main_of(0)) < kStart + kMs);
        QVERIFY(suspects(only.seen).empty());
    }

    void a_held_launch_holds_its_kernel() {
        Scene scene;
        scene.machine.disturb(thread_trouble(What::hold_calls, 0, 5 * kMs));
        scene.run(0, kernels(1, 10 * kUs));
        scene.machine.advance();
        const SeenEvent work = scene.seen.on(compute_of(0)).at(0);
        QVERIFY(work.start >= kStart + 5 * kMs + 4 * kUs);
        QVERIFY(!work.suspect);
        QCOMPARE(scene.seen.gaps.size(), std::size_t{0});
    }

    void a_lower_clock_slows_memory_less() {
        const auto factor = [](What what, Bound bound) {
            Scene usual, slow;
            slow.machine.disturb(device_trouble(what, 0, 900 * kMs, 2));
            for (Scene* scene : {&usual, &slow}) {
                scene->run(0, kernels(50, 20 * kUs, bound));
                scene->machine.advance();
            }
            return static_cast<double>(busy(slow.seen, compute_of(0))) / static_cast<double>(busy(usual.seen, compute_of(0)));
        };
        const auto is = [](double value, double wanted) { return std::abs(value - wanted) < 0.001; };
        QVERIFY(is(factor(What::slow_compute, Bound::compute), 2));
        QVERIFY(is(factor(What::slow_compute, Bound::memory), 1.3));
        QVERIFY(is(factor(What::slow_compute, Bound::none), 1));
        QVERIFY(is(factor(What::slow_all, Bound::none), 2));
        QVERIFY(is(factor(What::slow_link, Bound::link), 2));
        QVERIFY(is(factor(What::slow_link, Bound::memory), 1));
    }

    void windows_that_begin_later_and_overlap_multiply_where_they_do() {
        Scene scene;
        scene.machine.disturb(device_trouble(What::slow_all, 1'000 * kUs, 3'000 * kUs, 2));
        scene.machine.disturb(device_trouble(What::slow_all, 2'000 * kUs, 4'000 * kUs, 4));
        scene.run(0, kernels(1, 10 * kMs));
        scene.machine.advance();
        Scene usual;
        usual.run(0, kernels(1, 10 * kMs));
        usual.machine.advance();
        // 1 ms at half, 1 ms at an eighth, 1 ms at a quarter.
        const TimeNs lost = scene.seen.on(compute_of(0)).at(0).duration - usual.seen.on(compute_of(0)).at(0).duration;
        QVERIFY2(std::abs(lost - (500 + 875 + 750) * kUs) < 10, qPrintable(QString::number(lost)));
    }

    void links_slow_collectives_for_all_members_and_nothing_else() {
        const auto shortest = [](std::vector<Disturbance> disturbances, bool marked) {
            Scene scene(2);
            const std::uint16_t group = scene.machine.add_group({compute_of(0), compute_of(1)});
            for (Disturbance& d : disturbances) scene.machine.disturb(d);
            for (int r = 0; r < 2; ++r)
                scene.run(r, program({kernel(compute_of(r), 20 * kUs), collective(compute_of(r), group, 100 * kUs)}));
            scene.machine.advance();
            const auto found = scene.seen.named(60);
            if (found.size() != 2 || found[0].end() != found[1].end() || found[0].suspect != marked || found[1].suspect != marked)
                return TimeNs{-1};
            for (const SeenEvent& e : scene.seen.named(50)) {
                if (e.suspect) return TimeNs{-2};
            }
            return std::min(found[0].duration, found[1].duration);
        };
        const TimeNs usual = shortest({}, false);
        QVERIFY(usual > 80 * kUs);
        QVERIFY(std::abs(shortest({device_trouble(What::slow_link, 0, kMs, 3, {1})}, true) - 3 * usual) < 10);
        QVERIFY(std::abs(shortest({device_trouble(What::slow_link, 0, kMs, 3, {0, 1})}, true) - 3 * usual) < 10);  // one disturbance, once
        QCOMPARE(shortest({device_trouble(What::delay_link, 0, kMs, 7e6, {0, 1})}, true), usual + 7 * kMs);
        QCOMPARE(shortest({device_trouble(What::slow_all, 10 * kMs, 20 * kMs, 3)}, false), usual);
        QCOMPARE(shortest({device_trouble(What::slow_link, 10 * kMs, 20 * kMs, 3)}, false), usual);
    }

    void calm_takes_all_away_and_what_is_past_is_dropped() {
        Scene scene;
        for (int i = 0; i < 100; ++i) {
            scene.machine.disturb(thread_trouble(What::pause, (10 + i) * kMs, (10 + i) * kMs + 100 * kUs));
            scene.machine.disturb(device_trouble(What::slow_all, (10 + i) * kMs, (10 + i) * kMs + 100 * kUs, 2));
        }
        QVERIFY(scene.machine.held() >= 200);
        Machine rehearsal = scene.machine;
        rehearsal.calm();
        QCOMPARE(rehearsal.held(), std::size_t{0});
        for (int i = 0; i < 20; ++i) {
            Program p = python(100);
            p.add(kernel(compute_of(0), kMs));
            scene.run(0, p);
            rehearsal.run(main_of(0), p);
        }
        rehearsal.set_sink(nullptr);
        rehearsal.advance();
        scene.machine.advance();
        QCOMPARE(scene.machine.now(main_of(0)), rehearsal.now(main_of(0)) + 100 * 100 * kUs);
        QCOMPARE(scene.machine.held(), std::size_t{1});  // the end of the step
    }

    void what_is_not_suspect_stretches_without_marks() {
        Scene scene;
        scene.machine.disturb(thread_trouble(What::pause, 100 * kUs, 2 * kMs, 1, false));
        scene.run(0, python(3));
        scene.machine.advance();
        QVERIFY(scene.machine.now(main_of(0)) > kStart + 2 * kMs);
        QVERIFY(suspects(scene.seen).empty());
    }

    void a_pause_or_hold_without_an_end_is_a_hang() {
        for (const What what : {What::pause, What::hold_calls}) {
            Scene scene;
            scene.machine.disturb({what, kStart + 150 * kUs, std::numeric_limits<TimeNs>::max(), 1, {main_of(0)}, {}, true});
            scene.run(0, python(10));
            scene.machine.advance();
            QVERIFY(scene.machine.blocked(main_of(0)));
            QVERIFY(scene.machine.now(main_of(0)) < kStart + 300 * kUs);
            scene.machine.finish(kStart + 5 * kMs);
            QVERIFY(scene.seen.named(201).empty());
            QCOMPARE(scene.seen.named(101).size(), std::size_t{1});
            QVERIFY(scene.seen.named(101)[0].cut);
            QVERIFY(scene.seen.named(102).empty());
        }
        Scene scene(2);
        const std::uint16_t group = scene.machine.add_group({compute_of(0), compute_of(1)});
        scene.machine.disturb(device_trouble(What::delay_link, 0, kMs, static_cast<double>(kForever)));
        for (int r = 0; r < 2; ++r) scene.run(r, program({collective(compute_of(r), group, kUs)}));
        scene.machine.advance();
        QVERIFY(scene.machine.stream_stuck(compute_of(0)) && scene.machine.stream_stuck(compute_of(1)));
        QVERIFY(scene.seen.named(60).empty());
    }

    void a_suspect_operation_marks_its_own_events() {
        Scene scene;
        Program p = kernels(1, 5 * kUs);
        p.ops[0].suspect = true;
        Op graph = kernel(compute_of(0), 0, 51, OpKind::graph_launch);
        graph.cost = 20 * kUs;
        graph.name = static_cast<Name>(43);
        graph.suspect = true;
        p.add(graph);
        p.add(kernel(compute_of(0), 5 * kUs, 52, OpKind::node));
        p.add(kernel(compute_of(0), 5 * kUs, 53, OpKind::node)).suspect = true;
        Op range = open_range(30);
        range.suspect = true;
        p.add(range);
        p.add(host_op(OpKind::pop));
        scene.run(0, std::move(p));
        scene.machine.advance();
        QCOMPARE(suspects(scene.seen), (std::vector<std::uint32_t>{40, 50, 43, 53, 30}));
    }
};

QTEST_GUILESS_MAIN(TestDisturbances)
#include "tst_simulator_disturbances.moc"
