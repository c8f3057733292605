// What the analysis adds to the views: the step list, the roofline plot, the verdict, requests and bubbles on the timeline.
#include <QAbstractItemModelTester>
#include <QCheckBox>
#include <QComboBox>
#include <QLabel>
#include <QSignalSpy>
#include <QSortFilterProxyModel>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include "made_analysis.h"
#include "made_capture.h"
#include "views/inspector/verdict_model.h"
#include "views/inspector/verdict_words.h"
#include "views/roofline/roofline_plot.h"
#include "views/roofline/roofline_view.h"
#include "views/steps/step_list.h"
#include "views/timeline/bubble_rows.h"
#include "views/timeline/request_lanes.h"
#include "views/timeline/timeline_panel.h"
#include "views/timeline/timeline_widget.h"

using namespace faultline;

class TestVerdicts : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    std::shared_ptr<LoadedCapture> made_;

    [[nodiscard]] StepId id(std::size_t position) const { return made_->steps[position].id; }

private Q_SLOTS:
    void initTestCase() {
        QLocale::setDefault(QLocale(QLocale::English));
        made_ = test::made_analysis(dir_.path());
        QVERIFY(made_);
        QCOMPARE(made_->steps.size(), test::kItems);
    }

    void outliers_come_first_and_stalls_before_them() {
        Session session;
        StepList list(&session);
        list.resize(420, 500);
        list.show();
        session.set_capture(made_);
        QAbstractItemModelTester tester(list.model(), QAbstractItemModelTester::FailureReportingMode::QtTest);
        const auto* shown = list.table()->model();
        QCOMPARE(shown->rowCount(), static_cast<int>(test::kItems));
        const auto step = [&](int row) { return shown->index(row, 0).data(StepTableModel::kStepRole).toLongLong(); };
        QCOMPARE(step(0), 100);
        QCOMPARE(step(1), index_of(id(test::kSlowStep)));
        QCOMPARE(step(2), index_of(id(test::kOddStep)));
        QCOMPARE(shown->index(1, StepTableModel::ratio_column).data().toString(), QStringLiteral("×2.00"));
        QCOMPARE(shown->index(1, StepTableModel::reasons_column).data().toString(), QStringLiteral("slow"));
        QCOMPARE(shown->index(1, StepTableModel::bound_column).data().toString(), QStringLiteral("CPU"));
        QCOMPARE(shown->index(0, StepTableModel::reasons_column).data().toString(), QStringLiteral("stall"));
        QVERIFY(shown->index(1, 0).data(Qt::AccessibleTextRole).toString().startsWith(QStringLiteral("outlier")));
        list.outliers_only()->setChecked(true);
        QCOMPARE(shown->rowCount(), 3);
        list.outliers_only()->setChecked(false);
        QCOMPARE(shown->rowCount(), static_cast<int>(test::kItems));
    }

    void outliers_one_after_the_other() {
        Session session;
        StepList list(&session);
        session.set_capture(made_);
        QVERIFY(list.choose_outlier(1) == StepList::OutlierChoice::chosen);
        QVERIFY(session.selected_step() == std::optional(StepId{100}));
        list.choose_outlier(1);
        QVERIFY(session.selected_step() == std::optional(id(test::kSlowStep)));
        list.choose_outlier(1);
        QVERIFY(session.selected_step() == std::optional(id(test::kOddStep)));
        QVERIFY(list.choose_outlier(1) == StepList::OutlierChoice::wrapped);  // there are three
        QVERIFY(session.selected_step() == std::optional(StepId{100}));
        QVERIFY(list.choose_outlier(-1) == StepList::OutlierChoice::wrapped);
        list.choose_outlier(-1);
        QVERIFY(session.selected_step() == std::optional(id(test::kSlowStep)));
    }

    void without_outliers_the_list_says_so() {
        auto calm = std::make_shared<LoadedCapture>(*made_);
        for (StepVerdict& verdict : calm->verdicts) verdict.outlier = false;
        Session session;
        StepList list(&session);
        session.set_capture(calm);
        QVERIFY(list.choose_outlier(1) == StepList::OutlierChoice::none);
        QVERIFY(!list.worst());
        list.outliers_only()->setChecked(true);
        bool said = false;
        for (const QLabel* label : list.findChildren<QLabel*>())
            said = said || label->text().startsWith(QStringLiteral("All 13 steps lie within"));
        QVERIFY(said);
    }

    void the_roofline_has_a_point_for_each_step() {
        const auto keys = roofline_keys(*made_);
        QCOMPARE(keys.size(), std::size_t{1});
        const RooflineSeries series = roofline_series(*made_, keys.front());
        QCOMPARE(series.points.size(), static_cast<std::size_t>(test::kSteps));
        QVERIFY(!series.by_order);
        QVERIFY(series.line.has_value());
        QCOMPARE(series.expected(10), 3.4e6);
        QCOMPARE(std::count_if(series.points.begin(), series.points.end(), [](const RooflinePoint& p) { return p.outlier; }), 2);
        QCOMPARE(std::count_if(series.points.begin(), series.points.end(), [](const RooflinePoint& p) { return p.slow; }), 1);
        QVERIFY(rule_text(series).contains(QStringLiteral("R² 0.93")));
        RooflineSeries none = series;
        none.line.reset();
        QVERIFY(rule_text(none).startsWith(QStringLiteral("Too few steps")));
        none.line = RooflineLine{{}, StepPhase::decode, "median", 2e6, 0, 7, 1, 0};
        QVERIFY(rule_text(none).startsWith(QStringLiteral("Median of 7 steps")));
    }

    void the_plot_by_mouse_and_keyboard() {
        Session session;
        RooflineView view(&session);
        QVERIFY(!view.empty_text().isEmpty());
        view.resize(700, 300);
        view.show();
        session.set_capture(made_);
        QVERIFY(view.empty_text().isEmpty());
        RooflinePlot* plot = view.plot();
        std::size_t slow = 0;
        for (std::size_t i = 0; i < plot->series().points.size(); ++i) {
            if (plot->series().points[i].slow) slow = i;
        }
        QVERIFY(plot->rect().contains(plot->place(slow).toPoint()));
        QTest::mouseClick(plot, Qt::LeftButton, Qt::NoModifier, plot->place(slow).toPoint());
        QVERIFY(session.selected_step() == std::optional(id(plot->series().points[*plot->point_at(plot->place(slow))].step)));
        plot->setFocus();
        QTest::keyClick(plot, Qt::Key_Home);
        QCOMPARE(*plot->current(), std::size_t{0});
        QTest::keyClick(plot, Qt::Key_Right);
        QCOMPARE(*plot->current(), std::size_t{1});
        QTest::keyClick(plot, Qt::Key_Home);
        QTest::keyClick(plot, Qt::Key_PageDown);
        QVERIFY(plot->series().points[*plot->current()].outlier);
        QTest::keyClick(plot, Qt::Key_Return);
        QVERIFY(session.selected_step() == std::optional(id(plot->series().points[*plot->current()].step)));
        session.close_capture();
        QVERIFY(!view.empty_text().isEmpty());
        QTest::keyClick(plot, Qt::Key_Right);
    }

    void a_diagnosis_as_a_tree() {
        Diagnosis diagnosis;
        diagnosis.suspects = {{SpanId{7}, "void gemm<1>(Params)", "kernel", 1, 0.9}};
        diagnosis.evidence = {{EvidenceKind::bubble, 1, 5'000, 400'000, "The device was idle for 400 us"},
                              {EvidenceKind::log, 4, 6'000, 0, "An allocation failed"}};
        diagnosis.missing = {"No learned model was asked"};
        VerdictModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.set_diagnosis(diagnosis);
        QCOMPARE(model.rowCount(), 3);
        const QModelIndex evidence = model.group(QStringLiteral("Evidence"));
        QCOMPARE(model.rowCount(evidence), 2);
        const QModelIndex first = model.index(0, VerdictModel::text_column, evidence);
        QCOMPARE(first.data().toString(), QStringLiteral("→ The device was idle for 400 us"));
        QCOMPARE(first.siblingAtColumn(VerdictModel::weight_column).data().toString(), QStringLiteral("400.0\u00a0µs"));
        QVERIFY(model.link(first)->kind == EvidenceKind::bubble);
        QVERIFY(!model.link(evidence));
        const QModelIndex missing = model.group(QStringLiteral("What is missing"));
        QVERIFY(!model.link(model.index(0, 0, missing)));
        QVERIFY(!model.group(QStringLiteral("Ruled out")).isValid());
        model.clear();
        QCOMPARE(model.rowCount(), 0);
        QCOMPARE(confidence_text(0.71), QStringLiteral("0.71 · likely"));
        QCOMPARE(confidence_text(0.2), QStringLiteral("0.20 · unsure"));
    }

    void requests_have_rows_and_parts() {
        const RequestLanes lanes = RequestLanes::build(*made_);
        QCOMPARE(lanes.requests, test::kRequests);
        QVERIFY(!lanes.packed());
        QCOMPARE(lanes.lanes.size(), test::kRequests);
        const RequestLane& second = lanes.lanes[lanes.find(1)->first];
        QCOMPARE(second.segments.front().part, RequestPart::waiting);
        QCOMPARE(second.segments[1].part, RequestPart::prefill);
        QCOMPARE(second.segments[2].part, RequestPart::decode);
        for (std::size_t i = 1; i < second.segments.size(); ++i) QVERIFY(second.segments[i - 1].end <= second.segments[i].start);
        const RequestLane& fourth = lanes.lanes[lanes.find(3)->first];
        QCOMPARE(fourth.segments.front().part, RequestPart::prefill);  // its arrival is not known: nothing says that it waited
        auto unknown = std::make_shared<LoadedCapture>(*made_);
        for (Request& request : unknown->requests) request.steps.clear();
        const RequestLanes bare = RequestLanes::build(*unknown);
        QVERIFY(!bare.lanes.empty());
        for (const RequestLane& lane : bare.lanes) QVERIFY(lane.segments.empty());  // no step names it: nobody knows that it waited
        QCOMPARE(lanes.of_step(id(4)), (std::vector<std::uint32_t>{0, 1, 2}));
        QVERIFY(lanes.of_step(StepId{100}).empty());
    }

    void many_requests_are_packed_without_overlap() {
        auto many = std::make_shared<LoadedCapture>(*made_);
        many->requests.clear();
        for (int i = 0; i < 300; ++i) {
            Request request;
            request.name = "r" + std::to_string(i);
            request.arrival = i * 100'000;
            request.end = *request.arrival + 450'000;
            many->requests.push_back(request);
        }
        const RequestLanes lanes = RequestLanes::build(*many);
        QCOMPARE(lanes.requests, std::size_t{300});
        QCOMPARE(lanes.lanes.size(), std::size_t{5});
        std::size_t bars = 0;
        for (const RequestLane& lane : lanes.lanes) {
            bars += lane.bars.size();
            for (std::size_t i = 1; i < lane.bars.size(); ++i) QVERIFY(lane.bars[i - 1].end <= lane.bars[i].start);
            QVERIFY(lane.bar_at(lane.bars.front().start, 0) == std::optional(std::size_t{0}));
        }
        QCOMPARE(bars, std::size_t{300});
    }

    void a_capture_without_requests_has_no_layer() {
        const RequestLanes none = RequestLanes::build(*test::made_capture(dir_.path()));
        QCOMPARE(none.requests, std::size_t{0});
        auto empty = std::make_shared<LoadedCapture>(*made_);
        empty->requests.clear();
        const RequestLanes lanes = RequestLanes::build(*empty);
        const RowLayout layout = RowLayout::build(*empty, {}, {}, &lanes);
        for (const Row& row : layout.rows()) QVERIFY(row.kind != RowKind::request);
    }

    void requests_on_the_timeline() {
        Session session;
        TimelinePanel panel(session);
        session.set_capture(made_);
        panel.resize(1400, 900);
        panel.show();
        TimelineWidget& timeline = panel.timeline();
        QCOMPARE(timeline.row_layout().rows().front().title, QStringLiteral("Requests"));
        const QRect bar = timeline.request_rect(1);
        QVERIFY(bar.width() > 10);
        QVERIFY(timeline.hover_text(bar.center()).contains(QStringLiteral("req-b")));
        QTest::mouseClick(timeline.viewport(), Qt::LeftButton, Qt::NoModifier, bar.center());
        QVERIFY(session.selected_request() == std::optional(std::size_t{1}));
        QVERIFY(session.lit_steps() == made_->requests[1].steps);
        QVERIFY(session.step_lit(id(3)) && !session.step_lit(id(0)));
        QVERIFY(!session.lit().ancestors.empty());
        // By keyboard: to the row below and back, fold, unfold, and away.
        timeline.setFocus();
        QTest::keyClick(&timeline, Qt::Key_Down);
        QVERIFY(session.selected_request() == std::optional(std::size_t{2}));
        QTest::keyClick(&timeline, Qt::Key_Up);
        QVERIFY(session.selected_request() == std::optional(std::size_t{1}));
        QTest::keyClick(&timeline, Qt::Key_F);
        QTest::keyClick(&timeline, Qt::Key_Escape);
        QVERIFY(!session.selected_request());
        timeline.fold_all(true);
        QVERIFY(timeline.request_rect(1).isNull());
        session.select_request(1);  // another view: it comes into sight
        QVERIFY(!timeline.request_rect(1).isNull());
    }

    void bubbles_on_the_timeline() {
        Session session;
        TimelinePanel panel(session);
        session.set_capture(made_);
        panel.resize(1400, 900);
        panel.show();
        TimelineWidget& timeline = panel.timeline();
        session.set_range({test::kHole.start - 500'000, test::kHole.end + 500'000});
        const TimelineView view = timeline.view();
        int y = -1;
        for (const Row& row : timeline.row_layout().rows()) {
            if (row.kind == RowKind::device && row.title == QStringLiteral("stream 7")) y = row.top + row.height / 2 - view.scroll;
        }
        QVERIFY(y > 0);
        const TimeNs middle = test::kHole.start + test::kHole.duration() / 2;
        const QPoint at(view.gutter + static_cast<int>(view.axis().x(middle)), y);
        const QString text = timeline.hover_text(at);
        QVERIFY2(text.contains(QStringLiteral("waited for the CPU")) && text.contains(QStringLiteral("aten::linear")), qPrintable(text));
        QTest::mouseClick(timeline.viewport(), Qt::LeftButton, Qt::NoModifier, at);
        QVERIFY(session.marked() == std::optional(test::kHole));
        // What is not known is not called idle.
        QVERIFY(bubble_text(made_->bubbles[1], {}).startsWith(QStringLiteral("<p style='white-space:pre-wrap'><b>Unknown")));
        QVERIFY(bubble_letter(BubbleCause::unknown) != bubble_letter(BubbleCause::cpu));
        QVERIFY(bubble_pattern(BubbleCause::unknown) != bubble_pattern(BubbleCause::cpu));
        // With and without: the hatching is there.
        const QImage with = timeline.viewport()->grab().toImage();
        auto without = std::make_shared<LoadedCapture>(*made_);
        without->bubbles.clear();
        const TimeRange range = session.range();
        session.set_capture(without);
        session.set_range(range);
        session.set_marked(test::kHole);
        QVERIFY(timeline.viewport()->grab().toImage() != with);
    }

    void a_log_line_is_marked_on_the_timeline() {
        Session session;
        TimelinePanel panel(session);
        session.set_capture(made_);
        panel.resize(1400, 900);
        panel.show();
        const QImage before = panel.grab().toImage();
        session.select_log(4);
        QVERIFY(panel.grab().toImage() != before);
        session.select_log(0);  // without a time
        QVERIFY(panel.grab().toImage() == before);
    }

    void selections_exclude_each_other_and_the_log_line_stays() {
        Session session;
        session.set_capture(made_);
        session.select_log(4);
        session.select_step(id(3));
        QVERIFY(session.selected_log() == std::optional(std::size_t{4}));
        session.select_request(0);
        QVERIFY(!session.selected_step() && session.selected_request());
        session.select_request(99);
        QVERIFY(!session.selected_request());
        session.select_log(99);
        QVERIFY(!session.selected_log());
        session.select_request(2);
        session.select_step(id(1));
        QVERIFY(!session.selected_request());
        session.select_request(2);
        session.set_capture(made_);
        QVERIFY(!session.selected_request() && session.lit_steps().empty());
    }
};

QTEST_MAIN(TestVerdicts)
#include "tst_verdicts.moc"
