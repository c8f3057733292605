#include "views/inspector/chain_model.h"

#include <QApplication>
#include <QFont>

#include "views/format.h"
#include "views/inspector/span_details.h"
#include "views/palette.h"
#include "views/timeline/span_names.h"

namespace faultline {

namespace {
constexpr quintptr kRoot = ~quintptr{0};  ///< the internal id of the step; a node has its position
bool is_root(const QModelIndex& index) { return index.internalId() == kRoot; }
}  // namespace

ChainModel::ChainModel(QObject* parent) : QAbstractItemModel(parent) {}

void ChainModel::set_chain(std::shared_ptr<const CallChain> chain, const LoadedCapture* capture) {
    beginResetModel();
    chain_ = std::move(chain);
    capture_ = capture;
    first_child_.clear();
    children_.clear();
    row_.clear();
    by_span_.clear();
    if (chain_) {
        const auto n = static_cast<std::uint32_t>(chain_->nodes.size());
        const auto slot = [this](std::uint32_t i) { return static_cast<std::uint32_t>(chain_->nodes[i].parent + 1); };
        first_child_.assign(n + 2, 0);
        for (std::uint32_t i = 0; i < n; ++i) ++first_child_[slot(i) + 1];
        for (std::size_t i = 1; i < first_child_.size(); ++i) first_child_[i] += first_child_[i - 1];
        children_.resize(n);
        row_.resize(n);
        by_span_.reserve(n);
        std::vector<std::uint32_t> filled(n + 1, 0);
        for (std::uint32_t i = 0; i < n; ++i) {
            row_[i] = filled[slot(i)]++;
            children_[first_child_[slot(i)] + row_[i]] = i;
            by_span_.try_emplace(chain_->nodes[i].span.value, i);
        }
    }
    endResetModel();
}

SpanId ChainModel::span_at(const QModelIndex& index) const {
    return index.isValid() && !is_root(index) ? chain_->nodes[index.internalId()].span : SpanId{};
}

QModelIndex ChainModel::find(SpanId span) const {
    const auto it = by_span_.find(span.value);
    return it == by_span_.end() ? QModelIndex() : createIndex(static_cast<int>(row_[it->second]), 0, static_cast<quintptr>(it->second));
}

QModelIndex ChainModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent)) return {};
    if (!parent.isValid()) return createIndex(row, column, kRoot);
    const std::size_t slot = is_root(parent) ? 0 : parent.internalId() + 1;
    return createIndex(row, column, static_cast<quintptr>(children_[first_child_[slot] + static_cast<std::uint32_t>(row)]));
}

QModelIndex ChainModel::parent(const QModelIndex& index) const {
    if (!index.isValid() || is_root(index)) return {};
    const std::int64_t parent = chain_->nodes[index.internalId()].parent;
    if (parent < 0) return createIndex(0, 0, kRoot);
    return createIndex(static_cast<int>(row_[static_cast<std::size_t>(parent)]), 0, static_cast<quintptr>(parent));
}

int ChainModel::rowCount(const QModelIndex& parent) const {
    if (!chain_ || parent.column() > 0) return 0;
    if (!parent.isValid()) return chain_->nodes.empty() ? 0 : 1;
    const std::size_t slot = is_root(parent) ? 0 : parent.internalId() + 1;
    return static_cast<int>(first_child_[slot + 1] - first_child_[slot]);
}

int ChainModel::columnCount(const QModelIndex&) const { return column_count; }

QString ChainModel::full_name(const ChainNode& node) const {
    const auto name = capture_->reader->name(node.name);
    return QString::fromUtf8(name.data(), static_cast<qsizetype>(name.size()));
}

QString ChainModel::cell(const ChainNode& node, int column) const {
    switch (column) {
        case name_column: {
            return short_name(node.kind, capture_->reader->name(node.name));
        }
        case layer_column: return layer_text(node.layer, node.kind);
        case duration_column: return duration_text(node.duration);
        case start_column: return QLatin1Char('+') + duration_text(node.start - chain_->step.start);
        case place_column: {
            const Track* track = capture_->reader->track(node.track);
            return track != nullptr ? place_text(*capture_->reader, *track) : QString();
        }
        default: return {};
    }
}

QString ChainModel::root_cell(int column) const {
    const Step& step = chain_->step;
    switch (column) {
        case name_column:
            return tr("Step %1").arg(index_of(step.id)) +
                   (step.phase == StepPhase::other ? QString() : QStringLiteral(" · ") + phase_text(step.phase));
        case duration_column: return duration_text(step.end - step.start);
        case start_column: return QLatin1Char('+') + duration_text(0);
        default: return {};
    }
}

QVariant ChainModel::root_data(const QModelIndex& index, int role) const {
    switch (role) {
        case Qt::DisplayRole: return root_cell(index.column());
        case Qt::ToolTipRole:
            return index.column() == name_column     ? QString::fromStdString(chain_->step.name)
                   : index.column() == duration_column ? tr("From its first host span to the end of its last kernel or host span")
                                                       : QString();
        case Qt::TextAlignmentRole:
            if (index.column() == duration_column || index.column() == start_column) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
            return {};
        case Qt::FontRole: {
            QFont bold = QApplication::font();
            bold.setBold(true);
            return bold;
        }
        default: return {};
    }
}

QVariant ChainModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    if (is_root(index)) return root_data(index, role);
    const ChainNode& node = chain_->nodes[index.internalId()];
    switch (role) {
        case Qt::DisplayRole: return index.column() == name_column ? cell(node, name_column).simplified() : cell(node, index.column());
        case Qt::ToolTipRole: return index.column() == name_column ? full_name(node) : QVariant();
        case Qt::TextAlignmentRole:
            if (index.column() == duration_column || index.column() == start_column) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
            return {};
        case Qt::ForegroundRole:
            if (index.column() != name_column) return chrome(is_dark(QApplication::palette())).muted;
            return {};
        case Qt::DecorationRole:
            if (index.column() == name_column)
                return kind_colour(node.kind, node.layer == LayerClass::comm, is_dark(QApplication::palette()));
            return {};
        default: return {};
    }
}

QVariant ChainModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    switch (section) {
        case name_column: return tr("Name");
        case layer_column: return tr("Layer");
        case duration_column: return tr("Duration");
        case start_column: return tr("Start in step");
        case place_column: return tr("Where");
        default: return {};
    }
}

}  // namespace faultline
