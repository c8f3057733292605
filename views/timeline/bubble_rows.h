// The bubbles of each device as the timeline paints and finds them: a stretch of the capture's list for each device, searched by time;
// and the words, letters and patterns of their causes.
#pragma once

#include <QChar>
#include <QString>
#include <cstdint>
#include <unordered_map>

#include "views/loaded_capture.h"
#include "views/timeline/span_style.h"

namespace faultline {

struct BubbleRange {
    const Bubble* begin = nullptr;
    const Bubble* end = nullptr;
    [[nodiscard]] bool empty() const noexcept { return begin == end; }
};

class BubbleRows {
public:
    BubbleRows() = default;
    /// The capture outlives it.
    explicit BubbleRows(const LoadedCapture& capture);
    /// Those of the device of a work track; empty for every other track.
    [[nodiscard]] BubbleRange of(const Track& track) const noexcept;

private:
    std::unordered_map<std::uint32_t, BubbleRange> by_device_;
};

/// The first bubble that ends after `t`.
[[nodiscard]] const Bubble* first_bubble(BubbleRange range, TimeNs t) noexcept;
/// The bubble at `t`; null where there is none.
[[nodiscard]] const Bubble* bubble_at(BubbleRange range, TimeNs t) noexcept;

[[nodiscard]] QString bubble_word(BubbleCause cause);
[[nodiscard]] QChar bubble_letter(BubbleCause cause);
[[nodiscard]] Pattern bubble_pattern(BubbleCause cause) noexcept;
/// What a pointer over it is told; `host` is the name of the span under it, empty where nothing was seen.
[[nodiscard]] QString bubble_text(const Bubble& bubble, const QString& host);

}  // namespace faultline
