#include "app/main_window.h"

#include <QApplication>
#include <QClipboard>
#include <QCloseEvent>
#include <QDockWidget>
#include <QFileDialog>
#include <QFileInfo>
#include <QLabel>
#include <QMenu>
#include <QMenuBar>
#include <QMimeData>
#include <QStackedWidget>
#include <QTableView>
#include <QToolBar>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>
#include <utility>

#include "app/actions.h"
#include "app/capture_opener.h"
#include "app/centre_page.h"
#include "app/help_dialogs.h"
#include "app/import_plan.h"
#include "app/status_line.h"
#include "core/simulated.h"
#include "views/banner.h"
#include "views/empty_label.h"
#include "views/icon.h"
#include "views/inspector/inspector.h"
#include "views/inspector/selection_page.h"
#include "views/logs/log_dock.h"
#include "views/roofline/roofline_plot.h"
#include "views/roofline/roofline_view.h"
#include "views/steps/step_list.h"
#include "views/welcome/welcome_page.h"

namespace faultline {

namespace {

QStringList local_files(const QMimeData* data) {
    QStringList paths;
    for (const QUrl& url : data->urls())
        if (url.isLocalFile()) paths += url.toLocalFile();
    return paths;
}

QString window_title(const LoadedCapture& capture) {
    const QString name = QFileInfo(QString::fromStdString(capture.path)).fileName();
    return is_simulated(capture.health) ? MainWindow::tr("%1 (simulated) – Faultline").arg(name) : MainWindow::tr("%1 – Faultline").arg(name);
}

}  // namespace

MainWindow::MainWindow(const QString& sample, QWidget* parent)
    : QMainWindow(parent),
      sample_(sample),
      session_(new Session(this)),
      actions_(new Actions(this)),
      opener_(new CaptureOpener(session_, this)) {
    setWindowTitle(tr("Faultline"));
    setWindowIcon(program_icon());
    setAcceptDrops(true);
    setDockNestingEnabled(true);
    actions_->fill(menuBar());
    auto* tools = addToolBar(tr("Tools"));
    tools->setObjectName(QStringLiteral("tools"));
    tools->setMovable(false);
    tools->setIconSize({18, 18});
    tools->setToolButtonStyle(Qt::ToolButtonTextBesideIcon);
    actions_->fill(tools);
    build_centre();
    build_docks();
    status_ = new StatusLine(session_, this);
    setStatusBar(status_);
    connect_files();
    connect_edit();
    connect_view();
    connect_go();
    connect_opener();
    connect_docks();
    connect_analysis();
    connect(session_, &Session::capture_changed, this, &MainWindow::take_state);
    connect(session_, &Session::range_changed, this, &MainWindow::take_state);
    connect(session_, &Session::selection_changed, this, &MainWindow::take_state);
    connect(session_, &Session::marked_changed, this, &MainWindow::take_state);
    connect(session_, &Session::log_changed, this, &MainWindow::take_state);
    restore_window();
    fill_recent();
    take_state();
}

MainWindow::~MainWindow() {
    // The docks hide as they go, and there is no window left then to take notice.
    for (QDockWidget* dock : {steps_dock_, inspector_dock_, ledger_dock_, log_dock_, roofline_dock_}) dock->disconnect(this);
}

void MainWindow::build_centre() {
    auto* middle = new QWidget(this);
    notices_ = new BannerStack(middle);
    pages_ = new QStackedWidget(middle);
    welcome_ = new WelcomePage(pages_);
    loading_ = empty_label(pages_);
    centre_ = new CentrePage(session_, pages_);
    pages_->addWidget(welcome_);
    pages_->addWidget(loading_);
    pages_->addWidget(centre_);
    auto* column = new QVBoxLayout(middle);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(notices_);
    column->addWidget(pages_, 1);
    setCentralWidget(middle);
    welcome_->set_sample_available(!sample_.isEmpty());
    connect(welcome_, &WelcomePage::open_requested, this, &MainWindow::choose_to_open);
    connect(welcome_, &WelcomePage::sample_requested, this, [this] { open_paths({sample_}); });
    connect(welcome_, &WelcomePage::help_requested, this, [this] { show_capture_help(this); });
    connect(welcome_, &WelcomePage::recent_requested, this, [this](const QString& path) { open_paths({path}); });
    welcome_->setFocus();
}

void MainWindow::open_paths(const QStringList& paths) {
    if (!paths.isEmpty()) opener_->open(paths);
}

void MainWindow::choose_to_open() {
    const QString folder = settings_.recent().isEmpty() ? QString() : QFileInfo(settings_.recent().front()).absolutePath();
    open_paths(QFileDialog::getOpenFileNames(this, tr("Open"), folder, open_filters()));
}

void MainWindow::connect_files() {
    connect(actions_->open, &QAction::triggered, this, &MainWindow::choose_to_open);
    connect(actions_->import, &QAction::triggered, this, [this] { opener_->import({}); });
    connect(actions_->sample, &QAction::triggered, this, [this] { open_paths({sample_}); });
    connect(actions_->close, &QAction::triggered, this, [this] {
        remember_range();
        session_->close_capture();
        pages_->setCurrentWidget(welcome_);
        welcome_->setFocus();
    });
    connect(actions_->quit, &QAction::triggered, this, &QWidget::close);
    connect(actions_->capture_help, &QAction::triggered, this, [this] { show_capture_help(this); });
    connect(actions_->keys, &QAction::triggered, this, [this] { show_keys(*actions_, this); });
    connect(actions_->about, &QAction::triggered, this, [this] { show_about(this); });
}

void MainWindow::connect_edit() {
    connect(actions_->copy_name, &QAction::triggered, this,
            [this] { QApplication::clipboard()->setText(inspector_->selection_page()->name()); });
    connect(actions_->clear_selection, &QAction::triggered, this, [this] {
        // The mark first, the selection and the log line with the next presses.
        if (session_->marked())
            session_->set_marked(std::nullopt);
        else if (session_->selected_span() || session_->selected_step() || session_->selected_request())
            session_->select_span(std::nullopt);
        else
            session_->select_log(std::nullopt);
    });
}

void MainWindow::connect_view() {
    connect(actions_->toggle_left, &QAction::triggered, this, [this](bool on) { toggle_area(Qt::LeftDockWidgetArea, on); });
    connect(actions_->toggle_right, &QAction::triggered, this, [this](bool on) { toggle_area(Qt::RightDockWidgetArea, on); });
    connect(actions_->toggle_bottom, &QAction::triggered, this, [this](bool on) { toggle_area(Qt::BottomDockWidgetArea, on); });
    connect(actions_->findings, &QAction::triggered, centre_, &CentrePage::show_findings);
    connect(actions_->larger, &QAction::triggered, this, [this] { change_text_size(settings_.text_size_change() + 1); });
    connect(actions_->smaller, &QAction::triggered, this, [this] { change_text_size(settings_.text_size_change() - 1); });
    connect(actions_->usual_size, &QAction::triggered, this, [this] { change_text_size(0); });
    connect(actions_->full_screen, &QAction::triggered, this,
            [this](bool on) { setWindowState(on ? windowState() | Qt::WindowFullScreen : windowState() & ~Qt::WindowFullScreen); });
    connect(actions_->reset_layout, &QAction::triggered, this, &MainWindow::reset_layout);
    connect(actions_->theme_system, &QAction::triggered, this, [this] { set_theme(Theme::system); });
    connect(actions_->theme_light, &QAction::triggered, this, [this] { set_theme(Theme::light); });
    connect(actions_->theme_dark, &QAction::triggered, this, [this] { set_theme(Theme::dark); });
    const Theme theme = settings_.theme();
    (theme == Theme::light  ? actions_->theme_light
     : theme == Theme::dark ? actions_->theme_dark
                            : actions_->theme_system)
        ->setChecked(true);
}

void MainWindow::connect_go() {
    connect(actions_->back, &QAction::triggered, session_, &Session::back);
    connect(actions_->forward, &QAction::triggered, session_, &Session::forward);
    connect(actions_->whole, &QAction::triggered, session_, &Session::show_all);
    connect(actions_->zoom_selection, &QAction::triggered, this, &MainWindow::zoom_to_selection);
    connect(actions_->next_step, &QAction::triggered, this, [this] { steps_->choose_neighbour(1); });
    connect(actions_->previous_step, &QAction::triggered, this, [this] { steps_->choose_neighbour(-1); });
    connect(actions_->to_launch, &QAction::triggered, this, [this] { follow_launch(true); });
    connect(actions_->to_launched, &QAction::triggered, this, [this] { follow_launch(false); });
}

void MainWindow::connect_analysis() {
    connect(actions_->next_outlier, &QAction::triggered, this, [this] { choose_outlier(1); });
    connect(actions_->previous_outlier, &QAction::triggered, this, [this] { choose_outlier(-1); });
    connect(actions_->diagnose, &QAction::triggered, this, [this] {
        inspector_dock_->show();
        inspector_dock_->raise();
        inspector_->show_verdict();
    });
    connect(actions_->show_log, &QAction::triggered, this, [this] {
        show_log();
        log_->table()->setFocus();
    });
    connect(actions_->show_roofline, &QAction::triggered, this, [this] {
        show_roofline();
        roofline_->plot()->setFocus();
    });
}

void MainWindow::choose_outlier(int direction) {
    constexpr int kSeconds = 6'000;
    status_->clearMessage();
    switch (steps_->choose_outlier(direction)) {
        case StepList::OutlierChoice::chosen: break;
        case StepList::OutlierChoice::wrapped:
            status_->showMessage(direction > 0 ? tr("First outlier again") : tr("Last outlier again"), kSeconds);
            break;
        case StepList::OutlierChoice::none:
            status_->showMessage(steps_->model()->judged() ? tr("No step is out of line") : tr("The steps of this capture were not judged"),
                                 kSeconds);
            break;
    }
}

void MainWindow::connect_opener() {
    connect(opener_, &CaptureOpener::loading_started, this, [this](const QString& path) {
        remember_range();
        notices_->clear();
        loading_->setText(tr("Opening %1…").arg(QFileInfo(path).fileName()));
        pages_->setCurrentWidget(loading_);
    });
    connect(opener_, &CaptureOpener::loaded, this, &MainWindow::show_opened);
    connect(opener_, &CaptureOpener::failed, this, [this](const Error& error, const QString& path) {
        // The error stands over what was shown before.
        pages_->setCurrentWidget(session_->capture() != nullptr ? static_cast<QWidget*>(centre_) : welcome_);
        notices_->add(error, path);
        show_ledger_next_ = false;
    });
    connect(opener_, &CaptureOpener::left_out, this, [this](const QString& sentence) { left_out_ = sentence; });
    connect(opener_, &CaptureOpener::imported, this,
            [this](const ImportSummary& summary) { show_ledger_next_ = summary.ledger.repaired > 0 || summary.ledger.dropped > 0; });
}

void MainWindow::show_opened(const QString& path) {
    settings_.add_recent(path);
    fill_recent();
    pages_->setCurrentWidget(centre_);
    const TimeRange last = settings_.last_range(path);
    if (!last.empty()) session_->set_range(last);  // else the whole capture; N goes to the worst step
    if (!left_out_.isEmpty()) notices_->add(Severity::info, std::exchange(left_out_, {}));
    if (layout_is_usual_ && !session_->capture()->logs.empty()) show_log();
    if (show_ledger_next_) show_ledger();
    show_ledger_next_ = false;
    centre_->setFocus();
}

void MainWindow::remember_range() {
    if (session_->capture() != nullptr) settings_.set_last_range(QString::fromStdString(session_->capture()->path), session_->range());
}

void MainWindow::fill_recent() {
    const QStringList recent = settings_.recent();
    welcome_->set_recent(recent);
    QMenu* menu = actions_->recent_menu;
    menu->clear();
    for (const QString& path : recent) {
        // An ampersand in a file name is no mnemonic.
        QString text = path;
        menu->addAction(text.replace(QLatin1Char('&'), QStringLiteral("&&")), this, [this, path] { open_paths({path}); });
    }
    menu->setEnabled(!recent.isEmpty());
    if (recent.isEmpty()) return;
    menu->addSeparator();
    menu->addAction(tr("Forget these"), this, [this] {
        settings_.clear_recent();
        fill_recent();
    });
}

void MainWindow::set_theme(Theme theme) {
    settings_.set_theme(theme);
    apply_theme(*qApp, theme);
}

void MainWindow::change_text_size(int points) {
    settings_.set_text_size_change(points);
    apply_text_size(*qApp, settings_.text_size_change());
}

void MainWindow::zoom_to_selection() {
    std::optional<TimeRange> range = session_->marked();
    if (session_->selected_span()) range = session_->span_time(*session_->selected_span());
    if (const auto request = session_->selected_request())
        range = request_range(*session_->capture(), session_->capture()->requests[*request]);
    if (!range) {
        if (session_->selected_step()) session_->select_step(session_->selected_step());
        return;
    }
    const TimeNs margin = std::max<TimeNs>(range->duration() / 10, 1);
    session_->set_range({range->start - margin, range->end + margin});
}

void MainWindow::follow_launch(bool outwards) {
    if (session_->capture() == nullptr || !session_->selected_span()) return;
    const SpanId span = *session_->selected_span();
    const SpanChain& lit = session_->lit();
    std::optional<SpanId> next;
    if (!outwards) {
        if (!lit.launched.empty()) next = lit.launched.front();
    } else {
        // The chain ends with the span itself; what stands before it is its launch or what encloses it.
        for (const SpanId id : lit.ancestors)
            if (id != span) next = id;
    }
    if (!next || *next == span) return;
    session_->select_span(*next);
    session_->reveal(*next);
}

void MainWindow::take_state() {
    const bool open = session_->capture() != nullptr;
    const bool selected = session_->selected_span().has_value();
    const bool chosen = session_->selected_step().has_value();
    const bool request = session_->selected_request().has_value();
    const bool marked = session_->marked().has_value();
    actions_->close->setEnabled(open);
    actions_->sample->setEnabled(!sample_.isEmpty());
    actions_->copy_name->setEnabled(selected || chosen);
    actions_->clear_selection->setEnabled(selected || chosen || request || marked || session_->selected_log().has_value());
    actions_->findings->setEnabled(open && !session_->capture()->health.empty());
    actions_->back->setEnabled(session_->can_go_back());
    actions_->forward->setEnabled(session_->can_go_forward());
    actions_->whole->setEnabled(open);
    actions_->zoom_selection->setEnabled(selected || chosen || request || marked);
    for (QAction* action : {actions_->next_step, actions_->previous_step}) action->setEnabled(open && !session_->capture()->steps.empty());
    for (QAction* action : {actions_->to_launch, actions_->to_launched}) action->setEnabled(selected);
    for (QAction* action : {actions_->next_outlier, actions_->previous_outlier})
        action->setEnabled(open && !session_->capture()->steps.empty());  // where none is out of line the status bar says so
    actions_->diagnose->setEnabled(chosen);
    take_dock_state();
    setWindowTitle(open ? window_title(*session_->capture()) : tr("Faultline"));
}

void MainWindow::closeEvent(QCloseEvent* event) {
    remember_range();
    remember_window();
    QMainWindow::closeEvent(event);
}

void MainWindow::changeEvent(QEvent* event) {
    QMainWindow::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) actions_->take_icons();
    if (event->type() == QEvent::WindowStateChange) actions_->full_screen->setChecked(isFullScreen());
}

void MainWindow::dragEnterEvent(QDragEnterEvent* event) {
    const QStringList files = local_files(event->mimeData());
    if (files.isEmpty()) return;
    event->acceptProposedAction();
    status_->showMessage(files.size() == 1 ? tr("Drop to open %1").arg(QFileInfo(files.front()).fileName())
                                           : tr("Drop to open %1 files").arg(files.size()));
}

void MainWindow::dragLeaveEvent(QDragLeaveEvent* event) {
    status_->clearMessage();
    QMainWindow::dragLeaveEvent(event);
}

void MainWindow::dropEvent(QDropEvent* event) {
    event->acceptProposedAction();
    status_->clearMessage();
    open_paths(local_files(event->mimeData()));
}

}  // namespace faultline
