// A sentence in place, over the view it is about: a finding or a failure, with its hint, details that can be copied, and a way to
// dismiss it. Never a dialog with an error number.
#pragma once

#include <QFrame>
#include <QString>
#include <QWidget>
#include <vector>

#include "core/model.h"
#include "core/result.h"

class QLabel;
class QPushButton;
class QToolButton;
class QVBoxLayout;

namespace faultline {

class Banner : public QFrame {
    Q_OBJECT
public:
    /// `details` is what "Copy details" copies; without it the sentence is copied.
    Banner(Severity severity, const QString& sentence, const QString& details = {}, QWidget* parent = nullptr);
    [[nodiscard]] QString sentence() const { return sentence_; }

Q_SIGNALS:
    void dismissed();

protected:
    void changeEvent(QEvent* event) override;

private:
    void take_colours();
    Severity severity_;
    QString sentence_;
    QLabel* icon_;
    QLabel* text_;
    QToolButton* copy_;
    QToolButton* close_;
    bool taking_colours_ = false;
};

/// Banners below each other: the first in sight, the rest behind one line. Hidden while empty.
class BannerStack : public QWidget {
    Q_OBJECT
public:
    explicit BannerStack(QWidget* parent = nullptr);
    void add(Severity severity, const QString& sentence, const QString& details = {});
    void add(const Error& error, const QString& details = {});
    void clear();
    [[nodiscard]] int count() const { return static_cast<int>(banners_.size()); }
    [[nodiscard]] QString sentence(int at) const { return banners_[static_cast<std::size_t>(at)]->sentence(); }

Q_SIGNALS:
    void dismissed(const QString& details);  ///< what was passed to add()

private:
    void arrange();
    QVBoxLayout* layout_;
    QPushButton* more_;
    std::vector<Banner*> banners_;
    bool all_ = false;
};

/// "SENTENCE. HINT." as the command line says it.
[[nodiscard]] QString error_text(const Error& error);

}  // namespace faultline
