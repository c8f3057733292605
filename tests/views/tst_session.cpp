// What the user looks at: ranges are clamped and remembered, a selection lights its chain, a step is zoomed to.
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <algorithm>
#include <limits>

#include "tests/support/two_steps.h"

using namespace faultline;

class TestSession : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        QVERIFY(test::write_two_steps(path()));
        capture_ = test::load(path());
        QVERIFY(capture_);
    }

    void shows_the_whole_capture_at_first() {
        Session session;
        QSignalSpy changed(&session, &Session::capture_changed);
        session.set_capture(capture_);
        QCOMPARE(changed.count(), 1);
        QVERIFY(session.range() == capture_->index->extent());
        QVERIFY(!session.can_go_back());
        QVERIFY(!session.can_go_forward());
        session.close_capture();
        QVERIFY(session.capture() == nullptr);
        session.back();
        session.show_all();
        session.set_range({0, 10});
        session.select_span(SpanId{3});
        QVERIFY(!session.selected_span());
    }

    void a_range_is_clamped_and_keeps_its_length() {
        Session session;
        session.set_capture(capture_);
        const TimeRange all = session.extent();
        session.set_range({all.start - 5'000, all.start + 5'000});
        QVERIFY((session.range() == TimeRange{all.start, all.start + 10'000}));
        session.set_range({all.end - 1'000, all.end + 9'000});
        QVERIFY((session.range() == TimeRange{all.end - 10'000, all.end}));
        session.set_range({500, 501});
        QCOMPARE(session.range().duration(), TimeNs{10});
        session.set_range({700, 600});
        QCOMPARE(session.range().duration(), TimeNs{10});
        session.set_range({all.start - 1, std::numeric_limits<TimeNs>::max() / 4});
        QVERIFY(session.range() == all);
    }

    void back_and_forward_return_to_exactly_the_same_ranges() {
        Session session;
        session.set_capture(capture_);
        const TimeRange all = session.range(), a{100, 200'000}, b{5'000, 9'000}, c{1'000'000, 1'000'100};
        for (const TimeRange r : {a, b, c}) session.set_range(r);
        session.back();
        QVERIFY(session.range() == b);
        session.back();
        QVERIFY(session.range() == a);
        session.back();
        QVERIFY(session.range() == all);
        QVERIFY(!session.can_go_back());
        session.forward();
        QVERIFY(session.range() == a);
        session.set_range(c);
        QVERIFY(!session.can_go_forward());
        session.back();
        QVERIFY(session.range() == a);
    }

    void ranges_in_passing_are_not_remembered() {
        Session session;
        session.set_capture(capture_);
        const TimeRange a{100, 200'000}, end{1'000, 2'000};
        session.set_range(a);
        for (TimeNs t = 0; t < 20; ++t) session.set_range({t * 100, t * 100 + 1'000}, true);
        session.set_range(end);
        session.back();
        QVERIFY(session.range() == a);
        session.set_range(end, true);
        QVERIFY(session.can_go_back());
        session.back();
        QVERIFY(session.range() == a);
    }

    void a_kernel_lights_its_launch_and_what_encloses_it() {
        Session session;
        session.set_capture(capture_);
        QSignalSpy changed(&session, &Session::selection_changed);
        const SpanId kernel = test::find_span(*capture_, "gemm_bf16");
        QVERIFY(kernel.valid());
        session.select_span(kernel);
        QCOMPARE(changed.count(), 1);
        const auto lit = [&](std::string_view name) {
            const auto& a = session.lit().ancestors;
            return std::find(a.begin(), a.end(), test::find_span(*capture_, name)) != a.end();
        };
        QVERIFY(lit("cudaLaunchKernel"));
        QVERIFY(lit("aten::mm"));
        QVERIFY(lit("execute_context_0(0)_generation_3(3)"));
        QVERIFY(!lit("cudaGraphLaunch"));
        QVERIFY(session.selected_step().has_value());
        QVERIFY(*session.selected_step() == capture_->steps[0].id);
        session.select_span(kernel);
        QCOMPARE(changed.count(), 1);
        session.select_span(std::nullopt);
        QCOMPARE(changed.count(), 2);
        QVERIFY(session.lit().ancestors.empty());
        QVERIFY(!session.selected_step());
    }

    void a_graph_launch_lights_all_that_it_launched() {
        Session session;
        session.set_capture(capture_);
        session.select_span(test::find_span(*capture_, "cudaGraphLaunch"));
        const auto& launched = session.lit().launched;
        QCOMPARE(launched.size(), std::size_t{2});
        QVERIFY(std::find(launched.begin(), launched.end(), test::find_span(*capture_, "attention")) != launched.end());
    }

    void choosing_a_step_zooms_to_it_with_a_margin() {
        Session session;
        session.set_capture(capture_);
        QCOMPARE(capture_->steps.size(), std::size_t{2});
        const Step& step = capture_->steps[1];
        session.select_step(step.id);
        QVERIFY(session.range().start <= step.start && session.range().end >= step.end);
        QVERIFY(session.range().duration() < 2 * (step.end - step.start));
        QVERIFY(session.selected_step() == std::optional(step.id));
        QVERIFY(!session.selected_span());
        QCOMPARE(session.lit().ancestors, step.spans);
        session.select_step(StepId{999});
        QVERIFY(!session.selected_step());
    }

    void a_span_without_a_step_leaves_none_chosen() {
        Session session;
        session.set_capture(capture_);
        session.select_step(capture_->steps[0].id);
        session.select_span(test::find_span(*capture_, "orphan"));
        QVERIFY(session.selected_span());
        QVERIFY(!session.selected_step());
    }

    void reveal_moves_only_where_it_must() {
        Session session;
        session.set_capture(capture_);
        const SpanId orphan = test::find_span(*capture_, "orphan");
        const TimeRange all = session.range();
        session.reveal(orphan);
        QVERIFY(session.range() == all);
        session.set_range({0, 100'000});
        session.reveal(orphan);
        QCOMPARE(session.range().duration(), TimeNs{100'000});
        const TimeRange time = session.span_time(orphan).value();
        QVERIFY(session.range().start <= time.start && time.end <= session.range().end);
    }

    void an_unknown_span_selects_nothing() {
        Session session;
        session.set_capture(capture_);
        session.select_span(SpanId::make(TrackId{0}, 1'000'000));
        QVERIFY(!session.selected_span());
        session.select_span(SpanId::make(TrackId{500}, 0));
        QVERIFY(!session.selected_span());
    }

    void an_empty_mark_is_no_mark() {
        Session session;
        session.set_capture(capture_);
        QSignalSpy changed(&session, &Session::marked_changed);
        session.set_marked(TimeRange{10, 20});
        session.set_marked(TimeRange{10, 20});
        QCOMPARE(changed.count(), 1);
        session.set_marked(TimeRange{10, 10});
        QVERIFY(!session.marked());
    }

private:
    [[nodiscard]] QString path() const { return dir_.filePath(QStringLiteral("two.faultline")); }
    QTemporaryDir dir_;
    std::shared_ptr<const LoadedCapture> capture_;
};

QTEST_GUILESS_MAIN(TestSession)
#include "tst_session.moc"
