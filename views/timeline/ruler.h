// The time axis above the rows: ticks with times since the start of the capture (and the wall clock where it is known), marks of the log's
// lines, and the band of the steps, where outliers carry a triangle and stalls are hatched. Click on a step chooses it; drag marks a range;
// wheel zooms and pans as over the rows.
#pragma once

#include <QString>
#include <QWidget>
#include <optional>

#include "views/session.h"
#include "views/timeline/log_marks.h"
#include "views/timeline/time_axis.h"
#include "views/timeline/timeline_metrics.h"

namespace faultline {

/// Text of a tick: the whole time at multiples of the next larger unit (`strong`), else what is added to the last of those: "+2 ms".
struct TickText {
    QString text;
    bool strong = false;
};
[[nodiscard]] TickText tick_text(TimeNs t, TimeNs step);
/// The last time at or before `t` whose text is whole.
[[nodiscard]] TimeNs tick_anchor(TimeNs t, TimeNs step);

class Ruler : public QWidget {
    Q_OBJECT
public:
    explicit Ruler(Session& session, QWidget* parent = nullptr);
    /// Pixels at the right that belong to the scroll bar of the rows.
    void set_right_margin(int px);
    /// The step painted at a place; empty where there is none.
    [[nodiscard]] std::optional<StepId> step_at(QPoint at) const;
    [[nodiscard]] QSize sizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    bool event(QEvent* event) override;

private:
    [[nodiscard]] TimeAxis axis() const;
    void apply_theme();
    void paint_ticks(QPainter& painter);
    void paint_steps(QPainter& painter);
    void paint_band(QPainter& painter, bool lit);
    void paint_step(QPainter& painter, const Step& step, double x0, double x1, double until, bool even);
    void paint_log(QPainter& painter);

    Session& session_;
    TimelineMetrics metrics_;
    int right_margin_ = 0;
    LogMarks log_marks_;
    std::optional<TimeNs> press_;
    QPoint press_at_;
    bool dragging_ = false;
};

}  // namespace faultline
