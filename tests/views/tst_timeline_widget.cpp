// Journeys through the timeline by keys and mouse, and what is painted.
#include <QAccessible>
#include <QScrollBar>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QWheelEvent>

#include "made_capture.h"
#include "views/palette.h"
#include "views/timeline/overview.h"
#include "views/timeline/ruler.h"
#include "views/timeline/timeline_panel.h"
#include "views/timeline/timeline_widget.h"

using namespace faultline;

namespace {

void wheel(QWidget* target, QPoint at, int angle, Qt::KeyboardModifiers modifiers) {
    QWheelEvent event(at, target->mapToGlobal(at), QPoint(), QPoint(0, angle), Qt::NoButton, modifiers, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(target, &event);
}

}  // namespace

class TestTimelineWidget : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    std::shared_ptr<const LoadedCapture> made_;
    std::unique_ptr<Session> session_;
    std::unique_ptr<TimelinePanel> panel_;
    TimelineWidget* timeline_ = nullptr;

    [[nodiscard]] double x_of(TimeNs t) const { return timeline_->view().gutter + timeline_->view().axis().x(t); }
    [[nodiscard]] SpanId kernel(std::size_t skip = 0) const {
        return test::span_named(*made_, SpanKind::kernel, "void gemm_bf16<128, 64>(Params)", skip);
    }
    [[nodiscard]] QImage painted() const { return timeline_->viewport()->grab().toImage().convertToFormat(QImage::Format_RGB32); }
    [[nodiscard]] const Row* row_titled(const QString& title) const {
        for (const Row& row : timeline_->row_layout().rows()) {
            if (row.title == title) return &row;
        }
        return nullptr;
    }

private Q_SLOTS:
    void initTestCase() {
        made_ = test::made_capture(dir_.path());
        QVERIFY(made_ != nullptr);
        QCOMPARE(made_->steps.size(), static_cast<std::size_t>(test::kSteps));
    }

    void init() {
        session_ = std::make_unique<Session>();
        panel_ = std::make_unique<TimelinePanel>(*session_);
        timeline_ = &panel_->timeline();
        session_->set_capture(made_);
        panel_->resize(1400, 900);
        panel_->show();
        QVERIFY(QTest::qWaitForWindowExposed(panel_.get()));
        panel_->activateWindow();
        timeline_->setFocus();
        QCOMPARE(session_->range(), session_->extent());
    }

    void cleanup() {
        panel_.reset();
        session_.reset();
    }

    void w_zooms_about_the_centre_and_s_zooms_out() {
        const TimeRange before = session_->range();
        QTest::keyClick(timeline_, Qt::Key_W);
        const TimeRange after = session_->range();
        QVERIFY(after.duration() < before.duration());
        const TimeNs px = after.duration() / timeline_->view().content_width();
        QVERIFY(std::abs((before.start + before.end) / 2 - (after.start + after.end) / 2) <= px);
        QTest::keyClick(timeline_, Qt::Key_S);
        QVERIFY(std::abs(session_->range().duration() - before.duration()) <= before.duration() / 1000);
    }

    void a_and_d_pan() {
        session_->set_range({10'000'000, 14'000'000});
        QTest::keyClick(timeline_, Qt::Key_D);
        QVERIFY(session_->range().start > 10'000'000);
        QCOMPARE(session_->range().duration(), TimeNs{4'000'000});
        QTest::keyClick(timeline_, Qt::Key_A);
        QVERIFY(std::abs(session_->range().start - 10'000'000) <= 2);
    }

    void control_and_wheel_keep_the_time_under_the_pointer() {
        for (const int x : {timeline_->view().gutter + 7, 700, timeline_->viewport()->width() - 3}) {
            session_->set_range({8'000'000, 28'000'000});
            for (const int angle : {120, 120, 360, -120}) {
                const TimeNs under = timeline_->view().axis().time(x - timeline_->view().gutter);
                wheel(timeline_->viewport(), {x, 200}, angle, Qt::ControlModifier);
                QVERIFY2(std::abs(x_of(under) - x) <= 1.0, qPrintable(QString::number(x_of(under) - x)));
            }
            QVERIFY(session_->range().duration() < 20'000'000);
        }
    }

