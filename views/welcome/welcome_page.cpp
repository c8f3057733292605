#include "views/welcome/welcome_page.h"

#include <QFileInfo>
#include <QHBoxLayout>
#include <QLabel>
#include <QPushButton>
#include <QVBoxLayout>

#include "views/icon.h"
#include "views/welcome/card_button.h"

namespace faultline {

WelcomePage::WelcomePage(QWidget* parent)
    : QWidget(parent),
      open_(new CardButton(QStringLiteral("drop"), tr("Drop a capture here"),
                           tr("A .faultline capture, a PyTorch trace (.json or .json.gz) or a folder with one file for each rank. "
                              "Or press Enter to choose one."),
                           this)),
      sample_(new CardButton(QStringLiteral("sample"), tr("Open the sample"),
                             tr("A small capture that comes with the program: look around before you have one of your own."), this)),
      help_(new CardButton(QStringLiteral("help"), tr("How to capture"),
                           tr("The exact lines for vLLM, SGLang, PyTorch and Nsight Systems, ready to be copied."), this)),
      recent_title_(new QLabel(tr("<b>Recent</b>"), this)),
      recent_(new QVBoxLayout),
      mark_(new QLabel(this)) {
    mark_->setPixmap(program_icon().pixmap(64, 64));
    auto* title = new QLabel(tr("Faultline"), this);
    QFont large = title->font();
    large.setPointSizeF(large.pointSizeF() * 1.9);
    large.setWeight(QFont::DemiBold);
    title->setFont(large);
    auto* line = new QLabel(tr("Find out why a request or a step of LLM inference was slow or wrong."), this);
    line->setForegroundRole(QPalette::PlaceholderText);
    auto* trust = new QLabel(tr("Everything stays on this computer."), this);
    trust->setForegroundRole(QPalette::PlaceholderText);

    auto* words = new QVBoxLayout;
    words->setSpacing(2);
    words->addWidget(title);
    words->addWidget(line);
    auto* head = new QHBoxLayout;
    head->setSpacing(16);
    head->addWidget(mark_);
    head->addLayout(words, 1);
    auto* cards = new QHBoxLayout;
    cards->setSpacing(16);
    for (QPushButton* card : {open_, sample_, help_}) cards->addWidget(card);
    recent_->setSpacing(2);

    auto* block = new QWidget(this);
    auto* column = new QVBoxLayout(block);
    column->setSpacing(22);
    column->addLayout(head);
    column->addLayout(cards);
    column->addWidget(trust);
    auto* recent_block = new QVBoxLayout;
    recent_block->setSpacing(4);
    recent_block->addWidget(recent_title_);
    recent_block->addLayout(recent_);
    column->addLayout(recent_block);

    auto* all = new QVBoxLayout(this);
    all->addStretch(2);
    all->addWidget(block, 0, Qt::AlignHCenter);
    all->addStretch(3);
    connect(open_, &QPushButton::clicked, this, &WelcomePage::open_requested);
    connect(sample_, &QPushButton::clicked, this, &WelcomePage::sample_requested);
    connect(help_, &QPushButton::clicked, this, &WelcomePage::help_requested);
    setFocusProxy(open_);
    set_sample_available(false);
    set_recent({});
}

void WelcomePage::set_sample_available(bool available) {
    sample_->setEnabled(available);
    sample_->setToolTip(available ? QString() : tr("This build comes without a sample"));
}

void WelcomePage::set_recent(const QStringList& paths) {
    while (QLayoutItem* item = recent_->takeAt(0)) {
        delete item->widget();
        delete item;
    }
    for (const QString& path : paths.mid(0, 6)) {
        const QFileInfo file(path);
        auto* link = new QPushButton(file.fileName(), this);
        link->setFlat(true);
        link->setCursor(Qt::PointingHandCursor);
        link->setToolTip(path);
        link->setStyleSheet(
            QStringLiteral("QPushButton { text-align: left; border: 1px solid transparent; background: transparent; padding: 3px 6px; "
                           "color: palette(link); }"
                           "QPushButton:focus { border-color: palette(link); } QPushButton:hover { text-decoration: underline; }"));
        connect(link, &QPushButton::clicked, this, [this, path] { Q_EMIT recent_requested(path); });
        recent_->addWidget(link, 0, Qt::AlignLeft);
    }
    recent_title_->setVisible(!paths.isEmpty());
}

}  // namespace faultline
