// The "Selection" tab: what is selected on the timeline, every value of it, each one copyable.
#pragma once

#include <QWidget>

#include "views/inspector/property_model.h"
#include "views/session.h"

class QLabel;
class QPlainTextEdit;
class QStackedLayout;
class QToolButton;
class QTreeView;

namespace faultline {

class SelectionPage : public QWidget {
    Q_OBJECT
public:
    explicit SelectionPage(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] PropertyModel* model() const { return model_; }
    [[nodiscard]] QString name() const;

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void show_selection();
    void show_step(const Step& step);
    void show_request(const Request& request);
    void show_details(const QString& kind, const QColor& colour, const QString& name, std::vector<DetailGroup> groups);
    void follow(const QModelIndex& index);
    void copy_rows();
    void fit();  ///< heights and widths to what is shown

    Session* session_;
    PropertyModel* model_;
    QStackedLayout* stack_;
    QLabel* empty_;
    QLabel* kind_;
    QPlainTextEdit* name_;
    QToolButton* copy_name_;
    QTreeView* tree_;
};

}  // namespace faultline
