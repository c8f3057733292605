// The chosen line of the log, whole: its message to read, select and copy, when and where it was written, how it came to what is asked
// about, and the requests it names, each a link that selects it.
#pragma once

#include <QWidget>
#include <cstddef>
#include <optional>

#include "views/logs/log_scope.h"
#include "views/session.h"

class QLabel;
class QPlainTextEdit;

namespace faultline {

class LogDetails : public QWidget {
    Q_OBJECT
public:
    explicit LogDetails(Session* session, QWidget* parent = nullptr);
    /// Empty where no line is chosen. The position lies in the logs of the session's capture.
    void show_line(const std::optional<ScopedLine>& line);
    [[nodiscard]] QString message() const;
    [[nodiscard]] QString facts() const;  ///< rich text
    [[nodiscard]] QPlainTextEdit* message_view() const { return message_; }

private:
    void follow(const QString& link);

    Session* session_;
    QLabel* facts_;
    QPlainTextEdit* message_;
};

}  // namespace faultline
