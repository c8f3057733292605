// Every action of the window, with its words, its key and its place in the menus. What an action does is connected by the window.
//
// Plain letters are keys too: a text field swallows them (Qt offers them to the focused widget first).
#pragma once

#include <QAction>
#include <QObject>
#include <vector>

class QActionGroup;
class QMenu;
class QMenuBar;
class QToolBar;

namespace faultline {

class Actions : public QObject {
    Q_OBJECT
public:
    explicit Actions(QWidget* window);

    QAction *open, *import, *sample, *close, *quit;
    QAction *copy_name, *clear_selection;
    QAction *toggle_left, *toggle_bottom, *toggle_right, *findings, *larger, *smaller, *usual_size, *full_screen, *reset_layout;
    QAction *theme_system, *theme_light, *theme_dark;
    QAction *back, *forward, *whole, *zoom_selection, *next_step, *previous_step, *to_launch, *to_launched;
    QAction *next_outlier, *previous_outlier, *diagnose, *show_log, *show_roofline;
    QAction *capture_help, *keys, *about;

    /// Filled by the window.
    QMenu* recent_menu = nullptr;
    QMenu* docks_menu = nullptr;

    void fill(QMenuBar* bar);
    void fill(QToolBar* bar);
    /// Icons in the colours of the palette now in use.
    void take_icons();
    /// Actions by menu, for the key sheet.
    struct Section {
        QString title;
        std::vector<QAction*> actions;
    };
    [[nodiscard]] std::vector<Section> sections() const;

private:
    QAction* add(const QString& text, const QList<QKeySequence>& shortcuts = {}, const QString& icon = {});
    QWidget* window_;
};

}  // namespace faultline
