// How a span is filled: a colour by kind, a shade by name, and a pattern by kind, so that no meaning hangs on colour alone.
//
// Values; built once per theme. Colours of kinds come from views/palette.h.
#pragma once

#include <QColor>
#include <array>
#include <cstdint>
#include <vector>

#include "core/model.h"

namespace faultline {

/// Bits of an 8×8 tile: where a bit is set the second colour shows.
enum class Pattern : std::uint8_t { solid, diagonal, back_diagonal, dots, horizontal, vertical, cross, more };
inline constexpr int kPatternCount = 8;
[[nodiscard]] const std::array<std::uint8_t, 8>& pattern_tile(Pattern pattern) noexcept;
[[nodiscard]] Pattern pattern_of(SpanKind kind, bool collective) noexcept;

struct SpanStyle {
    QRgb fill = 0;
    QRgb second = 0;  ///< colour of the pattern
    QRgb quiet = 0;   ///< nearly the ground: behind a bar that says how much of a column is busy
    QRgb text = 0;    ///< at least 4.5:1 on `fill`
    Pattern pattern = Pattern::solid;
};

/// Contrast of two colours as WCAG 2 defines it, 1…21.
[[nodiscard]] double contrast_ratio(const QColor& a, const QColor& b);

class SpanStyles {
public:
    static constexpr unsigned kShades = 4;
    SpanStyles(bool dark, const QColor& ground);
    [[nodiscard]] bool dark() const noexcept { return dark_; }
    /// `shade` is any number; equal names have equal shades.
    [[nodiscard]] const SpanStyle& style(SpanKind kind, bool collective, unsigned shade) const noexcept {
        const auto at = static_cast<std::size_t>(kind);
        return styles_[((at < kSpanKindCount ? at : kSpanKindCount - 1) * 2 + (collective ? 1 : 0)) * kShades + shade % kShades];
    }

private:
    bool dark_;
    std::vector<SpanStyle> styles_;
};

}  // namespace faultline
