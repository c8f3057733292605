#include "views/palette.h"

#include <QApplication>
#include <QCoreApplication>
#include <QFont>
#include <QStyleFactory>
#include <algorithm>
#include <array>
#include <cmath>

namespace faultline {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("Palette", text); }

struct KindColours {
    QRgb light, dark;
};

// One row for each SpanKind, in its order.
constexpr std::array<KindColours, kSpanKindCount> kKindColours{{
    {0x4a9d94, 0x3f9389},  // range
    {0x8fbf86, 0x5f9a5a},  // op
    {0xcfc6a4, 0x8b8467},  // python
    {0xe6ab57, 0xc98f3d},  // runtime call
    {0xcf8e63, 0xb0754d},  // driver call
    {0xaab0b8, 0x6b727d},  // os call
    {0x3f78c0, 0x4a86d4},  // kernel
    {0xd9793a, 0xd27a42},  // memory copy
    {0xe3b06f, 0xc1904f},  // memory set
    {0x9aa5b1, 0x74808e},  // sync
    {0xa9c4e4, 0x3b5878},  // device range
    {0xcdd2d8, 0x555d68},  // overhead
    {0xbf5250, 0xd06a66},  // instant
    {0x4a9d94, 0x3f9389},  // counter
    {0x8c7bb8, 0x8f80c0},  // memory event
    {0x3f78c0, 0x4a86d4},  // accelerator
    {0x6a62b3, 0x7d74c9},  // graph
    {0x7f8fb0, 0x6f80a4},  // profiler range
    {0x8f86c9, 0x7f77bd},  // async
    {0xd8dde3, 0x3d444f},  // window
    {0xb6bcc5, 0x626a76},  // other
}};
constexpr KindColours kCollective{0xaa4f94, 0xc067aa};

// Fusion paints the widgets; the sheet only calms the frames, heads and tabs.
constexpr const char* kSheet = R"(
QMainWindow::separator { background: %border%; width: 1px; height: 1px; }
QMainWindow::separator:hover { background: %accent%; }
QDockWidget { font-weight: 600; }
QDockWidget::title { background: %window%; padding: 7px 10px 6px 10px; border-bottom: 1px solid %border%; text-align: left; }
QDockWidget { titlebar-close-icon: url(:/icons/dock-close.svg); titlebar-normal-icon: url(:/icons/dock-float.svg); }
QDockWidget::close-button, QDockWidget::float-button { border: 1px solid transparent; border-radius: 4px; background: transparent; padding: 1px; icon-size: 13px; }
QDockWidget::close-button { subcontrol-position: top right; subcontrol-origin: margin; top: 6px; right: 8px; width: 18px; height: 18px; }
QDockWidget::float-button { subcontrol-position: top right; subcontrol-origin: margin; top: 6px; right: 30px; width: 18px; height: 18px; }
QDockWidget::close-button:hover, QDockWidget::float-button:hover { background: %hover%; }
QToolBar { background: %window%; border: 0; border-bottom: 1px solid %border%; padding: 4px 8px; spacing: 2px; }
QToolBar::separator { background: %border%; width: 1px; margin: 5px 6px; }
QToolButton { border: 1px solid transparent; border-radius: 5px; padding: 4px 8px; }
QToolButton:hover { background: %hover%; }
QToolButton:pressed, QToolButton:checked { background: %pressed%; }
QToolButton:focus { border-color: %accent%; }
QMenuBar { background: %window%; border-bottom: 1px solid %border%; padding: 1px 4px; }
QMenuBar::item { padding: 5px 9px; border-radius: 4px; background: transparent; }
QMenuBar::item:selected { background: %hover%; }
QMenu { background: %base%; border: 1px solid %border%; padding: 5px; }
QMenu::item { padding: 5px 26px 5px 24px; border-radius: 4px; }
QMenu::item:selected { background: %accent%; color: %accenttext%; }
QMenu::item:disabled { color: %disabled%; }
QMenu::separator { height: 1px; background: %border%; margin: 5px 8px; }
QMenu::indicator { left: 7px; }
QCheckBox::indicator { width: 13px; height: 13px; border: 1px solid %muted%; border-radius: 3px; background: %base%; }
QCheckBox::indicator:checked { background: qradialgradient(cx:0.5, cy:0.5, radius:0.5, fx:0.5, fy:0.5, stop:0 %accent%, stop:0.62 %accent%, stop:0.63 %base%, stop:1 %base%); border-color: %accent%; }
QCheckBox::indicator:focus, QCheckBox::indicator:hover { border-color: %accent%; }
QStatusBar { background: %window%; border-top: 1px solid %border%; }
QStatusBar::item { border: 0; }
QHeaderView { background: %window%; }
QHeaderView::section { background: %window%; color: %muted%; border: 0; border-bottom: 1px solid %border%; padding: 5px 8px; font-weight: 500; }
QTableView, QTreeView, QListView { background: %base%; alternate-background-color: %alternate%; border: 0; outline: 0;
    selection-background-color: %selection%; selection-color: %text%; }
