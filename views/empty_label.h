// The text of a view that has nothing to show: it names the cause and, where there is one, the action.
#pragma once

class QLabel;
class QWidget;

namespace faultline {

/// Centred, wrapped, selectable, in the muted colour.
[[nodiscard]] QLabel* empty_label(QWidget* parent);

}  // namespace faultline
