// The steps of a capture as a table. Qt::UserRole holds the value a column sorts by; kStepRole the step's id.
#pragma once

#include <QAbstractTableModel>

#include "views/session.h"

namespace faultline {

class StepTableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Columns {
        step_column,
        duration_column,
        busy_column,
        phase_column,
        tokens_column,
        batch_column,
        kernels_column,
        host_column,
        start_column,
        found_column,
        column_count
    };
    static constexpr int kSortRole = Qt::UserRole;
    static constexpr int kStepRole = Qt::UserRole + 1;

    explicit StepTableModel(QObject* parent = nullptr);
    /// `capture` outlives the model's use of it; null empties the table.
    void set_capture(const LoadedCapture* capture);
    [[nodiscard]] int row_of(StepId step) const;  ///< -1 where there is none

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    [[nodiscard]] QString cell(const Step& step, int column) const;
    [[nodiscard]] QVariant sort_value(const Step& step, int column) const;
    const LoadedCapture* capture_ = nullptr;
};

/// Share of the step in which its devices worked, 0…1 for each of its ranks; 0 for a step without length.
[[nodiscard]] double busy_share(const Step& step);

/// Why a capture has no steps, and what would give it some.
[[nodiscard]] QString no_steps_reason(const LoadedCapture& capture);

}  // namespace faultline