QTableView:focus, QTreeView:focus, QListView:focus { border: 1px solid %accent%; }
QTableView::item, QTreeView::item { padding: 3px 6px; border: 0; }
QTableView::item:selected, QTreeView::item:selected, QListView::item:selected { background: %selection%; color: %text%; }
QTreeView::branch:selected { background: %selection%; }
QDialog QTreeView { border: 1px solid %border%; border-radius: 5px; }
QDialogButtonBox { dialogbuttonbox-buttons-have-icons: 0; }
QTabBar { background: %window%; }
QTabBar::tab { background: transparent; color: %muted%; padding: 7px 14px 6px 14px; border: 0; border-bottom: 2px solid transparent; }
QTabBar::tab:selected { color: %text%; border-bottom-color: %accent%; font-weight: 600; }
QTabBar::tab:hover:!selected { color: %text%; }
QTabBar::tab:focus { background: %hover%; }
QTabWidget::pane { border: 0; border-top: 1px solid %border%; }
QLineEdit, QPlainTextEdit, QTextBrowser { background: %base%; border: 1px solid %border%; border-radius: 5px; padding: 4px 7px; }
QLineEdit:focus, QPlainTextEdit:focus, QTextBrowser:focus { border-color: %accent%; }
QPushButton { background: %button%; border: 1px solid %border%; border-radius: 5px; padding: 6px 16px; }
QPushButton:hover { background: %hover%; }
QPushButton:pressed { background: %pressed%; }
QPushButton:focus { border: 1px solid %accent%; }
QPushButton:default { background: %accent%; border-color: %accent%; color: %accenttext%; }
QPushButton:default:hover { background: %accenthover%; }
QPushButton:default:focus { border: 1px solid %text%; }
QPushButton:disabled { color: %disabled%; background: %window%; border-color: %border%; }
QProgressBar { background: %pressed%; border: 0; border-radius: 4px; max-height: 8px; min-height: 8px; }
QProgressBar::chunk { background: %accent%; border-radius: 4px; }
QToolTip { background: %base%; color: %text%; border: 1px solid %border%; padding: 4px; }
QScrollBar:vertical { background: transparent; width: 11px; margin: 0; }
QScrollBar:horizontal { background: transparent; height: 11px; margin: 0; }
QScrollBar::handle { background: %scroll%; border-radius: 4px; margin: 2px; }
QScrollBar::handle:vertical { min-height: 28px; }
QScrollBar::handle:horizontal { min-width: 28px; }
QScrollBar::handle:hover { background: %muted%; }
QScrollBar::add-line, QScrollBar::sub-line { width: 0; height: 0; }
QScrollBar::add-page, QScrollBar::sub-page { background: transparent; }
)";

QColor mix(const QColor& a, const QColor& b, double share) {
    const auto part = [share](int x, int y) { return static_cast<int>(x + (y - x) * share + 0.5); };
    return {part(a.red(), b.red()), part(a.green(), b.green()), part(a.blue(), b.blue())};
}

