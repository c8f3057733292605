// The call chain of a step as a tree: at its root the step with its own duration, under it what was recorded of it. Nodes are read from CallChain as they stand; only what is expanded is laid out.
#pragma once

#include <QAbstractItemModel>
#include <memory>
#include <unordered_map>
#include <vector>

#include "core/call_chain.h"
#include "views/session.h"

namespace faultline {

class ChainModel : public QAbstractItemModel {
    Q_OBJECT
public:
    enum Columns { name_column, duration_column, layer_column, start_column, place_column, column_count };

    explicit ChainModel(QObject* parent = nullptr);
    /// `capture` gives names and places and outlives the model's use of it.
    void set_chain(std::shared_ptr<const CallChain> chain, const LoadedCapture* capture);
    [[nodiscard]] int node_count() const { return chain_ ? static_cast<int>(chain_->nodes.size()) : 0; }
    [[nodiscard]] SpanId span_at(const QModelIndex& index) const;  ///< invalid for the root, which is the step itself
    [[nodiscard]] QModelIndex find(SpanId span) const;             ///< invalid where the chain does not hold it

    [[nodiscard]] QModelIndex index(int row, int column, const QModelIndex& parent = {}) const override;
    [[nodiscard]] QModelIndex parent(const QModelIndex& index) const override;
    [[nodiscard]] int rowCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] int columnCount(const QModelIndex& parent = {}) const override;
    [[nodiscard]] QVariant data(const QModelIndex& index, int role = Qt::DisplayRole) const override;
    [[nodiscard]] QVariant headerData(int section, Qt::Orientation orientation, int role = Qt::DisplayRole) const override;

private:
    [[nodiscard]] QString root_cell(int column) const;
    [[nodiscard]] QVariant root_data(const QModelIndex& index, int role) const;
    [[nodiscard]] QString full_name(const ChainNode& node) const;
    [[nodiscard]] QString cell(const ChainNode& node, int column) const;

    std::shared_ptr<const CallChain> chain_;
    const LoadedCapture* capture_ = nullptr;
    // Children of node n are children_[first_child_[n] … first_child_[n + 1]); n = 0 stands for the root, node i for i + 1.
    std::vector<std::uint32_t> first_child_, children_, row_;
    std::unordered_map<std::int64_t, std::uint32_t> by_span_;
};

}  // namespace faultline
