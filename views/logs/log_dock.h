// The log dock: the lines of what is selected (a marked range, a request, a step) or the whole log, filtered by level and words.
//
// Both ways: moving through the lines moves the marker of the timeline, Enter centres it; moving the timeline marks the lines in sight and
// scrolls to them. Where there is nothing to show it says why and what to do.
#pragma once

#include <QTimer>
#include <QWidget>

#include "views/logs/log_model.h"
#include "views/session.h"

class QComboBox;
class QLabel;
class QLineEdit;
class QPushButton;
class QSplitter;
class QStackedLayout;
class QTableView;

namespace faultline {

class LogDetails;

class LogDock : public QWidget {
    Q_OBJECT
public:
    explicit LogDock(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] LogModel* model() const { return model_; }
    [[nodiscard]] QTableView* table() const { return table_; }
    [[nodiscard]] QLineEdit* search() const { return search_; }
    [[nodiscard]] QComboBox* level() const { return level_; }
    [[nodiscard]] QComboBox* scope() const { return scope_; }
    [[nodiscard]] QString empty_text() const;  ///< what stands there instead of the table; empty where the table is shown
    [[nodiscard]] QPushButton* empty_action() const { return action_; }
    [[nodiscard]] QPushButton* empty_second_action() const { return second_; }
    [[nodiscard]] QString title() const { return title_; }
    [[nodiscard]] LogDetails* details() const { return details_; }
    [[nodiscard]] QSize sizeHint() const override { return {900, 290}; }

Q_SIGNALS:
    void title_changed(const QString& title);
    void add_log_requested();

protected:
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    enum class Nothing { none, capture, logs, scope, filter };  ///< why there is nothing to show
    void build_head();
    QWidget* build_empty();
    void build_table();
    void show_capture();
    void show_scope();
    void show_range();
    void show_log();
    void apply_filter();
    void show_state();
    void show_nothing(Nothing why);
    void act();
    void widen();
    void take_current(const QModelIndex& current);
    void centre_on(const QModelIndex& index);
    void fit_columns();
    void show_details();
    [[nodiscard]] TimeRange asked_range() const;
    [[nodiscard]] LogScope shown_scope() const;

    Session* session_;
    LogModel* model_;
    QStackedLayout* stack_;
    QWidget* head_;
    QLabel* empty_ = nullptr;
    QPushButton* action_ = nullptr;
    QPushButton* second_ = nullptr;
    QLabel* scope_text_ = nullptr;
    QComboBox* scope_;
    QComboBox* level_;
    QLineEdit* search_;
    QTableView* table_;
    QSplitter* body_;
    LogDetails* details_;  ///< all of the chosen line, beside the table or, in a narrow dock, under it
    QTimer filter_timer_;
    QTimer follow_timer_;
    QString title_;
    Nothing nothing_ = Nothing::capture;
    bool fitted_ = false;     ///< table and details have their first sizes
    bool following_ = false;  ///< the table is being moved to the session's line
};

}  // namespace faultline
