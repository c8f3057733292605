#include "views/ledger/ledger_model.h"

#include <QApplication>
#include <QFont>

#include "views/format.h"
#include "views/palette.h"

namespace faultline {

LedgerModel::LedgerModel(QObject* parent) : QAbstractItemModel(parent) {}

int LedgerModel::add(Level level, int parent, const QString& what, const QString& count, const QString& code) {
    const int at = static_cast<int>(nodes_.size());
    auto& siblings = parent < 0 ? roots_ : nodes_[static_cast<std::size_t>(parent)].children;
    const int row = static_cast<int>(siblings.size());
    siblings.push_back(at);
    nodes_.push_back({level, parent, row, what, count, code, {}});
    return at;
}

void LedgerModel::add_reasons(int parent, const SourceLedger& ledger, LedgerOutcome outcome) {
    for (const LedgerEntry& entry : ledger.entries) {
        if (entry.outcome != outcome) continue;
        const int reason = add(Level::reason, parent, QString::fromStdString(entry.sentence),
                               count_text(static_cast<std::int64_t>(entry.count)), QString::fromStdString(entry.code));
        for (const std::string& place : entry.samples) add(Level::place, reason, QString::fromStdString(place));
        const auto shown = static_cast<std::uint64_t>(entry.samples.size());
        if (shown > 0 && shown < entry.count)
            add(Level::place, reason, tr("and %1 more").arg(count_text(static_cast<std::int64_t>(entry.count - shown))));
    }
}

void LedgerModel::set_capture(const LoadedCapture* capture) {
    beginResetModel();
    nodes_.clear();
    roots_.clear();
    if (capture != nullptr) {
        for (const SourceLedger& ledger : capture->ledger) {
            const Source* source = capture->reader ? capture->reader->source(ledger.source) : nullptr;
            const QString path = source != nullptr ? QString::fromStdString(source->path) : tr("source %1").arg(index_of(ledger.source));
            const auto count = [](std::uint64_t n) { return count_text(static_cast<std::int64_t>(n)); };
            const int root = add(Level::source, -1, path, count(ledger.totals.read + ledger.totals.dropped),
                                 source != nullptr ? QString::fromStdString(source->format) : QString());
            add(Level::total, root, tr("Read"), count(ledger.totals.read));
            add_reasons(add(Level::total, root, tr("Repaired (part of read)"), count(ledger.totals.repaired)), ledger,
                        LedgerOutcome::repaired);
            add_reasons(add(Level::total, root, tr("Dropped"), count(ledger.totals.dropped)), ledger, LedgerOutcome::dropped);
            add(Level::total, root, tr("Metadata (records that only name things)"), count(ledger.totals.metadata));
            const int notes = add(Level::total, root, tr("Notes"));
            add_reasons(notes, ledger, LedgerOutcome::note);
            auto& node = nodes_[static_cast<std::size_t>(notes)];
            node.count = count(node.children.size());
        }
    }
    endResetModel();
}

QModelIndex LedgerModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent)) return {};
    const auto& siblings = parent.isValid() ? nodes_[parent.internalId()].children : roots_;
    return createIndex(row, column, static_cast<quintptr>(siblings[static_cast<std::size_t>(row)]));
}

QModelIndex LedgerModel::parent(const QModelIndex& index) const {
    if (!index.isValid()) return {};
    const int parent = nodes_[index.internalId()].parent;
    return parent < 0 ? QModelIndex() : createIndex(nodes_[static_cast<std::size_t>(parent)].row, 0, static_cast<quintptr>(parent));
}

int LedgerModel::rowCount(const QModelIndex& parent) const {
    if (parent.column() > 0) return 0;
    return static_cast<int>((parent.isValid() ? nodes_[parent.internalId()].children : roots_).size());
}

int LedgerModel::columnCount(const QModelIndex&) const { return column_count; }

QVariant LedgerModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Node& node = nodes_[index.internalId()];
    switch (role) {
        case Qt::DisplayRole:
        case Qt::ToolTipRole:
            if (index.column() == what_column) return node.what;
            if (role == Qt::ToolTipRole) return {};
            return index.column() == count_column ? node.count : node.code;
        case Qt::TextAlignmentRole:
            if (index.column() == count_column) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
            return {};
        case Qt::FontRole: {
            if (node.level != Level::source || index.column() != what_column) return {};
            QFont bold = QApplication::font();
            bold.setBold(true);
            return bold;
        }
        case Qt::ForegroundRole:
            if (index.column() == code_column || node.level == Level::place) return chrome(is_dark(QApplication::palette())).muted;
            return {};
        default: return {};
    }
}

QVariant LedgerModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal) return {};
    if (role == Qt::TextAlignmentRole && section == count_column) return QVariant(Qt::AlignRight | Qt::AlignVCenter);
    if (role != Qt::DisplayRole) return {};
    switch (section) {
        case what_column: return tr("What happened");
        case count_column: return tr("Records");
        case code_column: return tr("Code");
        default: return {};
    }
}

}  // namespace faultline