QString style_sheet(bool dark) {
    const QPalette p = theme_palette(dark);
    const Chrome& c = chrome(dark);
    const QColor window = p.color(QPalette::Window);
    const QColor base = p.color(QPalette::Base);
    const QColor text = p.color(QPalette::Text);
    const std::array<std::pair<const char*, QColor>, 15> colours{{
        {"%window%", window},
        {"%base%", base},
        {"%alternate%", p.color(QPalette::AlternateBase)},
        {"%text%", text},
        {"%muted%", c.muted},
        {"%border%", c.border},
        {"%accent%", c.accent},
        {"%accenttext%", p.color(QPalette::HighlightedText)},
        {"%accenthover%", mix(c.accent, text, 0.15)},
        {"%selection%", mix(base, c.accent, dark ? 0.38 : 0.18)},
        {"%hover%", mix(window, text, 0.07)},
        {"%pressed%", mix(window, text, 0.13)},
        {"%button%", p.color(QPalette::Button)},
        {"%disabled%", p.color(QPalette::Disabled, QPalette::Text)},
        {"%scroll%", mix(window, text, 0.25)},
    }};
    QString sheet = QString::fromLatin1(kSheet);
    for (const auto& [key, colour] : colours) sheet.replace(QLatin1String(key), colour.name());
    return sheet;
}

}  // namespace

bool is_dark(const QPalette& palette) {
    return palette.color(QPalette::Window).lightness() < palette.color(QPalette::WindowText).lightness();
}

QPalette theme_palette(bool dark) {
    QPalette p;
    const auto set = [&p](QPalette::ColorRole role, QRgb rgb) { p.setColor(role, QColor::fromRgb(rgb)); };
    set(QPalette::Window, dark ? 0x1d2128 : 0xf5f6f8);
    set(QPalette::WindowText, dark ? 0xe2e7ee : 0x1c232d);
    set(QPalette::Base, dark ? 0x16191f : 0xffffff);
    set(QPalette::AlternateBase, dark ? 0x1a1e25 : 0xf7f9fb);
    set(QPalette::Text, dark ? 0xe2e7ee : 0x1c232d);
    set(QPalette::Button, dark ? 0x2a303a : 0xffffff);
    set(QPalette::ButtonText, dark ? 0xe2e7ee : 0x1c232d);
    set(QPalette::BrightText, 0xffffff);
    set(QPalette::ToolTipBase, dark ? 0x2a303a : 0xffffff);
    set(QPalette::ToolTipText, dark ? 0xe2e7ee : 0x1c232d);
    set(QPalette::PlaceholderText, dark ? 0x95a1b1 : 0x5f6a7a);
    set(QPalette::Highlight, dark ? 0x3f7ee0 : 0x2766cf);
    set(QPalette::HighlightedText, 0xffffff);
    set(QPalette::Link, dark ? 0x7fb0ff : 0x1f5fc4);
    set(QPalette::LinkVisited, dark ? 0x7fb0ff : 0x1f5fc4);
    set(QPalette::Light, dark ? 0x363d49 : 0xffffff);
    set(QPalette::Midlight, dark ? 0x2f3540 : 0xeceff3);
    set(QPalette::Mid, dark ? 0x343b46 : 0xd5dae1);
    set(QPalette::Dark, dark ? 0x101318 : 0xb4bcc7);
    set(QPalette::Shadow, dark ? 0x08090c : 0x8a94a1);
    const QColor disabled = QColor::fromRgb(dark ? 0x6e7887 : 0x8d97a5);
    for (const auto role : {QPalette::WindowText, QPalette::Text, QPalette::ButtonText}) p.setColor(QPalette::Disabled, role, disabled);
    return p;
}

void apply_theme(QApplication& application, Theme theme) {
    // What the platform gave at start is kept on the application, since our own palette replaces it.
    constexpr const char* kSystemDark = "faultline.system_dark";
    if (!application.property(kSystemDark).isValid()) application.setProperty(kSystemDark, is_dark(application.palette()));
    const bool dark = theme == Theme::dark || (theme == Theme::system && application.property(kSystemDark).toBool());
    application.setStyle(QStyleFactory::create(QStringLiteral("Fusion")));
    application.setPalette(theme_palette(dark));
    application.setStyleSheet(style_sheet(dark));
}

void apply_text_size(QApplication& application, int change) {
    constexpr const char* kSystemPoints = "faultline.system_points";
    if (!application.property(kSystemPoints).isValid()) application.setProperty(kSystemPoints, QApplication::font().pointSizeF());
    QFont font = QApplication::font();
    font.setPointSizeF(std::max(4.0, application.property(kSystemPoints).toDouble() + change));
    // While a style sheet is set, widgets do not follow the font of the application.
    const QString sheet = application.styleSheet();
    application.setStyleSheet({});
    QApplication::setFont(font);
    application.setStyleSheet(sheet);
}

