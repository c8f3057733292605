#include "views/steps/step_list.h"

#include <QApplication>
#include <QEvent>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QStackedLayout>
#include <QStyle>
#include <QTableView>
#include <QVBoxLayout>
#include <algorithm>

#include "views/empty_label.h"
#include "views/format.h"

namespace faultline {

StepList::StepList(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      model_(new StepTableModel(this)),
      filter_(new QSortFilterProxyModel(this)),
      stack_(new QStackedLayout(this)),
      empty_(empty_label(this)),
      count_(new QLabel(this)),
      search_(new QLineEdit(this)),
      table_(new QTableView(this)) {
    filter_->setSourceModel(model_);
    filter_->setSortRole(StepTableModel::kSortRole);
    filter_->setFilterCaseSensitivity(Qt::CaseInsensitive);
    filter_->setFilterKeyColumn(-1);
    search_->setPlaceholderText(tr("Filter steps"));
    search_->setAccessibleName(search_->placeholderText());
    search_->setClearButtonEnabled(true);
    const auto show_count = [this] {
        const int all = model_->rowCount();
        const int shown = filter_->rowCount();
        count_->setText(shown == all ? count_text(all) : tr("%1 of %2").arg(count_text(shown), count_text(all)));
    };
    connect(search_, &QLineEdit::textChanged, this, [this, show_count](const QString& text) {
        filter_->setFilterFixedString(text);
        show_count();
    });
    connect(filter_, &QAbstractItemModel::modelReset, this, show_count);
    count_->setForegroundRole(QPalette::PlaceholderText);

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
    table_->setTextElideMode(Qt::ElideMiddle);  // names of steps differ at their ends
    table_->verticalHeader()->hide();
    table_->horizontalHeader()->setHighlightSections(false);
    table_->horizontalHeader()->setSectionsMovable(true);
    connect(table_->horizontalHeader(), &QHeaderView::sectionResized, this, [this] {
        if (!fitting_ && QApplication::mouseButtons() != Qt::NoButton) columns_by_hand_ = true;
    });
    connect(table_, &QTableView::clicked, this, &StepList::choose);
    connect(table_, &QTableView::activated, this, &StepList::choose);

    auto* body = new QWidget(this);
    auto* head = new QHBoxLayout;
    head->setContentsMargins(10, 6, 12, 6);
    head->setSpacing(10);
    head->addWidget(search_, 1);
    head->addWidget(count_);
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(head);
    column->addWidget(table_, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(body);
    connect(session_, &Session::capture_changed, this, &StepList::show_capture);
    connect(session_, &Session::selection_changed, this, &StepList::show_selection);
    show_capture();
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
    table_->resizeColumnsToContents();
    table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 10);
    columns_by_hand_ = false;
    fit_columns();
}

void StepList::fit_columns() {
    if (columns_by_hand_) return;
    // The name takes what duration, share and phase leave of the width; the other columns are one scroll away.
    const QHeaderView* header = table_->horizontalHeader();
    const int rest = header->sectionSize(StepTableModel::duration_column) + header->sectionSize(StepTableModel::busy_column) +
                     header->sectionSize(StepTableModel::phase_column);
    const int room = width() - style()->pixelMetric(QStyle::PM_ScrollBarExtent, nullptr, table_) - 6;
    fitting_ = true;
    table_->setColumnWidth(StepTableModel::step_column, std::clamp(room - rest, 110, 420));
    fitting_ = false;
}

void StepList::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() != QEvent::FontChange && event->type() != QEvent::StyleChange) return;
    table_->verticalHeader()->setDefaultSectionSize(table_->fontMetrics().height() + 10);
    if (model_->rowCount() > 0 && !columns_by_hand_) {
        table_->resizeColumnsToContents();
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

}  // namespace faultline
