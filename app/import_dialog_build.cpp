// The widgets of the import dialog and how they lie.
#include <QComboBox>
#include <QDialogButtonBox>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QProgressBar>
#include <QPushButton>
#include <QTimeZone>
#include <QTreeWidget>
#include <QVBoxLayout>

#include "app/import_dialog.h"
#include "views/banner.h"
#include "views/empty_label.h"

namespace faultline {

void ImportDialog::build() {
    banners_ = new BannerStack(this);
    choosing_ = new QWidget(this);
    auto* choose = new QVBoxLayout(choosing_);
    choose->setContentsMargins(0, 0, 0, 0);
    choose->setSpacing(10);
    choose->addWidget(build_inputs(), 1);
    choose->addWidget(build_zone());
    choose->addWidget(build_target());
    progress_ = build_progress();

    auto* buttons = new QDialogButtonBox(this);
    existing_ = buttons->addButton(tr("Open the existing capture"), QDialogButtonBox::ActionRole);
    start_ = buttons->addButton(tr("Import"), QDialogButtonBox::AcceptRole);
    cancel_ = buttons->addButton(QDialogButtonBox::Cancel);
    start_->setDefault(true);
    connect(start_, &QPushButton::clicked, this, &ImportDialog::start);
    connect(cancel_, &QPushButton::clicked, this, &ImportDialog::reject);
    connect(existing_, &QPushButton::clicked, this, [this] {
        Q_EMIT open_existing(target());
        QDialog::accept();
    });

    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(16, 16, 16, 14);
    column->setSpacing(12);
    column->addWidget(banners_);
    column->addWidget(choosing_, 1);
    column->addWidget(progress_);
    column->addWidget(buttons);
}

QWidget* ImportDialog::build_inputs() {
    auto* box = new QWidget(this);
    inputs_ = new QTreeWidget(box);
    inputs_->setAccessibleName(tr("Files to import"));
    inputs_->setHeaderLabels({tr("Input"), tr("Format"), tr("Size")});
    inputs_->setRootIsDecorated(false);
    inputs_->setUniformRowHeights(true);
    inputs_->setTextElideMode(Qt::ElideMiddle);
    inputs_->setSelectionMode(QAbstractItemView::ExtendedSelection);
    inputs_->header()->setStretchLastSection(false);
    inputs_->header()->setSectionResizeMode(0, QHeaderView::Stretch);
    inputs_->header()->resizeSection(1, 270);
    inputs_->header()->resizeSection(2, 90);
    inputs_->setFrameShape(QFrame::StyledPanel);
    inputs_hint_ = empty_label(inputs_->viewport());
    inputs_hint_->setText(tr("Drop traces, logs or a folder here, or add them below."));
    inputs_hint_->setAttribute(Qt::WA_TransparentForMouseEvents);
    (new QVBoxLayout(inputs_->viewport()))->addWidget(inputs_hint_);
    auto* files = new QPushButton(tr("Add &files…"), box);
    auto* logs = new QPushButton(tr("Add &log…"), box);
    logs->setToolTip(tr("Files that are service logs, whatever they look like"));
    auto* folder = new QPushButton(tr("Add f&older…"), box);
    auto* remove = new QPushButton(tr("&Remove"), box);
    for (QPushButton* button : {files, logs, folder, remove}) button->setAutoDefault(false);
    connect(files, &QPushButton::clicked, this, &ImportDialog::choose_files);
    connect(logs, &QPushButton::clicked, this, &ImportDialog::choose_logs);
    connect(folder, &QPushButton::clicked, this, &ImportDialog::choose_folder);
    connect(remove, &QPushButton::clicked, this, &ImportDialog::remove_chosen);
    auto* row = new QHBoxLayout;
    row->addWidget(files);
    row->addWidget(logs);
    row->addWidget(folder);
    row->addWidget(remove);
    row->addStretch(1);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(inputs_, 1);
    column->addLayout(row);
    return box;
}

QWidget* ImportDialog::build_zone() {
    zone_box_ = new QWidget(this);
    zone_ = new QComboBox(zone_box_);
    zone_->setEditable(true);
    // What stands first is the default; every answer can be changed by importing again.
    zone_->addItem(tr("Found out from the log and the traces"));
    zone_->addItems({QStringLiteral("UTC"), QString::fromLatin1(QTimeZone::systemTimeZoneId()), QStringLiteral("+08:00")});
    zone_->setToolTip(tr("Of time stamps that do not name one: UTC, an offset such as +08:00, or a name such as Asia/Shanghai"));
    zone_->setInsertPolicy(QComboBox::NoInsert);
    auto* label = new QLabel(tr("Time &zone of the logs"), zone_box_);
    label->setBuddy(zone_);
    auto* row = new QHBoxLayout(zone_box_);
    row->setContentsMargins(0, 0, 0, 0);
    row->addWidget(label);
    row->addWidget(zone_, 1);
    return zone_box_;
}

QWidget* ImportDialog::build_target() {
    auto* box = new QWidget(this);
    target_ = new QLineEdit(box);
    auto* label = new QLabel(tr("&Write the capture to"), box);
    label->setBuddy(target_);
    auto* choose = choose_target_ = new QPushButton(tr("&Choose…"), box);
    choose->setAutoDefault(false);
    target_note_ = new QLabel(box);
    target_note_->setWordWrap(true);
    target_note_->setForegroundRole(QPalette::PlaceholderText);
    connect(choose, &QPushButton::clicked, this, &ImportDialog::choose_target);
    connect(target_, &QLineEdit::textEdited, this, [this] { target_is_ours_ = false; });
    connect(target_, &QLineEdit::textChanged, this, &ImportDialog::take_state);
    auto* row = new QHBoxLayout;
    row->addWidget(target_, 1);
    row->addWidget(choose);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(5);
    column->addWidget(label);
    column->addLayout(row);
    column->addWidget(target_note_);
    return box;
}

QWidget* ImportDialog::build_progress() {
    auto* box = new QWidget(this);
    phase_ = new QLabel(box);
    bar_ = new QProgressBar(box);
    bar_->setTextVisible(false);
    bar_->setAccessibleName(tr("Progress of the import"));
    figures_ = new QLabel(box);
    figures_->setForegroundRole(QPalette::PlaceholderText);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 8, 0, 8);
    column->setSpacing(8);
    column->addWidget(phase_);
    column->addWidget(bar_);
    column->addWidget(figures_);
    return box;
}

}  // namespace faultline
