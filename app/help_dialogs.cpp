#include "app/help_dialogs.h"

#include <QCoreApplication>
#include <QDialog>
#include <QDialogButtonBox>
#include <QGridLayout>
#include <QHBoxLayout>
#include <QLabel>
#include <QVBoxLayout>

#include "app/actions.h"
#include "views/icon.h"
#include "views/welcome/capture_help.h"

namespace faultline {

namespace {

QString tr(const char* text) { return QCoreApplication::translate("HelpDialogs", text); }

using KeyRows = std::vector<std::pair<QString, QString>>;

QDialog* new_dialog(const QString& title, QWidget* window) {
    auto* dialog = new QDialog(window);
    dialog->setAttribute(Qt::WA_DeleteOnClose);
    dialog->setWindowTitle(title);
    new QVBoxLayout(dialog);
    return dialog;
}

void add_close(QDialog* dialog) {
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close, dialog);
    QObject::connect(buttons, &QDialogButtonBox::rejected, dialog, &QDialog::reject);
    dialog->layout()->addWidget(buttons);
}

QString plain(QString text) { return text.remove(QLatin1Char('&')).remove(QChar(0x2026)); }

KeyRows rows_of(const Actions::Section& section) {
    KeyRows rows;
    for (const QAction* action : section.actions) {
        QStringList keys;
        for (const QKeySequence& key : action->shortcuts()) keys += key.toString(QKeySequence::NativeText);
        rows.emplace_back(plain(action->text()), keys.mid(0, 2).join(QCoreApplication::translate("HelpDialogs", "  or  ")));
    }
    return rows;
}

QWidget* key_block(const QString& title, const KeyRows& rows, QWidget* parent) {
    auto* block = new QWidget(parent);
    auto* grid = new QGridLayout(block);
    grid->setContentsMargins(0, 0, 0, 0);
    grid->setHorizontalSpacing(18);
    grid->setVerticalSpacing(5);
    grid->addWidget(new QLabel(QStringLiteral("<b>%1</b>").arg(title), block), 0, 0, 1, 2);
    int row = 1;
    for (const auto& [what, keys] : rows) {
        auto* key = new QLabel(keys, block);
        key->setForegroundRole(QPalette::PlaceholderText);
        grid->addWidget(new QLabel(what, block), row, 0);
        grid->addWidget(key, row++, 1);
    }
    grid->setColumnStretch(0, 1);
    return block;
}

}  // namespace

std::vector<std::pair<QString, QString>> timeline_keys() {
    return {{tr("Zoom in, out"), tr("W, S")},
            {tr("Pan left, right"), tr("A, D")},
            {tr("Zoom at the pointer"), tr("Ctrl+wheel")},
            {tr("Pan"), tr("Shift+wheel, Shift+drag")},
            {tr("Scroll the rows"), tr("wheel")},
            {tr("Mark a range"), tr("drag")},
            {tr("Zoom to a range"), tr("middle-button drag")},
            {tr("Centre the selection, then fit it"), tr("F")},
            {tr("Next span of the row"), tr(".  or  Right")},
            {tr("Previous span of the row"), tr(",  or  Left")},
            {tr("Row above, below"), tr("Up, Down")},
            {tr("Mark from the selection to the next span"), tr("Shift+.")},
            {tr("Mark the selection"), tr("R")},
            {tr("Fold or unfold the row"), tr("Enter")}};
}

void show_keys(const Actions& actions, QWidget* window) {
    QDialog* dialog = new_dialog(tr("Keys"), window);
    auto* columns = new QHBoxLayout;
    columns->setSpacing(40);
    columns->setContentsMargins(16, 12, 16, 12);
    auto* left = new QVBoxLayout;
    auto* right = new QVBoxLayout;
    left->setSpacing(20);
    right->setSpacing(20);
    left->addWidget(key_block(tr("Timeline"), timeline_keys(), dialog));
    const auto sections = actions.sections();
    for (std::size_t i = 0; i < sections.size(); ++i)
        (i == 0 ? left : right)->addWidget(key_block(sections[i].title, rows_of(sections[i]), dialog));
    left->addStretch(1);
    right->addStretch(1);
    columns->addLayout(left, 1);
    columns->addLayout(right, 1);
    static_cast<QVBoxLayout*>(dialog->layout())->addLayout(columns, 1);
    add_close(dialog);
    dialog->show();
}

void show_capture_help(QWidget* window) {
    QDialog* dialog = new_dialog(tr("How to capture"), window);
    dialog->layout()->setContentsMargins(0, 0, 12, 12);
    dialog->layout()->addWidget(new CaptureHelp(dialog));
    add_close(dialog);
    dialog->resize(820, 680);
    dialog->show();
}

void show_about(QWidget* window) {
    QDialog* dialog = new_dialog(tr("About Faultline"), window);
    auto* mark = new QLabel(dialog);
    mark->setPixmap(program_icon().pixmap(64, 64));
    mark->setAlignment(Qt::AlignTop);
    auto* text = new QLabel(tr("<h3>Faultline %1</h3>"
                               "<p>Finds out why a request or a step of LLM inference was slow or wrong.</p>"
                               "<p>Everything stays on this computer: the program holds no network code and sends nothing anywhere.</p>"
                               "<p>Free software under the Apache License 2.0. Built with Qt %2 and SQLite.</p>")
                                .arg(QCoreApplication::applicationVersion(), QString::fromLatin1(qVersion())),
                            dialog);
    text->setWordWrap(true);
    text->setMinimumWidth(380);
    text->setTextInteractionFlags(Qt::TextSelectableByMouse);
    auto* row = new QHBoxLayout;
    row->setContentsMargins(16, 12, 16, 4);
    row->setSpacing(18);
    row->addWidget(mark);
    row->addWidget(text, 1);
    static_cast<QVBoxLayout*>(dialog->layout())->addLayout(row);
    add_close(dialog);
    dialog->show();
}

}  // namespace faultline
