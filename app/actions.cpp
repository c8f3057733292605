#include "app/actions.h"

#include <QActionGroup>
#include <QApplication>
#include <QMenu>
#include <QMenuBar>
#include <QToolBar>

#include "views/icon.h"

namespace faultline {

namespace {
// Not "icon": QAction has a property of that name.
constexpr const char* kIcon = "icon_name";
}  // namespace

Actions::Actions(QWidget* window) : QObject(window), window_(window) {
    open = add(tr("&Open…"), {QKeySequence::Open}, QStringLiteral("open"));
    import = add(tr("&Import…"), {QKeySequence(Qt::CTRL | Qt::Key_I)}, QStringLiteral("import"));
    sample = add(tr("Open the &sample"));
    close = add(tr("&Close the capture"), {QKeySequence(Qt::CTRL | Qt::Key_W)});
    quit = add(tr("&Quit"), {QKeySequence(Qt::CTRL | Qt::Key_Q)});

    copy_name = add(tr("&Copy the name of the selection"), {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_C)}, QStringLiteral("copy"));
    clear_selection = add(tr("C&lear the selection"), {QKeySequence(Qt::Key_Escape)});

    toggle_left = add(tr("&Left docks"), {QKeySequence(Qt::CTRL | Qt::Key_B)});
    toggle_bottom = add(tr("&Bottom docks"), {QKeySequence(Qt::Key_Q)});
    toggle_right = add(tr("&Right docks"), {QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_B)});
    for (QAction* action : {toggle_left, toggle_bottom, toggle_right}) action->setCheckable(true);
    findings = add(tr("Show the &findings again"));
    larger = add(tr("L&arger text"), {QKeySequence(Qt::CTRL | Qt::Key_Equal), QKeySequence(Qt::CTRL | Qt::Key_Plus)});
    smaller = add(tr("&Smaller text"), {QKeySequence(Qt::CTRL | Qt::Key_Minus)});
    usual_size = add(tr("&Usual text size"), {QKeySequence(Qt::CTRL | Qt::Key_0)});
    full_screen = add(tr("F&ull screen"), {QKeySequence(Qt::Key_F11)});
    full_screen->setCheckable(true);
    reset_layout = add(tr("Reset the la&yout"));
    auto* themes = new QActionGroup(this);
    theme_system = add(tr("As the s&ystem"));
    theme_light = add(tr("&Light"));
    theme_dark = add(tr("&Dark"));
    for (QAction* action : {theme_system, theme_light, theme_dark}) {
        action->setCheckable(true);
        themes->addAction(action);
    }

    back = add(tr("&Back"), {QKeySequence(Qt::ALT | Qt::Key_Left), QKeySequence(Qt::Key_Backspace)}, QStringLiteral("back"));
    forward = add(tr("&Forward"), {QKeySequence(Qt::ALT | Qt::Key_Right)}, QStringLiteral("forward"));
    whole = add(tr("&Whole capture"), {QKeySequence(Qt::Key_0)}, QStringLiteral("fit"));
    zoom_selection = add(tr("&Zoom to the selection"), {QKeySequence(Qt::SHIFT | Qt::Key_Z)}, QStringLiteral("zoom-selection"));
    next_step = add(tr("&Next step"), {QKeySequence(Qt::ALT | Qt::Key_PageDown)});
    previous_step = add(tr("&Previous step"), {QKeySequence(Qt::ALT | Qt::Key_PageUp)});
    to_launch = add(tr("To the &launch, or outwards"), {QKeySequence(Qt::Key_BracketLeft), QKeySequence(Qt::ALT | Qt::Key_Up)});
    to_launched = add(tr("To what it la&unched"), {QKeySequence(Qt::Key_BracketRight), QKeySequence(Qt::ALT | Qt::Key_Down)});

    next_outlier = add(tr("Next &outlier"), {QKeySequence(Qt::Key_N)});
    previous_outlier = add(tr("Previous o&utlier"), {QKeySequence(Qt::SHIFT | Qt::Key_N)});
    diagnose = add(tr("&Diagnose the step"), {QKeySequence(Qt::CTRL | Qt::Key_D)});
    show_log = add(tr("Show the &log"), {QKeySequence(Qt::CTRL | Qt::Key_L)});
    show_roofline = add(tr("Show the &roofline"), {QKeySequence(Qt::CTRL | Qt::Key_R)});

    capture_help = add(tr("&How to capture"), {QKeySequence(Qt::Key_F1)}, QStringLiteral("help"));
    keys = add(tr("&Keys"), {QKeySequence(Qt::Key_Question), QKeySequence(Qt::CTRL | Qt::SHIFT | Qt::Key_Slash),
                             QKeySequence(Qt::CTRL | Qt::Key_Question)});
    about = add(tr("&About Faultline"));
    take_icons();
}

