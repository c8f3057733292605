#include "views/inspector/property_model.h"

#include <QApplication>
#include <QFont>

#include "views/palette.h"

namespace faultline {

// internalId is 0 for a group, and the group's row + 1 for a detail in it.

PropertyModel::PropertyModel(QObject* parent) : QAbstractItemModel(parent) {}

void PropertyModel::set_groups(std::vector<DetailGroup> groups) {
    beginResetModel();
    groups_ = std::move(groups);
    endResetModel();
}

const Detail* PropertyModel::detail(const QModelIndex& index) const {
    if (!index.isValid() || index.internalId() == 0) return nullptr;
    return &groups_[index.internalId() - 1].rows[static_cast<std::size_t>(index.row())];
}

std::optional<SpanId> PropertyModel::goes_to(const QModelIndex& index) const {
    const Detail* d = detail(index);
    return d != nullptr ? d->goes_to : std::nullopt;
}

QModelIndex PropertyModel::index(int row, int column, const QModelIndex& parent) const {
    if (!hasIndex(row, column, parent)) return {};
    return createIndex(row, column, parent.isValid() ? static_cast<quintptr>(parent.row()) + 1 : quintptr{0});
}

QModelIndex PropertyModel::parent(const QModelIndex& index) const {
    if (!index.isValid() || index.internalId() == 0) return {};
    return createIndex(static_cast<int>(index.internalId() - 1), 0, quintptr{0});
}

int PropertyModel::rowCount(const QModelIndex& parent) const {
    if (!parent.isValid()) return static_cast<int>(groups_.size());
    if (parent.internalId() != 0 || parent.column() != 0) return 0;
    return static_cast<int>(groups_[static_cast<std::size_t>(parent.row())].rows.size());
}

int PropertyModel::columnCount(const QModelIndex&) const { return 2; }

QVariant PropertyModel::data(const QModelIndex& index, int role) const {
    if (!index.isValid()) return {};
    const Detail* d = detail(index);
    if (d == nullptr) {
        if (index.column() != 0) return {};
        if (role == Qt::DisplayRole) return groups_[static_cast<std::size_t>(index.row())].title;
        if (role == Qt::FontRole) {
            QFont bold = QApplication::font();
            bold.setBold(true);
            return bold;
        }
        return {};
    }
    if (role == Qt::DisplayRole) {
        if (index.column() == 0) return d->label;
        // A line break would make a row of several lines; the whole text is in the tool tip and in what is copied.
        return d->goes_to ? QString(QChar(0x2192)) + QLatin1Char(' ') + d->value.simplified() : d->value.simplified();
    }
    if (role == kTextRole) return index.column() == 0 ? d->label : d->text();
    if (role == Qt::ToolTipRole) return index.column() == 0 ? d->label : d->goes_to ? tr("%1\nEnter selects it").arg(d->text()) : d->text();
    if (role == Qt::ForegroundRole) {
        const Chrome& c = chrome(is_dark(QApplication::palette()));
        if (index.column() == 0) return c.muted;
        if (d->goes_to) return c.accent;
    }
    return {};
}

QVariant PropertyModel::headerData(int section, Qt::Orientation orientation, int role) const {
    if (orientation != Qt::Horizontal || role != Qt::DisplayRole) return {};
    return section == 0 ? tr("Property") : tr("Value");
}

}  // namespace faultline
