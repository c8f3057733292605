// The whole capture in one strip: how busy the devices were, where the steps start, which are out of line, where the log has warnings and
// errors, and the part that the rows show as a handle that
// can be moved and resized. By keyboard: arrows move, + and - zoom, Home and End, Page Up and Page Down.
#pragma once

#include <QImage>
#include <QTimer>
#include <QWidget>
#include <vector>

#include "views/session.h"
#include "views/timeline/time_axis.h"
#include "views/timeline/timeline_metrics.h"

namespace faultline {

/// What the strip shows: share 0…1 per column of time in which a device worked (mean over devices of their busiest stream), and in which
/// a host thread was inside a span. Empty where the capture has no such tracks. Values in, values out.
struct OverviewShares {
    std::vector<float> device;
    std::vector<float> host;
};
[[nodiscard]] OverviewShares overview_shares(const SpanIndex& index, TimeRange extent, int columns);

class Overview : public QWidget {
    Q_OBJECT
public:
    explicit Overview(Session& session, QWidget* parent = nullptr);
    void set_right_margin(int px);
    /// Where the handle is painted.
    [[nodiscard]] QRectF handle() const;
    [[nodiscard]] QSize sizeHint() const override { return {600, metrics_.overview}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    enum class Grip { none, move, left, right };
    [[nodiscard]] TimeAxis axis() const;  ///< of the whole capture
    [[nodiscard]] Grip grip_at(QPointF at) const;
    [[nodiscard]] int strip_top() const noexcept { return 8; }
    [[nodiscard]] int strip_bottom() const { return height() - 5; }
    void apply_theme();
    void forget();
    void paint_strip();
    void paint_findings(const TimeAxis& axis);
    void pass_through(TimeRange range);

    Session& session_;
    TimelineMetrics metrics_;
    int right_margin_ = 0;
    QImage strip_;  ///< shares and steps; made again when the capture, the size or the theme changes
    QTimer settle_;
    Grip grip_ = Grip::none;
    double press_x_ = 0;
    TimeRange press_range_;
};

}  // namespace faultline
