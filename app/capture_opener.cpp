#include "app/capture_opener.h"

#include <QFile>
#include <QFileDialog>
#include <QFileInfo>

#include "app/import_plan.h"
#include "app/open_capture.h"

namespace faultline {

namespace {
using LoadResult = Result<std::shared_ptr<const LoadedCapture>>;
std::string encoded(const QString& path) { return QFile::encodeName(path).toStdString(); }
}  // namespace

CaptureOpener::CaptureOpener(Session* session, QWidget* window) : QObject(window), session_(session), window_(window), job_(this) {}

void CaptureOpener::open(const QStringList& paths) {
    QStringList captures, others;
    for (const QString& path : paths) (is_capture_file(encoded(path)) ? captures : others).append(path);
    if (captures.isEmpty()) {
        if (!others.isEmpty()) import(others, true);
        return;
    }
    if (paths.size() > 1)
        Q_EMIT left_out(
            tr("One capture is shown at a time: %1 was opened, the rest was left out.").arg(QFileInfo(captures.front()).fileName()));
    load(captures.front());
}

void CaptureOpener::load(const QString& path) {
    Q_EMIT loading_started(path);
    job_.start<LoadResult>(
        [path = encoded(QFileInfo(path).absoluteFilePath())](const Progress& progress) { return load_capture(path, progress); }, this,
        [this, path](LoadResult result) {
            if (!result) {
                Q_EMIT failed(result.error(), path);
                return;
            }
            session_->set_capture(std::move(*result));
            Q_EMIT loaded(path);
        });
}

ImportDialog& CaptureOpener::dialog() {
    if (dialog_) return *dialog_;
    dialog_ = new ImportDialog(window_);
    dialog_->setAttribute(Qt::WA_DeleteOnClose);
    connect(dialog_, &ImportDialog::open_existing, this, &CaptureOpener::load);
    connect(dialog_, &ImportDialog::imported, this, [this](const ImportSummary& summary) {
        Q_EMIT imported(summary);
        load(QFile::decodeName(QByteArray::fromStdString(summary.capture)));
    });
    return *dialog_;
}

void CaptureOpener::import(const QStringList& inputs, bool at_once) {
    ImportDialog& shown = dialog();
    if (!inputs.isEmpty()) shown.set_inputs(inputs, at_once);
    shown.show();
    shown.raise();
    shown.activateWindow();
}

void CaptureOpener::add_log() {
    if (session_->capture() == nullptr || dialog().running()) return import({});
    const QString capture = QFile::decodeName(QByteArray::fromStdString(session_->capture()->path));
    const QStringList logs = QFileDialog::getOpenFileNames(window_, tr("Add logs"), QFileInfo(capture).absolutePath(), log_filters());
    if (logs.isEmpty()) return;
    dialog().append_to(capture);
    dialog().add_logs(logs);
    import({});
}

}  // namespace faultline
