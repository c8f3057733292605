// The items of a capture's step list as a table: steps and stalls, with what the analysis says of each. kSortRole holds the value that a
// column sorts by (outliers before the rest in the ratio column), kStepRole the item's id, kOutlierRole whether it is out of line.
#pragma once

#include <QAbstractTableModel>

#include "views/session.h"

namespace faultline {

class StepTableModel : public QAbstractTableModel {
    Q_OBJECT
public:
    enum Columns {
        step_column,
        ratio_column,
        duration_column,
        expected_column,
        reasons_column,
        bound_column,
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
    static constexpr int kOutlierRole = Qt::UserRole + 2;
    static constexpr int kFilterRole = Qt::UserRole + 3;  ///< what is searched: the whole name, else what is shown

    explicit StepTableModel(QObject* parent = nullptr);
    /// `capture` outlives the model's use of it; null empties the table.
    void set_capture(const LoadedCapture* capture);
    [[nodiscard]] int row_of(StepId step) const;  ///< -1 where there is none
    [[nodiscard]] bool judged() const { return capture_ != nullptr && !capture_->verdicts.empty(); }

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    [[nodiscard]] QString cell(std::size_t row, int column) const;
    [[nodiscard]] QString step_cell(const Step& step, int column) const;
    [[nodiscard]] QVariant sort_value(std::size_t row, int column) const;
    [[nodiscard]] QVariant tool_tip(std::size_t row, int column) const;
    [[nodiscard]] const StepVerdict* verdict(std::size_t row) const;
    const LoadedCapture* capture_ = nullptr;
};

/// "×3.4"; an en dash where there is nothing to compare with.
[[nodiscard]] QString ratio_text(const std::optional<double>& ratio);
/// "slow, structure" in the words of the window.
[[nodiscard]] QString reasons_text(std::uint32_t reasons);
[[nodiscard]] QString bound_text(StepBound bound);

/// Share of the step in which its devices worked, 0…1 for each of its ranks; 0 for a step without length.
[[nodiscard]] double busy_share(const Step& step);

/// Why a capture has no steps, and what would give it some.
[[nodiscard]] QString no_steps_reason(const LoadedCapture& capture);

}  // namespace faultline
