// The docks of the window: where they stand, what shows and hides them, what links lead to them.
#include <QAction>
#include <QDockWidget>
#include <QMenu>
#include <algorithm>

#include "app/actions.h"
#include "app/capture_opener.h"
#include "app/main_window.h"
#include "views/inspector/inspector.h"
#include "views/inspector/verdict_page.h"
#include "views/ledger/ledger_view.h"
#include "views/logs/log_dock.h"
#include "views/roofline/roofline_view.h"
#include "views/steps/step_list.h"

namespace faultline {

namespace {
constexpr int kLayoutVersion = 2;
}

QDockWidget* MainWindow::add_dock(const QString& name, const QString& title, QWidget* view, Qt::DockWidgetArea area) {
    auto* dock = new QDockWidget(title, this);
    dock->setObjectName(name);
    dock->setWidget(view);
    addDockWidget(area, dock);
    actions_->docks_menu->addAction(dock->toggleViewAction());
    connect(dock, &QDockWidget::visibilityChanged, this, &MainWindow::take_state);
    return dock;
}

void MainWindow::build_docks() {
    setCorner(Qt::BottomLeftCorner, Qt::LeftDockWidgetArea);
    setCorner(Qt::BottomRightCorner, Qt::RightDockWidgetArea);
    setTabPosition(Qt::BottomDockWidgetArea, QTabWidget::North);
    steps_ = new StepList(session_);
    inspector_ = new Inspector(session_);
    ledger_ = new LedgerView(session_);
    log_ = new LogDock(session_);
    roofline_ = new RooflineView(session_);
    steps_dock_ = add_dock(QStringLiteral("steps"), tr("Steps"), steps_, Qt::LeftDockWidgetArea);
    inspector_dock_ = add_dock(QStringLiteral("inspector"), tr("Inspector"), inspector_, Qt::RightDockWidgetArea);
    log_dock_ = add_dock(QStringLiteral("log"), log_->title(), log_, Qt::BottomDockWidgetArea);
    roofline_dock_ = add_dock(QStringLiteral("roofline"), tr("Roofline"), roofline_, Qt::BottomDockWidgetArea);
    ledger_dock_ = add_dock(QStringLiteral("ledger"), tr("Import ledger"), ledger_, Qt::BottomDockWidgetArea);
    tabifyDockWidget(log_dock_, roofline_dock_);
    tabifyDockWidget(roofline_dock_, ledger_dock_);
    bottom_ = {log_dock_, roofline_dock_, ledger_dock_};
    for (QDockWidget* dock : bottom_) dock->hide();
}

void MainWindow::connect_docks() {
    connect(log_, &LogDock::title_changed, log_dock_, &QDockWidget::setWindowTitle);
    connect(log_, &LogDock::add_log_requested, opener_, &CaptureOpener::add_log);
    connect(steps_, &StepList::fit_requested, this, &MainWindow::show_roofline);
    connect(inspector_->verdict_page(), &VerdictPage::followed, this, &MainWindow::show_followed);
}

void MainWindow::show_followed(EvidenceKind kind) {
    if (kind == EvidenceKind::log) show_log();
    if (kind == EvidenceKind::roofline) show_roofline();
}

void MainWindow::show_ledger() {
    ledger_dock_->show();
    ledger_dock_->raise();
}

void MainWindow::show_log() {
    log_dock_->show();
    log_dock_->raise();
}

void MainWindow::show_roofline() {
    roofline_dock_->show();
    roofline_dock_->raise();
}

void MainWindow::toggle_area(Qt::DockWidgetArea area, bool shown) {
    const QList<QDockWidget*> docks = findChildren<QDockWidget*>(Qt::FindDirectChildrenOnly);
    for (QDockWidget* dock : docks)
        if (dockWidgetArea(dock) == area && !dock->isFloating()) dock->setVisible(shown);
    // The first of the tabs in front: the log, unless it was moved away.
    if (shown && area == Qt::BottomDockWidgetArea) bottom_.front()->raise();
}

void MainWindow::take_dock_state() {
    if (bottom_.empty()) return;
    actions_->toggle_left->setChecked(!steps_dock_->isHidden());
    actions_->toggle_right->setChecked(!inspector_dock_->isHidden());
    actions_->toggle_bottom->setChecked(std::any_of(bottom_.begin(), bottom_.end(), [](const QDockWidget* d) { return !d->isHidden(); }));
}

void MainWindow::restore_window() {
    resize(1440, 900);
    resizeDocks({steps_dock_, inspector_dock_}, {steps_->sizeHint().width(), inspector_->sizeHint().width()}, Qt::Horizontal);
    usual_layout_ = saveState(kLayoutVersion);
    restoreGeometry(settings_.geometry());
    layout_is_usual_ = !restoreState(settings_.layout(), kLayoutVersion);
}

void MainWindow::remember_window() { settings_.set_window(saveGeometry(), saveState(kLayoutVersion)); }

void MainWindow::reset_layout() {
    settings_.forget_window();
    restoreState(usual_layout_, kLayoutVersion);
}

}  // namespace faultline
