// Help inside the window: the key sheet, "How to capture", About. All of them are shown without blocking the window.
#pragma once

#include <QString>
#include <utility>
#include <vector>

class QWidget;

namespace faultline {

class Actions;

void show_keys(const Actions& actions, QWidget* window);
void show_capture_help(QWidget* window);
void show_about(QWidget* window);

/// Keys that the timeline itself answers to: what it does, and the key.
[[nodiscard]] std::vector<std::pair<QString, QString>> timeline_keys();

}  // namespace faultline
