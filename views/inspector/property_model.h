// The details of a span as a tree of two levels: groups, and in them label and value.
#pragma once

#include <QAbstractItemModel>
#include <vector>

#include "views/inspector/span_details.h"

namespace faultline {

class PropertyModel : public QAbstractItemModel {
    Q_OBJECT
public:
    static constexpr int kTextRole = Qt::UserRole;  ///< the whole value, for copying

    explicit PropertyModel(QObject* parent = nullptr);
    void set_groups(std::vector<DetailGroup> groups);
    /// The span that an index leads to.
    [[nodiscard]] std::optional<SpanId> goes_to(const QModelIndex& index) const;

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& index) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    [[nodiscard]] const Detail* detail(const QModelIndex& index) const;
    std::vector<DetailGroup> groups_;
};

}  // namespace faultline
