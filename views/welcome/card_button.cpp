#include "views/welcome/card_button.h"

#include <QApplication>
#include <QEvent>
#include <QKeyEvent>
#include <QLabel>
#include <QVBoxLayout>

#include "views/icon.h"
#include "views/palette.h"

namespace faultline {

namespace {
constexpr int kIcon = 32;
constexpr int kWidth = 250;
}  // namespace

CardButton::CardButton(const QString& icon, const QString& title, const QString& text, QWidget* parent)
    : QPushButton(parent),
      icon_name_(icon),
      icon_(new QLabel(this)),
      title_(new QLabel(QStringLiteral("<b>%1</b>").arg(title), this)),
      text_(new QLabel(text, this)) {
    setObjectName(QStringLiteral("card"));
    setAccessibleName(title);
    setAccessibleDescription(text);
    setCursor(Qt::PointingHandCursor);
    setAutoDefault(false);
    setSizePolicy(QSizePolicy::Fixed, QSizePolicy::Preferred);  // cards in a row are equally high
    text_->setWordWrap(true);
    text_->setAlignment(Qt::AlignTop | Qt::AlignLeft);
    text_->setForegroundRole(QPalette::PlaceholderText);
    for (QLabel* label : {icon_, title_, text_}) label->setAttribute(Qt::WA_TransparentForMouseEvents);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(20, 18, 20, 18);
    column->setSpacing(8);
    column->addWidget(icon_);
    column->addWidget(title_);
    column->addWidget(text_, 1);
    take_colours();
}

QSize CardButton::sizeHint() const {
    const int text_width = kWidth - 40;
    return {kWidth, 36 + kIcon + 16 + title_->sizeHint().height() + text_->heightForWidth(text_width) + 6};
}

void CardButton::take_colours() {
    if (taking_colours_) return;
    taking_colours_ = true;
    const QPalette p = QApplication::palette();
    const Chrome& c = chrome(is_dark(p));
    setStyleSheet(
        QStringLiteral("#card { background: %1; border: 1px solid %2; border-radius: 10px; text-align: left; }"
                       "#card:hover { border-color: %3; } #card:focus { border: 2px solid %3; } #card:pressed { background: %4; }")
            .arg(p.color(QPalette::Base).name(), c.border.name(), c.accent.name(), c.info_fill.name()));
    QPalette accent = p;
    accent.setColor(QPalette::WindowText, c.accent);
    icon_->setPixmap(themed_icon(icon_name_, accent).pixmap(kIcon, kIcon));
    taking_colours_ = false;
}

void CardButton::changeEvent(QEvent* event) {
    QPushButton::changeEvent(event);
    if (event->type() == QEvent::PaletteChange) take_colours();
    if (event->type() == QEvent::FontChange) updateGeometry();
}

void CardButton::keyPressEvent(QKeyEvent* event) {
    if (event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter) {
        click();
        return;
    }
    QPushButton::keyPressEvent(event);
}

}  // namespace faultline
