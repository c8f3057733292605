// The log: its filter, what belongs to a selection, the model, and the dock both ways.
#include <QAbstractItemModelTester>
#include <QComboBox>
#include <QLineEdit>
#include <QPushButton>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QTest>

#include "made_analysis.h"
#include "made_capture.h"
#include "views/logs/log_details.h"
#include "views/logs/log_dock.h"
#include "views/logs/log_filter.h"
#include "views/logs/log_model.h"
#include "views/logs/log_scope.h"
#include "views/timeline/log_marks.h"

using namespace faultline;

class TestLogs : public QObject {
    Q_OBJECT
    QTemporaryDir dir_;
    std::shared_ptr<LoadedCapture> made_;

    [[nodiscard]] QStringList texts(const LogModel& model) const {
        QStringList out;
        for (int row = 0; row < model.rowCount(); ++row)
            out += model.index(row, LogModel::text_column).data().toString().section(QLatin1Char(' '), 0, 1);
        return out;
    }

private Q_SLOTS:
    void initTestCase() {
        QLocale::setDefault(QLocale(QLocale::English));
        made_ = test::made_analysis(dir_.path());
        QVERIFY(made_);
        QCOMPARE(made_->logs.size(), test::kLogLines);
    }

    void words_and_levels() {
        LogLine line;
        line.level = "WARNING";
        line.logger = "nccl.py";
        line.text = "Watchdog caught a Timeout";
        QVERIFY(LogFilter(LogLevel::debug, "").everything());
        QVERIFY(LogFilter(LogLevel::debug, "watchdog TIMEOUT").accepts(line));
        QVERIFY(!LogFilter(LogLevel::debug, "watchdog other").accepts(line));
        QVERIFY(!LogFilter(LogLevel::debug, "watchdog -nccl").accepts(line));  // the logger counts, too
        QVERIFY(LogFilter(LogLevel::debug, "warn").accepts(line));
        QVERIFY(LogFilter(LogLevel::debug, "\"a timeout\"").accepts(line));
        QVERIFY(!LogFilter(LogLevel::debug, "\"timeout a\"").accepts(line));
        QVERIFY(!LogFilter(LogLevel::debug, "-\"a timeout\"").accepts(line));
        QVERIFY(LogFilter(LogLevel::debug, "-").accepts(line) == (line.text.find('-') != std::string::npos));
        QVERIFY(LogFilter(LogLevel::warning, "").accepts(line));
        QVERIFY(!LogFilter(LogLevel::error, "").accepts(line));
        line.level.clear();
        QVERIFY(LogFilter(LogLevel::info, "").accepts(line));
    }

    void a_marked_range_has_lines_by_id_before_those_by_time() {
        const Step& slow = made_->steps[test::kSlowStep];
        const auto lines = lines_of(*made_, TimeRange{slow.start + 1'000'000, slow.start + 1'800'000});
        QVERIFY(lines.size() >= 4);
        bool by_time = false;
        for (const ScopedLine& line : lines) {
            QVERIFY(!(by_time && line.method == AlignMethod::request));  // by id first
            by_time = by_time || line.method == AlignMethod::time;
        }
        QVERIFY(by_time);
        QCOMPARE(lines.front().method, AlignMethod::request);
        // The warning and the error are in it; the debug line of the last step is not.
        const auto has = [&](std::size_t position) {
            return std::any_of(lines.begin(), lines.end(), [&](const ScopedLine& l) { return l.position == position; });
        };
        QVERIFY(has(3) && has(4));
        QVERIFY(!has(7) && !has(0));
    }

    void a_request_has_the_lines_that_name_it() {
        const auto lines = lines_of(*made_, std::size_t{1});
        QCOMPARE(lines.size(), std::size_t{2});
        QCOMPARE(lines[0].position, std::size_t{2});
        QCOMPARE(method_text(*made_, lines[0]), QStringLiteral("by request"));
        QVERIFY(method_text(*made_, {3, AlignMethod::time, 0}).startsWith(QStringLiteral("by time ±")));
        QCOMPARE(method_text(*made_, {3, AlignMethod::none, 0}), QString(QChar(0x2013)));
    }

