// The way from what the user gave (a drop, a menu, the command line) to an open capture: captures are loaded, everything else is
// imported first. Owns the loading job and the import dialog; says what happens by signals.
#pragma once

#include <QObject>
#include <QPointer>
#include <QStringList>

#include "app/import_dialog.h"
#include "core/result.h"
#include "views/job.h"
#include "views/session.h"

namespace faultline {

class CaptureOpener : public QObject {
    Q_OBJECT
public:
    /// The import dialog is shown over `window`.
    CaptureOpener(Session* session, QWidget* window);
    [[nodiscard]] bool loading() const { return job_.running(); }
    [[nodiscard]] ImportDialog* import_dialog() const { return dialog_; }  ///< null while it is closed

public Q_SLOTS:
    /// Opens the first capture among them; where there is none, imports them all into a new one.
    void open(const QStringList& paths);
    void load(const QString& path);
    /// Shows the import dialog; with `at_once` it starts where nothing has to be asked.
    void import(const QStringList& inputs, bool at_once = false);
    /// Asks for logs and adds them to the open capture.
    void add_log();

Q_SIGNALS:
    void loading_started(const QString& path);
    void loaded(const QString& path);  ///< the session has it
    void failed(const faultline::Error& error, const QString& path);
    void imported(const faultline::ImportSummary& summary);  ///< before the capture is loaded
    void left_out(const QString& sentence);                  ///< something that was given is not used, and why

private:
    ImportDialog& dialog();

    Session* session_;
    QWidget* window_;
    Job job_;
    QPointer<ImportDialog> dialog_;
};

}  // namespace faultline
