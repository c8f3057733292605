// Sizes of the timeline in logical pixels, all from the font, so that a larger font or another resolution clips nothing.
#pragma once

#include <QFont>

#include "views/timeline/row_layout.h"

class QWidget;

namespace faultline {

struct TimelineMetrics {
    QFont label_font;  ///< of spans, rows, ruler and overview
    RowMetrics rows;
    int gutter = 200;  ///< column with the names of the rows, narrower in a narrow widget; ruler and overview start right of it, too
    int ruler = 26;
    int steps = 20;  ///< band of the steps under the ruler
    int overview = 56;

    [[nodiscard]] static TimelineMetrics of(const QWidget& widget);
};

}  // namespace faultline