    void nearest() {
        const auto found = nearest_line(*made_, {made_->steps[4].start, made_->steps[4].start + 1'000});
        QVERIFY(found);
        QVERIFY(found->distance_ns > 0);
        QVERIFY(made_->logs[found->position].time.has_value());
    }

    void the_model() {
        LogModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.set_lines(made_.get(), whole_log(*made_));
        QCOMPARE(model.rowCount(), static_cast<int>(test::kLogLines));
        QCOMPARE(model.index(0, LogModel::time_column).data().toString(), QString(QChar(0x2013)));  // no stamp
        QCOMPARE(model.index(4, LogModel::level_column).data().toString(), QStringLiteral("ERROR"));
        const QString first = model.index(4, LogModel::text_column).data().toString();
        QVERIFY2(first.startsWith(QStringLiteral("allocation of 2 GiB failed")) && first.contains(QStringLiteral("+2 lines")),
                 qPrintable(first));
        QVERIFY(model.index(4, LogModel::text_column).data(Qt::ToolTipRole).toString().contains(QStringLiteral("Traceback")));
        QCOMPARE(model.index(2, LogModel::method_column).data().toString(), QStringLiteral("by request"));
        model.set_view({made_->steps[test::kSlowStep].start, made_->steps[test::kSlowStep].end});
        QVERIFY(model.in_view(3) && model.in_view(4) && !model.in_view(0) && !model.in_view(1));
        QCOMPARE(model.first_row_in({made_->steps[test::kSlowStep].start, made_->steps[test::kSlowStep].end}), 3);
        model.set_filter(LogFilter(LogLevel::warning, ""));
        QCOMPARE(model.rowCount(), 2);
        QCOMPARE(model.position(0), std::size_t{3});
        QCOMPARE(model.row_of(4), 1);
        QCOMPARE(model.row_of(5), -1);
        model.set_lines(nullptr, {});
        QCOMPARE(model.rowCount(), 0);
        QCOMPARE(model.scope_size(), 0);
    }

    void a_hundred_thousand_lines() {
        auto big = std::make_shared<LoadedCapture>(*made_);
        test::lengthen_log(*big, 100'000);
        Session session;
        LogDock dock(&session);
        dock.resize(900, 250);
        dock.show();
        session.set_capture(big);
        QCOMPARE(dock.model()->rowCount(), 100'000);
        dock.search()->setText(QStringLiteral("running -kv"));
        QTest::keyClick(dock.search(), Qt::Key_Return);
        QCOMPARE(dock.model()->rowCount(), (100'000 + 6) / 7);
        dock.level()->setCurrentIndex(3);
        dock.search()->clear();
        QTest::keyClick(dock.search(), Qt::Key_Return);
        QCOMPARE(dock.model()->rowCount(), 100);
        QCOMPARE(dock.title(), QStringLiteral("Log (100 of 100,000)"));
    }

    void the_dock_moves_the_marker_and_the_timeline_moves_the_dock() {
        Session session;
        LogDock dock(&session);
        dock.resize(900, 250);
        dock.show();
        session.set_capture(made_);
        QCOMPARE(dock.title(), QStringLiteral("Log (8)"));
        QSignalSpy moved(&session, &Session::log_changed);
        dock.table()->setFocus();
        dock.table()->selectRow(1);
        QCOMPARE(*session.selected_log(), std::size_t{1});
        QTest::keyClick(dock.table(), Qt::Key_Down);
        QTest::keyClick(dock.table(), Qt::Key_Down);
        QCOMPARE(*session.selected_log(), std::size_t{3});
        QCOMPARE(moved.count(), 3);
        session.set_range({0, 400'000});
        QTest::keyClick(dock.table(), Qt::Key_Return);
        QVERIFY(session.range().contains(*made_->logs[3].time));
        QCOMPARE(session.range().duration(), TimeNs{400'000});
        // The other way: another view chooses a line.
        session.select_log(6);
        QCOMPARE(dock.table()->currentIndex().row(), 6);
        session.select_log(std::nullopt);
        QVERIFY(!dock.table()->selectionModel()->hasSelection());
    }

    void a_step_and_a_request_narrow_the_dock() {
        Session session;
        LogDock dock(&session);
        session.set_capture(made_);
        session.select_request(1);
        QCOMPARE(dock.model()->rowCount(), 2);
        QCOMPARE(dock.title(), QStringLiteral("Log (2 of 8)"));
        dock.scope()->setCurrentIndex(1);
        QCOMPARE(dock.model()->rowCount(), 8);
        dock.scope()->setCurrentIndex(0);
        session.select_span(std::nullopt);
        QCOMPARE(dock.model()->rowCount(), 8);
        session.set_marked(TimeRange{0, 1'000'000});
        QVERIFY(dock.model()->rowCount() < 8);
        // What was chosen last is what is asked about; the mark stays.
        session.select_request(1);
        QVERIFY(session.marked() && !session.mark_is_latest());
        QCOMPARE(dock.model()->rowCount(), 2);
        session.select_log(2);
        QCOMPARE(dock.details()->message(), QStringLiteral("Added request req-b."));
        QVERIFY(dock.details()->facts().contains(QStringLiteral("req-b")));
        session.select_span(std::nullopt);
        session.set_marked(std::nullopt);
        QCOMPARE(dock.model()->rowCount(), 8);
    }

    void what_is_empty_says_why_and_what_to_do() {
        Session session;
        LogDock dock(&session);
        QCOMPARE(dock.empty_text(), QStringLiteral("Open a capture to read its log."));
        auto without = std::make_shared<LoadedCapture>(*made_);
        without->logs.clear();
        without->line_requests.clear();
        session.set_capture(without);
        QVERIFY(dock.empty_text().startsWith(QStringLiteral("No log was imported")));
        QSignalSpy asked(&dock, &LogDock::add_log_requested);
        dock.empty_action()->click();
        QCOMPARE(asked.count(), 1);
        session.set_capture(made_);
        QVERIFY(dock.empty_text().isEmpty());
        session.select_request(3);  // no line names it
        QVERIFY2(dock.empty_text().contains(QStringLiteral("The nearest was written")), qPrintable(dock.empty_text()));
        dock.empty_action()->click();
        QVERIFY(dock.empty_text().isEmpty());
        QVERIFY(session.selected_log().has_value());
        dock.search()->setText(QStringLiteral("no such words"));
        QTest::keyClick(dock.search(), Qt::Key_Return);
        QVERIFY(dock.empty_text().startsWith(QStringLiteral("None of the 8 lines")));
        dock.empty_action()->click();
        QVERIFY(dock.empty_text().isEmpty());
        session.close_capture();
        QCOMPARE(dock.title(), QStringLiteral("Log"));
    }

    void marks_keep_what_is_worst_in_each_column() {
        const LogMarks marks(*made_);
        const Step& slow = made_->steps[test::kSlowStep];
        const auto columns = marks.columns({slow.start, slow.start + 4'000'000}, 40);
        QCOMPARE(columns[12], LogMark::warning);
        QCOMPARE(columns[15], LogMark::error);
        QCOMPARE(columns[20], LogMark::line);
        QCOMPARE(columns[30], LogMark::none);
        const auto one = marks.columns({0, 48'000'000}, 1);
        QCOMPARE(one.front(), LogMark::error);
        QVERIFY(LogMarks().empty());
    }
};

QTEST_MAIN(TestLogs)
#include "tst_logs.moc"
