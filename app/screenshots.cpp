#include "app/screenshots.h"

#include <QApplication>
#include <QDir>
#include <QDockWidget>
#include <QEventLoop>
#include <QPixmap>
#include <QTabWidget>
#include <QTimer>
#include <algorithm>
#include <cstdio>
#include <utility>

#include "app/capture_opener.h"
#include "app/main_window.h"
#include "core/result.h"
#include "views/banner.h"
#include "views/inspector/chain_page.h"
#include "views/inspector/inspector.h"
#include "views/inspector/selection_page.h"
#include "views/inspector/verdict_page.h"
#include "views/palette.h"

namespace faultline {

namespace {

constexpr int kWidth = 1600;
constexpr int kHeight = 1000;
constexpr int kSettleMs = 900;  ///< what is computed off the GUI thread arrives, and the last frame is painted

int say(const QString& sentence, ErrorCode code) {
    std::fprintf(stderr, "faultline: %s\n", qUtf8Printable(sentence));
    return exit_status(code);
}

void settle() {
    QEventLoop loop;
    QTimer::singleShot(kSettleMs, &loop, &QEventLoop::quit);
    loop.exec();
}

/// Opens or imports the file; an error, or nothing.
std::optional<Error> open_and_wait(MainWindow& window, const QString& file) {
    QEventLoop loop;
    std::optional<Error> error;
    const auto loaded = QObject::connect(window.opener(), &CaptureOpener::loaded, &loop, &QEventLoop::quit);
    const auto failed = QObject::connect(window.opener(), &CaptureOpener::failed, &loop, [&](const Error& e) {
        error = e;
        loop.quit();
    });
    // A failed import stays in its dialog: looked for now and then.
    QTimer watch;
    QObject::connect(&watch, &QTimer::timeout, &loop, [&] {
        const ImportDialog* dialog = window.opener()->import_dialog();
        if (dialog == nullptr || dialog->running() || dialog->banners()->count() == 0) return;
        error = Error{ErrorCode::unusable_input, dialog->banners()->sentence(0).toStdString(), {}};
        loop.quit();
    });
    watch.start(100);
    window.open_paths({file});
    loop.exec();
    QObject::disconnect(loaded);
    QObject::disconnect(failed);
    return error;
}

/// A kernel with the time from its launch to its end; of the kernel alone where the capture has no launch for it.
struct ShownKernel {
    SpanId span;
    TimeNs length = -1;
    TimeRange with_launch;
    bool near_launch = false;
};

/// The longest kernel; one that started soon after its launch rather than another, so that both can be seen in one picture.
std::optional<ShownKernel> longest_kernel(const LoadedCapture& capture) {
    constexpr TimeNs kNear = 12;  // lengths of the kernel
    std::optional<ShownKernel> best;
    for (const TrackLanes& track : capture.index->tracks()) {
        if (track.track.kind != TrackKind::device) continue;
        const auto launches = capture.reader->read_column(track.track.id, Column::launch);
        if (!launches) continue;
        for (const Lane& lane : track.lanes) {
            for (std::size_t i = 0; i < lane.size(); ++i) {
                const TimeNs length = lane.ends[i] - lane.starts[i];
                if (lane.kinds[i] != SpanKind::kernel || (best && best->near_launch && length <= best->length)) continue;
                const std::int64_t launch = (*launches)[lane.ordinals[i]];
                const auto call = launch == kNull ? std::nullopt : capture.index->place(SpanId{launch});
                const TimeNs from = call ? std::min(call->range().start, lane.starts[i]) : lane.starts[i];
                const bool near_launch = call && lane.starts[i] - from <= kNear * length;
                if (best && std::pair(near_launch, length) <= std::pair(best->near_launch, best->length)) continue;
                best = ShownKernel{SpanId::make(track.track.id, lane.ordinals[i]), length, {from, lane.ends[i]}, near_launch};
            }
        }
    }
    return best;
}

/// The step that is furthest out of line; where none is, the slowest one, and an inferred one only where no other is there.
const Step* shown_step(const LoadedCapture& capture) {
    const Step* worst = nullptr;
    for (const std::size_t at : outliers_worst_first(capture)) {
        if (capture.steps[at].kind == StepKind::step && worst == nullptr) worst = &capture.steps[at];
    }
    if (worst != nullptr) return worst;
    const auto it = std::max_element(capture.steps.begin(), capture.steps.end(), [](const Step& a, const Step& b) {
        return std::pair(!a.inferred, a.end - a.start) < std::pair(!b.inferred, b.end - b.start);
    });
    return it == capture.steps.end() ? nullptr : &*it;
}

bool save(MainWindow& window, const QDir& folder, const QString& name) {
    settle();
    // A diagnosis takes as long as it takes; a picture of its waiting text says nothing.
    for (int round = 0; round < 20 && window.inspector()->verdict_page()->running(); ++round) settle();
    return window.grab().save(folder.filePath(name));
}

/// The chosen step with its evidence and its log lines, then with the plot that it stands out of.
bool save_verdict(MainWindow& window, const QDir& folder) {
    window.inspector()->show_verdict();
    window.show_log();
    const bool verdict = save(window, folder, QStringLiteral("verdict.png"));
    window.show_roofline();
    return save(window, folder, QStringLiteral("roofline.png")) && verdict;
}

}  // namespace

int write_screenshots(MainWindow& window, const QString& file, const QString& folder) {
    const QDir dir(folder);
    if (!dir.mkpath(QStringLiteral(".")))
        return say(MainWindow::tr("The folder %1 cannot be made. Choose another one.").arg(folder), ErrorCode::unwritable_output);
    window.setGeometry(0, 0, kWidth, kHeight);
    window.show();
    apply_theme(*qApp, Theme::light);
    if (const auto error = open_and_wait(window, file)) return say(error_text(*error), error->code);
    Session& session = *window.session();
    const LoadedCapture& capture = *session.capture();

    for (QDockWidget* dock : {window.ledger_dock(), window.log_dock(), window.roofline_dock()}) dock->hide();
    bool written = true;
    if (const auto kernel = longest_kernel(capture)) {
        const TimeRange shown =
            kernel->near_launch ? kernel->with_launch : TimeRange{kernel->with_launch.end - kernel->length, kernel->with_launch.end};
        const TimeNs margin = std::max(kernel->length * 2, shown.duration() / 8);
        session.select_span(kernel->span);
        session.set_range({shown.start - margin, shown.end + margin});
    }
    written = save(window, dir, QStringLiteral("kernel-selected.png")) && written;
    if (const Step* step = shown_step(capture)) session.select_step(step->id);
    window.inspector()->setCurrentWidget(window.inspector()->chain_page());
    written = save(window, dir, QStringLiteral("step-chosen.png")) && written;
    written = save_verdict(window, dir) && written;
    window.inspector()->setCurrentWidget(window.inspector()->chain_page());
    window.log_dock()->hide();
    window.roofline_dock()->hide();
    apply_theme(*qApp, Theme::dark);
    written = save(window, dir, QStringLiteral("dark.png")) && written;
    apply_theme(*qApp, Theme::light);
    session.select_span(std::nullopt);
    session.show_all();
    window.inspector()->setCurrentWidget(window.inspector()->selection_page());
    window.show_ledger();
    written = save(window, dir, QStringLiteral("import-ledger.png")) && written;
    if (!written)
        return say(MainWindow::tr("The pictures cannot be written to %1. Choose another folder.").arg(folder),
                   ErrorCode::unwritable_output);
    return 0;
}

}  // namespace faultline
