#include "views/empty_label.h"

#include <QLabel>

namespace faultline {

QLabel* empty_label(QWidget* parent) {
    auto* label = new QLabel(parent);
    label->setWordWrap(true);
    label->setAlignment(Qt::AlignCenter);
    label->setMargin(18);
    label->setMinimumWidth(1);  // a long word never widens a dock
    label->setForegroundRole(QPalette::PlaceholderText);
    label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    return label;
}

}  // namespace faultline
