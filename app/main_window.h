// The window: views around one Session, menus, docks. Wiring only; what is shown lives in views/, what is opened in CaptureOpener.
#pragma once

#include <QMainWindow>

#include "app/settings.h"
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
    [[nodiscard]] StatusLine* status_line() const { return status_; }
    [[nodiscard]] CentrePage* centre() const { return centre_; }
    [[nodiscard]] BannerStack* notices() const { return notices_; }  ///< over whatever page is shown: what could not be opened
    [[nodiscard]] Actions* actions() const { return actions_; }
    /// Opens the ledger's dock and brings it to the front.
    void show_ledger();

protected:
    void closeEvent(QCloseEvent* event) override;
    void changeEvent(QEvent* event) override;
    void dragEnterEvent(QDragEnterEvent* event) override;
    void dragLeaveEvent(QDragLeaveEvent* event) override;
    void dropEvent(QDropEvent* event) override;

private:
    void build_docks();
    void build_centre();
    QDockWidget* add_dock(const QString& name, const QString& title, QWidget* view, Qt::DockWidgetArea area);
    void connect_files();
    void connect_edit();
    void connect_view();
    void connect_go();
    void connect_opener();
    void toggle_area(Qt::DockWidgetArea area, bool shown);
    void set_theme(Theme theme);
    void change_text_size(int points);
    void choose_to_open();
    void fill_recent();
    void show_opened(const QString& path);
    void remember_range();
    void zoom_to_selection();
    void follow_launch(bool outwards);
    void take_state();
    void restore_window();

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
    StatusLine* status_ = nullptr;
    QByteArray usual_layout_;
    QString left_out_;               ///< what was given beside the capture that is being opened
    bool show_ledger_next_ = false;  ///< the import that is being opened repaired or dropped something
};

}  // namespace faultline
