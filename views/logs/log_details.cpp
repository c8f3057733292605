#include "views/logs/log_details.h"

#include <QApplication>
#include <QLabel>
#include <QPlainTextEdit>
#include <QVBoxLayout>

#include "views/breakable.h"
#include "views/format.h"
#include "views/logs/log_model.h"
#include "views/palette.h"

namespace faultline {

namespace {

QString fact(const QString& label, const QString& value_html) {
    return QStringLiteral("<tr><td style='color:%1;padding-right:10px'>%2</td><td>%3</td></tr>")
        .arg(chrome(is_dark(QApplication::palette())).muted.name(), label.toHtmlEscaped(), value_html);
}

}  // namespace

LogDetails::LogDetails(Session* session, QWidget* parent)
    : QWidget(parent), session_(session), facts_(new QLabel(this)), message_(new QPlainTextEdit(this)) {
    facts_->setWordWrap(true);
    facts_->setTextFormat(Qt::RichText);
    facts_->setMinimumWidth(1);
    facts_->setTextInteractionFlags(Qt::TextBrowserInteraction);
    facts_->setAccessibleName(tr("About the chosen line"));
    connect(facts_, &QLabel::linkActivated, this, &LogDetails::follow);
    message_->setReadOnly(true);
    message_->setTabChangesFocus(true);
    message_->setWordWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    message_->setAccessibleName(tr("Message of the chosen line"));
    message_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    message_->setPlaceholderText(tr("Choose a line to read all of it."));
    message_->setMinimumHeight(message_->fontMetrics().lineSpacing() * 2 + 14);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(10, 4, 10, 6);
    column->setSpacing(4);
    column->addWidget(facts_);
    column->addWidget(message_, 1);
    show_line(std::nullopt);
}

QString LogDetails::message() const { return message_->toPlainText(); }
QString LogDetails::facts() const { return facts_->text(); }

void LogDetails::show_line(const std::optional<ScopedLine>& shown) {
    const LoadedCapture* capture = session_->capture();
    if (!shown || capture == nullptr || shown->position >= capture->logs.size()) {
        facts_->clear();
        facts_->hide();
        message_->clear();
        return;
    }
    const LogLine& line = capture->logs[shown->position];
    QStringList head{line.time ? log_time_text(*capture, line) : tr("no time stamp")};
    if (!line.level.empty()) head += QString::fromStdString(line.level);
    if (!line.logger.empty()) head += QString::fromStdString(line.logger);
    const QString method = method_text(*capture, *shown);
    if (shown->method == AlignMethod::none)
        head += tr("in no step");
    else
        head += shown->distance_ns > 0 ? tr("%1, %2 away").arg(method, duration_text(shown->distance_ns)) : method;
    QString text = fact(tr("Line"), head.join(QStringLiteral(" · ")).toHtmlEscaped());
    QStringList requests;
    if (shown->position < capture->line_requests.size()) {
        for (const std::size_t at : capture->line_requests[shown->position]) {
            if (at >= capture->requests.size()) continue;
            requests += QStringLiteral("<a href='%1'>%2</a>")
                            .arg(QString::number(at), breakable(QString::fromStdString(capture->requests[at].name)).toHtmlEscaped());
        }
    }
    if (requests.isEmpty() && !line.request.empty()) requests += QString::fromStdString(line.request).toHtmlEscaped();
    text += fact(tr("Request"), requests.isEmpty() ? tr("none named").toHtmlEscaped() : requests.join(QStringLiteral(", ")));
    facts_->setText(QStringLiteral("<table cellspacing='0' cellpadding='0'>%1</table>").arg(text));
    facts_->show();
    message_->setPlainText(QString::fromStdString(line.text));
}

void LogDetails::follow(const QString& link) {
    bool known = false;
    const qulonglong request = link.toULongLong(&known);
    if (known) session_->select_request(static_cast<std::size_t>(request));
}

}  // namespace faultline
