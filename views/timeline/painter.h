// Paints the rows of the timeline into one QImage: bands, grid, blocks, requests, bubbles, labels, the lit chain and the selection.
//
// GUI thread. Costs pixels: the geometry of a lane is kept for (range, width), names are masks that are copied, rectangles go straight
// into the pixels. Runs no SQL and walks no spans. What changes with the pointer (hover, a range being marked) is drawn over the image.
#pragma once

#include <QFont>
#include <QImage>
#include <QPalette>
#include <QRect>
#include <memory>
#include <optional>
#include <unordered_map>
#include <vector>

#include "views/session.h"
#include "views/timeline/bubble_rows.h"
#include "views/timeline/geometry.h"
#include "views/timeline/label_cache.h"
#include "views/timeline/request_lanes.h"
#include "views/timeline/row_layout.h"
#include "views/timeline/span_names.h"
#include "views/timeline/span_style.h"
#include "views/timeline/time_axis.h"

namespace faultline {

/// What a frame shows, in logical pixels of the viewport.
struct TimelineView {
    TimeRange range;
    int width = 0;
    int height = 0;
    int gutter = 0;  ///< width of the column with the names of the rows
    int scroll = 0;  ///< y of the layout at the top edge
    double dpr = 1;
    int current_row = -1;  ///< row of the keyboard; marked in the gutter
    bool focus = false;

    [[nodiscard]] int content_width() const noexcept { return std::max(1, width - gutter); }
    [[nodiscard]] TimeAxis axis() const noexcept { return {range, static_cast<double>(content_width())}; }
    [[nodiscard]] int device_width() const noexcept {
        return std::max(1, static_cast<int>(std::lround(width * dpr)) - static_cast<int>(std::lround(gutter * dpr)));
    }
};

class TimelinePainter {
public:
    TimelinePainter();
    ~TimelinePainter();
    void set_theme(const QPalette& palette, const QFont& label_font);
    /// Forgets geometry and names; `capture` may be null.
    void set_capture(const LoadedCapture* capture);
    /// Takes over the selection and its lit chain; after every change of the selection, since a chain can be 100,000 spans long.
    void set_selection(const Session& session, const RequestLanes& requests);
    [[nodiscard]] const BubbleRows& bubbles() const noexcept { return bubbles_; }
    [[nodiscard]] SpanNames* names() noexcept { return names_.get(); }

    /// The frame; the image is kept and painted over by the next one.
    const QImage& paint(const TimelineView& view, const RowLayout& layout, const Session& session);
    [[nodiscard]] const QImage& image() const noexcept { return image_; }
    /// Geometry of a row in device pixels, made where it is not there yet.
    const LaneGeometry& geometry(const Row& row, const TimelineView& view);
    /// Where a block of a row lies, in logical pixels of the viewport.
    [[nodiscard]] static QRectF block_rect(const Row& row, const Block& block, const TimelineView& view);

private:
    struct Lit;
    struct Frame;
    void paint_ground(Frame& frame);
    void paint_row(Frame& frame, const Row& row);
    void paint_blocks(Frame& frame, const Row& row);
    void paint_folded(Frame& frame, const Row& row, const Block& block, const LaneGeometry& geometry);
    void paint_busy(Frame& frame, const Row& row, const Block& block, const LaneGeometry& geometry);
    const SpanStyle& style_at(const Lane& lane, std::size_t at);
    void paint_counter(Frame& frame, const Row& row);
    void paint_label(Frame& frame, const Block& block, PixelRect rect, const QString& text, const SpanStyle& style);
    void paint_marks_of_block(Frame& frame, const Row& row, const Block& block, PixelRect rect);
    void paint_gutter(Frame& frame, const Row& row);
    void paint_requests(Frame& frame, const Row& row);
    void paint_request_part(Frame& frame, RequestPart part, PixelRect rect);
    void paint_request_marks(Frame& frame, const RequestBar& bar, PixelRect rect);
    void paint_bubbles(Frame& frame, const Row& row);
    void paint_bubble_label(Frame& frame, const Bubble& bubble, PixelRect rect);
    void paint_arrows(Frame& frame);
    void paint_arrow(Frame& frame, const SpanPlace& from, const SpanPlace& to);

    const LoadedCapture* capture_ = nullptr;
    std::unique_ptr<SpanNames> names_;
    SpanStyles styles_;
    QPalette palette_;
    QFont font_;
    LabelCache labels_;
    LabelCache bold_;
    QImage image_;
    std::unordered_map<const Lane*, LaneGeometry> geometry_;
    std::vector<QRgb> column_fill_;  ///< of the busy block being painted
    std::vector<QRgb> column_quiet_;
    std::vector<int> column_bar_;
    std::vector<std::int64_t> lit_;  ///< ids of the lit chain, sorted
    std::optional<std::int64_t> selected_;
    BubbleRows bubbles_;
    const RequestLanes* request_lanes_ = nullptr;
    std::vector<std::uint32_t> lit_requests_;  ///< of the chosen step, ascending
    std::optional<std::size_t> selected_request_;
};

}  // namespace faultline
