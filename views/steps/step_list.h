// The step list dock: sort by any column, filter by text, choose with Enter or a click (which zooms to the step).
#pragma once

#include <QSortFilterProxyModel>
#include <QWidget>

#include "views/session.h"
#include "views/steps/step_table_model.h"

class QLabel;
class QLineEdit;
class QStackedLayout;
class QTableView;

namespace faultline {

class StepList : public QWidget {
    Q_OBJECT
public:
    explicit StepList(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] StepTableModel* model() const { return model_; }
    [[nodiscard]] QTableView* table() const { return table_; }
    [[nodiscard]] QLineEdit* search() const { return search_; }
    [[nodiscard]] QString empty_text() const;  ///< what stands there instead of the table; empty where the table is shown

public Q_SLOTS:
    /// Chooses the next (+1) or previous (-1) step in the order shown.
    void choose_neighbour(int direction);

    [[nodiscard]] QSize sizeHint() const override { return {420, 500}; }  ///< how wide its dock is at first

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void fit_columns();
    void show_capture();
    void show_selection();
    void choose(const QModelIndex& index);

    Session* session_;
    StepTableModel* model_;
    QSortFilterProxyModel* filter_;
    QStackedLayout* stack_;
    QLabel* empty_;
    QLabel* count_;
    QLineEdit* search_;
    QTableView* table_;
    bool columns_by_hand_ = false;  ///< a person has set the widths: they stay
    bool fitting_ = false;
};

}  // namespace faultline
