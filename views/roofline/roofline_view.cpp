#include "views/roofline/roofline_view.h"

#include <QComboBox>
#include <QHBoxLayout>
#include <QLabel>
#include <QStackedLayout>
#include <QVBoxLayout>
#include <algorithm>

#include "views/empty_label.h"
#include "views/format.h"
#include "views/palette.h"
#include "views/roofline/roofline_plot.h"

namespace faultline {

RooflineView::RooflineView(Session* session, QWidget* parent)
    : QWidget(parent),
      session_(session),
      stack_(new QStackedLayout(this)),
      empty_(empty_label(this)),
      series_(new QComboBox(this)),
      rule_(new QLabel(this)),
      point_(new QLabel(this)),
      plot_(new RooflinePlot(session, this)) {
    series_->setAccessibleName(tr("Instance and phase"));
    series_->setSizeAdjustPolicy(QComboBox::AdjustToContents);
    for (QLabel* label : {rule_, point_}) {
        label->setForegroundRole(QPalette::PlaceholderText);
        label->setMinimumWidth(1);
        label->setTextInteractionFlags(Qt::TextSelectableByMouse);
    }
    rule_->setWordWrap(true);
    auto* body = new QWidget(this);
    auto* head = new QHBoxLayout;
    head->setContentsMargins(10, 6, 10, 2);
    head->setSpacing(10);
    head->addWidget(series_);
    head->addWidget(rule_, 1);
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(0, 0, 0, 4);
    column->setSpacing(2);
    column->addLayout(head);
    column->addWidget(plot_, 1);
    auto* foot = new QHBoxLayout;
    foot->setContentsMargins(10, 0, 10, 2);
    foot->addWidget(point_, 1);
    column->addLayout(foot);
    stack_->addWidget(empty_);
    stack_->addWidget(body);
    connect(series_, &QComboBox::currentIndexChanged, this, &RooflineView::show_series);
    connect(plot_, &RooflinePlot::current_changed, this, &RooflineView::show_point);
    connect(session_, &Session::capture_changed, this, &RooflineView::show_capture);
    connect(session_, &Session::selection_changed, this, &RooflineView::show_selection);
    show_capture();
}

QString RooflineView::rule() const { return rule_->text(); }
QString RooflineView::empty_text() const { return stack_->currentIndex() == 0 ? empty_->text() : QString(); }

void RooflineView::show_capture() {
    const LoadedCapture* capture = session_->capture();
    series_->blockSignals(true);
    series_->clear();
    keys_ = capture != nullptr ? roofline_keys(*capture) : std::vector<RooflineKey>();
    for (const RooflineKey& key : keys_) {
        const auto count = std::count_if(capture->steps.begin(), capture->steps.end(), [&](const Step& s) {
            return s.kind == StepKind::step && s.phase == key.phase && s.instance == key.instance;
        });
        const QString phase = phase_text(key.phase);
        series_->addItem(tr("%1 (%2)").arg(
            key.instance.empty() ? phase : phase + QStringLiteral(" · ") + QString::fromStdString(key.instance), count_text(count)));
    }
    series_->blockSignals(false);
    if (keys_.empty()) {
        plot_->set_series({});
        empty_->setText(capture == nullptr ? tr("Open a capture to see how long its steps last for their tokens.")
                                           : tr("This capture has no steps to plot."));
        stack_->setCurrentIndex(0);
        return;
    }
    stack_->setCurrentIndex(1);
    show_series(0);
    show_selection();
}

void RooflineView::show_selection() {
    const LoadedCapture* capture = session_->capture();
    const Step* step = capture != nullptr && session_->selected_step() ? capture->step(*session_->selected_step()) : nullptr;
    if (step != nullptr && step->kind == StepKind::step) {
        const auto at = std::find(keys_.begin(), keys_.end(), RooflineKey{step->instance, step->phase});
        if (at != keys_.end()) series_->setCurrentIndex(static_cast<int>(at - keys_.begin()));
    }
    show_point();
}

void RooflineView::show_series(int at) {
    if (session_->capture() == nullptr || at < 0 || at >= static_cast<int>(keys_.size())) return;
    plot_->set_series(roofline_series(*session_->capture(), keys_[static_cast<std::size_t>(at)]));
    rule_->setText(rule_text(plot_->series()));
}

void RooflineView::show_point() {
    const LoadedCapture* capture = session_->capture();
    const auto& points = plot_->series().points;
    auto shown = plot_->current();
    for (std::size_t i = 0; !shown && capture != nullptr && session_->selected_step() && i < points.size(); ++i) {
        if (capture->steps[points[i].step].id == *session_->selected_step()) shown = i;
    }
    point_->setText(shown && capture != nullptr ? point_text(*capture, plot_->series(), points[*shown])
                                                : tr("○ in line   ▲ too slow   ◆ out of line by something else"));
}

}  // namespace faultline
