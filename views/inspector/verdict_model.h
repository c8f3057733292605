// A diagnosis as a tree of two levels: suspects, evidence, what was ruled out, what to try next, what is missing; and where each row leads.
#pragma once

#include <QAbstractItemModel>
#include <QString>
#include <optional>
#include <vector>

#include "core/diagnosis.h"

namespace faultline {

/// Where a row of the verdict leads.
struct VerdictLink {
    EvidenceKind kind = EvidenceKind::span;
    std::int64_t id = 0;          ///< as Evidence::id
    std::optional<TimeNs> start;  ///< where to look
};

class VerdictModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Columns { text_column, weight_column, column_count };

    explicit VerdictModel(QObject* parent = nullptr);
    void set_diagnosis(const Diagnosis& diagnosis);
    void clear();
    /// Where an index leads; empty for headings and sentences without a place.
    [[nodiscard]] std::optional<VerdictLink> link(const QModelIndex& index) const;
    /// The heading's index by its words; invalid where the diagnosis has none.
    [[nodiscard]] QModelIndex group(const QString& title) const;

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& index) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    struct Row {
        QString text;
        QString weight;
        QString kind;  ///< in words, for the tool tip
        std::optional<VerdictLink> link;
    };
    struct Group {
        QString title;
        std::vector<Row> rows;
    };
    void add_sentences(const QString& title, const std::vector<std::string>& sentences);
    [[nodiscard]] const Row* row(const QModelIndex& index) const;
    std::vector<Group> groups_;
};

}  // namespace faultline
