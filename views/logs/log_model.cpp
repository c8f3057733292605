#include "views/logs/log_model.h"

#include <QApplication>
#include <QPainter>
#include <QPixmap>
#include <algorithm>
#include <numeric>

#include "views/format.h"
#include "views/palette.h"

namespace faultline {

namespace {

/// A bar at the edge of the lines that lie in the view; an empty picture of the same size elsewhere, so that texts stay aligned.
QPixmap view_mark(bool inside) {
    QPixmap pixmap(8, 24);
    pixmap.setDevicePixelRatio(2);
    pixmap.fill(Qt::transparent);
    if (inside) QPainter(&pixmap).fillRect(QRectF(0, 0, 3, 12), chrome(is_dark(QApplication::palette())).accent);
    return pixmap;
}

QString first_line(const std::string& text) {
    const std::size_t end = text.find('\n');
    if (end == std::string::npos) return QString::fromStdString(text);
    const auto more = std::count(text.begin(), text.end(), '\n');
    return QString::fromUtf8(text.data(), static_cast<qsizetype>(end)) + QStringLiteral("  ⏎ ") + LogModel::tr("+%1 lines").arg(more);
}

}  // namespace

QString log_time_text(const LoadedCapture& capture, const LogLine& line) {
    if (!line.time) return QString(QChar(0x2013));
    const auto zero = capture.reader ? capture.reader->zero_wall_ns() : std::nullopt;
    std::int64_t wall = 0;
    if (!zero || __builtin_add_overflow(*zero, *line.time, &wall)) return time_text(*line.time);
    // "2024-05-01 14:03:07.118042 UTC+08:00": the clock, with as many decimals as the stamp had.
    const QString clock = wall_text(wall).section(QLatin1Char(' '), 1, 1);
    const int digits = line.resolution_ns >= 1'000'000'000 ? 0 : line.resolution_ns >= 1'000'000 ? 3 : 6;
    return clock.left(8 + (digits > 0 ? digits + 1 : 0));
}

LogModel::LogModel(QObject* parent) : QAbstractTableModel(parent) {}

void LogModel::set_lines(const LoadedCapture* capture, std::vector<ScopedLine> lines, bool grouped) {
    beginResetModel();
    grouped_ = grouped;
    capture_ = capture;
    lines_ = std::move(lines);
    show_filtered();
    endResetModel();
}

void LogModel::set_filter(LogFilter filter) {
    beginResetModel();
    filter_ = std::move(filter);
    show_filtered();
    endResetModel();
}

void LogModel::show_filtered() {
    shown_.clear();
    for (std::uint32_t i = 0; i < lines_.size(); ++i) {
        if (filter_.everything() || filter_.accepts(capture_->logs[lines_[i].position])) shown_.push_back(i);
    }
}

void LogModel::set_view(TimeRange view) {
    view_ = view;
    if (rowCount() > 0) Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, column_count - 1), {Qt::DecorationRole, Qt::ForegroundRole});
}

int LogModel::row_of(std::size_t position) const {
    const auto it = std::find_if(shown_.begin(), shown_.end(), [&](std::uint32_t i) { return lines_[i].position == position; });
    return it == shown_.end() ? -1 : static_cast<int>(it - shown_.begin());
}

int LogModel::first_row_in(TimeRange range) const {
    for (int row = 0; row < rowCount(); ++row) {
        const LogLine& l = line(row);
        if (l.time && *l.time + l.resolution_ns >= range.start && *l.time < range.end) return row;
    }
    return -1;
}

bool LogModel::in_view(int row) const {
    const LogLine& l = line(row);
    return l.time && *l.time + std::max<TimeNs>(l.resolution_ns, 1) > view_.start && *l.time < view_.end;
}

int LogModel::rowCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : static_cast<int>(shown_.size()); }
int LogModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : column_count; }

QString LogModel::cell(int row, int column) const {
    const LogLine& l = line(row);
    switch (column) {
        case time_column: return log_time_text(*capture_, l);
        case level_column: return l.level.empty() ? QString(QChar(0x2013)) : QString::fromStdString(l.level);
        case place_column: {
            if (l.rank) return tr("rank %1").arg(*l.rank);
            const Process* process = l.process && capture_->reader ? capture_->reader->process(*l.process) : nullptr;
            if (process == nullptr) return QString(QChar(0x2013));
            return process->name.empty() ? tr("pid %1").arg(process->pid) : QString::fromStdString(process->name);
        }
        case logger_column: return QString::fromStdString(l.logger);
        case method_column: return method_text(*capture_, scoped(row));
        case text_column: return first_line(l.text);
        default: return {};
    }
}

QString LogModel::tool_tip(int row, int column) const {
    const LogLine& l = line(row);
    if (column == time_column) {
        if (!l.time) return tr("The line has no time stamp");
        QString text = tr("%1 since zero of the capture").arg(time_text(*l.time));
        if (l.resolution_ns > 1) text += QLatin1Char('\n') + tr("its stamp counts in steps of %1").arg(duration_text(l.resolution_ns));
        return text;
    }
    if (column == method_column) {
        const ScopedLine& s = scoped(row);
        if (s.method == AlignMethod::none) return tr("It names no request and lies in no step");
        QString text = s.method == AlignMethod::request ? tr("It names request %1").arg(QString::fromStdString(l.request))
                                                        : tr("It was written at that time, as far as its clock can tell");
        if (s.distance_ns > 0) text += QLatin1Char('\n') + tr("%1 away").arg(duration_text(s.distance_ns));
        return text;
    }
    if (column == text_column) return QString::fromStdString(l.text).left(2'000);
    return column == logger_column ? QString::fromStdString(l.logger) : QString();
}

QVariant LogModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || capture_ == nullptr) return {};
    const int row = index.row();
    switch (role) {
        case Qt::DisplayRole: return cell(row, index.column());
        case Qt::ToolTipRole: return tool_tip(row, index.column());
        case kDividerRole: return grouped_ && row > 0 && scoped(row).method != scoped(row - 1).method;
        case Qt::DecorationRole:
            if (index.column() != time_column) return {};
            return view_mark(in_view(row));
        case Qt::FontRole: {
            if (index.column() != level_column || log_level(line(row)) < LogLevel::warning) return {};
            QFont bold = QApplication::font();
            bold.setBold(true);
            return bold;
        }
        case Qt::ForegroundRole: {
            const Chrome& colours = chrome(is_dark(QApplication::palette()));
            const LogLevel level = log_level(line(row));
            if (index.column() == level_column && level >= LogLevel::error) return colours.error;
            if (index.column() == level_column && level == LogLevel::warning) return colours.warning;
            if (!in_view(row)) return colours.muted;
            return {};
        }
        default: return {};
    }
}

QVariant LogModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole) return QVariant(Qt::AlignLeft | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    switch (section) {
        case time_column: return tr("Time");
        case level_column: return tr("Level");
        case place_column: return tr("Process");
        case logger_column: return tr("Logger");
        case method_column: return tr("Aligned");
        case text_column: return tr("Message");
        default: return {};
    }
}

}  // namespace faultline
