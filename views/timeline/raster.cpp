#include "views/timeline/raster.h"

#include <algorithm>

namespace faultline {

namespace {

bool clip(const Canvas& canvas, PixelRect& rect) {
    rect.x0 = std::max(rect.x0, canvas.clip_x0);
    rect.y0 = std::max(rect.y0, canvas.clip_y0);
    rect.x1 = std::min(rect.x1, canvas.clip_x1);
    rect.y1 = std::min(rect.y1, canvas.clip_y1);
    return rect.x0 < rect.x1 && rect.y0 < rect.y1;
}

QRgb* row_of(const Canvas& canvas, int y) { return canvas.bits + static_cast<std::ptrdiff_t>(y) * canvas.stride; }

QRgb mix(QRgb under, QRgb over, unsigned alpha) {
    const unsigned rest = 255 - alpha;
    const auto part = [&](int shift) {
        const unsigned sum = ((under >> shift) & 0xff) * rest + ((over >> shift) & 0xff) * alpha + 127;
        return ((sum + (sum >> 8)) >> 8) << shift;
    };
    return 0xff000000U | part(16) | part(8) | part(0);
}

}  // namespace

Canvas::Canvas(QImage& image)
    : bits(reinterpret_cast<QRgb*>(image.bits())),
      stride(static_cast<int>(image.bytesPerLine() / 4)),
      width(image.width()),
      height(image.height()),
      clip_x1(width),
      clip_y1(height) {}

Canvas Canvas::clipped(int x0, int y0, int x1, int y1) const noexcept {
    Canvas other = *this;
    other.clip_x0 = std::max(clip_x0, x0);
    other.clip_y0 = std::max(clip_y0, y0);
    other.clip_x1 = std::min(clip_x1, x1);
    other.clip_y1 = std::min(clip_y1, y1);
    return other;
}

void fill(const Canvas& canvas, PixelRect rect, QRgb colour) {
    if (!clip(canvas, rect)) return;
    QRgb* line = row_of(canvas, rect.y0);
    for (int y = rect.y0; y < rect.y1; ++y, line += canvas.stride) {
        for (int x = rect.x0; x < rect.x1; ++x) line[x] = colour;
    }
}

void fill(const Canvas& canvas, PixelRect rect, QRgb colour, QRgb second, Pattern pattern) {
    if (!clip(canvas, rect)) return;
    const auto& tile = pattern_tile(pattern);
    QRgb* line = row_of(canvas, rect.y0);
    for (int y = rect.y0; y < rect.y1; ++y, line += canvas.stride) {
        const unsigned bits = tile[static_cast<std::size_t>(y & 7)];
        if (bits == 0) {
            for (int x = rect.x0; x < rect.x1; ++x) line[x] = colour;
        } else {
            for (int x = rect.x0; x < rect.x1; ++x) line[x] = (bits >> (x & 7)) & 1U ? second : colour;
        }
    }
}

void columns(const Canvas& canvas, int left, int top, int height, const std::vector<int>& bars, const std::vector<QRgb>& fills,
             const std::vector<QRgb>& rests) {
    PixelRect rect{left, top, left + static_cast<int>(bars.size()), top + height};
    if (!clip(canvas, rect)) return;
    const std::size_t skipped = static_cast<std::size_t>(rect.x0 - left);
    const auto count = static_cast<std::size_t>(rect.x1 - rect.x0);
    const int* bar = bars.data() + skipped;
    const QRgb* full = fills.data() + skipped;
    const QRgb* rest = rests.data() + skipped;
    for (int y = rect.y0; y < rect.y1; ++y) {
        const int left_over = top + height - y;  // lines from here down to the foot
        QRgb* line = row_of(canvas, y) + rect.x0;
        for (std::size_t i = 0; i < count; ++i) {
            const QRgb busy = bar[i] >= left_over ? full[i] : rest[i];
            line[i] = bar[i] > 0 ? busy : line[i];
        }
    }
}

void stipple(const Canvas& canvas, PixelRect rect, QRgb colour, Pattern pattern) {
    if (!clip(canvas, rect)) return;
    const auto& tile = pattern_tile(pattern);
    QRgb* line = row_of(canvas, rect.y0);
    for (int y = rect.y0; y < rect.y1; ++y, line += canvas.stride) {
        const unsigned bits = tile[static_cast<std::size_t>(y & 7)];
        if (bits == 0) continue;
        for (int x = rect.x0; x < rect.x1; ++x) {
            if ((bits >> (x & 7)) & 1U) line[x] = colour;
        }
    }
}

void blend(const Canvas& canvas, PixelRect rect, QRgb colour, int alpha) {
    if (!clip(canvas, rect)) return;
    const auto share = static_cast<unsigned>(std::clamp(alpha, 0, 255));
    QRgb* line = row_of(canvas, rect.y0);
    for (int y = rect.y0; y < rect.y1; ++y, line += canvas.stride) {
        for (int x = rect.x0; x < rect.x1; ++x) line[x] = mix(line[x], colour, share);
    }
}

void outline(const Canvas& canvas, PixelRect r, QRgb colour, int thickness) {
    const int t = std::min({thickness, (r.y1 - r.y0 + 1) / 2, (r.x1 - r.x0 + 1) / 2});
    if (t <= 0) return;
    fill(canvas, {r.x0, r.y0, r.x1, r.y0 + t}, colour);
    fill(canvas, {r.x0, r.y1 - t, r.x1, r.y1}, colour);
    fill(canvas, {r.x0, r.y0 + t, r.x0 + t, r.y1 - t}, colour);
    fill(canvas, {r.x1 - t, r.y0 + t, r.x1, r.y1 - t}, colour);
}

void triangle(const Canvas& canvas, int x, int y, int radius, Pointing pointing, QRgb colour) {
    for (int i = 0; i <= radius; ++i) {
        switch (pointing) {
            case Pointing::right:
                fill(canvas, {x - radius / 2 + i, y - radius + i, x - radius / 2 + i + 1, y + radius - i + 1}, colour);
                break;
            case Pointing::down:
                fill(canvas, {x - radius + i, y - radius / 2 + i, x + radius - i + 1, y - radius / 2 + i + 1}, colour);
                break;
            case Pointing::up:
                fill(canvas, {x - radius + i, y + radius / 2 - i, x + radius - i + 1, y + radius / 2 - i + 1}, colour);
                break;
        }
    }
}

void blit_mask(const Canvas& canvas, int left, int top, const QImage& mask, int columns, QRgb colour) {
    const int right = std::min(left + std::min(columns, mask.width()), canvas.clip_x1);
    const int bottom = std::min(top + mask.height(), canvas.clip_y1);
    const int first = std::max(left, canvas.clip_x0);
    for (int y = std::max(top, canvas.clip_y0); y < bottom; ++y) {
        const uchar* cover = mask.constScanLine(y - top);
        QRgb* line = row_of(canvas, y);
        for (int x = first; x < right; ++x) {
            const unsigned alpha = cover[x - left];
            if (alpha == 255)
                line[x] = colour;
            else if (alpha != 0)
                line[x] = mix(line[x], colour, alpha);
        }
    }
}

}  // namespace faultline
