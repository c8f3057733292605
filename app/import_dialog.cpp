#include "app/import_dialog.h"

#include <QComboBox>
#include <QDir>
#include <QDragEnterEvent>
#include <QFileDialog>
#include <QFileInfo>
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
#include "views/format.h"

namespace faultline {

namespace {

constexpr qint64 kShowEveryMs = 80;

using ImportResult = Result<ImportSummary>;

ImportResult run_import(const ImportRequest& request, const Progress& progress) {
    const StepGrammar grammar = StepGrammar::built_in();
    const LayerRules layers = LayerRules::built_in();
    return import_capture(request, BuildRules{grammar, layers, RequestRules::built_in()}, progress);
}

QString phase_words(ImportPhase phase) {
    switch (phase) {
        case ImportPhase::reading: return ImportDialog::tr("Reading events");
        case ImportPhase::sorting: return ImportDialog::tr("Sorting and nesting");
        case ImportPhase::binding: return ImportDialog::tr("Binding kernels to their launches");
        case ImportPhase::steps: return ImportDialog::tr("Looking for steps");
        case ImportPhase::writing: return ImportDialog::tr("Writing the capture");
        case ImportPhase::analysis: return ImportDialog::tr("Aligning logs and judging steps");
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

void ImportDialog::set_inputs(const QStringList& paths, bool at_once) {
    if (running()) return;
    paths_.clear();
    logs_.clear();
    append_ = false;
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
    sniffing_.start<std::vector<PlannedInput>>([paths = paths_, logs = logs_](const Progress&) { return plan_inputs(paths, logs); }, this,
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
    if (at_once && can_start() && (append_ || !QFileInfo::exists(target()))) start();
}

void ImportDialog::choose_files() {
    add_inputs(QFileDialog::getOpenFileNames(this, tr("Add files"), paths_.isEmpty() ? QString() : QFileInfo(paths_.front()).absolutePath(),
                                             import_filters()));
}

void ImportDialog::choose_logs() {
    add_logs(QFileDialog::getOpenFileNames(this, tr("Add logs"), paths_.isEmpty() ? QString() : QFileInfo(paths_.front()).absolutePath(),
                                           log_filters()));
}

void ImportDialog::add_logs(const QStringList& paths) {
    if (running()) return;
    for (const QString& path : paths) logs_ += QFileInfo(path).absoluteFilePath();
    logs_.removeDuplicates();
    add_inputs(paths);
}

void ImportDialog::set_time_zone(const QString& zone) { zone_->setEditText(zone); }

void ImportDialog::append_to(const QString& capture) {
    set_inputs({});
    append_ = true;
    set_target(capture);
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
    const bool exists = !append_ && !target().isEmpty() && QFileInfo::exists(target());
    zone_box_->setVisible(
        std::any_of(plan_.begin(), plan_.end(), [](const PlannedInput& i) { return i.log || QFileInfo(i.path).isDir(); }));
    target_->setReadOnly(append_);
    choose_target_->setVisible(!append_);
    setWindowTitle(append_ ? tr("Add to the capture") : tr("Import"));
    choosing_->setEnabled(!runs);
    inputs_hint_->setVisible(paths_.isEmpty());
    progress_->setVisible(runs);
    start_->setVisible(!runs);
    start_->setEnabled(can_start());
    start_->setText(append_ ? tr("Add") : exists ? tr("Import again and replace") : tr("Import"));
    existing_->setVisible(exists && !runs);
    cancel_->setText(runs ? tr("Cancel the import") : tr("Close"));
    cancel_->setEnabled(true);
    if (append_)
        target_note_->setText(tr("What is added joins the sources of this capture, and its steps are judged again."));
    else if (exists)
        target_note_->setText(
            tr("This capture exists already (%1).").arg(QLocale().toString(QFileInfo(target()).lastModified(), QLocale::ShortFormat)));
    else if (target_note_->property("elsewhere").toBool())
        target_note_->setText(
            tr("The folder of the inputs cannot be written to, so the capture goes to the cache folder. Choose another place to keep it."));
    else
        target_note_->setText(paths_.isEmpty() ? QString() : tr("The inputs stay as they are."));
}

ImportRequest ImportDialog::request() const {
    ImportRequest request;
    for (const PlannedInput& input : plan_) {
        if (!input.usable()) continue;
        (logs_.contains(input.path) ? request.logs : request.inputs).push_back(QFile::encodeName(input.path).toStdString());
    }
    request.capture = QFile::encodeName(target()).toStdString();
    request.append = append_;
    const QString zone = zone_->currentText().trimmed();
    if (zone != zone_->itemText(0)) request.time_zone = zone.toStdString();
    return request;
}

void ImportDialog::start() {
    if (!can_start()) return;
    banners_->clear();
    ImportRequest request = this->request();
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
