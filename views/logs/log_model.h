// The lines of the log dock as a table: those of a scope that the filter lets through. Texts are made for the cells in sight alone, so a
// hundred thousand lines cost no more than a screenful.
#pragma once

#include <QAbstractTableModel>
#include <vector>

#include "views/logs/log_filter.h"
#include "views/logs/log_scope.h"

namespace faultline {

class LogModel : public QAbstractTableModel {
    Q_OBJECT
public:
    static constexpr int kDividerRole = Qt::UserRole;  ///< whether the row begins the lines that came by another method
    enum Columns { time_column, level_column, place_column, logger_column, method_column, text_column, column_count };

    explicit LogModel(QObject* parent = nullptr);
    /// `capture` outlives the model's use of it; null empties the table. `lines` are positions in its logs; `grouped` where those of one
    /// method stand together.
    void set_lines(const LoadedCapture* capture, std::vector<ScopedLine> lines, bool grouped = false);
    [[nodiscard]] const ScopedLine& scoped(int row) const { return lines_[shown_[static_cast<std::size_t>(row)]]; }
    void set_filter(LogFilter filter);
    /// Lines inside are marked and stand in the usual colour; the others are quieter.
    void set_view(TimeRange view);
    [[nodiscard]] int scope_size() const { return static_cast<int>(lines_.size()); }  ///< before the filter
    [[nodiscard]] const LoadedCapture* capture() const { return capture_; }
    [[nodiscard]] std::size_t position(int row) const { return lines_[shown_[static_cast<std::size_t>(row)]].position; }
    [[nodiscard]] int row_of(std::size_t position) const;  ///< -1 where it is not shown
    /// The first row whose line lies in the range; -1 where there is none.
    [[nodiscard]] int first_row_in(TimeRange range) const;
    [[nodiscard]] bool in_view(int row) const;

    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    [[nodiscard]] const LogLine& line(int row) const { return capture_->logs[scoped(row).position]; }
    [[nodiscard]] QString cell(int row, int column) const;
    [[nodiscard]] QString tool_tip(int row, int column) const;
    void show_filtered();

    const LoadedCapture* capture_ = nullptr;
    std::vector<ScopedLine> lines_;
    std::vector<std::uint32_t> shown_;  ///< positions in lines_
    LogFilter filter_;
    TimeRange view_;
    bool grouped_ = false;
};

/// When a line was written: the wall clock where the capture knows it, in the precision of the line; else the time since zero.
[[nodiscard]] QString log_time_text(const LoadedCapture& capture, const LogLine& line);

}  // namespace faultline
