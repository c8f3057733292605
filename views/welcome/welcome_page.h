// What the window shows without a capture: drop one here, open the sample, how to capture; and the recent files.
#pragma once

#include <QStringList>
#include <QWidget>

class QLabel;
class QPushButton;
class QVBoxLayout;

namespace faultline {

class WelcomePage : public QWidget {
    Q_OBJECT
public:
    explicit WelcomePage(QWidget* parent = nullptr);
    void set_sample_available(bool available);
    void set_recent(const QStringList& paths);

Q_SIGNALS:
    void open_requested();
    void sample_requested();
    void help_requested();
    void recent_requested(const QString& path);

private:
    QPushButton* open_;
    QPushButton* sample_;
    QPushButton* help_;
    QLabel* recent_title_;
    QVBoxLayout* recent_;
    QLabel* mark_;
};

}  // namespace faultline
