#include "views/inspector/verdict_model.h"

#include <QApplication>
#include <QFont>
#include <QLocale>
#include <algorithm>

#include "views/format.h"
#include "views/inspector/verdict_words.h"
#include "views/palette.h"
#include "views/timeline/span_names.h"

namespace faultline {

VerdictModel::VerdictModel(QObject* parent) : QAbstractItemModel(parent) {}

void VerdictModel::add_sentences(const QString& title, const std::vector<std::string>& sentences) {
    if (sentences.empty()) return;
    Group group{title, {}};
    for (const std::string& sentence : sentences) group.rows.push_back({QString::fromStdString(sentence), {}, {}, std::nullopt});
    groups_.push_back(std::move(group));
}

void VerdictModel::set_diagnosis(const Diagnosis& diagnosis) {
    beginResetModel();
    groups_.clear();
    if (!diagnosis.suspects.empty()) {
        Group group{tr("Suspects"), {}};
        for (const Suspect& suspect : diagnosis.suspects) {
            QString text = short_name(SpanKind::kernel, suspect.name);
            if (suspect.rank) text += tr("  · rank %1").arg(*suspect.rank);
            if (!suspect.layer.empty()) text += QStringLiteral("  · ") + QString::fromStdString(suspect.layer);
            group.rows.push_back({text, QLocale().toString(suspect.score, 'f', 2), QString::fromStdString(suspect.name),
                                  VerdictLink{EvidenceKind::span, suspect.span.value, std::nullopt}});
        }
        groups_.push_back(std::move(group));
    }
    if (!diagnosis.evidence.empty()) {
        Group group{tr("Evidence"), {}};
        for (const Evidence& evidence : diagnosis.evidence)
            group.rows.push_back({QString::fromStdString(evidence.sentence),
                                  evidence.weight_ns > 0 ? duration_text(evidence.weight_ns) : QString(), evidence_kind_text(evidence.kind),
                                  VerdictLink{evidence.kind, evidence.id, evidence.start}});
        groups_.push_back(std::move(group));
    }
    add_sentences(tr("Ruled out"), diagnosis.ruled_out);
    add_sentences(tr("What to try next"), diagnosis.next);
    add_sentences(tr("What is missing"), diagnosis.missing);
    endResetModel();
}

void VerdictModel::clear() {
    beginResetModel();
    groups_.clear();
    endResetModel();
}

const VerdictModel::Row* VerdictModel::row(const QModelIndex& index) const {
    if (!index.isValid() || index.internalId() == 0) return nullptr;
    const Group& group = groups_[static_cast<std::size_t>(index.internalId() - 1)];
    return &group.rows[static_cast<std::size_t>(index.row())];
}

std::optional<VerdictLink> VerdictModel::link(const QModelIndex& index) const {
    const Row* found = row(index);
    return found == nullptr ? std::nullopt : found->link;
}

QModelIndex VerdictModel::group(const QString& title) const {
    for (std::size_t i = 0; i < groups_.size(); ++i) {
        if (groups_[i].title == title) return createIndex(static_cast<int>(i), 0, quintptr{0});
    }
    return {};
}

// A heading has the internal id 0, a row below it 1 + the number of its heading.
QModelIndex VerdictModel::index(int at, int column, const QModelIndex& parent) const {
    if (!hasIndex(at, column, parent)) return {};
    return createIndex(at, column, parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : quintptr{0});
}

QModelIndex VerdictModel::parent(const QModelIndex& index) const {
    if (!index.isValid() || index.internalId() == 0) return {};
    return createIndex(static_cast<int>(index.internalId()) - 1, 0, quintptr{0});
}

int VerdictModel::rowCount(const QModelIndex& parent) const {
    if (!parent.isValid()) return static_cast<int>(groups_.size());
    if (parent.internalId() != 0 || parent.column() > 0) return 0;
    return static_cast<int>(groups_[static_cast<std::size_t>(parent.row())].rows.size());
}

int VerdictModel::columnCount(const QModelIndex&) const { return column_count; }

QVariant VerdictModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Row* found = row(index);
    const Chrome& colours = chrome(is_dark(QApplication::palette()));
    if (found == nullptr) {
        if (index.column() != text_column) return {};
        if (role == Qt::DisplayRole) return groups_[static_cast<std::size_t>(index.row())].title;
        if (role == Qt::ForegroundRole) return colours.muted;
        if (role == Qt::FontRole) {
            QFont bold = QApplication::font();
            bold.setBold(true);
            return bold;
        }
        return {};
    }
    const bool leads = found->link.has_value() && index.column() == text_column;
    switch (role) {
        // The arrow says that a row leads somewhere, besides its colour.
        case Qt::DisplayRole:
            return index.column() == weight_column ? found->weight : leads ? QStringLiteral("→ ") + found->text : found->text;
        case Qt::AccessibleTextRole: return index.column() == weight_column ? found->weight : found->text;
        case Qt::ToolTipRole:
            if (index.column() == weight_column) return found->weight.isEmpty() ? QString() : tr("What this accounts for, beyond what is usual");
            return found->kind.isEmpty() ? found->text : found->text + QLatin1Char('\n') + found->kind;
        case Qt::ForegroundRole: return leads ? QVariant(QApplication::palette().color(QPalette::Link)) : QVariant();
        case Qt::TextAlignmentRole:
            return index.column() == weight_column ? QVariant(Qt::AlignRight | Qt::AlignTop) : QVariant(Qt::AlignLeft | Qt::AlignTop);
        default: return {};
    }
}

QVariant VerdictModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return section == text_column ? tr("Finding") : tr("Time");
}

}  // namespace faultline
