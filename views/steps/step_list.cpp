#include "views/steps/step_list.h"

#include <QApplication>
#include <QCheckBox>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStackedLayout>
#include <QStyle>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "views/empty_label.h"
#include "views/format.h"
#include "views/palette.h"

namespace faultline {

void StepFilter::set_outliers_only(bool only) {
    if (only == outliers_only_) return;
    outliers_only_ = only;
    invalidateFilter();
}

bool StepFilter::filterAcceptsRow(int row, const QModelIndex& parent) const {
    if (outliers_only_ && !sourceModel()->index(row, 0, parent).data(StepTableModel::kOutlierRole).toBool()) return false;
    return QSortFilterProxyModel::filterAcceptsRow(row, parent);
}

StepList::StepList(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      model_(new StepTableModel(this)),
      filter_(new StepFilter(this)),
      stack_(new QStackedLayout(this)),
      empty_(empty_label(this)),
      count_(new QLabel(this)),
      search_(new QLineEdit(this)),
      outliers_only_(new QCheckBox(this)),
      none_(new QWidget(this)),
      none_text_(empty_label(none_)),
      fit_(new QPushButton(tr("Show the fit"), none_)),
      table_(new QTableView(this)) {
    filter_->setSourceModel(model_);
    filter_->setSortRole(StepTableModel::kSortRole);
    filter_->setFilterCaseSensitivity(Qt::CaseInsensitive);
    filter_->setFilterKeyColumn(-1);
    filter_->setFilterRole(StepTableModel::kFilterRole);
    search_->setPlaceholderText(tr("Filter steps"));
    search_->setAccessibleName(search_->placeholderText());
    search_->setClearButtonEnabled(true);
    connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
        filter_->setFilterFixedString(text);
        show_counts();
    });
    connect(filter_, &QAbstractItemModel::modelReset, this, &StepList::show_counts);
    count_->setForegroundRole(QPalette::PlaceholderText);
    outliers_only_->setText(tr("Outliers"));
    outliers_only_->setToolTip(tr("Only the steps that are out of line"));
    connect(outliers_only_, &QCheckBox::toggled, this, [this](bool only) {
        filter_->set_outliers_only(only);
        show_counts();
    });
    connect(fit_, &QPushButton::clicked, this, &StepList::fit_requested);
    build_table();
    stack_->addWidget(empty_);
    stack_->addWidget(build_body());
    connect(session_, &Session::capture_changed, this, &StepList::show_capture);
    connect(session_, &Session::selection_changed, this, &StepList::show_selection);
    show_capture();
}

void StepList::build_table() {
    table_->setModel(filter_);
    table_->setAccessibleName(tr("Steps"));
    table_->setSelectionBehavior(QAbstractItemView::SelectRows);
    table_->setSelectionMode(QAbstractItemView::SingleSelection);
    table_->setSortingEnabled(true);
    table_->sortByColumn(StepTableModel::start_column, Qt::AscendingOrder);
    table_->setShowGrid(false);
    table_->setAlternatingRowColors(true);
    table_->setTabKeyNavigation(false);
    table_->setWordWrap(false);
    table_->setIconSize({12, 12});
    table_->setTextElideMode(Qt::ElideMiddle);  // names of steps differ at their ends
    table_->verticalHeader()->hide();
    table_->horizontalHeader()->setHighlightSections(false);
    table_->horizontalHeader()->setSectionsMovable(true);
    connect(table_->horizontalHeader(), &QHeaderView::sectionResized, this, [this] {
        if (!fitting_ && QApplication::mouseButtons() != Qt::NoButton) columns_by_hand_ = true;
    });
    connect(table_, &QTableView::clicked, this, &StepList::choose);
    connect(table_, &QTableView::activated, this, &StepList::choose);
}

QWidget* StepList::build_body() {
    auto* body = new QWidget(this);
    auto* head = new QHBoxLayout;
    head->setContentsMargins(10, 6, 12, 6);
    head->setSpacing(8);
    head->addWidget(search_, 1);
    head->addWidget(outliers_only_);
    head->addWidget(count_);
    auto* none = new QVBoxLayout(none_);
    none->addWidget(none_text_);
    none->addWidget(fit_, 0, Qt::AlignHCenter);
    none->addStretch(1);
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(head);
    column->addWidget(none_);
    column->addWidget(table_, 1);
    return body;
}

void StepList::show_counts() {
    const int all = model_->rowCount();
    const int shown = filter_->rowCount();
    count_->setText(shown == all ? count_text(all) : tr("%1 of %2").arg(count_text(shown), count_text(all)));
    const bool none = outliers_only_->isChecked() && !worst();
    none_->setVisible(none);
    table_->setVisible(!none);
    if (none) {
        none_text_->setText(model_->judged() ? tr("All %1 steps lie within what is expected of them.").arg(count_text(all))
                                             : tr("The steps of this capture were not judged. Import its sources again."));
        fit_->setVisible(model_->judged());
    }
}

QString StepList::empty_text() const { return stack_->currentIndex() == 0 ? empty_->text() : QString(); }

