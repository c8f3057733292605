// What the functions of TimelinePainter share while one frame is painted; used by painter*.cpp alone. Device pixels.
#pragma once

#include <QFontInfo>
#include <algorithm>
#include <cmath>

#include "views/palette.h"
#include "views/timeline/painter.h"

namespace faultline {

struct TimelinePainter::Frame {
    const TimelineView& view;
    const RowLayout& layout;
    const Session& session;
    Canvas canvas;
    Canvas content;  ///< right of the gutter
    int gutter = 0;
    const Chrome& colours;
    QRgb base = 0;
    QRgb text = 0;

    [[nodiscard]] int px(double logical) const noexcept { return static_cast<int>(std::lround(logical * view.dpr)); }
    [[nodiscard]] int x(TimeNs t) const noexcept {
        return gutter + static_cast<int>(std::clamp(std::floor(view.axis().x(t) * view.dpr), -1e6, 1e6));
    }
    [[nodiscard]] int top(const Row& row) const noexcept { return px(row.top - view.scroll); }
    [[nodiscard]] int bottom(const Row& row) const noexcept { return px(row.bottom() - view.scroll); }
};

}  // namespace faultline
