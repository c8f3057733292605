// Rectangles and text masks written straight into the pixels of a QImage: an order of magnitude faster than a QPainter for what a
// timeline paints (tens of thousands of small rectangles a frame).
//
// Device pixels; everything is clipped to the canvas. No state.
#pragma once

#include <QImage>
#include <QRgb>
#include <vector>

#include "views/timeline/span_style.h"

namespace faultline {

/// A view of a 32-bit image; the image outlives it and is not shared.
struct Canvas {
    QRgb* bits = nullptr;
    int stride = 0;  ///< pixels
    int width = 0;
    int height = 0;

    explicit Canvas(QImage& image);
    /// The same pixels with everything outside [x0, x1) × [y0, y1) untouched by the functions below.
    [[nodiscard]] Canvas clipped(int x0, int y0, int x1, int y1) const noexcept;

    int clip_x0 = 0, clip_y0 = 0, clip_x1 = 0, clip_y1 = 0;
};

struct PixelRect {
    int x0 = 0, y0 = 0, x1 = 0, y1 = 0;  ///< half-open
};

void fill(const Canvas& canvas, PixelRect rect, QRgb colour);
void fill(const Canvas& canvas, PixelRect rect, QRgb colour, QRgb second, Pattern pattern);
/// Mixes `colour` in; `alpha` 0…255.
void blend(const Canvas& canvas, PixelRect rect, QRgb colour, int alpha);
/// The pattern's set bits only.
void stipple(const Canvas& canvas, PixelRect rect, QRgb colour, Pattern pattern);
/// Four edges of `thickness`, inside the rectangle.
void outline(const Canvas& canvas, PixelRect rect, QRgb colour, int thickness);
/// Bars side by side from column `left`, standing at `top + height`: `bars` pixels high in `fills`, the rest of the height in `rests`; a
/// column whose bar is 0 is left alone. Written line by line, since a pixel a line costs a cache line each.
void columns(const Canvas& canvas, int left, int top, int height, const std::vector<int>& bars, const std::vector<QRgb>& fills,
             const std::vector<QRgb>& rests);
enum class Pointing { right, down, up };
/// A solid triangle of `radius` around (x, y).
void triangle(const Canvas& canvas, int x, int y, int radius, Pointing pointing, QRgb colour);
/// Columns 0…`columns`-1 of an 8-bit coverage mask at (x, y).
void blit_mask(const Canvas& canvas, int x, int y, const QImage& mask, int columns, QRgb colour);

}  // namespace faultline
