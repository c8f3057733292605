// A large button with an icon, a title and a sentence; reached by Tab, pressed with Enter or Space.
#pragma once

#include <QPushButton>

class QLabel;

namespace faultline {

class CardButton : public QPushButton {
    Q_OBJECT
public:
    CardButton(const QString& icon, const QString& title, const QString& text, QWidget* parent = nullptr);
    [[nodiscard]] QSize sizeHint() const override;
    [[nodiscard]] QSize minimumSizeHint() const override { return sizeHint(); }

protected:
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void take_colours();
    QString icon_name_;
    QLabel* icon_;
    QLabel* title_;
    QLabel* text_;
    bool taking_colours_ = false;
};

}  // namespace faultline
