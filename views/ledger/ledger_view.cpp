#include "views/ledger/ledger_view.h"

#include <QAction>
#include <QApplication>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QStackedLayout>
#include <QTreeView>
#include <QVBoxLayout>
#include <functional>

#include "views/empty_label.h"

namespace faultline {

namespace {

QString row_text(const QModelIndex& index) {
    int depth = 0;
    for (QModelIndex p = index.parent(); p.isValid(); p = p.parent()) ++depth;
    return QString(depth * 2, QLatin1Char(' ')) + index.data().toString() + QLatin1Char('\t') +
           index.siblingAtColumn(LedgerModel::count_column).data().toString() + QLatin1Char('\t') +
           index.siblingAtColumn(LedgerModel::code_column).data().toString();
}

}  // namespace

LedgerView::LedgerView(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      model_(new LedgerModel(this)),
      filter_(new QSortFilterProxyModel(this)),
      stack_(new QStackedLayout(this)),
      empty_(empty_label(this)),
      search_(new QLineEdit(this)),
      tree_(new QTreeView(this)) {
    filter_->setSourceModel(model_);
    filter_->setRecursiveFilteringEnabled(true);
    filter_->setAutoAcceptChildRows(true);
    filter_->setFilterCaseSensitivity(Qt::CaseInsensitive);
    filter_->setFilterKeyColumn(-1);
    search_->setPlaceholderText(tr("Filter reasons and places"));
    search_->setAccessibleName(search_->placeholderText());
    search_->setClearButtonEnabled(true);
    connect(search_, &QLineEdit::textChanged, this, [this](const QString& text) {
        filter_->setFilterFixedString(text);
        if (text.isEmpty())
            expand_troubles();
        else
            tree_->expandAll();
    });
    auto* copy_all = new QPushButton(tr("Copy"), this);
    copy_all->setToolTip(tr("Copies the selected rows, or all of them"));
    connect(copy_all, &QPushButton::clicked, this, &LedgerView::copy);

    tree_->setModel(filter_);
    tree_->setAccessibleName(tr("Import ledger"));
    tree_->setUniformRowHeights(true);
    tree_->setAlternatingRowColors(true);
    tree_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    tree_->setTextElideMode(Qt::ElideMiddle);
    tree_->header()->setStretchLastSection(false);
    tree_->header()->setSectionResizeMode(LedgerModel::what_column, QHeaderView::Stretch);
    tree_->header()->resizeSection(LedgerModel::count_column, 110);
    tree_->header()->resizeSection(LedgerModel::code_column, 220);
    auto* copy_key = new QAction(tr("Copy"), tree_);
    copy_key->setShortcut(QKeySequence::Copy);
    copy_key->setShortcutContext(Qt::WidgetShortcut);
    connect(copy_key, &QAction::triggered, this, &LedgerView::copy);
    tree_->addAction(copy_key);
    tree_->setContextMenuPolicy(Qt::ActionsContextMenu);

    auto* body = new QWidget(this);
    auto* head = new QHBoxLayout;
    head->setContentsMargins(10, 6, 10, 6);
    head->addWidget(search_, 1);
    head->addWidget(copy_all);
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addLayout(head);
    column->addWidget(tree_, 1);
    stack_->addWidget(empty_);
    stack_->addWidget(body);
    connect(session_, &Session::capture_changed, this, &LedgerView::show_capture);
    show_capture();
}

void LedgerView::show_capture() {
    model_->set_capture(session_->capture());
    if (model_->rowCount() == 0) {
        empty_->setText(session_->capture() == nullptr ? tr("Open a capture to see what its import read, repaired and dropped.")
                                                       : tr("This capture holds no import ledger."));
        stack_->setCurrentIndex(0);
        return;
    }
    stack_->setCurrentIndex(1);
    expand_troubles();
}

void LedgerView::expand_troubles() {
    // Sources and what was repaired, dropped or noted are open; the places of each reason are one step away.
    tree_->collapseAll();
    tree_->expandToDepth(1);
}

void LedgerView::copy() {
    QStringList lines;
    const QModelIndexList chosen = tree_->selectionModel()->selectedRows();
    for (const QModelIndex& index : chosen) lines += row_text(index);
    if (chosen.isEmpty()) {
        const std::function<void(const QModelIndex&)> walk = [&](const QModelIndex& parent) {
            for (int row = 0; row < filter_->rowCount(parent); ++row) {
                const QModelIndex index = filter_->index(row, 0, parent);
                lines += row_text(index);
                walk(index);
            }
        };
        walk({});
    }
    QApplication::clipboard()->setText(lines.join(QLatin1Char('\n')));
}

}  // namespace faultline
