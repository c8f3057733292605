// What assistive technology is told about the timeline: a list whose children are the rows in sight and, last, the selected span.
#pragma once

namespace faultline {

class TimelineWidget;

/// Makes Qt ask us for the interface of a TimelineWidget; once is enough, more does no harm.
void install_timeline_accessibility();
/// Index of the selected span among the children; -1 where nothing is selected.
[[nodiscard]] int timeline_accessible_span_child(const TimelineWidget& widget);

}  // namespace faultline