void StepList::show_capture() {
    search_->clear();
    model_->set_capture(session_->capture());
    if (model_->rowCount() == 0) {
        empty_->setText(session_->capture() == nullptr ? tr("Open a capture to list its steps.") : no_steps_reason(*session_->capture()));
        stack_->setCurrentIndex(0);
        return;
    }
    stack_->setCurrentIndex(1);
    const bool judged = model_->judged();
    outliers_only_->setVisible(judged);
    if (!judged) outliers_only_->setChecked(false);
    for (const int column :
         {StepTableModel::ratio_column, StepTableModel::expected_column, StepTableModel::reasons_column, StepTableModel::bound_column})
        table_->setColumnHidden(column, !judged);
    if (judged)
        table_->sortByColumn(StepTableModel::ratio_column, Qt::DescendingOrder);
    else
        table_->sortByColumn(StepTableModel::start_column, Qt::AscendingOrder);
    show_counts();
    size_columns();
    table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 10);
    columns_by_hand_ = false;
    fit_columns();
}

void StepList::size_columns() {
    fitting_ = true;
    table_->resizeColumnsToContents();
    const QFontMetrics font = table_->fontMetrics();
    const int figures = font.horizontalAdvance(QStringLiteral("888.8 ms")) + 24;
    for (const int column : {StepTableModel::duration_column, StepTableModel::expected_column})
        table_->setColumnWidth(column, std::max(figures, font.horizontalAdvance(tr("Expected")) + 20));
    // Room for the sort mark beside the word, and for the words where a step has no ratio.
    int ratio = font.horizontalAdvance(tr("Ratio")) + 44;
    const bool without = std::any_of(session_->capture()->verdicts.begin(), session_->capture()->verdicts.end(),
                                     [](const StepVerdict& v) { return !v.ratio && !v.outlier; });
    if (without) ratio = std::max(ratio, font.horizontalAdvance(StepTableModel::tr("not judged")) + 22);
    table_->setColumnWidth(StepTableModel::ratio_column, ratio);
    fitting_ = false;
}

void StepList::fit_columns() {
    if (columns_by_hand_) return;
    // The name takes what the next columns leave of the width, and never less than number and phase; the others are one scroll away.
    const QHeaderView* header = table_->horizontalHeader();
    const auto size = [header](int column) { return header->sectionSize(column); };
    const int rest = size(StepTableModel::duration_column) +
                     (model_->judged() ? size(StepTableModel::ratio_column) + size(StepTableModel::expected_column)
                                       : size(StepTableModel::busy_column) + size(StepTableModel::phase_column));
    const int room = width() - style()->pixelMetric(QStyle::PM_ScrollBarExtent, nullptr, table_) - 6;
    QFont bold = table_->font();
    bold.setBold(true);
    const int least = QFontMetrics(bold).horizontalAdvance(QString::number(model_->rowCount()) + QStringLiteral(" · ") +
                                                           phase_text(StepPhase::prefill)) +
                      table_->iconSize().width() + 44;  // margins around mark and text
    fitting_ = true;
    table_->setColumnWidth(StepTableModel::step_column, std::max(least, std::min(room - rest, 420)));
    fitting_ = false;
}

void StepList::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() != QEvent::FontChange && event->type() != QEvent::StyleChange) return;
    table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 10);
    if (model_->rowCount() > 0 && !columns_by_hand_) {
        size_columns();
        fit_columns();
    }
}

void StepList::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    fit_columns();
}

void StepList::show_selection() {
    if (session_->capture() == nullptr) return;
    const int row = session_->selected_step() ? model_->row_of(*session_->selected_step()) : -1;
    if (row < 0) {
        table_->clearSelection();
        return;
    }
    const QModelIndex at = filter_->mapFromSource(model_->index(row, 0));
    if (!at.isValid()) return;
    table_->selectRow(at.row());
    table_->scrollTo(at);
}

void StepList::choose(const QModelIndex& index) {
    if (index.isValid()) session_->select_step(StepId{index.data(StepTableModel::kStepRole).toLongLong()});
}

void StepList::choose_neighbour(int direction) {
    const int rows = filter_->rowCount();
    if (rows == 0) return;
    const int row = session_->selected_step() ? model_->row_of(*session_->selected_step()) : -1;
    const QModelIndex at = row < 0 ? QModelIndex() : filter_->mapFromSource(model_->index(row, 0));
    const int next = at.isValid() ? std::clamp(at.row() + direction, 0, rows - 1) : direction > 0 ? 0 : rows - 1;
    choose(filter_->index(next, 0));
}

std::optional<StepId> StepList::worst() const {
    const LoadedCapture* capture = session_->capture();
    if (capture == nullptr) return std::nullopt;
    const std::vector<std::size_t> order = outliers_worst_first(*capture);
    return order.empty() ? std::nullopt : std::optional(capture->steps[order.front()].id);
}

StepList::OutlierChoice StepList::choose_outlier(int direction) {
    const LoadedCapture* capture = session_->capture();
    if (capture == nullptr) return OutlierChoice::none;
    const std::vector<std::size_t> order = outliers_worst_first(*capture);
    if (order.empty()) return OutlierChoice::none;
    const auto at = std::find_if(order.begin(), order.end(),
                                 [&](std::size_t i) { return session_->selected_step() == std::optional(capture->steps[i].id); });
    const auto count = static_cast<std::ptrdiff_t>(order.size());
    const std::ptrdiff_t next = at == order.end() ? (direction > 0 ? 0 : count - 1) : at - order.begin() + direction;
    session_->select_step(capture->steps[order[static_cast<std::size_t>((next + count) % count)]].id);
    return next < 0 || next >= count ? OutlierChoice::wrapped : OutlierChoice::chosen;
}

}  // namespace faultline
