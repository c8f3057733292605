// The models behind the docks: sound as Qt's tester sees them, and with the numbers of the capture.
#include <QAbstractItemModelTester>
#include <QSortFilterProxyModel>
#include <QTemporaryDir>
#include <QTest>

#include "tests/support/two_steps.h"
#include "views/inspector/chain_model.h"
#include "views/inspector/property_model.h"
#include "views/ledger/ledger_model.h"
#include "views/steps/step_table_model.h"

using namespace faultline;

class TestItemModels : public QObject {
    Q_OBJECT

private Q_SLOTS:
    void initTestCase() {
        QLocale::setDefault(QLocale(QLocale::English));
        QVERIFY(test::write_two_steps(dir_.filePath(QStringLiteral("two.faultline"))));
        capture_ = test::load(dir_.filePath(QStringLiteral("two.faultline")));
        QVERIFY(capture_);
    }

    void steps() {
        StepTableModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.set_capture(capture_.get());
        QCOMPARE(model.rowCount(), 2);
        const auto cell = [&](int row, int column) { return model.index(row, column).data().toString(); };
        QCOMPARE(cell(0, StepTableModel::step_column), QStringLiteral("1 · execute_context_0(0)_generation_3(3)"));
        QCOMPARE(cell(0, StepTableModel::phase_column), QStringLiteral("decode"));
        QCOMPARE(cell(0, StepTableModel::tokens_column), QStringLiteral("3"));
        QCOMPARE(cell(0, StepTableModel::kernels_column), QStringLiteral("3"));
        QCOMPARE(cell(0, StepTableModel::found_column), QStringLiteral("marked"));
        QCOMPARE(model.index(1, StepTableModel::start_column).data(StepTableModel::kSortRole).toLongLong(), test::kSecond);
        // 300 + 200 + 200 us of work in a step of 900 us.
        QCOMPARE(busy_share(capture_->steps[0]), 700.0 / 900.0);
        QCOMPARE(cell(0, StepTableModel::busy_column), QStringLiteral("78\u00a0%"));
        QCOMPARE(model.row_of(capture_->steps[1].id), 1);
        QCOMPARE(model.row_of(StepId{77}), -1);
        model.set_capture(nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void steps_sort_by_number_not_by_text() {
        auto capture = std::make_shared<LoadedCapture>();
        for (const TimeNs duration : {900, 10'000, 2'000'000}) {
            Step step;
            step.id = StepId{duration};
            step.end = duration;
            step.tokens = duration / 100;
            capture->steps.push_back(step);
        }
        StepTableModel model;
        model.set_capture(capture.get());
        QSortFilterProxyModel sorted;
        sorted.setSortRole(StepTableModel::kSortRole);
        sorted.setSourceModel(&model);
        for (const int column : {StepTableModel::duration_column, StepTableModel::tokens_column}) {
            sorted.sort(column, Qt::DescendingOrder);
            QCOMPARE(sorted.index(0, 0).data(StepTableModel::kStepRole).toLongLong(), 2'000'000);
            QCOMPARE(sorted.index(2, 0).data(StepTableModel::kStepRole).toLongLong(), 900);
        }
    }

    void why_there_are_no_steps() {
        const QString path = dir_.filePath(QStringLiteral("host.faultline"));
        QVERIFY(test::write_host_only(path));
        const auto capture = test::load(path);
        QVERIFY(capture);
        QVERIFY(capture->steps.empty());
        const QString reason = no_steps_reason(*capture);
        QVERIFY2(reason.startsWith(QStringLiteral("No steps found: ")), qPrintable(reason));
        QVERIFY2(reason.contains(QStringLiteral("host activity only")), qPrintable(reason));
    }

    void chain() {
        auto chain = step_chain(*capture_->reader, LayerRules::built_in(), capture_->steps[0].id);
        QVERIFY(chain.has_value());
        ChainModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.set_chain(std::make_shared<const CallChain>(std::move(*chain)), capture_.get());
        QCOMPARE(model.node_count(), 7);  // range, operator, two launches, three kernels
        QCOMPARE(model.rowCount(), 1);
        const SpanId attention = test::find_span(*capture_, "attention");
        const QModelIndex at = model.find(attention);
        QVERIFY(at.isValid());
        QVERIFY(model.span_at(at) == attention);
        QCOMPARE(at.data().toString(), QStringLiteral("attention"));
        QCOMPARE(at.parent().data().toString(), QStringLiteral("cudaGraphLaunch"));
        QCOMPARE(at.siblingAtColumn(ChainModel::layer_column).data().toString(), QStringLiteral("kernel"));
        QCOMPARE(at.siblingAtColumn(ChainModel::duration_column).data().toString(), QStringLiteral("200.0\u00a0µs"));
        QCOMPARE(model.rowCount(at.parent()), 2);
        QVERIFY(!model.find(test::find_span(*capture_, "orphan")).isValid());
        model.set_chain(nullptr, nullptr);
        QCOMPARE(model.rowCount(), 0);
    }

    void ledger() {
        LedgerModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.set_capture(capture_.get());
        QCOMPARE(model.rowCount(), 1);
        const QModelIndex source = model.index(0, 0);
        QCOMPARE(source.data().toString(), QStringLiteral("two_steps.json"));
        QCOMPARE(source.siblingAtColumn(LedgerModel::count_column).data().toString(), QStringLiteral("15"));
        QModelIndex dropped;
        for (int row = 0; row < model.rowCount(source); ++row)
            if (model.index(row, 0, source).data().toString() == QStringLiteral("Dropped")) dropped = model.index(row, 0, source);
        QVERIFY(dropped.isValid());
        const QModelIndex reason = model.index(0, 0, dropped);
        QCOMPARE(reason.data().toString(), QStringLiteral("A record could not be read"));
        QCOMPARE(reason.siblingAtColumn(LedgerModel::code_column).data().toString(), QStringLiteral("test.drop"));
        QCOMPARE(model.index(0, 0, reason).data().toString(), QStringLiteral("byte 4711"));
    }

    void details_of_a_kernel() {
        auto details = read_span_details(*capture_, test::find_span(*capture_, "gemm_bf16"));
        QVERIFY(details);
        QCOMPARE(details->name, QStringLiteral("gemm_bf16"));
        QVERIFY(details->kind == SpanKind::kernel);
        QMap<QString, QString> rows;
        SpanId launch;
        for (const DetailGroup& group : details->groups) {
            for (const Detail& row : group.rows) {
                rows.insert(group.title + QLatin1Char('/') + row.label, row.value);
                if (row.goes_to) launch = *row.goes_to;
            }
        }
        QCOMPARE(rows.value(QStringLiteral("Time/Exactly")), QStringLiteral("300,000\u00a0ns"));
        QCOMPARE(rows.value(QStringLiteral("Place/Stream")), QStringLiteral("7"));
        QCOMPARE(rows.value(QStringLiteral("Chain/Correlation")), QStringLiteral("10"));
        QCOMPARE(rows.value(QStringLiteral("Chain/Launched by")), QStringLiteral("cudaLaunchKernel"));
        QCOMPARE(rows.value(QStringLiteral("Arguments/grid")), QStringLiteral("[8,1,1]"));
        QCOMPARE(rows.value(QStringLiteral("Arguments/occupancy.achieved")), QStringLiteral("0.5"));
        QCOMPARE(rows.value(QStringLiteral("Arguments/big")), QStringLiteral("9007199254740993"));
        QVERIFY(launch == test::find_span(*capture_, "cudaLaunchKernel"));

        PropertyModel model;
        QAbstractItemModelTester tester(&model, QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.set_groups(std::move(details->groups));
        QVERIFY(model.rowCount() >= 4);
        QVERIFY(!model.goes_to(model.index(0, 0)));
    }

    void an_unbound_kernel_says_so() {
        const auto details = read_span_details(*capture_, test::find_span(*capture_, "orphan"));
        QVERIFY(details);
        bool said = false;
        for (const DetailGroup& group : details->groups)
            for (const Detail& row : group.rows) said = said || row.value.contains(QStringLiteral("no launch"));
        QVERIFY(said);
        QVERIFY(!read_span_details(*capture_, SpanId{}));
    }

    void arguments_that_are_no_object_stand_as_they_are() {
        QVERIFY(json_rows({}).empty());
        QCOMPARE(json_rows("[1,2]").front().value, QStringLiteral("[1,2]"));
        QCOMPARE(json_rows("{broken").front().value, QStringLiteral("{broken"));
    }

private:
    QTemporaryDir dir_;
    std::shared_ptr<const LoadedCapture> capture_;
};

QTEST_MAIN(TestItemModels)
#include "tst_item_models.moc"
