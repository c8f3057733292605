#include "views/timeline/bubble_rows.h"

#include <QCoreApplication>
#include <algorithm>

#include "views/format.h"

namespace faultline {

namespace {
QString tr(const char* text) { return QCoreApplication::translate("Timeline", text); }
}  // namespace

BubbleRows::BubbleRows(const LoadedCapture& capture) {
    const auto& all = capture.bubbles;
    for (std::size_t first = 0; first < all.size();) {
        std::size_t last = first;
        while (last < all.size() && all[last].device == all[first].device) ++last;
        by_device_[index_of(all[first].device)] = {all.data() + first, all.data() + last};
        first = last;
    }
}

BubbleRange BubbleRows::of(const Track& track) const noexcept {
    if (track.kind != TrackKind::device || !track.device) return {};
    const auto it = by_device_.find(index_of(*track.device));
    return it == by_device_.end() ? BubbleRange{} : it->second;
}

const Bubble* first_bubble(BubbleRange range, TimeNs t) noexcept {
    return std::upper_bound(range.begin, range.end, t, [](TimeNs at, const Bubble& b) { return at < b.start + b.duration; });
}

const Bubble* bubble_at(BubbleRange range, TimeNs t) noexcept {
    const Bubble* found = first_bubble(range, t);
    return found != range.end && found->start <= t ? found : nullptr;
}

QString bubble_word(BubbleCause cause) {
    switch (cause) {
        case BubbleCause::cpu: return tr("CPU");
        case BubbleCause::sync: return tr("sync");
        case BubbleCause::communication: return tr("network");
        case BubbleCause::unknown: break;
    }
    return tr("unknown");
}

QChar bubble_letter(BubbleCause cause) {
    switch (cause) {
        case BubbleCause::cpu: return QLatin1Char('C');
        case BubbleCause::sync: return QLatin1Char('S');
        case BubbleCause::communication: return QLatin1Char('N');
        case BubbleCause::unknown: break;
    }
    return QLatin1Char('?');
}

Pattern bubble_pattern(BubbleCause cause) noexcept {
    switch (cause) {
        case BubbleCause::cpu: return Pattern::diagonal;
        case BubbleCause::sync: return Pattern::horizontal;
        case BubbleCause::communication: return Pattern::vertical;
        case BubbleCause::unknown: break;
    }
    return Pattern::dots;
}

QString bubble_text(const Bubble& bubble, const QString& host) {
    QString text = QStringLiteral("<p style='white-space:pre-wrap'><b>%1</b></p>");
    switch (bubble.cause) {
        case BubbleCause::cpu: text = text.arg(tr("Bubble: the device waited for the CPU")); break;
        case BubbleCause::sync: text = text.arg(tr("Bubble: the host waited for the device before it launched more")); break;
        case BubbleCause::communication: text = text.arg(tr("Bubble: the device waited for other ranks")); break;
        case BubbleCause::unknown: text = text.arg(tr("Unknown: no work was seen on the device")); break;
    }
    text += tr("%1 · starts at %2").arg(duration_text(bubble.duration), time_text(bubble.start));
    if (!host.isEmpty()) text += QStringLiteral("<br>") + tr("under it on the host: %1").arg(host.left(200).toHtmlEscaped());
    if (bubble.cause == BubbleCause::unknown)
        text += QStringLiteral("<br>") + tr("it may have been idle, or have run what the capture does not show (the kernels of a graph)");
    return text;
}

}  // namespace faultline
