// The window: views around one Session, menus, docks. Wiring only; what is shown lives in views/, what is opened in CaptureOpener.
#pragma once

#include <QMainWindow>
#include <vector>

#include "app/settings.h"
#include "core/diagnosis.h"
#include "views/session.h"

class QDockWidget;
class QLabel;
class QStackedWidget;

namespace faultline {

class Actions;
class CaptureOpener;
class BannerStack;
class CentrePage;
class Inspector;
class LedgerView;
class LogDock;
class RooflineView;
class StatusLine;
class StepList;
class WelcomePage;

class MainWindow : public QMainWindow {
    Q_OBJECT
public:
    /// `sample` is the path of the sample; empty where there is none.
    explicit MainWindow(const QString& sample = {}, QWidget* parent = nullptr);
    ~MainWindow() override;

    void open_paths(const QStringList& paths);

    [[nodiscard]] Session* session() const { return session_; }
    [[nodiscard]] CaptureOpener* opener() const { return opener_; }
    [[nodiscard]] StepList* step_list() const { return steps_; }
    [[nodiscard]] Inspector* inspector() const { return inspector_; }
    [[nodiscard]] LedgerView* ledger() const { return ledger_; }
    [[nodiscard]] QDockWidget* ledger_dock() const { return ledger_dock_; }
    [[nodiscard]] LogDock* log() const { return log_; }
    [[nodiscard]] RooflineView* roofline() const { return roofline_; }
    [[nodiscard]] QDockWidget* log_dock() const { return log_dock_; }
    [[nodiscard]] QDockWidget* roofline_dock() const { return roofline_dock_; }
    [[nodiscard]] StatusLine* status_line() const { return status_; }
    [[nodiscard]] CentrePage* centre() const { return centre_; }
    [[nodiscard]] BannerStack* notices() const { return notices_; }  ///< over whatever page is shown: what could not be opened
    [[nodiscard]] Actions* actions() const { return actions_; }
    /// Opens a dock and brings it to the front.
    void show_ledger();
    void show_log();
    void show_roofline();

protected:
    void closeEvent(QCloseEvent* event) override;
    void changeEvent(QEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void build_docks();  ///< this and the docks' behaviour: main_window_docks.cpp
    void connect_docks();
    void show_followed(EvidenceKind kind);
    void take_dock_state();
    void build_centre();
    QDockWidget* add_dock(const QString& name, const QString& title, QWidget* view, Qt::DockWidgetArea area);
    void connect_files();
    void connect_edit();
    void connect_view();
    void connect_go();
    void connect_analysis();
    void connect_opener();
    void toggle_area(Qt::DockWidgetArea area, bool shown);
    void set_theme(Theme theme);
    void change_text_size(int points);
    void choose_to_open();
    void fill_recent();
    void show_opened(const QString& path);
    void remember_range();
    void zoom_to_selection();
    void choose_outlier(int direction);  ///< and says so where it begins again or there is none
    void follow_launch(bool outwards);
    void take_state();
    void restore_window();
    void remember_window();
    void reset_layout();

    Settings settings_;
    QString sample_;
    Session* session_;
    Actions* actions_;
    CaptureOpener* opener_;
    BannerStack* notices_ = nullptr;
    QStackedWidget* pages_ = nullptr;
    WelcomePage* welcome_ = nullptr;
    QLabel* loading_ = nullptr;
    CentrePage* centre_ = nullptr;
    StepList* steps_ = nullptr;
    Inspector* inspector_ = nullptr;
    LedgerView* ledger_ = nullptr;
    QDockWidget* steps_dock_ = nullptr;
    QDockWidget* inspector_dock_ = nullptr;
    QDockWidget* ledger_dock_ = nullptr;
    LogDock* log_ = nullptr;
    RooflineView* roofline_ = nullptr;
    QDockWidget* log_dock_ = nullptr;
    QDockWidget* roofline_dock_ = nullptr;
    std::vector<QDockWidget*> bottom_;  ///< docks of the bottom that "Bottom docks" brings back
    StatusLine* status_ = nullptr;
    QByteArray usual_layout_;
    bool layout_is_usual_ = false;   ///< nothing was remembered: the log shows itself where there is one
    QString left_out_;               ///< what was given beside the capture that is being opened
    bool show_ledger_next_ = false;  ///< the import that is being opened repaired or dropped something
};

}  // namespace faultline
