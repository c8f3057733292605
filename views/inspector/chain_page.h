// The "Chain" tab: the call chain of the chosen step, read off the GUI thread. Selecting a node selects its span, and the other way.
#pragma once

#include <QSortFilterProxyModel>
#include <QWidget>

#include "views/inspector/chain_model.h"
#include "views/job.h"
#include "views/session.h"

class QLabel;
class QLineEdit;
class QStackedLayout;
class QTreeView;

namespace faultline {

class ChainPage : public QWidget {
    Q_OBJECT
public:
    explicit ChainPage(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] ChainModel* model() const { return model_; }
    [[nodiscard]] QTreeView* tree() const { return tree_; }

protected:
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    void fit_columns();
    void take_selection();
    void load(const Step& step);
    void show_message(const QString& text);
    void show_node();

    Session* session_;
    Job job_;
    ChainModel* model_;
    QSortFilterProxyModel* filter_;
    QStackedLayout* stack_;
    QLabel* empty_;
    QLabel* head_;
    QLineEdit* search_;
    QTreeView* tree_;
    std::optional<StepId> shown_;  ///< the step whose chain is shown or being read
    bool following_ = false;       ///< the tree is being moved to the session's selection
};

}  // namespace faultline
