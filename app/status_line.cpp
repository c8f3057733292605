#include "app/status_line.h"

#include <QApplication>
#include <QEvent>
#include <QFileInfo>
#include <QLabel>
#include <set>

#include "views/format.h"
#include "views/icon.h"

namespace faultline {

namespace {

const QString kDot = QStringLiteral("   ·   ");
QString count(std::uint64_t n) { return count_text(static_cast<qint64>(n)); }

/// The length of a marked range and how many device spans touch it.
QString marked_text(const LoadedCapture& capture, TimeRange range) {
    QString words = StatusLine::tr("marked %1").arg(duration_text(range.duration()));
    if (!capture.index) return words;
    std::uint64_t spans = 0;
    for (const TrackLanes& track : capture.index->tracks()) {
        if (track.track.kind != TrackKind::device) continue;
        for (const Lane& lane : track.lanes) {
            const auto [first, last] = lane.find(range);
            spans += last - first;
        }
    }
    return spans == 0 ? words : words + StatusLine::tr(" (%1 device spans)").arg(count(spans));
}

}  // namespace

StatusLine::StatusLine(Session* session, QWidget* parent)
    : QStatusBar(parent),
      session_(session),
      capture_(new QLabel(this)),
      selection_(new QLabel(this)),
      lock_(new QLabel(this)),
      offline_(new QLabel(tr("offline"), this)) {
    setSizeGripEnabled(false);
    capture_->setContentsMargins(10, 3, 4, 3);
    selection_->setContentsMargins(4, 3, 12, 3);
    offline_->setContentsMargins(0, 3, 12, 3);
    capture_->setMinimumWidth(1);  // the text may be longer than a narrow window
    capture_->setTextInteractionFlags(Qt::TextSelectableByMouse);
    const QString trust = tr("Everything stays on this computer: the program holds no network code.");
    offline_->setToolTip(trust);
    lock_->setToolTip(trust);
    addWidget(capture_, 1);
    addPermanentWidget(selection_);
    addPermanentWidget(lock_);
    addPermanentWidget(offline_);
    connect(session_, &Session::capture_changed, this, &StatusLine::show_capture);
    connect(session_, &Session::selection_changed, this, &StatusLine::show_selection);
    connect(session_, &Session::marked_changed, this, &StatusLine::show_selection);
    take_icon();
    show_capture();
    show_selection();
}

QString StatusLine::capture_text() const { return capture_->text(); }
QString StatusLine::selection_text() const { return selection_->text(); }

void StatusLine::show_capture() {
    const LoadedCapture* capture = session_->capture();
    if (capture == nullptr) {
        capture_->setText(tr("No capture is open"));
        capture_->setToolTip({});
        return;
    }
    LedgerTotals totals;
    for (const SourceLedger& ledger : capture->ledger) {
        totals.dropped += ledger.totals.dropped;
        totals.repaired += ledger.totals.repaired;
    }
    std::set<std::int64_t> ranks;
    for (const Source& source : capture->reader->sources())
        if (source.rank) ranks.insert(*source.rank);
    QStringList parts{QFileInfo(QString::fromStdString(capture->path)).fileName()};
    const std::size_t sources = capture->reader->sources().size();
    parts += sources == 1 ? tr("1 source") : tr("%1 sources").arg(count(sources));
    if (!ranks.empty()) parts += ranks.size() == 1 ? tr("rank %1").arg(*ranks.begin()) : tr("%1 ranks").arg(count(ranks.size()));
    if (capture->index) parts += tr("%1 spans").arg(count(capture->index->span_count()));
    QString kernels = tr("%1 kernels").arg(count(capture->kernels));
    if (capture->kernels > 0)
        kernels +=
            capture->unbound_kernels == 0
                ? tr(" (all bound)")
                : tr(" (%1 bound, %2 unbound)").arg(count(capture->kernels - capture->unbound_kernels), count(capture->unbound_kernels));
    parts += kernels;
    parts += tr("%1 dropped").arg(count(totals.dropped));
    parts += tr("%1 repaired").arg(count(totals.repaired));
    capture_->setText(parts.join(kDot));
    capture_->setToolTip(QString::fromStdString(capture->path));
}

void StatusLine::show_selection() {
    const LoadedCapture* capture = session_->capture();
    QString text;
    if (capture != nullptr && session_->mark_is_latest()) {
        text = marked_text(*capture, *session_->marked());
    } else if (capture != nullptr && session_->selected_span()) {
        if (const auto time = session_->span_time(*session_->selected_span()))
            text = tr("selection %1").arg(duration_text(time->duration()));
    } else if (capture != nullptr && session_->selected_step()) {
        if (const Step* step = capture->step(*session_->selected_step()))
            text = tr("step %1 (%2 kernels)").arg(duration_text(step->end - step->start), count_text(step->kernels));
    } else if (capture != nullptr && session_->marked()) {
        text = marked_text(*capture, *session_->marked());
    }
    selection_->setText(text);
}

void StatusLine::take_icon() { lock_->setPixmap(themed_icon(QStringLiteral("lock"), QApplication::palette()).pixmap(16, 16)); }

void StatusLine::changeEvent(QEvent* event) {
    QStatusBar::changeEvent(event);
    if (event->type() == QEvent::PaletteChange && lock_ != nullptr) take_icon();
}

}  // namespace faultline
