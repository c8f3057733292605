#include "views/steps/step_table_model.h"

#include <QApplication>
#include <QCoreApplication>
#include <QFont>
#include <QLocale>
#include <QPainter>
#include <QPixmap>
#include <algorithm>

#include "views/format.h"
#include "views/palette.h"
#include "views/timeline/span_names.h"

namespace faultline {

namespace {

bool in_words(int column) {
    return column == StepTableModel::step_column || column == StepTableModel::phase_column || column == StepTableModel::found_column ||
           column == StepTableModel::reasons_column || column == StepTableModel::bound_column;
}

constexpr int kBadge = 12;

/// A shape for each sort of outlier, so that none hangs on its colour: a triangle is slow, a diamond is another structure, bars are a
/// stall. What is in line has none.
QPixmap badge(const StepVerdict& verdict, bool stall) {
    QPixmap pixmap(kBadge * 2, kBadge * 2);
    pixmap.setDevicePixelRatio(2);
    pixmap.fill(Qt::transparent);
    if (!verdict.outlier && !stall) return pixmap;
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    const Chrome& colours = chrome(is_dark(QApplication::palette()));
    painter.setPen(Qt::NoPen);
    painter.setBrush((verdict.reasons & reason_slow) != 0 || stall ? colours.error : colours.warning);
    if (stall) {
        painter.drawRect(QRectF(2, 1.5, 3, 9));
        painter.drawRect(QRectF(7, 1.5, 3, 9));
    } else if ((verdict.reasons & reason_slow) != 0) {
        painter.drawPolygon(QPolygonF({{6, 1}, {11.5, 11}, {0.5, 11}}));
    } else {
        painter.drawPolygon(QPolygonF({{6, 0.5}, {11.5, 6}, {6, 11.5}, {0.5, 6}}));
    }
    return pixmap;
}

/// The id that commands take, then the name. An inferred step is often called after a Python frame, whose path says less than its function.
QString shown_name(const Step& step) {
    return QString::number(index_of(step.id)) + QStringLiteral(" · ") +
           short_name(step.inferred && step.name.find(".py(") != std::string::npos ? SpanKind::python : SpanKind::range, step.name);
}

}  // namespace

QString ratio_text(const std::optional<double>& ratio) {
    return ratio ? QStringLiteral("×") + QLocale().toString(*ratio, 'f', *ratio < 9.95 ? 2 : 0) : QString(QChar(0x2013));
}

QString reasons_text(std::uint32_t reasons) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("StepTableModel", text); };
    QStringList words;
    if ((reasons & reason_slow) != 0) words += tr("slow");
    if ((reasons & reason_structure) != 0) words += tr("other structure");
    if ((reasons & reason_contradiction) != 0) words += tr("contradiction");
    if ((reasons & reason_stall) != 0) words += tr("stall");
    if ((reasons & reason_slo) != 0) words += tr("over the limit");
    return words.join(QStringLiteral(", "));
}

QString bound_text(StepBound bound) {
    const auto tr = [](const char* text) { return QCoreApplication::translate("StepTableModel", text); };
    switch (bound) {
        case StepBound::cpu: return tr("CPU");
        case StepBound::gpu: return tr("GPU");
        case StepBound::communication: return tr("communication");
        case StepBound::balanced: return tr("balanced");
        case StepBound::unknown: break;
    }
    return tr("unknown");
}

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
    const std::uint32_t spans =
        kinds & ~((1u << static_cast<unsigned>(SpanKind::counter)) | (1u << static_cast<unsigned>(SpanKind::instant)));
    if (spans == 0 && !capture.logs.empty())
        return tr("No steps found: the capture holds a log and no trace. Import the log together with a trace of the same run.");
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

const StepVerdict* StepTableModel::verdict(std::size_t row) const {
    return row < capture_->verdicts.size() ? &capture_->verdicts[row] : nullptr;
}

QString StepTableModel::cell(std::size_t row, int column) const {
    const StepVerdict* judged = verdict(row);
    const QString nothing(QChar(0x2013));
    switch (column) {
        case ratio_column:
            if (judged == nullptr || capture_->steps[row].kind == StepKind::stall) return nothing;
            return judged->ratio || judged->outlier ? ratio_text(judged->ratio) : tr("not judged");
        case expected_column: return judged == nullptr || !judged->expected_ns ? nothing : duration_text(*judged->expected_ns);
        case reasons_column: return judged == nullptr ? QString() : reasons_text(judged->reasons);
        case bound_column: return judged == nullptr || judged->bound == StepBound::unknown ? nothing : bound_text(judged->bound);
        default: return step_cell(capture_->steps[row], column);
    }
}