    void shift_and_wheel_pan_and_the_wheel_scrolls_rows() {
        session_->set_range({8'000'000, 12'000'000});
        wheel(timeline_->viewport(), {500, 200}, -120, Qt::ShiftModifier);
        QVERIFY(session_->range().start > 8'000'000);
        QCOMPARE(session_->range().duration(), TimeNs{4'000'000});
        panel_->resize(1400, 300);
        const TimeRange range = session_->range();
        wheel(timeline_->viewport(), {500, 50}, -120, Qt::NoModifier);
        QVERIFY(timeline_->verticalScrollBar()->value() > 0);
        QCOMPARE(session_->range(), range);
    }

    void a_gesture_is_remembered_once() {
        session_->set_range({8'000'000, 28'000'000});
        for (int i = 0; i < 5; ++i) QTest::keyClick(timeline_, Qt::Key_W);
        const TimeRange zoomed = session_->range();
        QTest::keyClick(timeline_, Qt::Key_Backspace);
        QCOMPARE(session_->range(), (TimeRange{8'000'000, 28'000'000}));
        QTest::keyClick(timeline_, Qt::Key_Right, Qt::AltModifier);
        QCOMPARE(session_->range(), zoomed);
        QTest::keyClick(timeline_, Qt::Key_Left, Qt::AltModifier);
        QCOMPARE(session_->range(), (TimeRange{8'000'000, 28'000'000}));
        QTest::keyClick(timeline_, Qt::Key_0);
        QCOMPARE(session_->range(), session_->extent());
    }

    void a_click_selects_the_span_painted_there() {
        session_->set_range({test::kStepNs, 2 * test::kStepNs});
        for (const SpanId span : {kernel(15), test::span_named(*made_, SpanKind::op, "aten::linear", 12),
                                  test::span_named(*made_, SpanKind::runtime_call, "cudaLaunchKernel", 25),
                                  test::span_named(*made_, SpanKind::range, "execute_context_0(0)_generation_8(8)", 1)}) {
            const QRect rect = timeline_->span_rect(span);
            QVERIFY(!rect.isEmpty());
            QTest::mouseClick(timeline_->viewport(), Qt::LeftButton, Qt::NoModifier, rect.center());
            QVERIFY(session_->selected_span().has_value());
            QCOMPARE(*session_->selected_span(), span);
        }
        QTest::mouseClick(timeline_->viewport(), Qt::LeftButton, Qt::NoModifier,
                          {timeline_->viewport()->width() - 5, timeline_->viewport()->height() - 5});
        QVERIFY(!session_->selected_span());
    }

    void selecting_a_kernel_lights_its_launch() {
        session_->select_span(kernel(15));
        const SpanId launch = test::span_named(*made_, SpanKind::runtime_call, "cudaLaunchKernel", 31);
        QVERIFY(std::find(session_->lit().ancestors.begin(), session_->lit().ancestors.end(), launch) != session_->lit().ancestors.end());
        session_->set_range({test::kStepNs, 2 * test::kStepNs});
        const QRect rect = timeline_->span_rect(launch);
        QVERIFY(rect.width() >= 2);
        const QRgb lit = chrome(is_dark(timeline_->palette())).lit.rgb();
        QCOMPARE(painted().pixel(rect.center().x(), rect.top() + 1), lit);
        session_->select_span(std::nullopt);
        QVERIFY(painted().pixel(rect.center().x(), rect.top() + 1) != lit);
    }

    void arrows_walk_through_spans_and_rows() {
        session_->set_range({0, 2 * test::kStepNs});
        session_->select_span(kernel(2));
        QTest::keyClick(timeline_, Qt::Key_Period);
        const auto first = made_->index->place(kernel(2));
        const auto next = made_->index->place(*session_->selected_span());
        QCOMPARE(next->lane, first->lane);
        QCOMPARE(next->at, first->at + 1);
        QTest::keyClick(timeline_, Qt::Key_Comma);
        QCOMPARE(*session_->selected_span(), kernel(2));
        QTest::keyClick(timeline_, Qt::Key_Right);
        QTest::keyClick(timeline_, Qt::Key_Right);
        QCOMPARE(made_->index->place(*session_->selected_span())->at, first->at + 2);
        QTest::keyClick(timeline_, Qt::Key_Down);
        QCOMPARE(timeline_->row_layout().rows()[static_cast<std::size_t>(timeline_->current_row())].title, QStringLiteral("stream 13"));
        QVERIFY(made_->index->place(*session_->selected_span())->lane != first->lane);
        QTest::keyClick(timeline_, Qt::Key_Up);
        QCOMPARE(made_->index->place(*session_->selected_span())->lane, first->lane);
    }

