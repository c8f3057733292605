// Tokens against duration: a point for each step, the fitted line, outliers told apart by shape. Click or Enter chooses a step; arrow keys
// move between points, Page Up and Page Down between outliers.
#pragma once

#include <QImage>
#include <QWidget>
#include <optional>

#include "views/roofline/roofline_series.h"
#include "views/session.h"

namespace faultline {

class RooflinePlot : public QWidget {
    Q_OBJECT
public:
    explicit RooflinePlot(Session* session, QWidget* parent = nullptr);
    /// The capture of the session outlives its use of it.
    void set_series(RooflineSeries series);
    [[nodiscard]] const RooflineSeries& series() const noexcept { return series_; }
    [[nodiscard]] QPointF place(std::size_t point) const;                          ///< where a point is painted
    [[nodiscard]] std::optional<std::size_t> point_at(QPointF at) const;           ///< the nearest within reach
    [[nodiscard]] std::optional<std::size_t> current() const { return current_; }  ///< point of the keyboard
    [[nodiscard]] QSize minimumSizeHint() const override { return {160, 110}; }

Q_SIGNALS:
    void current_changed();

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void changeEvent(QEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    void forget();
    void paint_plot();
    void paint_axes(QPainter& painter, const QRectF& area);
    void paint_shape(QPainter& painter, const RooflinePoint& point, QPointF at, double size) const;
    void set_current(std::optional<std::size_t> point);
    void move(int direction, bool outliers);
    void choose(std::size_t point);
    [[nodiscard]] QRectF area() const;
    [[nodiscard]] QPointF to_pixels(double x, double duration) const;

    Session* session_;
    RooflineSeries series_;
    double left_ = 0, right_ = 1, top_ = 1;  ///< of the axes; durations begin at 0
    QImage plot_;                            ///< axes, points and line; made again when size, theme or series change
    std::optional<std::size_t> current_;
    std::optional<std::size_t> hover_;
};

}  // namespace faultline
