// The step list dock: outliers first, sort by any column, filter by text or to the outliers, choose with Enter or a click (which zooms
// to the step).
#pragma once

#include <QSortFilterProxyModel>
#include <QWidget>

#include "views/session.h"
#include "views/steps/step_table_model.h"

class QCheckBox;
class QLabel;
class QLineEdit;
class QStackedLayout;
class QPushButton;
class QTableView;

namespace faultline {

/// Text in any column, and outliers alone where asked.
class StepFilter : public QSortFilterProxyModel {
    Q_OBJECT
public:
    using QSortFilterProxyModel::QSortFilterProxyModel;
    void set_outliers_only(bool only);

protected:
    [[nodiscard]] bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    bool outliers_only_ = false;
};

class StepList : public QWidget {
    Q_OBJECT
public:
    enum class OutlierChoice { none, chosen, wrapped };
    explicit StepList(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] StepTableModel* model() const { return model_; }
    [[nodiscard]] QTableView* table() const { return table_; }
    [[nodiscard]] QLineEdit* search() const { return search_; }
    [[nodiscard]] QCheckBox* outliers_only() const { return outliers_only_; }
    [[nodiscard]] QString empty_text() const;  ///< what stands there instead of the table; empty where the table is shown

public Q_SLOTS:
    /// Chooses the next (+1) or previous (-1) step in the order shown.
    void choose_neighbour(int direction);
    /// Chooses the next worse (-1) or less bad (+1) outlier; the worst where none is chosen. Beyond the last it begins again.
    OutlierChoice choose_outlier(int direction);
    /// The worst outlier; empty where none is.
    [[nodiscard]] std::optional<StepId> worst() const;

    [[nodiscard]] QSize sizeHint() const override { return {440, 500}; }  ///< how wide its dock is at first

Q_SIGNALS:
    void fit_requested();  ///< there is no outlier: the plot that shows it

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void build_table();
    QWidget* build_body();
    void size_columns();
    void fit_columns();
    void show_counts();
    void show_capture();
    void show_selection();
    void choose(const QModelIndex& index);

    Session* session_;
    StepTableModel* model_;
    StepFilter* filter_;
    QStackedLayout* stack_;
    QLabel* empty_;
    QLabel* count_;
    QLineEdit* search_;
    QCheckBox* outliers_only_;
    QWidget* none_;  ///< over the table where no step is out of line
    QLabel* none_text_;
    QPushButton* fit_;
    QTableView* table_;
    bool columns_by_hand_ = false;  ///< a person has set the widths: they stay
    bool fitting_ = false;
};

}  // namespace faultline
