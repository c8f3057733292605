#include "views/steps/step_table_model.h"

#include <QApplication>
#include <QCoreApplication>
#include <QFont>
#include <algorithm>

#include "views/format.h"
#include "views/palette.h"
#include "views/timeline/span_names.h"

namespace faultline {

namespace {

/// The id that commands take, then the name. An inferred step is often called after a Python frame, whose path says less than its function.
QString shown_name(const Step& step) {
    return QString::number(index_of(step.id)) + QStringLiteral(" · ") +
           short_name(step.inferred && step.name.find(".py(") != std::string::npos ? SpanKind::python : SpanKind::range, step.name);
}

}  // namespace

double busy_share(const Step& step) {
    const auto length = static_cast<double>(step.end - step.start);
    if (length <= 0) return 0;
    return static_cast<double>(step.kernel_busy_ns) / length / static_cast<double>(std::max<std::size_t>(step.ranks.size(), 1));
}

QString no_steps_reason(const LoadedCapture& capture) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("StepTableModel", text); };
    std::uint32_t kinds = 0;
    for (const Track& track : capture.reader->tracks())
        for (const Chunk& chunk : capture.reader->chunks(track.id)) kinds |= chunk.kind_mask;
    const auto has = [kinds](SpanKind kind) { return (kinds & (1u << static_cast<unsigned>(kind))) != 0; };
    if (kinds == 0) return tr("No steps found: the capture holds no spans at all. Look into the import ledger.");
    if (!has(SpanKind::kernel) && !has(SpanKind::runtime_call) && !has(SpanKind::driver_call) && !has(SpanKind::accelerator))
        return tr(
            "No steps found: the capture holds host activity only, no device work and no launches. "
            "Capture with the CUDA activity switched on.");
    if (!has(SpanKind::range) && !has(SpanKind::device_range) && !has(SpanKind::python))
        return tr(
            "No steps found: the capture holds no NVTX ranges, annotations or Python frames that name a step, "
            "and no launch that repeats. Capture with the engine's step annotations switched on (Help, How to capture).");
    return tr(
        "No steps found: none of the ranges in this capture is a step of an engine that is known here, and no launch repeats. "
        "Capture several steps, with the engine's step annotations switched on (Help, How to capture).");
}

StepTableModel::StepTableModel(QObject* parent) : QAbstractTableModel(parent) {}

void StepTableModel::set_capture(const LoadedCapture* capture) {
    beginResetModel();
    capture_ = capture;
    endResetModel();
}

int StepTableModel::row_of(StepId step) const {
    if (capture_ == nullptr) return -1;
    const Step* found = capture_->step(step);
    return found == nullptr ? -1 : static_cast<int>(found - capture_->steps.data());
}

int StepTableModel::rowCount(const QModelIndex& parent) const {
    return parent.isValid() || capture_ == nullptr ? 0 : static_cast<int>(capture_->steps.size());
}

int StepTableModel::columnCount(const QModelIndex& parent) const { return parent.isValid() ? 0 : column_count; }

QString StepTableModel::cell(const Step& step, int column) const {
    switch (column) {
        case step_column: return shown_name(step);
        case phase_column: return phase_text(step.phase);
        case duration_column: return duration_text(step.end - step.start);
        case busy_column: return step.kernels == 0 && step.kernel_busy_ns == 0 ? QString(QChar(0x2013)) : percent_text(busy_share(step));
        case tokens_column: return optional_text(step.tokens);
        case batch_column: return optional_text(step.batch);
        case host_column: return duration_text(step.host_ns);
        case kernels_column: return count_text(step.kernels);
        case start_column: return time_text(step.start);
        case found_column: return step.inferred ? tr("inferred") : tr("marked");
        default: return {};
    }
}

QVariant StepTableModel::sort_value(const Step& step, int column) const {
    const auto number = [](const std::optional<std::int64_t>& n) { return QVariant::fromValue<qlonglong>(n.value_or(-1)); };
    switch (column) {
        case step_column: return QVariant::fromValue<qlonglong>(index_of(step.id));
        case duration_column: return QVariant::fromValue<qlonglong>(step.end - step.start);
        case busy_column: return busy_share(step);
        case tokens_column: return number(step.tokens);
        case batch_column: return number(step.batch);
        case host_column: return QVariant::fromValue<qlonglong>(step.host_ns);
        case kernels_column: return QVariant::fromValue<qlonglong>(step.kernels);
        case start_column: return QVariant::fromValue<qlonglong>(step.start);
        default: return cell(step, column);
    }
}

QVariant StepTableModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || capture_ == nullptr) return {};
    const Step& step = capture_->steps[static_cast<std::size_t>(index.row())];
    switch (role) {
        case Qt::DisplayRole: return cell(step, index.column());
        case kSortRole: return sort_value(step, index.column());
        case kStepRole: return QVariant::fromValue<qlonglong>(index_of(step.id));
        case Qt::ToolTipRole:
            if (index.column() == busy_column)
                return tr("Time in which the GPUs of the step worked (union of its device work) over its duration and ranks");
            if (index.column() == found_column)
                return step.inferred ? tr("Inferred from %1: the capture does not name its steps").arg(QString::fromStdString(step.dialect))
                                     : tr("Named by the capture (%1)").arg(QString::fromStdString(step.dialect));
            return index.column() == step_column ? QString::fromStdString(step.name) : QVariant();
        case Qt::TextAlignmentRole:
            if (index.column() != step_column && index.column() != phase_column && index.column() != found_column)
                return QVariant(Qt::AlignRight | Qt::AlignVCenter);
            return {};
        case Qt::FontRole: {
            if (!step.inferred || index.column() != step_column) return {};
            QFont slanted = QApplication::font();
            slanted.setItalic(true);
            return slanted;
        }
        case Qt::ForegroundRole:
            if (index.column() == found_column) return chrome(is_dark(QApplication::palette())).muted;
            return {};
        default: return {};
    }
}

QVariant StepTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    const bool words = section == step_column || section == phase_column || section == found_column;
    if (role == Qt::TextAlignmentRole) return QVariant((words ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    switch (section) {
        case step_column: return tr("Step");
        case phase_column: return tr("Phase");
        case duration_column: return tr("Duration");
        case busy_column: return tr("GPU busy");
        case tokens_column: return tr("Tokens");
        case batch_column: return tr("Batch");
        case host_column: return tr("Host");
        case kernels_column: return tr("Kernels");
        case start_column: return tr("Start");
        case found_column: return tr("Found");
        default: return {};
    }
}

}  // namespace faultline