QString StepTableModel::step_cell(const Step& step, int column) const {
    const bool stall = step.kind == StepKind::stall;
    switch (column) {
        case step_column:
            if (stall) return tr("%1 · stall").arg(index_of(step.id));
            // Among judged steps the name gives way to what is compared; it says no more than phase, tokens and batch do.
            if (!capture_->verdicts.empty() && step.phase != StepPhase::other && !step.inferred)
                return QString::number(index_of(step.id)) + QStringLiteral(" · ") + phase_text(step.phase);
            return shown_name(step);
        case phase_column: return stall ? QString(QChar(0x2013)) : phase_text(step.phase);
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

QVariant StepTableModel::sort_value(std::size_t row, int column) const {
    const auto number = [](const std::optional<std::int64_t>& n) { return QVariant::fromValue<qlonglong>(n.value_or(-1)); };
    const Step& step = capture_->steps[row];
    const StepVerdict* judged = verdict(row);
    switch (column) {
        case ratio_column: {
            // Stalls by their length, then outliers by how far they are out, then the rest: largest first is worst first.
            if (judged == nullptr) return -1.0;
            constexpr double kOutlier = 1e9;
            constexpr double kStall = 1e12;
            if (step.kind == StepKind::stall) return kStall + static_cast<double>(step.end - step.start) * 1e-6;
            return judged->ratio.value_or(0) + (judged->outlier ? kOutlier : 0);
        }
        case expected_column: return QVariant::fromValue<qlonglong>(judged != nullptr ? judged->expected_ns.value_or(-1) : -1);
        case step_column: return QVariant::fromValue<qlonglong>(index_of(step.id));
        case duration_column: return QVariant::fromValue<qlonglong>(step.end - step.start);
        case busy_column: return busy_share(step);
        case tokens_column: return number(step.tokens);
        case batch_column: return number(step.batch);
        case host_column: return QVariant::fromValue<qlonglong>(step.host_ns);
        case kernels_column: return QVariant::fromValue<qlonglong>(step.kernels);
        case start_column: return QVariant::fromValue<qlonglong>(step.start);
        default: return cell(row, column);
    }
}

QVariant StepTableModel::tool_tip(std::size_t row, int column) const {
    const Step& step = capture_->steps[row];
    const StepVerdict* judged = verdict(row);
    switch (column) {
        case ratio_column:
        case expected_column:
            if (judged == nullptr) return tr("This capture was not judged.");
            if (!judged->ratio && step.kind == StepKind::step) {
                const QString rule = QString::fromStdString(judged->rule);
                return rule.isEmpty() ? tr("Nothing to compare it with was found.") : tr("Nothing to compare it with: %1").arg(rule);
            }
            return tr("Duration over what is expected of a step of this instance, phase and number of tokens. Rule: %1")
                .arg(QString::fromStdString(judged->rule));
        case reasons_column: return judged == nullptr ? QVariant() : QString::fromStdString(judged->sentence);
        case bound_column: return tr("What the step waited for most of its time");
        case busy_column: return tr("Time in which the GPUs of the step worked (union of its device work) over its duration and ranks");
        case found_column:
            return step.inferred ? tr("Inferred from %1: the capture does not name its steps").arg(QString::fromStdString(step.dialect))
                                 : tr("Named by the capture (%1)").arg(QString::fromStdString(step.dialect));
        case step_column: {
            QString text = QString::fromStdString(step.name);
            if (judged != nullptr && judged->outlier)
                text += QLatin1Char('\n') + tr("Outlier: %1").arg(QString::fromStdString(judged->sentence));
            return text;
        }
        default: return {};
    }
}

QVariant StepTableModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid() || capture_ == nullptr) return {};
    const auto row = static_cast<std::size_t>(index.row());
    const Step& step = capture_->steps[row];
    const StepVerdict* judged = verdict(row);
    switch (role) {
        case Qt::DisplayRole: return cell(row, index.column());
        case kSortRole: return sort_value(row, index.column());
        case kStepRole: return QVariant::fromValue<qlonglong>(index_of(step.id));
        case kFilterRole:
            return index.column() == step_column ? cell(row, step_column) + QLatin1Char(' ') + QString::fromStdString(step.name)
                                                 : cell(row, index.column());
        case kOutlierRole: return judged != nullptr && judged->outlier;
        case Qt::ToolTipRole: return tool_tip(row, index.column());
        case Qt::DecorationRole:
            if (index.column() != step_column || judged == nullptr) return {};
            return badge(*judged, step.kind == StepKind::stall);
        case Qt::AccessibleTextRole:
            if (index.column() != step_column || judged == nullptr || !judged->outlier) return cell(row, index.column());
            return tr("outlier, %1").arg(cell(row, index.column()));
        case Qt::TextAlignmentRole:
            if (!in_words(index.column())) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
            return {};
        case Qt::FontRole: {
            const bool out = judged != nullptr && judged->outlier;
            if (index.column() != step_column || (!step.inferred && !out)) return {};
            QFont font = QApplication::font();
            font.setItalic(step.inferred);
            font.setBold(out);
            return font;
        }
        case Qt::ForegroundRole:
            if (index.column() == found_column) return chrome(is_dark(QApplication::palette())).muted;
            return {};
        default: return {};
    }
}

QVariant StepTableModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole) return QVariant((in_words(section) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    switch (section) {
        case step_column: return tr("Step");
        case phase_column: return tr("Phase");
        case ratio_column: return tr("Ratio");
        case duration_column: return tr("Duration");
        case expected_column: return tr("Expected");
        case reasons_column: return tr("Out of line");
        case bound_column: return tr("Bound by");
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
