// The status bar: what capture it is, how much is in it, what was dropped or repaired, what is selected; and that nothing leaves the
// machine.
#pragma once

#include <QStatusBar>

#include "views/session.h"

class QLabel;

namespace faultline {

class StatusLine : public QStatusBar {
    Q_OBJECT
public:
    explicit StatusLine(Session* session, QWidget* parent = nullptr);
    [[nodiscard]] QString capture_text() const;
    [[nodiscard]] QString selection_text() const;

protected:
    void changeEvent(QEvent* event) override;

private:
    void show_capture();
    void show_selection();
    void take_icon();
    Session* session_;
    QLabel* capture_;
    QLabel* selection_;
    QLabel* lock_;
    QLabel* offline_;
};

}  // namespace faultline
