// The import ledger as a tree: source → read, repaired, dropped, metadata, notes → reason → the first places it happened at.
#pragma once

#include <QAbstractItemModel>
#include <vector>

#include "views/session.h"

namespace faultline {

class LedgerModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Columns { what_column, count_column, code_column, column_count };

    explicit LedgerModel(QObject* parent = nullptr);
    void set_capture(const LoadedCapture* capture);

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& index) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    enum class Level { source, total, reason, place };
    struct Node {
        Level level;
        int parent;  ///< position in nodes_, -1 for a source
        int row;
        QString what, count, code;
        std::vector<int> children;
    };
    int add(Level level, int parent, const QString& what, const QString& count = {}, const QString& code = {});
    void add_reasons(int parent, const SourceLedger& ledger, LedgerOutcome outcome);

    std::vector<Node> nodes_;
    std::vector<int> roots_;
};

}  // namespace faultline