QColor kind_colour(SpanKind kind, bool collective, bool dark) {
    const auto at = static_cast<std::size_t>(kind);
    const KindColours& c = collective ? kCollective : kKindColours[at < kKindColours.size() ? at : kKindColours.size() - 1];
    return QColor::fromRgb(dark ? c.dark : c.light);
}

QColor text_on(const QColor& fill) {
    // Relative luminance of WCAG 2; at 0.179 black and white contrast equally.
    const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    const double luminance = 0.2126 * linear(fill.redF()) + 0.7152 * linear(fill.greenF()) + 0.0722 * linear(fill.blueF());
    return luminance > 0.179 ? QColor(0x06, 0x09, 0x0d) : QColor(0xff, 0xff, 0xff);
}

const Chrome& chrome(bool dark) {
    static const Chrome kLight{QColor(0xdc, 0xe1, 0xe7), QColor(0x5b, 0x66, 0x75), QColor(0x27, 0x66, 0xcf), QColor(0x8a, 0x57, 0x00),
                               QColor(0xfd, 0xf3, 0xdc), QColor(0xb3, 0x26, 0x1e), QColor(0xfc, 0xe6, 0xe4), QColor(0x1f, 0x5f, 0xc4),
                               QColor(0xe6, 0xef, 0xfc), QColor(0xe6, 0xea, 0xef), QColor(0xf8, 0xfa, 0xfc), QColor(0xee, 0xf1, 0xf5),
                               QColor(0xd9, 0x7a, 0x00), QColor(0x11, 0x16, 0x1d)};
    static const Chrome kDark{QColor(0x31, 0x38, 0x43), QColor(0x9a, 0xa6, 0xb6), QColor(0x5b, 0x97, 0xf0), QColor(0xf0, 0xbe, 0x62),
                              QColor(0x38, 0x2e, 0x1a), QColor(0xff, 0x8f, 0x87), QColor(0x40, 0x20, 0x20), QColor(0x8f, 0xb9, 0xff),
                              QColor(0x1d, 0x2b, 0x42), QColor(0x29, 0x2f, 0x39), QColor(0x19, 0x1d, 0x24), QColor(0x22, 0x27, 0x30),
                              QColor(0xff, 0xb3, 0x4d), QColor(0xff, 0xff, 0xff)};
    return dark ? kDark : kLight;
}

QString kind_text(SpanKind kind) {
    switch (kind) {
        case SpanKind::range: return tr("range");
        case SpanKind::op: return tr("operator");
        case SpanKind::python: return tr("Python frame");
        case SpanKind::runtime_call: return tr("runtime call");
        case SpanKind::driver_call: return tr("driver call");
        case SpanKind::os_call: return tr("system call");
        case SpanKind::kernel: return tr("kernel");
        case SpanKind::memory_copy: return tr("memory copy");
        case SpanKind::memory_set: return tr("memory set");
        case SpanKind::sync: return tr("synchronization");
        case SpanKind::device_range: return tr("range seen on the device");
        case SpanKind::overhead: return tr("profiler overhead");
        case SpanKind::instant: return tr("instant");
        case SpanKind::counter: return tr("counter sample");
        case SpanKind::memory_event: return tr("allocator event");
        case SpanKind::accelerator: return tr("accelerator work");
        case SpanKind::graph: return tr("graph launch");
        case SpanKind::profiler_range: return tr("profiler range");
        case SpanKind::async: return tr("asynchronous range");
        case SpanKind::window: return tr("profiler window");
        case SpanKind::other: return tr("other");
    }
    return tr("other");
}

QString phase_text(StepPhase phase) {
    switch (phase) {
        case StepPhase::prefill: return tr("prefill");
        case StepPhase::decode: return tr("decode");
        case StepPhase::mixed: return tr("mixed");
        case StepPhase::other: return tr("other");
    }
    return tr("other");
}

QString layer_text(LayerClass layer, SpanKind kind) {
    switch (layer) {
        case LayerClass::step: return tr("step");
        case LayerClass::frontend: return tr("front end");
        case LayerClass::backend: return tr("back end");
        case LayerClass::comm: return tr("communication");
        case LayerClass::host: return tr("host call");
        case LayerClass::kernel: return kind == SpanKind::kernel ? tr("kernel") : kind_text(kind);
        case LayerClass::none: break;
    }
    return kind_text(kind);
}

}  // namespace faultline
