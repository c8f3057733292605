// Threads, streams and collectives: what waits for what, and who leaves when.
#include <QTest>
#include <map>
#include <set>

#include "tests/ml/machine_scene.h"

using namespace faultline;
using namespace faultline::simulator;

namespace {

constexpr std::uint32_t kRange = 10;

}  // namespace

class TestMachine : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void a_late_rank_has_the_short_collective_and_all_leave_together() {
        Scene scene(4);
        const std::uint16_t group = scene.group_of_all();
        for (int r = 0; r < 4; ++r) {
            scene.run(r, program({host_op(OpKind::work, r == 2 ? 900 * kUs : 20 * kUs), collective(compute_of(r), group, 10 * kUs)}));
        }
        scene.machine.advance();
        const auto found = scene.seen.named(60);
        QCOMPARE(found.size(), std::size_t{4});
        for (const SeenEvent& e : found) {
            QCOMPARE(e.end(), found.front().end());
            QCOMPARE(e.group_size, std::uint16_t{4});
            if (e.stream == compute_of(2)) {
                QVERIFY(e.duration > 8 * kUs && e.duration < 12 * kUs);
            } else {
                QVERIFY(e.duration > 700 * kUs);
            }
        }
    }

    void collectives_pair_by_their_order() {
        Scene scene(2);
        const std::uint16_t group = scene.group_of_all();
        for (int r = 0; r < 2; ++r) {
            Program p;
            for (int i = 0; i < 50; ++i) {
                p.add(kernel(compute_of(r), (r == i % 2 ? 30 : 5) * kUs));
                p.add(collective(compute_of(r), group, 6 * kUs));
            }
            scene.run(r, p);
        }
        scene.machine.advance();
        const auto zero = scene.seen.on(compute_of(0)), one = scene.seen.on(compute_of(1));
        QCOMPARE(zero.size(), std::size_t{100});
        QCOMPARE(one.size(), std::size_t{100});
        for (std::size_t i = 1; i < 100; i += 2) {
            QCOMPARE(zero[i].end(), one[i].end());
            const SeenEvent& late = (i / 2) % 2 == 0 ? zero[i] : one[i];
            QVERIFY(late.duration < 8 * kUs);
        }
        for (std::size_t i = 1; i < 100; ++i) QVERIFY(zero[i].start >= zero[i - 1].end());
    }

    void nothing_starts_before_its_launch_and_streams_keep_their_order() {
        Scene scene(2);
        const std::uint16_t group = scene.group_of_all();
        for (StepNumber s = 1; s <= 20; ++s) {
            for (int r = 0; r < 2; ++r) scene.run(r, busy_step(s, r, group, 60));
        }
        scene.machine.advance();
        std::map<std::pair<int, std::uint32_t>, SeenEvent> calls;
        for (const SeenEvent& e : scene.seen.events) {
            if (!e.call()) continue;
            const bool fresh = calls.emplace(std::pair(static_cast<int>(e.process), e.correlation), e).second;
            QVERIFY(fresh);  // unique in the process
            QVERIFY(e.correlation != 0);
        }
        for (int r = 0; r < 2; ++r) {
            const auto work = scene.seen.on(compute_of(r));
            QCOMPARE(work.size(), std::size_t{20 * 70});
            for (std::size_t i = 0; i < work.size(); ++i) {
                const auto call = calls.find({r, work[i].correlation});
                QVERIFY(call != calls.end());
                QVERIFY(work[i].start >= call->second.start + 6 * kUs);
                QCOMPARE(work[i].external, call->second.external);
                QCOMPARE(work[i].thread, main_of(r));
                if (i > 0) QVERIFY(work[i].start >= work[i - 1].end() + 250);
            }
        }
        for (const SeenEvent& sync : scene.seen.named(41)) {
            for (const SeenEvent& e : scene.seen.on(compute_of(static_cast<int>(sync.process)))) {
                if (e.step == sync.step) QVERIFY(e.end() <= sync.end());
            }
            QVERIFY(scene.machine.step_end(sync.step) >= sync.end());
        }
    }

    void graph_nodes_share_the_correlation_of_their_launch() {
        Scene scene(1);
        for (StepNumber s = 1; s <= 2; ++s) scene.run(0, busy_step(s, 0, kNoGroup, 40));
        scene.machine.advance();
        for (StepNumber s = 1; s <= 2; ++s) {
            const auto nodes = scene.seen.all([&](const SeenEvent& e) { return e.graph_node != 0 && e.step == s; });
            QCOMPARE(nodes.size(), std::size_t{40});
            for (std::size_t i = 0; i < nodes.size(); ++i) {
                QCOMPARE(nodes[i].correlation, nodes[0].correlation);
                QCOMPARE(nodes[i].graph_node, static_cast<std::uint32_t>(i + 1));
                if (i > 0) {
                    const TimeNs gap = nodes[i].start - nodes[i - 1].end();
                    QVERIFY(gap >= 250 && gap <= 1'850);
                }
            }
        }
    }

    void calls_carry_the_innermost_operator() {
        Scene scene(1);
        scene.run(0, program({open_range(kRange), open_range(11, EventKind::op), open_range(12, EventKind::op), kernel(compute_of(0), kUs),
                              host_op(OpKind::pop), open_range(13), kernel(compute_of(0), kUs), host_op(OpKind::pop), host_op(OpKind::pop),
                              kernel(compute_of(0), kUs), host_op(OpKind::pop)}));
        scene.machine.advance();
        const auto outer = scene.seen.named(11), inner = scene.seen.named(12), work = scene.seen.on(compute_of(0));
        QVERIFY(outer.at(0).external != inner.at(0).external);
        QCOMPARE(work.at(0).external, inner.at(0).external);
        QCOMPARE(work.at(1).external, outer.at(0).external);
        QCOMPARE(work.at(2).external, 0U);
        std::set<std::uint32_t> ids;
        for (const SeenEvent& e : scene.seen.all([](const SeenEvent& s) { return !s.call() && !s.device(); })) ids.insert(e.external);
        QCOMPARE(ids.size(), std::size_t{4});
        QVERIFY(!ids.contains(0));
    }

    void work_and_frames_know_what_is_around_them() {
        Scene scene(1);
        scene.run(0, program({open_range(11), open_range(0), kernel(compute_of(0), kUs), host_op(OpKind::pop), open_range(12),
                              kernel(compute_of(0), 0, 51, OpKind::graph_launch), host_op(OpKind::pop), kernel(compute_of(0), kUs, 52, OpKind::node),
                              open_range(21, EventKind::python), open_range(22, EventKind::python), kernel(compute_of(0), kUs), host_op(OpKind::pop),
                              host_op(OpKind::pop), host_op(OpKind::pop), kernel(compute_of(0), kUs)}));
        scene.machine.advance();
        const std::uint32_t outer = scene.seen.named(11).at(0).external, inner = scene.seen.named(12).at(0).external;
        QVERIFY(outer != 0 && inner != 0 && outer != inner);
        std::vector<std::uint32_t> around;
        for (const SeenEvent& work : scene.seen.on(compute_of(0))) around.push_back(work.around);
        QVERIFY((around == std::vector<std::uint32_t>{outer, inner, outer, 0}));  // one without a name is around nothing
        const SeenEvent frame = scene.seen.named(21).at(0), called = scene.seen.named(22).at(0);
        QCOMPARE(frame.external, 1U);  // frames are numbered on their own
        QCOMPARE(called.external, 2U);
        QCOMPARE(frame.around, 0U);
        QCOMPARE(called.around, 1U);
        for (const SeenEvent& e : scene.seen.all([](const SeenEvent& s) { return s.call(); })) QCOMPARE(e.stream, compute_of(0));
    }

    void nodes_of_a_graph_belong_to_the_operator_around_its_launch() {
        Scene scene(1);
        scene.run(0, program({open_range(11, EventKind::op), kernel(compute_of(0), 0, 51, OpKind::graph_launch), host_op(OpKind::pop),
                              open_range(12, EventKind::op), kernel(compute_of(0), kUs, 52, OpKind::node), host_op(OpKind::pop)}));
        scene.machine.advance();
        QCOMPARE(scene.seen.named(52).at(0).external, scene.seen.named(11).at(0).external);
    }

    void two_threads_queue_on_one_stream_in_the_order_of_their_clocks() {
        Scene scene(1);
        Program main, helper;
        for (int i = 0; i < 40; ++i) {
            main.add(kernel(compute_of(0), 20 * kUs));
            main.add(host_op(OpKind::work, kMs));
            helper.add(host_op(OpKind::work, kMs));
            helper.add(kernel(compute_of(0), 20 * kUs, 51));
        }
        scene.run(0, std::move(main));
        scene.machine.run(helper_of(0), std::move(helper));
        scene.machine.advance();
        const auto calls = scene.seen.all([](const SeenEvent& e) { return e.call(); });
        const auto work = scene.seen.on(compute_of(0));
        QCOMPARE(work.size(), std::size_t{80});
        for (const SeenEvent& e : work) {
            const auto call = std::find_if(calls.begin(), calls.end(), [&](const SeenEvent& c) { return c.correlation == e.correlation; });
            QVERIFY(call != calls.end());
            QVERIFY(e.start < call->end() + 100 * kUs);  // the stream is free most of the time
        }
    }

    void ranges_close_inside_out_with_texts_and_silent_ones_are_told() {
        Scene scene(1);
        Program p;
        p.step = 3;
        Op text = open_range(0);
        text.text = p.add_text("execute_context_1(8)_generation_0(0)");
        p.add(text);
        Op silent = open_range(0);
        silent.role = Role::schedule;
        p.add(silent);
        p.add(host_op(OpKind::work, 50 * kUs));
        p.add(host_op(OpKind::pop));
        scene.run(0, std::move(p));
        scene.run(0, program({host_op(OpKind::work, 10 * kUs), host_op(OpKind::pop)}, 4));  // the range lasts over two programs
        scene.machine.advance();
        QCOMPARE(scene.seen.events.size(), std::size_t{2});
        QCOMPARE(scene.seen.events[0].role, Role::schedule);
        QVERIFY(scene.seen.events[0].words.empty());
        QCOMPARE(scene.seen.events[1].words, std::string("execute_context_1(8)_generation_0(0)"));
        QCOMPARE(scene.seen.events[1].step, StepNumber{3});
        QVERIFY(scene.seen.events[1].duration > scene.seen.events[0].duration + 7 * kUs);
    }

    void events_hold_other_streams_and_threads() {
        Scene scene(1);
        const std::uint32_t ready = scene.machine.new_signal(), copied = scene.machine.new_signal();
        Op copy = kernel(copy_of(0), 40 * kUs, 70);
        copy.device_event = EventKind::memory_copy;
        copy.copy = CopyKind::device_to_host;
        copy.bytes = 512;
        scene.run(0,
                  program({kernel(compute_of(0), 300 * kUs), on_stream(OpKind::record_event, compute_of(0), ready),
                           on_stream(OpKind::stream_wait, copy_of(0), ready), copy, on_stream(OpKind::record_event, copy_of(0), copied)}));
        Op sync = on_stream(OpKind::sync_event, StreamIndex::none, copied);
        sync.name = static_cast<Name>(42);
        scene.machine.run(helper_of(0), program({sync}));
        scene.machine.advance();
        const SeenEvent work = scene.seen.on(compute_of(0)).at(0), moved = scene.seen.on(copy_of(0)).at(0),
                        waited = scene.seen.named(42).at(0);
        QVERIFY(moved.start >= work.end());
        QVERIFY(moved.start < work.end() + 3 * kUs);
        QCOMPARE(moved.bytes, std::int64_t{512});
        QCOMPARE(waited.start, kStart);
        QVERIFY(waited.end() >= moved.end() && waited.end() < moved.end() + 8 * kUs);
        QCOMPARE(scene.machine.signal_time(copied).value(), moved.end());
        QVERIFY(scene.machine.now(main_of(0)) < work.end());  // launching goes on meanwhile
    }

    void a_wait_holds_until_the_signal_and_outside_signals_count() {
        Scene scene(2);
        const std::uint32_t order = scene.machine.new_signal(), outside = scene.machine.new_signal();
        scene.run(1, program({wait_for(order), host_op(OpKind::work, 10 * kUs), wait_for(outside), host_op(OpKind::work, 10 * kUs)}));
        scene.run(0, program({host_op(OpKind::work, 500 * kUs), set(order, 30 * kUs)}));
        QVERIFY(!scene.machine.idle(main_of(1)));
        scene.machine.advance();
        const TimeNs given = scene.machine.signal_time(order).value();
        QVERIFY(given > scene.machine.now(main_of(0)) + 20 * kUs);
        QVERIFY(scene.machine.blocked(main_of(1)));
        QVERIFY(scene.machine.now(main_of(1)) >= given + 7 * kUs);
        QCOMPARE(scene.machine.oldest_needed_signal(), outside);
        scene.machine.set_signal(outside, kStart + 50 * kMs);
        scene.machine.advance();
        QVERIFY(scene.machine.idle(main_of(1)));
        QVERIFY(scene.machine.now(main_of(1)) > kStart + 50 * kMs);
        QCOMPARE(scene.machine.oldest_needed_signal(), kNoSignal);
    }

    void orders_come_not_before_their_time_and_markers_say_when() {
        Scene scene(1);
        Op marker = host_op(OpKind::marker);
        marker.signal = 77;
        scene.run(0, program({host_op(OpKind::work, 10 * kUs), marker}), kStart + 5 * kMs);
        scene.run(0, Program{}, kStart + 9 * kMs);
        scene.machine.advance();
        const auto markers = scene.machine.take_markers();
        QCOMPARE(markers.size(), std::size_t{1});
        QCOMPARE(markers[0].number, 77U);
        QVERIFY(markers[0].time > kStart + 5 * kMs && markers[0].time < kStart + 6 * kMs);
        QCOMPARE(scene.machine.now(main_of(0)), kStart + 9 * kMs);
        QVERIFY(scene.machine.take_markers().empty());
    }

    void gaps_have_the_cause_of_their_launching_thread() {
        Scene scene(1);
        const std::uint32_t order = scene.machine.new_signal(), other = scene.machine.new_signal();
        scene.run(0, program({kernel(compute_of(0), 10 * kUs), on_stream(OpKind::sync_stream, compute_of(0)),
                              host_op(OpKind::work, 200 * kUs), kernel(compute_of(0), 10 * kUs), wait_for(order, Role::rpc_wait),
                              kernel(compute_of(0), 10 * kUs), on_stream(OpKind::sync_event, StreamIndex::none, other),
                              kernel(compute_of(0), 10 * kUs), kernel(compute_of(0), 10 * kUs)}));
        scene.machine.set_signal(order, kStart + 2 * kMs);
        scene.machine.set_signal(other, kStart + 4 * kMs);
        scene.machine.advance();
        QCOMPARE(scene.seen.gaps.size(), std::size_t{3});  // the last two kernels stand in line
        const auto work = scene.seen.on(compute_of(0));
        for (std::size_t i = 0; i < 3; ++i) {
            QCOMPARE(scene.seen.gaps[i].start, work[i].end());
            QCOMPARE(scene.seen.gaps[i].start + scene.seen.gaps[i].duration, work[i + 1].start);
        }
        QCOMPARE(scene.seen.gaps[0].cause, IdleCause::cpu);
        QCOMPARE(scene.seen.gaps[1].cause, IdleCause::communication);
        QCOMPARE(scene.seen.gaps[2].cause, IdleCause::sync);
    }

    void a_gap_before_a_collective_elsewhere_is_communication() {
        Scene scene(2);
        const std::uint16_t group = scene.machine.add_group({communication_of(0), communication_of(1)});
        for (int r = 0; r < 2; ++r) {
            const std::uint32_t gathered = scene.machine.new_signal();
            scene.run(r, program({kernel(compute_of(r), 5 * kUs), collective(communication_of(r), group, 400 * kUs),
                                  on_stream(OpKind::record_event, communication_of(r), gathered),
                                  on_stream(OpKind::stream_wait, compute_of(r), gathered), kernel(compute_of(r), 5 * kUs)}));
        }
        scene.machine.advance();
        QCOMPARE(scene.seen.gaps.size(), std::size_t{2});
        for (const IdleGap& gap : scene.seen.gaps) QCOMPARE(gap.cause, IdleCause::communication);
    }

    void a_hang_stays_blocked_and_the_end_cuts_what_is_open() {
        Scene scene(2);
        const std::uint16_t group = scene.group_of_all();
        scene.run(0, program({open_range(kRange), collective(compute_of(0), group, 10 * kUs), kernel(compute_of(0), kUs),
                              on_stream(OpKind::sync_stream, compute_of(0)), host_op(OpKind::pop)}));
        scene.run(1, program({open_range(11), kernel(compute_of(1), kForever), on_stream(OpKind::sync_stream, compute_of(1))}));
        scene.machine.advance();
        QVERIFY(scene.machine.blocked(main_of(0)));
        QVERIFY(scene.machine.blocked(main_of(1)));
        QVERIFY(scene.machine.stream_stuck(compute_of(0)));
        QVERIFY(scene.machine.stream_stuck(compute_of(1)));
        QVERIFY(!scene.machine.stream_stuck(copy_of(0)));
        scene.machine.finish(kStart + 600 * kMs);
        QVERIFY(scene.seen.all([](const SeenEvent& e) { return e.device(); }).empty());
        QVERIFY(scene.seen.named(41).empty());  // calls that never returned
        for (const std::uint32_t name : {kRange, 11U}) {
            const auto cut = scene.seen.named(name);
            QCOMPARE(cut.size(), std::size_t{1});
            QVERIFY(cut[0].cut);
            QCOMPARE(cut[0].end(), kStart + 600 * kMs);
        }
        QCOMPARE(scene.machine.events(), scene.seen.events.size());
    }

    void host_work_without_end_and_signals_nobody_sends() {
        Scene scene(2);
        const std::uint32_t never = scene.machine.new_signal();
        scene.run(0, program({host_op(OpKind::call, kForever, 40), host_op(OpKind::work, kUs)}));
        scene.run(1, program({wait_for(never)}));
        scene.machine.advance();
        scene.machine.advance();
        QVERIFY(scene.machine.blocked(main_of(0)) && scene.machine.blocked(main_of(1)));
        QVERIFY(scene.seen.events.empty());
        QCOMPARE(scene.machine.signal_time(never), std::nullopt);
    }
};

QTEST_GUILESS_MAIN(TestMachine)
#include "tst_simulator_machine.moc"
