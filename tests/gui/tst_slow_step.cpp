// The journeys of someone who looks for a slow step: a service with planted trouble and its log, by keyboard alone.
#include <QAction>
#include <QComboBox>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QSettings>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>
#include <set>

#include "app/actions.h"
#include "app/capture_opener.h"
#include "app/centre_page.h"
#include "app/import_dialog.h"
#include "app/import_plan.h"
#include "app/main_window.h"
#include "app/status_line.h"
#include "core/build_source.h"
#include "core/layer_rules.h"
#include "core/step_grammar.h"
#include "importers/import_capture.h"
#include "tests/support/planted_service.h"
#include "views/banner.h"
#include "views/inspector/chain_page.h"
#include "views/inspector/inspector.h"
#include "views/inspector/selection_page.h"
#include "views/inspector/verdict_page.h"
#include "views/logs/log_dock.h"
#include "views/palette.h"
#include "views/roofline/roofline_plot.h"
#include "views/roofline/roofline_view.h"
#include "views/steps/step_list.h"

using namespace faultline;

class TestSlowStep : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        QLocale::setDefault(QLocale(QLocale::English));
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, dir_.path());
        QCoreApplication::setOrganizationName(QStringLiteral("Faultline test"));
        apply_theme(*qApp, Theme::light);
        test::ServiceOptions options;
        options.steps = 90;
        options.planted = {{test::Plant::host_stall, 40}, {test::Plant::missing_kernels, 60}, {test::Plant::stall, 75}};
        service_ = test::make_service(options);
        const QString folder = dir_.filePath(QStringLiteral("service"));
        QVERIFY(QDir().mkpath(folder));
        QVERIFY(test::write_service(service_, folder.toStdString()));
        ImportRequest request;
        request.inputs = service_.trace_paths;
        request.logs = {service_.log_path};
        request.capture = path().toStdString();
        const StepGrammar grammar = StepGrammar::built_in();
        const LayerRules layers = LayerRules::built_in();
        const auto summary = import_capture(request, BuildRules{grammar, layers, RequestRules::built_in()}, {});
        QVERIFY2(summary.has_value(), summary ? "" : summary.error().sentence.c_str());
    }
    void init() { QSettings().clear(); }

    void the_whole_is_shown_first_and_n_goes_from_the_worst_round() {
        MainWindow window;
        open(window);
        const LoadedCapture& capture = *window.session()->capture();
        // The list begins with the outliers; nothing is chosen until N is pressed.
        QVERIFY(!window.session()->selected_step());
        QVERIFY(window.session()->range() == window.session()->extent());
        window.actions()->next_outlier->trigger();
        QVERIFY(window.status_line()->currentMessage().isEmpty());
        QVERIFY(window.session()->selected_step() == window.step_list()->worst());
        QVERIFY(capture.outlier(*window.session()->selected_step()));
        std::set<std::int64_t> seen;
        for (int i = 0; i < 20; ++i) {
            seen.insert(index_of(*window.session()->selected_step()));
            QVERIFY(capture.outlier(*window.session()->selected_step()));
            window.actions()->next_outlier->trigger();
        }
        window.session()->select_step(capture.steps[outliers_worst_first(capture).back()].id);
        window.actions()->next_outlier->trigger();
        QCOMPARE(window.status_line()->currentMessage(), QStringLiteral("First outlier again"));
        QVERIFY(window.session()->selected_step() == window.step_list()->worst());
        const StepId slow = step_of(capture, test::Plant::host_stall);
        const StepId odd = step_of(capture, test::Plant::missing_kernels);
        QVERIFY(seen.contains(index_of(slow)));
        QVERIFY(seen.contains(index_of(odd)));
        const auto stall =
            std::find_if(capture.steps.begin(), capture.steps.end(), [](const Step& s) { return s.kind == StepKind::stall; });
        QVERIFY(stall != capture.steps.end());
        QVERIFY(seen.contains(index_of(stall->id)));
        // Actual over expected is the ratio that is shown.
        const Step& step = *capture.step(slow);
        const StepVerdict& verdict = *capture.verdict(slow);
        QVERIFY(verdict.expected_ns && verdict.ratio);
        QVERIFY(std::abs(static_cast<double>(step.end - step.start) / static_cast<double>(*verdict.expected_ns) - *verdict.ratio) < 0.01);
        QVERIFY(verdict.bound == StepBound::cpu);
    }

    void every_piece_of_evidence_leads_somewhere() {
        MainWindow window;
        open(window);
        const LoadedCapture& capture = *window.session()->capture();
        const StepId slow = step_of(capture, test::Plant::host_stall);
        window.session()->select_step(slow);
        QVERIFY(window.actions()->diagnose->isEnabled());
        window.actions()->diagnose->trigger();
        VerdictPage* page = window.inspector()->verdict_page();
        QVERIFY(window.inspector()->currentWidget() == page);
        QTRY_VERIFY_WITH_TIMEOUT(page->empty_text().isEmpty(), 20'000);
        const QString head = page->head();
        QVERIFY(head.contains(QStringLiteral("without a learned model")));
        VerdictModel& model = *page->model();
        const QModelIndex evidence = model.group(QStringLiteral("Evidence"));
        QVERIFY(evidence.isValid());
        const int rows = model.rowCount(evidence);
        QVERIFY(rows >= 3);
        bool bubble = false;
        for (int row = 0; row < rows; ++row) {
            const QModelIndex at = model.index(row, 0, evidence);
            const auto link = model.link(at);
            QVERIFY(link.has_value());
            window.session()->set_marked(std::nullopt);
            window.session()->show_all();
            page->follow(at);
            if (link->kind == EvidenceKind::span) QVERIFY(window.session()->selected_span() == std::optional(SpanId{link->id}));
            if (link->kind == EvidenceKind::bubble) {
                bubble = true;
                QVERIFY(window.session()->marked().has_value());
                QCOMPARE(window.session()->marked()->start, capture.bubble(link->id)->start);
            }
            if (link->kind == EvidenceKind::log) QVERIFY(window.session()->selected_log() == capture.log_position(link->id));
            // What was judged stays, wherever its evidence lies.
            QVERIFY(page->step() == std::optional(slow));
            QVERIFY(page->empty_text().isEmpty());
        }
        QVERIFY(bubble);
        // Asked again it answers the same.
        window.session()->select_step(window.session()->capture()->steps[5].id);
        window.session()->select_step(slow);
        QTRY_VERIFY_WITH_TIMEOUT(page->empty_text().isEmpty() && !page->running(), 20'000);
        QCOMPARE(page->head(), head);
    }

    void a_stall_and_a_request_are_shown_as_what_they_are() {
        MainWindow window;
        open(window);
        const LoadedCapture& capture = *window.session()->capture();
        window.session()->select_step(capture.steps.back().id);
        QVERIFY(capture.steps.back().kind == StepKind::stall);
        SelectionPage* page = window.inspector()->selection_page();
        QVERIFY(page->model()->rowCount() >= 2);
        const auto labels = window.inspector()->chain_page()->findChildren<QLabel*>();
        QVERIFY(std::any_of(labels.begin(), labels.end(),
                            [](const QLabel* label) { return label->text().contains(QStringLiteral("A stall has no chain")); }));
        QVERIFY(!capture.requests.empty());
        window.session()->select_request(0);
        QCOMPARE(page->name(), QString::fromStdString(capture.requests[0].name));
        QVERIFY(window.actions()->clear_selection->isEnabled());
        window.actions()->clear_selection->trigger();
        QVERIFY(!window.session()->selected_request());
    }

    void another_step_drops_the_answer_that_is_being_made() {
        MainWindow window;
        open(window);
        const auto& steps = window.session()->capture()->steps;
        window.session()->select_step(steps[3].id);
        window.actions()->diagnose->trigger();
        VerdictPage* page = window.inspector()->verdict_page();
        for (std::size_t i = 4; i < 12; ++i) window.session()->select_step(steps[i].id);
        QTRY_VERIFY_WITH_TIMEOUT(page->empty_text().isEmpty(), 20'000);
        QVERIFY(page->step() == std::optional(steps[11].id));
        QVERIFY2(page->head().contains(QStringLiteral("Step %1 ").arg(index_of(steps[11].id))), qPrintable(page->head()));
        window.actions()->close->trigger();
        QVERIFY(!page->step());
    }

    void the_log_both_ways() {
        MainWindow window;
        open(window);
        window.session()->select_span(std::nullopt);
        QVERIFY(!window.log_dock()->isHidden());  // there is a log: it shows itself
        LogDock* log = window.log();
        QCOMPARE(log->model()->rowCount(), static_cast<int>(window.session()->capture()->logs.size()));
        QCOMPARE(window.log_dock()->windowTitle(), log->title());
        window.actions()->show_log->trigger();
        log->table()->selectRow(0);
        QTest::keyClick(log->table(), Qt::Key_Down);
        QTest::keyClick(log->table(), Qt::Key_Down);
        QVERIFY(window.session()->selected_log() == std::optional(log->model()->position(2)));
        window.session()->set_range({0, 1'000'000});
        QTest::keyClick(log->table(), Qt::Key_Return);
        // A range of 3 ms: INFO lines are among what is shown.
        const Step& step = *window.session()->capture()->step(step_of(*window.session()->capture(), test::Plant::host_stall));
        window.session()->set_marked(TimeRange{step.start, step.start + 3'000'000});
        QVERIFY(log->model()->rowCount() > 0);
        log->level()->setCurrentIndex(1);
        QVERIFY(log->model()->rowCount() > 0);
        // Escape: the mark goes before the line.
        window.centre()->setFocus();
        window.actions()->clear_selection->trigger();
        QVERIFY(!window.session()->marked());
        window.actions()->clear_selection->trigger();
        QVERIFY(!window.session()->selected_log());
    }

    void the_roofline_chooses_a_step() {
        MainWindow window;
        open(window);
        const StepId slow = step_of(*window.session()->capture(), test::Plant::host_stall);
        window.session()->select_step(slow);
        window.actions()->show_roofline->trigger();
        RooflinePlot* plot = window.roofline()->plot();
        QVERIFY(plot->series().points.size() > 20);
        QVERIFY(plot->series().line.has_value());
        QTest::keyClick(plot, Qt::Key_Home);
        QTest::keyClick(plot, Qt::Key_PageDown);
        QTest::keyClick(plot, Qt::Key_Return);
        QVERIFY(window.session()->capture()->outlier(*window.session()->selected_step()));
    }

    void a_dismissed_finding_does_not_come_back() {
        MainWindow window;
        open(window);
        BannerStack* banners = window.centre()->banners();
        const int findings = banners->count();
        QVERIFY(findings > 0);
        Q_EMIT banners->findChildren<Banner*>().front()->dismissed();
        QCOMPARE(banners->count(), findings - 1);
        open(window);
        QCOMPARE(banners->count(), findings - 1);
        window.actions()->findings->trigger();
        QCOMPARE(banners->count(), findings);
    }

    void logs_are_part_of_an_import() {
        ImportDialog dialog;
        dialog.set_inputs({QString::fromStdString(service_.trace_paths.front())});
        dialog.set_target(dir_.filePath(QStringLiteral("again.faultline")));
        dialog.add_logs({QString::fromStdString(service_.log_path)});
        QTRY_COMPARE(dialog.request().logs.size(), std::size_t{1});
        QCOMPARE(dialog.request().inputs.size(), std::size_t{1});
        QVERIFY(dialog.request().time_zone.empty());
        dialog.set_time_zone(QStringLiteral("+08:00"));
        QCOMPARE(QString::fromStdString(dialog.request().time_zone), QStringLiteral("+08:00"));
        dialog.set_time_zone(QStringLiteral("UTC"));
        QSignalSpy done(&dialog, &ImportDialog::imported);
        dialog.start();
        QTRY_COMPARE_WITH_TIMEOUT(done.count(), 1, 30'000);
        for (const QString& filters : {import_filters(), open_filters(), log_filters()}) {
            QVERIFY(filters.contains(QStringLiteral("*.log")));
            QVERIFY(filters.endsWith(QStringLiteral("(*)")));
        }
        QVERIFY(open_filters().contains(QStringLiteral("*.faultline")) && !import_filters().contains(QStringLiteral("*.faultline")));
    }

    void a_log_joins_a_capture() {
        const QString capture = dir_.filePath(QStringLiteral("no-log.faultline"));
        ImportRequest request;
        request.inputs = service_.trace_paths;
        request.capture = capture.toStdString();
        const StepGrammar grammar = StepGrammar::built_in();
        const LayerRules layers = LayerRules::built_in();
        QVERIFY(import_capture(request, BuildRules{grammar, layers, RequestRules::built_in()}, {}).has_value());
        MainWindow window;
        window.show();
        window.open_paths({capture});
        QTRY_VERIFY(window.session()->capture() != nullptr);
        QVERIFY(window.log_dock()->isHidden());
        QVERIFY(window.log()->empty_text().startsWith(QStringLiteral("No log was imported")));
        window.opener()->import({});
        ImportDialog* dialog = window.opener()->import_dialog();
        dialog->append_to(capture);
        dialog->add_logs({QString::fromStdString(service_.log_path)});
        QTRY_COMPARE(dialog->request().logs.size(), std::size_t{1});
        QVERIFY(dialog->request().append);
        dialog->start();
        QTRY_VERIFY_WITH_TIMEOUT(window.session()->capture() != nullptr && !window.session()->capture()->logs.empty(), 30'000);
        QVERIFY(!window.log_dock()->isHidden());
    }

private:
    [[nodiscard]] QString path() const { return dir_.filePath(QStringLiteral("service.faultline")); }
    void open(MainWindow& window) {
        window.show();
        QSignalSpy loaded(window.opener(), &CaptureOpener::loaded);
        window.open_paths({path()});
        QTRY_COMPARE(loaded.count(), 1);
    }
    /// The step of the capture that starts where the planted one does.
    [[nodiscard]] StepId step_of(const LoadedCapture& capture, test::Plant what) const {
        const auto position = static_cast<std::size_t>(service_.position(what));
        return capture.steps[position].id;
    }
    QTemporaryDir dir_;
    test::PlantedService service_;
};

QTEST_MAIN(TestSlowStep)
#include "tst_slow_step.moc"