QAction* Actions::add(const QString& text, const QList<QKeySequence>& shortcuts, const QString& icon) {
    auto* action = new QAction(text, this);
    action->setShortcuts(shortcuts);
    action->setProperty(kIcon, icon);
    QString tip = text;
    tip.remove(QLatin1Char('&')).remove(QChar(0x2026));
    if (!shortcuts.isEmpty()) tip += QStringLiteral("  (%1)").arg(shortcuts.front().toString(QKeySequence::NativeText));
    action->setToolTip(tip);
    // Known to the window, so that its key works while the menu bar is hidden.
    window_->addAction(action);
    return action;
}

void Actions::take_icons() {
    const QList<QAction*> all = findChildren<QAction*>();
    for (QAction* action : all) {
        const QString name = action->property(kIcon).toString();
        if (!name.isEmpty()) action->setIcon(themed_icon(name, QApplication::palette()));
    }
}

void Actions::fill(QMenuBar* bar) {
    QMenu* file = bar->addMenu(tr("&File"));
    file->addActions({open, import});
    recent_menu = file->addMenu(tr("Open &recent"));
    file->addAction(sample);
    file->addSeparator();
    file->addActions({close, quit});
    QMenu* edit = bar->addMenu(tr("&Edit"));
    edit->addActions({copy_name, clear_selection});
    QMenu* view = bar->addMenu(tr("&View"));
    view->addActions({toggle_left, toggle_right, toggle_bottom});
    docks_menu = view->addMenu(tr("&Docks"));
    view->addAction(findings);
    view->addSeparator();
    view->addMenu(tr("&Theme"))->addActions({theme_system, theme_light, theme_dark});
    view->addActions({larger, smaller, usual_size});
    view->addSeparator();
    view->addActions({full_screen, reset_layout});
    QMenu* go = bar->addMenu(tr("&Go"));
    go->addActions({back, forward, whole, zoom_selection});
    go->addSeparator();
    go->addActions({next_outlier, previous_outlier});
    go->addActions({previous_step, next_step});
    go->addSeparator();
    go->addActions({to_launch, to_launched});
    bar->addMenu(tr("&Analyse"))->addActions({diagnose, show_roofline, show_log});
    QMenu* help = bar->addMenu(tr("&Help"));
    help->addActions({capture_help, keys});
    help->addSeparator();
    help->addAction(about);
}

void Actions::fill(QToolBar* bar) {
    bar->addActions({open, import});
    bar->addSeparator();
    bar->addActions({back, forward, whole, zoom_selection});
}

std::vector<Actions::Section> Actions::sections() const {
    return {
        {tr("Files"), {open, import, close, quit}},
        {tr("Going about"), {back, forward, whole, zoom_selection, next_step, previous_step, to_launch, to_launched}},
        {tr("Analysis"), {next_outlier, previous_outlier, diagnose, show_roofline, show_log}},
        {tr("Window"), {toggle_left, toggle_right, toggle_bottom, larger, smaller, usual_size, full_screen}},
        {tr("Selection and help"), {clear_selection, copy_name, capture_help, keys}},
    };
}

}  // namespace faultline
