// Icons of the window: line drawings in resources/icons that take the text colour of the palette.
#pragma once

#include <QIcon>
#include <QPalette>
#include <QString>

namespace faultline {

/// `name` is the file without folder and suffix; an unknown one gives an empty icon.
[[nodiscard]] QIcon themed_icon(const QString& name, const QPalette& palette);
/// The mark of the program, in its own colours.
[[nodiscard]] QIcon program_icon();

}  // namespace faultline
