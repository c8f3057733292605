#include "views/timeline/timeline_panel.h"

#include <QEvent>
#include <QScrollBar>
#include <QVBoxLayout>

#include "views/session.h"
#include "views/timeline/overview.h"
#include "views/timeline/ruler.h"
#include "views/timeline/timeline_widget.h"

namespace faultline {

TimelinePanel::TimelinePanel(Session& session, QWidget* parent)
    : QWidget(parent),
      overview_(new Overview(session, this)),
      ruler_(new Ruler(session, this)),
      timeline_(new TimelineWidget(session, this)) {
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(overview_);
    column->addWidget(ruler_);
    column->addWidget(timeline_, 1);
    setFocusProxy(timeline_);
    align();
}

void TimelinePanel::align() {
    // The scroll bar takes its width from the rows alone; the ruler and the overview must end where the rows end.
    const int bar = timeline_->verticalScrollBar()->sizeHint().width();
    overview_->set_right_margin(bar);
    ruler_->set_right_margin(bar);
}

void TimelinePanel::resizeEvent(QResizeEvent* event) {
    QWidget::resizeEvent(event);
    align();
}

void TimelinePanel::changeEvent(QEvent* event) {
    QWidget::changeEvent(event);
    if (event->type() == QEvent::StyleChange) align();
}

}  // namespace faultline
