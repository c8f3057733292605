#include "app/gui_main.h"

#include <QApplication>
#include <QFile>
#include <QFileInfo>
#include <QTemporaryDir>
#include <QThreadPool>
#include <cstdio>
#include <cstdlib>

#include "app/main_window.h"
#include "app/screenshots.h"
#include "app/settings.h"
#include "core/result.h"
#include "views/icon.h"
#include "views/palette.h"

namespace faultline {

namespace {

QString decoded(const std::string& path) { return QFile::decodeName(QByteArray::fromStdString(path)); }

/// The sample as given, else where an installation or a build has it; empty where there is none.
QString find_sample(const std::string& given) {
    if (!given.empty()) return decoded(given);
    const QString here = QCoreApplication::applicationDirPath();
    const QString name = QStringLiteral("faultline-sample/faulty");
    for (const QString& place :
         {here + QStringLiteral("/../share/faultline/sample/"), here + QStringLiteral("/../../sample/"), here + QLatin1Char('/')})
        if (QFile::exists(place + name)) return QFileInfo(place + name).canonicalFilePath();
    return {};
}

/// Qt ends the program by abort() where it cannot reach a display; a person should read a sentence and get exit status 6 instead.
void say_why_there_is_no_window(QtMsgType type, const QMessageLogContext&, const QString&) {
    if (type != QtFatalMsg) return;  // the plugin's own lines say nothing more
    std::fputs("faultline: there is no display for the window. Use a command (see: faultline help), or set DISPLAY or WAYLAND_DISPLAY.\n",
               stderr);
    std::fflush(stderr);
    std::_Exit(exit_status(ErrorCode::unavailable));
}

}  // namespace

int run_gui(int& argc, char** argv, const GuiOptions& options) {
    const bool pictures = !options.screenshot_dir.empty();
    // Pictures need no display and neither read nor change what the window remembers.
    if (pictures && qEnvironmentVariableIsEmpty("QT_QPA_PLATFORM")) qputenv("QT_QPA_PLATFORM", "offscreen");
    QCoreApplication::setOrganizationName(QStringLiteral("Faultline"));
    QCoreApplication::setApplicationName(QStringLiteral("faultline"));
    QCoreApplication::setApplicationVersion(QStringLiteral(FAULTLINE_VERSION));
    QTemporaryDir nowhere;
    if (pictures) {
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, nowhere.path());
    }
    const QtMessageHandler usual = qInstallMessageHandler(say_why_there_is_no_window);
    QApplication application(argc, argv);
    qInstallMessageHandler(usual);
    QGuiApplication::setDesktopFileName(QStringLiteral("faultline"));
    QApplication::setWindowIcon(program_icon());
    const Settings settings;
    apply_theme(application, settings.theme());
    apply_text_size(application, settings.text_size_change());

    QStringList files;
    for (const std::string& file : options.files) files += decoded(file);
    const QString sample = find_sample(options.sample);
    if (files.isEmpty() && !sample.isEmpty() && (pictures || !options.sample.empty())) files += sample;
    int status = 0;
    {
        MainWindow window(sample);
        if (pictures) {
            if (files.isEmpty()) {
                std::fputs("faultline: There is nothing to show in the pictures. Name a capture or a trace.\n", stderr);
                return 2;
            }
            status = write_screenshots(window, files.front(), decoded(options.screenshot_dir));
        } else {
            window.show();
            window.open_paths(files);
            status = QApplication::exec();
        }
    }
    // An import that was stopped by closing the window removes its unfinished file.
    QThreadPool::globalInstance()->waitForDone();
    return status;
}

}  // namespace faultline
