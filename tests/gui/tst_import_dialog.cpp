// Importing through the window: what is sniffed, progress to an open capture, Cancel that leaves nothing, errors in place.
#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QDropEvent>
#include <QLabel>
#include <QMimeData>
#include <QSettings>
#include <QSignalSpy>
#include <QTemporaryDir>
#include <QTest>
#include <QTreeWidget>
#include <QUrl>

#include "app/capture_opener.h"
#include "app/centre_page.h"
#include "app/import_dialog.h"
#include "app/import_plan.h"
#include "app/main_window.h"
#include "app/status_line.h"
#include "tests/support/small_trace.h"
#include "views/banner.h"

using namespace faultline;

class TestImportDialog : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        QLocale::setDefault(QLocale(QLocale::English));
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, settings_.path());
        QCoreApplication::setOrganizationName(QStringLiteral("Faultline test"));
    }
    void init() { dir_ = std::make_unique<QTemporaryDir>(); }

    void targets_stand_beside_their_inputs_data() {
        QTest::addColumn<QStringList>("inputs");
        QTest::addColumn<QString>("target");
        QTest::newRow("suffixes") << QStringList{QStringLiteral("run.pt.trace.json.gz")} << QStringLiteral("run.faultline");
        QTest::newRow("dots stay") << QStringList{QStringLiteral("rank0.1762849.json")} << QStringLiteral("rank0.1762849.faultline");
        QTest::newRow("no suffix") << QStringList{QStringLiteral("trace")} << QStringLiteral("trace.faultline");
        QTest::newRow("only suffixes") << QStringList{QStringLiteral("a.gz")} << QStringLiteral("a.faultline");
    }
    void targets_stand_beside_their_inputs() {
        QFETCH(QStringList, inputs);
        QFETCH(QString, target);
        for (QString& input : inputs) input = path(input);
        const PlannedTarget planned = plan_target(inputs);
        QVERIFY(!planned.elsewhere);
        QCOMPARE(planned.path, path(target));
        QVERIFY(plan_target({}).path.isEmpty());
    }

    void inputs_are_sniffed_by_content() {
        QVERIFY(test::write_file(path(QStringLiteral("any.name")), test::small_trace(2)));
        QVERIFY(test::write_file(path(QStringLiteral("picture.json")), "\x89PNG\r\n\x1a\n0000IHDR"));
        QVERIFY(test::write_file(path(QStringLiteral("empty.json")), {}));
        const auto plan = plan_inputs({path(QStringLiteral("any.name")), path(QStringLiteral("picture.json")),
                                       path(QStringLiteral("empty.json")), path(QStringLiteral("missing.json"))});
        QCOMPARE(plan.size(), std::size_t{4});
        QVERIFY(plan[0].usable());
        QVERIFY(!plan[0].format.isEmpty());
        for (std::size_t i = 1; i < 4; ++i) {
            QVERIFY(!plan[i].usable());
            QVERIFY2(plan[i].trouble.endsWith(QLatin1Char('.')), qPrintable(plan[i].trouble));
        }
    }

    void a_dropped_trace_is_imported_and_opens() {
        QVERIFY(test::write_file(path(QStringLiteral("run.json")), test::small_trace(5)));
        MainWindow window;
        window.show();
        QSignalSpy loaded(window.opener(), &CaptureOpener::loaded);
        drop(window, path(QStringLiteral("run.json")));
        QTRY_COMPARE_WITH_TIMEOUT(loaded.count(), 1, 30'000);
        QVERIFY(window.session()->capture() != nullptr);
        QCOMPARE(window.session()->capture()->steps.size(), std::size_t{5});
        QVERIFY(QFile::exists(path(QStringLiteral("run.faultline"))));
        QVERIFY2(window.status_line()->capture_text().contains(QStringLiteral("5 kernels (all bound)")),
                 qPrintable(window.status_line()->capture_text()));
        QVERIFY(window.ledger_dock()->isHidden());
        QTRY_VERIFY(window.opener()->import_dialog() == nullptr);
    }

    void the_ledger_opens_where_something_was_dropped() {
        QVERIFY(test::write_file(path(QStringLiteral("run.json")), test::damaged_trace(5)));
        MainWindow window;
        window.show();
        window.open_paths({path(QStringLiteral("run.json"))});
        QTRY_VERIFY_WITH_TIMEOUT(window.session()->capture() != nullptr, 30'000);
        QVERIFY(!window.ledger_dock()->isHidden());
    }

    void cancel_leaves_nothing_behind() {
        QVERIFY(test::write_file(path(QStringLiteral("run.json")), test::small_trace(60'000)));
        ImportDialog dialog;
        dialog.set_inputs({path(QStringLiteral("run.json"))});
        QTRY_VERIFY(dialog.inputs()->topLevelItemCount() == 1 && dialog.inputs()->topLevelItem(0)->text(1) != QStringLiteral("looking…"));
        QSignalSpy imported(&dialog, &ImportDialog::imported);
        dialog.show();
        dialog.start();
        QVERIFY(dialog.running());
        dialog.reject();
        QTRY_VERIFY_WITH_TIMEOUT(!dialog.running(), 30'000);
        QCOMPARE(imported.count(), 0);
        QVERIFY(dialog.isVisible());
        QCOMPARE(dialog.banners()->count(), 1);
        QVERIFY(dialog.banners()->sentence(0).contains(QStringLiteral("cancelled")));
        QCOMPARE(QDir(dir_->path()).entryList(QDir::Files | QDir::Hidden), QStringList{QStringLiteral("run.json")});
        // A second import succeeds.
        dialog.start();
        QTRY_COMPARE_WITH_TIMEOUT(imported.count(), 1, 60'000);
        QVERIFY(QFile::exists(path(QStringLiteral("run.faultline"))));
    }

    void closing_the_window_stops_an_import() {
        QVERIFY(test::write_file(path(QStringLiteral("run.json")), test::small_trace(60'000)));
        {
            MainWindow window;
            window.show();
            window.open_paths({path(QStringLiteral("run.json"))});
            QTRY_VERIFY(window.opener()->import_dialog() != nullptr && window.opener()->import_dialog()->running());
        }
        QThreadPool::globalInstance()->waitForDone();
        QCOMPARE(QDir(dir_->path()).entryList(QDir::Files | QDir::Hidden), QStringList{QStringLiteral("run.json")});
    }

    void a_bad_file_is_named_in_a_sentence_and_leaves_nothing() {
        QVERIFY(test::write_file(path(QStringLiteral("picture.json")), "\x89PNG\r\n\x1a\n0000IHDR"));
        MainWindow window;
        window.show();
        window.open_paths({path(QStringLiteral("picture.json"))});
        QTRY_VERIFY(window.opener()->import_dialog() != nullptr && window.opener()->import_dialog()->banners()->count() == 1);
        const QString sentence = window.opener()->import_dialog()->banners()->sentence(0);
        QVERIFY2(sentence.startsWith(QStringLiteral("picture.json: ")) && sentence.size() > 30, qPrintable(sentence));
        QVERIFY(!window.opener()->import_dialog()->running());
        QCOMPARE(QDir(dir_->path()).entryList(QDir::Files | QDir::Hidden), QStringList{QStringLiteral("picture.json")});
    }

    void an_existing_capture_is_not_replaced_unasked() {
        QVERIFY(test::write_file(path(QStringLiteral("run.json")), test::small_trace(3)));
        QVERIFY(test::write_file(path(QStringLiteral("run.faultline")), "something of value"));
        MainWindow window;
        window.show();
        window.open_paths({path(QStringLiteral("run.json"))});
        QTRY_VERIFY(window.opener()->import_dialog() != nullptr && window.opener()->import_dialog()->inputs()->topLevelItemCount() == 1 &&
                    window.opener()->import_dialog()->inputs()->topLevelItem(0)->text(1) != QStringLiteral("looking…"));
        QVERIFY(!window.opener()->import_dialog()->running());
        QFile kept(path(QStringLiteral("run.faultline")));
        QVERIFY(kept.open(QIODevice::ReadOnly));
        QCOMPARE(kept.readAll(), QByteArray("something of value"));
    }

    void a_broken_capture_says_so_in_the_window() {
        QVERIFY(test::write_file(path(QStringLiteral("broken.faultline")), "this is no capture"));
        MainWindow window;
        window.show();
        QSignalSpy failed(window.opener(), &CaptureOpener::failed);
        window.open_paths({path(QStringLiteral("broken.faultline"))});
        QTRY_COMPARE(failed.count(), 1);
        QCOMPARE(window.notices()->count(), 1);
        QVERIFY(window.notices()->sentence(0).endsWith(QLatin1Char('.')));
        QVERIFY(window.session()->capture() == nullptr);
    }

private:
    [[nodiscard]] QString path(const QString& name) const { return dir_->filePath(name); }

    static void drop(QWidget& target, const QString& file) {
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(file)});
        QDragEnterEvent enter(QPoint(200, 200), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&target, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent event(QPointF(200, 200), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(&target, &event);
    }

    QTemporaryDir settings_;
    std::unique_ptr<QTemporaryDir> dir_;
};

QTEST_MAIN(TestImportDialog)
#include "tst_import_dialog.moc"
