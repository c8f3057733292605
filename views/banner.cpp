#include "views/banner.h"

#include <QApplication>
#include <QClipboard>
#include <QEvent>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QToolButton>
#include <algorithm>

#include "views/icon.h"
#include "views/palette.h"

namespace faultline {

namespace {

constexpr std::size_t kInSight = 1;

QString with_stop(QString text) {
    if (!text.isEmpty() && !text.endsWith(QLatin1Char('.')) && !text.endsWith(QLatin1Char('?'))) text += QLatin1Char('.');
    return text;
}

}  // namespace

QString error_text(const Error& error) {
    const QString sentence = with_stop(QString::fromStdString(error.sentence));
    const QString hint = with_stop(QString::fromStdString(error.hint));
    return hint.isEmpty() ? sentence : sentence + QLatin1Char(' ') + hint;
}

Banner::Banner(Severity severity, const QString& sentence, const QString& details, QWidget* parent)
    : QFrame(parent),
      severity_(severity),
      sentence_(sentence),
      icon_(new QLabel(this)),
      text_(new QLabel(this)),
      copy_(new QToolButton(this)),
      close_(new QToolButton(this)) {
    setObjectName(QStringLiteral("banner"));
    const QString word = severity == Severity::error ? tr("Error") : severity == Severity::warning ? tr("Warning") : tr("Note");
    setAccessibleName(word + QStringLiteral(": ") + sentence);
    text_->setText(QStringLiteral("<b>%1</b>&nbsp; %2").arg(word, sentence.toHtmlEscaped()));
    text_->setTextFormat(Qt::RichText);
    text_->setWordWrap(true);
    text_->setTextInteractionFlags(Qt::TextSelectableByMouse | Qt::TextSelectableByKeyboard);
    text_->setFocusPolicy(Qt::NoFocus);
    copy_->setToolTip(tr("Copy details"));
    copy_->setAccessibleName(copy_->toolTip());
    connect(copy_, &QToolButton::clicked, this,
            [text = details.isEmpty() ? sentence : sentence + QLatin1Char('\n') + details] { QApplication::clipboard()->setText(text); });
    close_->setToolTip(tr("Dismiss"));
    close_->setAccessibleName(close_->toolTip());
    connect(close_, &QToolButton::clicked, this, &Banner::dismissed);

    auto* row = new QHBoxLayout(this);
    row->setContentsMargins(12, 6, 6, 6);
    row->setSpacing(8);
    row->addWidget(icon_);
    row->addWidget(text_, 1);
    row->addWidget(copy_, 0, Qt::AlignTop);
    row->addWidget(close_, 0, Qt::AlignTop);
    take_colours();
}

void Banner::take_colours() {
    if (taking_colours_) return;
    taking_colours_ = true;
    const bool dark = is_dark(QApplication::palette());
    const Chrome& c = chrome(dark);
    const QColor fill = severity_ == Severity::error ? c.error_fill : severity_ == Severity::warning ? c.warning_fill : c.info_fill;
    const QColor mark = severity_ == Severity::error ? c.error : severity_ == Severity::warning ? c.warning : c.info;
    setStyleSheet(QStringLiteral("#banner { background: %1; border: 0; border-left: 3px solid %2; border-bottom: 1px solid %3; }")
                      .arg(fill.name(), mark.name(), c.border.name()));
    QPalette marked = QApplication::palette();
    marked.setColor(QPalette::WindowText, mark);
    const QString name = severity_ == Severity::error     ? QStringLiteral("error")
                         : severity_ == Severity::warning ? QStringLiteral("warning")
                                                          : QStringLiteral("info");
    icon_->setPixmap(themed_icon(name, marked).pixmap(20, 20));
    copy_->setIcon(themed_icon(QStringLiteral("copy"), QApplication::palette()));
    close_->setIcon(themed_icon(QStringLiteral("close"), QApplication::palette()));
    taking_colours_ = false;
}

void Banner::changeEvent(QEvent* event) {
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::StyleChange) take_colours();
    QFrame::changeEvent(event);
}

BannerStack::BannerStack(QWidget* parent) : QWidget(parent), layout_(new QVBoxLayout(this)), more_(new QPushButton(this)) {
    layout_->setContentsMargins(0, 0, 0, 0);
    layout_->setSpacing(0);
    layout_->addWidget(more_);
    more_->setFlat(true);
    connect(more_, &QPushButton::clicked, this, [this] {
        all_ = true;
        arrange();
    });
    arrange();
}

void BannerStack::add(Severity severity, const QString& sentence, const QString& details) {
    auto* banner = new Banner(severity, sentence, details, this);
    connect(banner, &Banner::dismissed, this, [this, banner, code = details] {
        Q_EMIT dismissed(code);
        std::erase(banners_, banner);
        banner->deleteLater();
        arrange();
    });
    banners_.push_back(banner);
    layout_->insertWidget(layout_->count() - 1, banner);
    arrange();
}

void BannerStack::add(const Error& error, const QString& details) { add(Severity::error, error_text(error), details); }

void BannerStack::clear() {
    for (Banner* banner : banners_) delete banner;
    banners_.clear();
    all_ = false;
    arrange();
}

void BannerStack::arrange() {
    const std::size_t shown = all_ || banners_.size() <= kInSight ? banners_.size() : kInSight;
    for (std::size_t i = 0; i < banners_.size(); ++i) banners_[i]->setVisible(i < shown);
    more_->setVisible(shown < banners_.size());
    const std::size_t hidden = banners_.size() - shown;
    more_->setText(hidden == 1 ? tr("1 more finding") : tr("%1 more findings").arg(hidden));
    setVisible(!banners_.empty());
}

}  // namespace faultline
