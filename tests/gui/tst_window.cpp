// Journeys with the keyboard and the mouse: open, choose a step, select a kernel, see its chain everywhere.
#include <QApplication>
#include <QClipboard>
#include <QDialog>
#include <QDockWidget>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeView>

#include "app/actions.h"
#include "app/capture_opener.h"
#include "app/centre_page.h"
#include "app/main_window.h"
#include "app/settings.h"
#include "app/status_line.h"
#include "tests/support/two_steps.h"
#include "views/banner.h"
#include "views/inspector/chain_page.h"
#include "views/inspector/inspector.h"
#include "views/inspector/selection_page.h"
#include "views/ledger/ledger_view.h"
#include "views/palette.h"
#include "views/steps/step_list.h"
#include "views/welcome/card_button.h"

using namespace faultline;

class TestWindow : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        QLocale::setDefault(QLocale(QLocale::English));
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, dir_.path());
        QCoreApplication::setOrganizationName(QStringLiteral("Faultline test"));
        QVERIFY(test::write_two_steps(path()));
        apply_theme(*qApp, Theme::light);
    }
    void init() { QSettings().clear(); }

    void an_empty_window_offers_three_things() {
        MainWindow window(path());
        window.show();
        const auto cards = window.findChildren<CardButton*>();
        QCOMPARE(cards.size(), qsizetype{3});
        // By keyboard: the first has the focus, Tab reaches the sample, Enter opens it.
        QTRY_VERIFY(QApplication::focusWidget() == cards[0]);
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Tab);
        QVERIFY(QApplication::focusWidget() == cards[1]);
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Return);
        QTRY_VERIFY(window.session()->capture() != nullptr);
    }

    void from_a_step_to_a_kernel_and_its_chain() {
        MainWindow window;
        open(window);
        StepList* steps = window.step_list();
        QCOMPARE(steps->model()->rowCount(), 2);
        QVERIFY(steps->empty_text().isEmpty());

        // The second step, by keyboard.
        steps->table()->setFocus();
        steps->table()->selectRow(0);
        steps->table()->setCurrentIndex(steps->table()->model()->index(0, 0));
        QTest::keyClick(steps->table(), Qt::Key_Down);
        QTest::keyClick(steps->table(), Qt::Key_Return);
        QVERIFY(window.session()->selected_step().has_value());
        const Step& step = *window.session()->capture()->step(*window.session()->selected_step());
        QCOMPARE(step.start, test::kSecond);
        QVERIFY(window.session()->range().start <= step.start && step.end <= window.session()->range().end);
        QVERIFY(window.session()->range().duration() < window.session()->extent().duration());
        QVERIFY(window.status_line()->selection_text().contains(QStringLiteral("3 kernels")));

        // Its chain comes by itself.
        ChainPage* chain = window.inspector()->chain_page();
        window.inspector()->setCurrentWidget(chain);
        QTRY_COMPARE(chain->model()->node_count(), 7);

        // A kernel of the first step: its step is chosen, its chain read, its node current, its details shown.
        const SpanId kernel = test::find_span(*window.session()->capture(), "gemm_bf16");
        window.session()->select_span(kernel);
        QVERIFY(window.session()->selected_step() != std::optional(step.id));
        QTRY_VERIFY(chain->tree()->currentIndex().isValid());
        QCOMPARE(chain->tree()->currentIndex().siblingAtColumn(0).data().toString(), QStringLiteral("gemm_bf16"));
        QCOMPARE(window.inspector()->selection_page()->name(), QStringLiteral("gemm_bf16"));
        QVERIFY(window.session()->lit().ancestors.size() >= 3);

        // And the other way: choosing the launch in the tree selects it.
        chain->tree()->setCurrentIndex(chain->tree()->currentIndex().parent());
        QVERIFY(window.session()->selected_span() == std::optional(test::find_span(*window.session()->capture(), "cudaLaunchKernel")));
        window.actions()->to_launched->trigger();
        QVERIFY(window.session()->selected_span() == std::optional(kernel));
        window.actions()->to_launch->trigger();
        QVERIFY(window.session()->selected_span() == std::optional(test::find_span(*window.session()->capture(), "cudaLaunchKernel")));
        window.actions()->copy_name->trigger();
        QCOMPARE(QApplication::clipboard()->text(), QStringLiteral("cudaLaunchKernel"));
        window.actions()->clear_selection->trigger();
        QVERIFY(!window.session()->selected_span());
        QVERIFY(!window.actions()->clear_selection->isEnabled());
    }

    void steps_forwards_and_back() {
        MainWindow window;
        open(window);
        window.actions()->next_step->trigger();
        QVERIFY(window.session()->selected_step() == std::optional(window.session()->capture()->steps[0].id));
        window.actions()->next_step->trigger();
        QVERIFY(window.session()->selected_step() == std::optional(window.session()->capture()->steps[1].id));
        const TimeRange second = window.session()->range();
        window.actions()->previous_step->trigger();
        window.actions()->back->trigger();
        QVERIFY(window.session()->range() == second);
        window.actions()->whole->trigger();
        QVERIFY(window.session()->range() == window.session()->extent());
        window.actions()->zoom_selection->trigger();
        QVERIFY(!(window.session()->range() == window.session()->extent()));
    }

    void text_fields_swallow_plain_letters() {
        MainWindow window;
        open(window);
        window.activateWindow();
        QLineEdit* search = window.step_list()->search();
        search->setFocus();
        QTRY_VERIFY(search->hasFocus());
        QVERIFY(window.ledger_dock()->isHidden());
        QTest::keyClicks(search, QStringLiteral("q0?"));
        QCOMPARE(search->text(), QStringLiteral("q0?"));
        QVERIFY(window.ledger_dock()->isHidden());
        search->clear();
        window.centre()->setFocus();
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Q);
        QVERIFY(!window.ledger_dock()->isHidden());
        QTest::keyClick(QApplication::focusWidget(), Qt::Key_Q);
        QVERIFY(window.ledger_dock()->isHidden());
    }

    void a_filter_names_what_is_left() {
        MainWindow window;
        open(window);
        window.step_list()->search()->setText(QStringLiteral("prefill"));
        QCOMPARE(window.step_list()->table()->model()->rowCount(), 0);
        window.step_list()->search()->setText(QStringLiteral("DECODE"));
        QCOMPARE(window.step_list()->table()->model()->rowCount(), 2);
        window.ledger()->search()->setText(QStringLiteral("4711"));
        window.ledger()->copy();
        const QString copied = QApplication::clipboard()->text();
        QVERIFY2(copied.contains(QStringLiteral("byte 4711")) && !copied.contains(QStringLiteral("byte 11")), qPrintable(copied));
    }

    void another_capture_replaces_the_one_that_is_filtered_and_selected() {
        const QString other = dir_.filePath(QStringLiteral("other.faultline"));
        QVERIFY(QFile::copy(path(), other));
        MainWindow window;
        open(window);
        window.step_list()->search()->setText(QStringLiteral("execute"));
        window.ledger()->search()->setText(QStringLiteral("byte"));
        window.session()->select_span(test::find_span(*window.session()->capture(), "attention"));
        QTRY_VERIFY(window.inspector()->chain_page()->model()->node_count() > 0);
        window.open_paths({other, path()});
        QTRY_VERIFY(QString::fromStdString(window.session()->capture()->path) == other);
        QVERIFY(!window.session()->selected_span());
        QCOMPARE(window.inspector()->chain_page()->model()->node_count(), 0);
        QVERIFY(window.step_list()->search()->text().isEmpty());
        QCOMPARE(window.notices()->count(), 1);  // the second of the two was left out
    }

    void a_long_step_name_does_not_widen_the_docks() {
        MainWindow window;
        window.show();
        open(window);
        window.session()->select_step(window.session()->capture()->steps[0].id);
        QTRY_VERIFY(window.inspector()->chain_page()->model()->node_count() > 0);
        const int room = QFontMetrics(window.font()).horizontalAdvance(QString::fromStdString(window.session()->capture()->steps[0].name));
        QVERIFY(window.inspector()->minimumSizeHint().width() < room + 60);
    }

    void no_steps_are_explained() {
        const QString host = dir_.filePath(QStringLiteral("host.faultline"));
        QVERIFY(test::write_host_only(host));
        MainWindow window;
        window.show();
        window.open_paths({host});
        QTRY_VERIFY(window.session()->capture() != nullptr);
        QVERIFY(window.step_list()->empty_text().startsWith(QStringLiteral("No steps found: ")));
        QVERIFY(!window.actions()->next_step->isEnabled());
    }

    void findings_can_be_dismissed_and_shown_again() {
        MainWindow window;
        open(window);
        BannerStack* banners = window.centre()->banners();
        const int findings = static_cast<int>(window.session()->capture()->health.size());
        QVERIFY(findings >= 1);
        QCOMPARE(banners->count(), findings);
        QVERIFY(banners->sentence(0).contains(QStringLiteral("a person should know")));  // a warning comes before notes
        for (Banner* banner : banners->findChildren<Banner*>()) Q_EMIT banner->dismissed();
        QCOMPARE(banners->count(), 0);
        QVERIFY(banners->isHidden());
        window.actions()->findings->trigger();
        QCOMPARE(banners->count(), findings);
    }

    void what_was_open_is_remembered() {
        TimeRange range;
        {
            MainWindow window;
            open(window);
            window.session()->set_range({100'000, 600'000});
            range = window.session()->range();
            window.show_ledger();
            window.close();
        }
        MainWindow window;
        QCOMPARE(Settings().recent(), QStringList{path()});
        open(window);
        QVERIFY(window.session()->range() == range);
        QVERIFY(!window.ledger_dock()->isHidden());
    }

    void themes_and_text_sizes() {
        MainWindow window;
        open(window);
        window.actions()->theme_dark->trigger();
        QVERIFY(is_dark(QApplication::palette()));
        QVERIFY(Settings().theme() == Theme::dark);
        window.actions()->theme_light->trigger();
        QVERIFY(!is_dark(QApplication::palette()));
        const qreal before = window.step_list()->table()->font().pointSizeF();
        for (int i = 0; i < 3; ++i) window.actions()->larger->trigger();
        QCOMPARE(window.step_list()->table()->font().pointSizeF(), before + 3);
        window.actions()->usual_size->trigger();
        QCOMPARE(window.step_list()->table()->font().pointSizeF(), before);
    }

    void text_stands_out_from_its_background() {
        // WCAG AA: 4.5 for text.
        const auto luminance = [](const QColor& c) {
            const auto linear = [](double v) { return v <= 0.03928 ? v / 12.92 : std::pow((v + 0.055) / 1.055, 2.4); };
            return 0.2126 * linear(c.redF()) + 0.7152 * linear(c.greenF()) + 0.0722 * linear(c.blueF());
        };
        const auto contrast = [&](const QColor& a, const QColor& b) {
            const double x = luminance(a), y = luminance(b);
            return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
        };
        for (const bool dark : {false, true}) {
            const QPalette p = theme_palette(dark);
            const Chrome& c = chrome(dark);
            for (const QColor& ground : {p.color(QPalette::Window), p.color(QPalette::Base)}) {
                for (const QColor& text :
                     {p.color(QPalette::Text), p.color(QPalette::PlaceholderText), p.color(QPalette::Link), c.muted, c.accent})
                    QVERIFY2(contrast(text, ground) >= 4.5, qPrintable(text.name() + QStringLiteral(" on ") + ground.name()));
            }
            QVERIFY(contrast(c.warning, c.warning_fill) >= 4.5);
            QVERIFY(contrast(c.error, c.error_fill) >= 4.5);
            QVERIFY(contrast(c.info, c.info_fill) >= 4.5);
            for (int kind = 0; kind < kSpanKindCount; ++kind) {
                const QColor fill = kind_colour(static_cast<SpanKind>(kind), false, dark);
                QVERIFY2(contrast(text_on(fill), fill) >= 4.0, qPrintable(fill.name()));
            }
        }
    }

    void help_opens_beside_the_window() {
        MainWindow window;
        window.show();
        for (QAction* action : {window.actions()->keys, window.actions()->capture_help, window.actions()->about}) {
            action->trigger();
            const auto dialogs = window.findChildren<QDialog*>();
            QCOMPARE(dialogs.size(), qsizetype{1});
            QVERIFY(!dialogs[0]->isModal());
            delete dialogs[0];
        }
    }

    void no_key_means_two_things() {
        MainWindow window;
        QMap<QString, QString> taken;
        for (const QAction* action : window.actions()->findChildren<QAction*>()) {
            for (const QKeySequence& key : action->shortcuts()) {
                QVERIFY2(!taken.contains(key.toString()), qPrintable(key.toString() + QStringLiteral(": ") + action->text()));
                taken.insert(key.toString(), action->text());
            }
        }
        QVERIFY(taken.size() > 20);
    }

    void closing_a_capture_returns_to_the_start() {
        MainWindow window;
        open(window);
        window.session()->select_step(window.session()->capture()->steps[0].id);
        window.actions()->close->trigger();
        QVERIFY(window.session()->capture() == nullptr);
        QCOMPARE(window.inspector()->selection_page()->model()->rowCount(), 0);
        QCOMPARE(window.step_list()->model()->rowCount(), 0);
        QVERIFY(window.findChildren<CardButton*>().at(0)->isVisible());
    }

private:
    [[nodiscard]] QString path() const { return dir_.filePath(QStringLiteral("two.faultline")); }
    void open(MainWindow& window) {
        window.show();
        window.open_paths({path()});
        QTRY_VERIFY(window.session()->capture() != nullptr);
    }
    QTemporaryDir dir_;
};

QTEST_MAIN(TestWindow)
#include "tst_window.moc"
