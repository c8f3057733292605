// The rows of the timeline in one widget: requests, host threads, device streams with their bubbles, counters. Painted into an image,
// scrolled by rows.
//
// Takes its state from the Session and tells it what the user does; knows no other view. GUI thread. Keys and mouse as FEATURES §3:
// W/S zoom, A/D pan, arrows between spans and rows, `.` `,` next and previous span, F centre then fit, 0 whole capture, Backspace or
// Alt+Left back, Alt+Right forward, R selection to range, Esc clears, Return folds; wheel scrolls, Ctrl+wheel zooms, Shift+wheel pans,
// drag marks a range, Shift+drag pans, middle drag zooms to a range.
#pragma once

#include <QAbstractScrollArea>
#include <QPoint>
#include <QTimer>
#include <optional>

#include "views/session.h"
#include "views/timeline/painter.h"
#include "views/timeline/row_layout.h"
#include "views/timeline/timeline_metrics.h"

namespace faultline {

class TimelineWidget : public QAbstractScrollArea {
    Q_OBJECT
public:
    /// `session` outlives the widget.
    explicit TimelineWidget(Session& session, QWidget* parent = nullptr);
    ~TimelineWidget() override;

    [[nodiscard]] const Session& session() const noexcept { return session_; }
    [[nodiscard]] const RowLayout& row_layout() const noexcept { return layout_; }
    [[nodiscard]] TimelineView view() const;
    [[nodiscard]] int current_row() const noexcept { return current_row_; }

    /// The span painted at a point of the viewport, and how many spans its block stands for.
    struct Hit {
        int row = -1;
        const Block* block = nullptr;  ///< valid until the next change of the range
        std::optional<SpanPlace> span;
        std::optional<std::size_t> request;  ///< position in the capture's requests
        const Bubble* bubble = nullptr;      ///< where no span is
        [[nodiscard]] explicit operator bool() const noexcept { return span.has_value(); }
    };
    [[nodiscard]] Hit hit(QPoint at);
    /// Where a span is painted, in the viewport; empty where it is folded away or out of sight.
    [[nodiscard]] QRect span_rect(SpanId span);
    /// Where a request is painted, in the viewport; empty where it is folded away.
    [[nodiscard]] QRect request_rect(std::size_t request) const;
    [[nodiscard]] const RequestLanes& requests() const noexcept { return requests_; }
    /// What a pointer at this place is told: name, duration, start, kind, and how many spans a block stands for.
    [[nodiscard]] QString hover_text(QPoint at);
    /// One line for a person who does not see the row or the span.
    [[nodiscard]] QString row_text(const Row& row) const;
    [[nodiscard]] QString span_text(SpanPlace span);
    [[nodiscard]] QString request_text(std::size_t request) const;

    void toggle_row(int row);
    void fold_all(bool folded);
    [[nodiscard]] QSize sizeHint() const override { return {900, 500}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void changeEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void mouseDoubleClickEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;
    bool viewportEvent(QEvent* event) override;
    bool event(QEvent* event) override;

private:
    enum class Drag { none, pressed, mark, pan, zoom };

    void load_capture();
    void relayout();
    void apply_theme();
    void on_selection();
    void repaint_all();
    void update_scroll_bar();
    void reveal_row(int row);
    void set_current_row(int row);

    // Time (timeline_keys.cpp): a gesture passes through ranges; the one it ends with is remembered for "back".
    void pass_through(TimeRange range);
    void zoom_at(double x, double factor);
    void pan_by(double px);
    void settle();
    bool key_time(const QKeyEvent& event);
    bool key_selection(const QKeyEvent& event);
    void centre_or_fit();
    void move_span(int direction);
    void move_row(int direction);
    void select_near(const Lane& lane, TimeNs t);
    void move_request(const RequestLane& lane, int direction);
    void select_request(const RequestLane& lane, std::size_t bar);
    void select(SpanPlace place);
    void extend_mark(int direction);
    bool fold_by_key(bool folded);

    // Pointer (timeline_mouse.cpp)
    void drag_to(QPoint at);
    void end_drag(QPoint at);
    void click(QPoint at);
    void set_hover(QPoint at);
    void show_hover();
    void clear_hover();
    [[nodiscard]] TimeRange drag_range() const;
    void paint_overlay(QPainter& painter);
    void paint_range(QPainter& painter, TimeRange range, bool zooming);
    void paint_log_marker(QPainter& painter);
    [[nodiscard]] QString hover_at(const Hit& found, QPoint at);
    [[nodiscard]] QRect hover_area(const Hit& found) const;

    Session& session_;
    TimelineMetrics metrics_;
    TimelinePainter painter_;
    RowChoices choices_;
    RequestLanes requests_;
    RowLayout layout_;
    const LoadedCapture* laid_out_ = nullptr;
    bool stale_ = true;  ///< the painted image no longer shows the state
    int current_row_ = -1;
    TimeNs anchor_ = 0;  ///< where up and down stay in time
    QTimer settle_;
    QTimer hover_timer_;
    Drag drag_ = Drag::none;
    QPoint press_;
    TimeNs press_time_ = 0;
    TimeNs drag_time_ = 0;
    TimeRange press_range_;
    int press_scroll_ = 0;
    Qt::MouseButton button_ = Qt::NoButton;
    QPoint pointer_;
    QRect hover_rect_;
    QString hover_text_;
    bool own_selection_ = false;  ///< the selection comes from here: nothing has to be scrolled into sight
};

}  // namespace faultline
