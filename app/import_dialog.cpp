#include "app/import_dialog.h"

#include <QDialogButtonBox>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
#include <QHeaderView>
#include <QLabel>
#include <QLineEdit>
#include <QLocale>
#include <QMimeData>
#include <QProgressBar>
#include <QPushButton>
#include <QTreeWidget>
#include <QUrl>
#include <QVBoxLayout>
#include <algorithm>

#include "core/layer_rules.h"
#include "core/step_grammar.h"
#include "views/banner.h"
#include "views/empty_label.h"
#include "views/format.h"

namespace faultline {

namespace {

constexpr qint64 kShowEveryMs = 80;

using ImportResult = Result<ImportSummary>;

ImportResult run_import(const ImportRequest& request, const Progress& progress) {
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    return import_capture(request, BuildRules{grammar, layers}, progress);
}

QString phase_words(ImportPhase phase) {
    switch (phase) {
        case ImportPhase::reading: return ImportDialog::tr("Reading events");
        case ImportPhase::sorting: return ImportDialog::tr("Sorting and nesting");
        case ImportPhase::binding: return ImportDialog::tr("Binding kernels to their launches");
        case ImportPhase::steps: return ImportDialog::tr("Looking for steps");
        case ImportPhase::writing: return ImportDialog::tr("Writing the capture");
    }
    return {};
}

QStringList local_files(const QMimeData* data) {
    QStringList paths;
    for (const QUrl& url : data->urls())
        if (url.isLocalFile()) paths += url.toLocalFile();
    return paths;
}

}  // namespace

ImportDialog::ImportDialog(QWidget* parent) : QDialog(parent) {
    setWindowTitle(tr("Import"));
    setAcceptDrops(true);
    build();
    connect(&import_, &Job::progress, this, &ImportDialog::show_progress);
    connect(&import_, &Job::running_changed, this, &ImportDialog::take_state);
    take_state();
    resize(680, 440);
}

void ImportDialog::build() {
    banners_ = new BannerStack(this);
    choosing_ = new QWidget(this);
    auto* choose = new QVBoxLayout(choosing_);
    choose->setContentsMargins(0, 0, 0, 0);
    choose->setSpacing(10);
    choose->addWidget(build_inputs(), 1);
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
    inputs_hint_->setText(tr("Drop traces or a folder here, or add them below."));
    inputs_hint_->setAttribute(Qt::WA_TransparentForMouseEvents);
    (new QVBoxLayout(inputs_->viewport()))->addWidget(inputs_hint_);
    auto* files = new QPushButton(tr("Add &files…"), box);
    auto* folder = new QPushButton(tr("Add f&older…"), box);
    auto* remove = new QPushButton(tr("&Remove"), box);
    for (QPushButton* button : {files, folder, remove}) button->setAutoDefault(false);
    connect(files, &QPushButton::clicked, this, &ImportDialog::choose_files);
    connect(folder, &QPushButton::clicked, this, &ImportDialog::choose_folder);
    connect(remove, &QPushButton::clicked, this, &ImportDialog::remove_chosen);
    auto* row = new QHBoxLayout;
    row->addWidget(files);
    row->addWidget(folder);
    row->addWidget(remove);
    row->addStretch(1);
    auto* column = new QVBoxLayout(box);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(inputs_, 1);
    column->addLayout(row);
    return box;
}

QWidget* ImportDialog::build_target() {
    auto* box = new QWidget(this);
    target_ = new QLineEdit(box);
    auto* label = new QLabel(tr("&Write the capture to"), box);
    label->setBuddy(target_);
    auto* choose = new QPushButton(tr("&Choose…"), box);
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

void ImportDialog::set_inputs(const QStringList& paths, bool at_once) {
    if (running()) return;
    paths_.clear();
    for (const QString& path : paths) paths_ += QFileInfo(path).absoluteFilePath();
    paths_.removeDuplicates();
    target_is_ours_ = true;
    banners_->clear();
    sniff(at_once);
}

void ImportDialog::add_inputs(const QStringList& paths) {
    if (running() || paths.isEmpty()) return;
    for (const QString& path : paths) paths_ += QFileInfo(path).absoluteFilePath();
    paths_.removeDuplicates();
    sniff(false);
}

void ImportDialog::sniff(bool at_once) {
    if (target_is_ours_) {
        const PlannedTarget planned = plan_target(paths_);
        target_->setText(planned.path);
        target_note_->setProperty("elsewhere", planned.elsewhere);
    }
    inputs_->clear();
    for (const QString& path : paths_) {
        auto* item = new QTreeWidgetItem(inputs_, {QFileInfo(path).fileName(), tr("looking…")});
        item->setToolTip(0, path);
    }
    plan_.clear();
    take_state();
    sniffing_.start<std::vector<PlannedInput>>([paths = paths_](const Progress&) { return plan_inputs(paths); }, this,
                                               [this, at_once](std::vector<PlannedInput> plan) { show_plan(std::move(plan), at_once); });
}

void ImportDialog::show_plan(std::vector<PlannedInput> plan, bool at_once) {
    plan_ = std::move(plan);
    inputs_->clear();
    for (const PlannedInput& input : plan_) {
        auto* item =
            new QTreeWidgetItem(inputs_, {QFileInfo(input.path).fileName(), input.usable() ? input.format : tr("cannot be imported"),
                                          input.bytes > 0 ? bytes_text(input.bytes) : QString()});
        item->setToolTip(0, input.path);
        item->setToolTip(1, input.usable() ? input.format : input.trouble);
        item->setTextAlignment(2, Qt::AlignRight | Qt::AlignVCenter);
        if (!input.usable())
            banners_->add(Severity::error, QFileInfo(input.path).fileName() + QStringLiteral(": ") + input.trouble, input.path);
    }
    take_state();
    if (at_once && can_start() && !QFileInfo::exists(target())) start();
}

void ImportDialog::choose_files() {
    add_inputs(QFileDialog::getOpenFileNames(this, tr("Add files"), paths_.isEmpty() ? QString() : QFileInfo(paths_.front()).absolutePath(),
                                             tr("Traces (*.json *.json.gz *.gz);;All files (*)")));
}

void ImportDialog::choose_folder() {
    const QString folder = QFileDialog::getExistingDirectory(this, tr("Add a folder"),
                                                             paths_.isEmpty() ? QString() : QFileInfo(paths_.front()).absolutePath());
    if (!folder.isEmpty()) add_inputs({folder});
}

void ImportDialog::choose_target() {
    QString path = QFileDialog::getSaveFileName(this, tr("Write the capture to"), target(), tr("Faultline captures (*.faultline)"));
    if (path.isEmpty()) return;
    if (QFileInfo(path).suffix().isEmpty()) path += QStringLiteral(".faultline");
    set_target(path);
}

void ImportDialog::set_target(const QString& path) {
    target_is_ours_ = false;
    target_->setText(path);
    target_note_->setProperty("elsewhere", false);
    take_state();
}

QString ImportDialog::target() const { return target_->text().trimmed(); }

void ImportDialog::remove_chosen() {
    const QList<QTreeWidgetItem*> chosen = inputs_->selectedItems();
    if (chosen.isEmpty()) return;
    for (const QTreeWidgetItem* item : chosen) paths_.removeAll(item->toolTip(0));
    banners_->clear();
    sniff(false);
}

bool ImportDialog::can_start() const {
    return !running() && !plan_.empty() && !target().isEmpty() &&
           std::any_of(plan_.begin(), plan_.end(), [](const PlannedInput& i) { return i.usable(); });
}

void ImportDialog::take_state() {
    const bool runs = running();
    const bool exists = !target().isEmpty() && QFileInfo::exists(target());
    choosing_->setEnabled(!runs);
    inputs_hint_->setVisible(paths_.isEmpty());
    progress_->setVisible(runs);
    start_->setVisible(!runs);
    start_->setEnabled(can_start());
    start_->setText(exists ? tr("Import again and replace") : tr("Import"));
    existing_->setVisible(exists && !runs);
    cancel_->setText(runs ? tr("Cancel the import") : tr("Close"));
    cancel_->setEnabled(true);
    if (exists)
        target_note_->setText(
            tr("This capture exists already (%1).").arg(QLocale().toString(QFileInfo(target()).lastModified(), QLocale::ShortFormat)));
    else if (target_note_->property("elsewhere").toBool())
        target_note_->setText(
            tr("The folder of the inputs cannot be written to, so the capture goes to the cache folder. Choose another place to keep it."));
    else
        target_note_->setText(paths_.isEmpty() ? QString() : tr("The inputs stay as they are."));
}

void ImportDialog::start() {
    if (!can_start()) return;
    banners_->clear();
    ImportRequest request;
    for (const PlannedInput& input : plan_)
        if (input.usable()) request.inputs.push_back(QFile::encodeName(input.path).toStdString());
    request.capture = QFile::encodeName(target()).toStdString();
    QDir().mkpath(QFileInfo(target()).absolutePath());
    phase_->setText(phase_words(ImportPhase::reading));
    bar_->setRange(0, 0);
    figures_->clear();
    clock_.start();
    shown_.invalidate();
    import_.start<ImportResult>([request = std::move(request)](const Progress& progress) { return run_import(request, progress); }, this,
                                [this](const ImportResult& result) { finish(result); });
    cancel_->setFocus();
}

void ImportDialog::show_progress(const ProgressReport& report) {
    if (shown_.isValid() && shown_.elapsed() < kShowEveryMs) return;
    shown_.start();
    phase_->setText(phase_words(report.phase) + QChar(0x2026));
    QStringList figures;
    const auto bytes = [](std::uint64_t n) { return bytes_text(static_cast<qint64>(n)); };
    const bool reading = report.phase == ImportPhase::reading;
    if (reading && report.bytes_total > 0) {
        const double done = static_cast<double>(report.bytes_done) / static_cast<double>(report.bytes_total);
        bar_->setRange(0, 1000);
        bar_->setValue(static_cast<int>(std::clamp(done, 0.0, 1.0) * 1000));
        figures += tr("%1 of %2").arg(bytes(report.bytes_done), bytes(report.bytes_total));
        const auto elapsed = static_cast<double>(clock_.elapsed());
        if (elapsed > 1000 && done > 0.02)
            figures +=
                tr("%1 left to read").arg(duration_text(static_cast<TimeNs>(elapsed * (1 - done) / done / 1000 + 0.5) * 1'000'000'000));
    } else {
        bar_->setRange(0, 0);
        if (report.bytes_done > 0) figures += bytes(report.bytes_done);
    }
    if (report.events > 0) figures += tr("%1 events").arg(count_text(static_cast<qint64>(report.events)));
    figures_->setText(figures.join(QStringLiteral("  ·  ")));
}

void ImportDialog::reject() {
    if (!running()) {
        QDialog::reject();
        return;
    }
    import_.request_stop();
    phase_->setText(tr("Cancelling…"));
    cancel_->setEnabled(false);
}

void ImportDialog::finish(const Result<ImportSummary>& result) {
    take_state();
    if (result) {
        Q_EMIT imported(*result);
        QDialog::accept();
        return;
    }
    if (result.error().code == ErrorCode::cancelled) {
        banners_->add(Severity::info, tr("The import was cancelled. Nothing was written."));
        return;
    }
    banners_->add(result.error(), tr("Inputs: %1\nCapture: %2").arg(paths_.join(QStringLiteral(", ")), target()));
}

void ImportDialog::dragEnterEvent(QDragEnterEvent* event) {
    if (!running() && !local_files(event->mimeData()).isEmpty()) event->acceptProposedAction();
}

void ImportDialog::dropEvent(QDropEvent* event) {
    add_inputs(local_files(event->mimeData()));
    event->acceptProposedAction();
}

}  // namespace faultline
