#include "views/timeline/span_style.h"

#include <algorithm>
#include <cmath>

#include "views/palette.h"

namespace faultline {

namespace {

constexpr std::array<std::array<std::uint8_t, 8>, kPatternCount> kTiles{{
    {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00},  // solid
    {0x11, 0x22, 0x44, 0x88, 0x11, 0x22, 0x44, 0x88},  // diagonal
    {0x81, 0xc0, 0x60, 0x30, 0x18, 0x0c, 0x06, 0x03},  // back diagonal
    {0x00, 0x22, 0x00, 0x88, 0x00, 0x22, 0x00, 0x88},  // dots
    {0xff, 0x00, 0x00, 0x00, 0xff, 0x00, 0x00, 0x00},  // horizontal
    {0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11},  // vertical
    {0x81, 0x42, 0x24, 0x18, 0x18, 0x24, 0x42, 0x81},  // cross
    {0xaa, 0x00, 0xaa, 0x00, 0xaa, 0x00, 0xaa, 0x00},  // more spans than can be shown
}};

QColor mixed(const QColor& a, const QColor& b, double share) {
    const auto part = [share](int x, int y) { return static_cast<int>(std::lround(x + (y - x) * share)); };
    return {part(a.red(), b.red()), part(a.green(), b.green()), part(a.blue(), b.blue())};
}

double luminance(const QColor& colour) {
    const auto linear = [](double c) { return c <= 0.04045 ? c / 12.92 : std::pow((c + 0.055) / 1.055, 2.4); };
    return 0.2126 * linear(colour.redF()) + 0.7152 * linear(colour.greenF()) + 0.0722 * linear(colour.blueF());
}

SpanStyle style_of(SpanKind kind, bool collective, unsigned shade, bool dark, const QColor& ground) {
    // Neighbours with other names get another shade of the same colour: calm, and still told apart.
    constexpr std::array<double, SpanStyles::kShades> kLift{0.0, 0.16, -0.12, 0.30};
    const QColor base = kind_colour(kind, collective, dark);
    const double lift = kLift[shade] * (dark ? 0.75 : 1.0);
    const QColor black(0x06, 0x09, 0x0d);
    const QColor white(0xff, 0xff, 0xff);
    QColor fill = lift >= 0 ? mixed(base, white, lift) : mixed(base, black, -lift);
    const bool black_text = contrast_ratio(black, fill) >= contrast_ratio(white, fill);
    // The middle greys read badly with either: away from the text until they do not.
    for (int i = 0; i < 20 && contrast_ratio(black_text ? black : white, fill) < 4.6; ++i)
        fill = mixed(fill, black_text ? white : black, 0.05);
    SpanStyle style;
    style.fill = fill.rgb();
    style.quiet = mixed(ground, fill, 0.22).rgb();
    style.text = (black_text ? black : white).rgb();
    style.second = mixed(fill, black_text ? white : black, 0.30).rgb();  // away from the text, so that labels stay readable on it
    style.pattern = pattern_of(kind, collective);
    return style;
}

}  // namespace

const std::array<std::uint8_t, 8>& pattern_tile(Pattern pattern) noexcept { return kTiles[static_cast<std::size_t>(pattern)]; }

Pattern pattern_of(SpanKind kind, bool collective) noexcept {
    if (collective) return Pattern::diagonal;
    switch (kind) {
        case SpanKind::memory_copy: return Pattern::back_diagonal;
        case SpanKind::memory_set: return Pattern::dots;
        case SpanKind::sync: return Pattern::horizontal;
        case SpanKind::driver_call: return Pattern::dots;
        case SpanKind::graph: return Pattern::vertical;
        case SpanKind::overhead: return Pattern::cross;
        case SpanKind::os_call: return Pattern::horizontal;
        case SpanKind::profiler_range: return Pattern::vertical;
        case SpanKind::window: return Pattern::dots;
        default: return Pattern::solid;
    }
}

double contrast_ratio(const QColor& a, const QColor& b) {
    const double x = luminance(a);
    const double y = luminance(b);
    return (std::max(x, y) + 0.05) / (std::min(x, y) + 0.05);
}

SpanStyles::SpanStyles(bool dark, const QColor& ground) : dark_(dark) {
    styles_.reserve(static_cast<std::size_t>(kSpanKindCount) * 2 * kShades);
    for (int kind = 0; kind < kSpanKindCount; ++kind) {
        for (const bool collective : {false, true}) {
            for (unsigned shade = 0; shade < kShades; ++shade)
                styles_.push_back(style_of(static_cast<SpanKind>(kind), collective, shade, dark, ground));
        }
    }
}

}  // namespace faultline
