// The "Import ledger" dock: every record of every source accounted for; can be filtered and copied.
#pragma once

#include <QSortFilterProxyModel>
#include <QWidget>

#include "views/ledger/ledger_model.h"
#include "views/session.h"

class QLabel;
class QLineEdit;
class QStackedLayout;
class QTreeView;

namespace faultline {

class LedgerView : public QWidget {
    Q_OBJECT
public:
    explicit LedgerView(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] LedgerModel* model() const { return model_; }
    [[nodiscard]] QTreeView* tree() const { return tree_; }
    [[nodiscard]] QLineEdit* search() const { return search_; }

    [[nodiscard]] QSize sizeHint() const override { return {600, 230}; }  ///< how high its dock is at first

public Q_SLOTS:
    /// Copies the selected rows, or all that are shown, as tab-separated text.
    void copy();

private:
    void show_capture();
    void expand_troubles();

    Session* session_;
    LedgerModel* model_;
    QSortFilterProxyModel* filter_;
    QStackedLayout* stack_;
    QLabel* empty_;
    QLineEdit* search_;
    QTreeView* tree_;
};

}  // namespace faultline