    void the_next_span_comes_into_sight() {
        session_->set_range({0, 300'000});
        session_->select_span(kernel(0));
        for (int i = 0; i < 6; ++i) QTest::keyClick(timeline_, Qt::Key_Period);
        const TimeRange span = made_->index->place(*session_->selected_span())->range();
        QVERIFY(span.start >= session_->range().start && span.end <= session_->range().end);
        QCOMPARE(session_->range().duration(), TimeNs{300'000});
    }

    void dragging_marks_a_range() {
        session_->set_range({0, 8'000'000});
        const QPoint from(static_cast<int>(x_of(2'000'000)), 150);
        const QPoint to(static_cast<int>(x_of(5'000'000)), 160);
        QTest::mousePress(timeline_->viewport(), Qt::LeftButton, Qt::NoModifier, from);
        QTest::mouseMove(timeline_->viewport(), (from + to) / 2);
        QTest::mouseMove(timeline_->viewport(), to);
        QTest::mouseRelease(timeline_->viewport(), Qt::LeftButton, Qt::NoModifier, to);
        QVERIFY(session_->marked().has_value());
        const TimeNs px = 8'000'000 / timeline_->view().content_width() + 1;
        QVERIFY(std::abs(session_->marked()->start - 2'000'000) <= px);
        QVERIFY(std::abs(session_->marked()->end - 5'000'000) <= px);
        QCOMPARE(session_->range(), (TimeRange{0, 8'000'000}));
        QTest::keyClick(timeline_, Qt::Key_Escape);
        QVERIFY(!session_->marked());
    }

    void middle_drag_zooms_and_shift_drag_pans() {
        session_->set_range({0, 8'000'000});
        const QPoint from(static_cast<int>(x_of(2'000'000)), 150);
        const QPoint to(static_cast<int>(x_of(4'000'000)), 150);
        QTest::mousePress(timeline_->viewport(), Qt::MiddleButton, Qt::NoModifier, from);
        QTest::mouseMove(timeline_->viewport(), to);
        QTest::mouseRelease(timeline_->viewport(), Qt::MiddleButton, Qt::NoModifier, to);
        QVERIFY(std::abs(session_->range().start - 2'000'000) < 20'000 && std::abs(session_->range().end - 4'000'000) < 20'000);
        const TimeRange before = session_->range();
        QTest::mousePress(timeline_->viewport(), Qt::LeftButton, Qt::ShiftModifier, {800, 150});
        QTest::mouseMove(timeline_->viewport(), {700, 150});
        QTest::mouseRelease(timeline_->viewport(), Qt::LeftButton, Qt::ShiftModifier, {700, 150});
        QVERIFY(session_->range().start > before.start);
        QCOMPARE(session_->range().duration(), before.duration());
        QVERIFY(!session_->marked());
    }

    void f_centres_and_then_fits() {
        session_->set_range({0, 8'000'000});
        session_->select_span(kernel(12));
        const TimeRange span = made_->index->place(kernel(12))->range();
        QTest::keyClick(timeline_, Qt::Key_F);
        QCOMPARE(session_->range().duration(), TimeNs{8'000'000});
        QVERIFY(std::abs((session_->range().start + session_->range().end) / 2 - (span.start + span.end) / 2) < 20'000);
        QTest::keyClick(timeline_, Qt::Key_F);
        QVERIFY(session_->range().duration() < 2 * span.duration());
        QVERIFY(session_->range().start <= span.start && session_->range().end >= span.end);
    }

    void r_takes_the_selection_as_range_and_escape_clears() {
        session_->select_span(kernel(3));
        QTest::keyClick(timeline_, Qt::Key_R);
        QCOMPARE(session_->marked().value(), made_->index->place(kernel(3))->range());
        QTest::keyClick(timeline_, Qt::Key_Escape);
        QVERIFY(!session_->marked());  // the mark goes first
        QVERIFY(session_->selected_span());
        QTest::keyClick(timeline_, Qt::Key_Escape);
        QVERIFY(!session_->selected_span());
    }

    void rows_fold_by_key_and_by_click() {
        const int height = timeline_->row_layout().height();
        const Row* framework = row_titled(QStringLiteral("Framework"));
        const int y = framework->top + framework->height / 2;
        QTest::mouseClick(timeline_->viewport(), Qt::LeftButton, Qt::NoModifier, {20, y});
        QVERIFY(timeline_->row_layout().height() < height);
        QVERIFY(row_titled(QStringLiteral("Framework"))->folded);
        QTest::keyClick(timeline_, Qt::Key_Right);
        QCOMPARE(timeline_->row_layout().height(), height);
        QTest::keyClick(timeline_, Qt::Key_Return);
        QVERIFY(timeline_->row_layout().height() < height);
        // A span in a folded group comes to sight when it is selected elsewhere.
        session_->select_span(test::span_named(*made_, SpanKind::python, "vllm/model_executor/models/qwen3.py(300): forward"));
        QVERIFY(timeline_->row_layout().height() > height);
        QVERIFY(!timeline_->span_rect(*session_->selected_span()).isEmpty());
    }

    void a_folded_block_says_how_many_it_stands_for() {
        session_->set_range(session_->extent());
        const auto place = made_->index->place(test::span_named(*made_, SpanKind::runtime_call, "cudaLaunchKernel", 50));
        const QRect rect = timeline_->span_rect(place->id());
        const auto found = timeline_->hit({rect.left(), rect.center().y()});
        QVERIFY(found);
        QCOMPARE(found.span->lane, place->lane);
        const QString text = timeline_->hover_text(timeline_->span_rect(kernel(15)).center());
        QVERIFY2(text.contains(QStringLiteral("kernel")), qPrintable(text));
        session_->set_range({0, 4 * test::kStepNs});
        const QString one = timeline_->hover_text(
            timeline_->span_rect(test::span_named(*made_, SpanKind::range, "execute_context_0(0)_generation_8(8)")).center());
        QVERIFY(one.contains(QStringLiteral("execute_context_0(0)_generation_8(8)")));
        QVERIFY(one.contains(QStringLiteral("3.100")));
        QVERIFY(!one.contains(QStringLiteral("shown as one")));
    }

    void a_hole_on_a_dense_stream_is_seen() {
        // Twelve steps of twenty kernels on a few hundred pixels: narrower than a kernel can be told apart.
        panel_->resize(700, 900);
        session_->set_range(session_->extent());
        const Row* stream = row_titled(QStringLiteral("stream 7"));
        QVERIFY(stream != nullptr);
        const QImage image = painted();
        const TimelineView view = timeline_->view();
        const QRgb fill = SpanStyles(is_dark(timeline_->palette()), Qt::white).style(SpanKind::kernel, false, 0).fill;
        const int bottom = stream->bottom() - view.scroll - 2;
        const int first = static_cast<int>(std::ceil(x_of(test::kHole.start))) + 1;
        const int last = static_cast<int>(std::floor(x_of(test::kHole.end))) - 1;
        QVERIFY(last - first >= 4);
        for (int x = first; x < last; ++x) QVERIFY(image.pixel(x, bottom) != fill);
        int busy = 0;
        for (int x = static_cast<int>(x_of(2 * test::kStepNs + 400'000)); x < x_of(2 * test::kStepNs + 3'000'000); ++x)
            busy += image.pixel(x, bottom) == fill;
        QVERIFY(busy >= 10);
    }

    void a_chosen_step_is_banded_and_zoomed_to() {
        session_->select_step(made_->steps[4].id);
        const Step& step = made_->steps[4];
        QVERIFY(session_->range().start <= step.start && session_->range().end >= step.end);
        QVERIFY(session_->range().duration() < 2 * (step.end - step.start));
        const Ruler& ruler = panel_->ruler();
        const int x = static_cast<int>(x_of(step.start + 100'000));
        QCOMPARE(ruler.step_at({x, ruler.height() - 6}).value(), step.id);
        session_->show_all();
        QTest::mouseClick(&panel_->ruler(), Qt::LeftButton, Qt::NoModifier,
                          {static_cast<int>(x_of(made_->steps[7].start + 1'000'000)), ruler.height() - 6});
        QCOMPARE(session_->selected_step().value(), made_->steps[7].id);
    }

    void the_overview_handle_moves_the_range() {
        session_->set_range({4'000'000, 12'000'000});
        Overview& overview = panel_->overview();
        const QRectF handle = overview.handle();
        QTest::mousePress(&overview, Qt::LeftButton, Qt::NoModifier, handle.center().toPoint());
        QTest::mouseMove(&overview, handle.center().toPoint() + QPoint(60, 0));
        QTest::mouseRelease(&overview, Qt::LeftButton, Qt::NoModifier, handle.center().toPoint() + QPoint(60, 0));
        QVERIFY(session_->range().start > 4'000'000);
        QCOMPARE(session_->range().duration(), TimeNs{8'000'000});
        const TimeRange before = session_->range();
        QTest::keyClick(&overview, Qt::Key_Left);
        QVERIFY(session_->range().start < before.start);
        QTest::keyClick(&overview, Qt::Key_Plus);
        QVERIFY(session_->range().duration() < before.duration());
        const QRectF edge = overview.handle();
        QTest::mousePress(&overview, Qt::LeftButton, Qt::NoModifier, QPointF(edge.right(), edge.center().y()).toPoint());
        QTest::mouseMove(&overview, QPointF(edge.right() + 40, edge.center().y()).toPoint());
        QTest::mouseRelease(&overview, Qt::LeftButton, Qt::NoModifier, QPointF(edge.right() + 40, edge.center().y()).toPoint());
        QVERIFY(overview.handle().width() > edge.width() + 20);
    }

    void dark_and_light_follow_the_palette() {
        const QRgb light = painted().pixel(timeline_->viewport()->width() - 9, timeline_->viewport()->height() - 9);
        panel_->setPalette(theme_palette(true));
        const QRgb dark = painted().pixel(timeline_->viewport()->width() - 9, timeline_->viewport()->height() - 9);
        QVERIFY(qGray(light) > 200);
        QVERIFY(qGray(dark) < 60);
    }

    void assistive_technology_reads_rows_and_the_selection() {
        QAccessible::setActive(true);
        QAccessibleInterface* list = QAccessible::queryAccessibleInterface(timeline_);
        QVERIFY(list != nullptr);
        QCOMPARE(list->text(QAccessible::Name), QStringLiteral("Timeline"));
        const int rows = list->childCount();
        QVERIFY(rows >= 10);
        QCOMPARE(list->child(0)->role(), QAccessible::Row);
        QVERIFY(list->child(0)->text(QAccessible::Name).contains(QStringLiteral("EngineCore")));
        QVERIFY(list->child(0)->state().expanded);
        QVERIFY(!list->child(0)->rect().isEmpty());
        session_->set_range({0, test::kStepNs});
        session_->select_span(kernel(1));
        QCOMPARE(list->childCount(), rows + 1);
        QAccessibleInterface* span = list->child(rows);
        QVERIFY(span->text(QAccessible::Name).contains(QStringLiteral("gemm_bf16")));
        QVERIFY(span->state().selected);
        QCOMPARE(list->indexOfChild(span), rows);
        QCOMPARE(span->parent(), list);
        QCOMPARE(list->focusChild(), span);
        QVERIFY(list->child(rows + 1) == nullptr);
        QAccessible::setActive(false);
    }

    void no_capture_is_no_trouble() {
        session_->close_capture();
        for (const int key : {Qt::Key_W, Qt::Key_Period, Qt::Key_Down, Qt::Key_F, Qt::Key_R, Qt::Key_Return, Qt::Key_0})
            QTest::keyClick(timeline_, static_cast<Qt::Key>(key));
        wheel(timeline_->viewport(), {500, 100}, 120, Qt::ControlModifier);
        QTest::mouseClick(timeline_->viewport(), Qt::LeftButton, Qt::NoModifier, {500, 100});
        QTest::mouseMove(timeline_->viewport(), {510, 100});
        QVERIFY(!painted().isNull());
        QVERIFY(!panel_->overview().grab().isNull());
        session_->set_capture(made_);
        QVERIFY(!timeline_->row_layout().rows().empty());
    }
};

QTEST_MAIN(TestTimelineWidget)
#include "tst_timeline_widget.moc"
