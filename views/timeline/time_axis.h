// Time to pixel and back: pure functions of a range and a width.
//
// Times are capture times in integer nanoseconds and only their differences become doubles, so a nanosecond is not lost at epoch
// scale. Pixels are doubles, 0 at the start of the range. Nothing here clamps to the capture: the Session does that.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/types.h"

namespace faultline {

/// a - b as a double, exact to 53 bits of the difference and safe where the difference passes 63 bits.
[[nodiscard]] inline double time_difference(TimeNs a, TimeNs b) noexcept {
    TimeNs difference = 0;
    if (!__builtin_sub_overflow(a, b, &difference)) return static_cast<double>(difference);
    return static_cast<double>(a) - static_cast<double>(b);
}

/// t + d, held inside the 64 bits of a time.
[[nodiscard]] inline TimeNs time_plus(TimeNs t, double d) noexcept {
    constexpr TimeNs kMost = std::numeric_limits<TimeNs>::max();
    constexpr TimeNs kLeast = std::numeric_limits<TimeNs>::min() + 1;  // the lowest number is "absent"
    if (std::abs(d) > 9.2e18) {                                        // no whole number of 64 bits: the sum may still be a time
        const double far = static_cast<double>(t) + d;
        return far >= 9.2e18 ? kMost : far <= -9.2e18 ? kLeast : static_cast<TimeNs>(far);
    }
    TimeNs sum = 0;
    if (__builtin_add_overflow(t, static_cast<TimeNs>(std::llround(d)), &sum)) return d > 0 ? kMost : kLeast;
    return std::max(sum, kLeast);
}

struct TimeAxis {
    TimeRange range;
    double width = 1;  ///< pixels, at least 1

    [[nodiscard]] double duration() const noexcept { return std::max(1.0, time_difference(range.end, range.start)); }
    [[nodiscard]] double ns_per_px() const noexcept { return duration() / width; }
    [[nodiscard]] double x(TimeNs t) const noexcept { return time_difference(t, range.start) / ns_per_px(); }
    [[nodiscard]] TimeNs time(double x) const noexcept { return time_plus(range.start, x * ns_per_px()); }
};

/// The range after zooming by `factor` (below 1: closer) so that what is at pixel `x` stays there; at least `shortest` long.
[[nodiscard]] inline TimeRange zoomed(const TimeAxis& axis, double x, double factor, TimeNs shortest = 100) noexcept {
    const double length = std::clamp(axis.duration() * factor, static_cast<double>(shortest), 9e18);
    const double share = x / axis.width;
    const TimeNs start = time_plus(axis.range.start, share * (axis.duration() - length));
    return {start, time_plus(start, length)};
}

/// The range after moving by `px` pixels, positive to later times; its length stays.
[[nodiscard]] inline TimeRange panned(const TimeAxis& axis, double px) noexcept {
    const TimeNs start = time_plus(axis.range.start, px * axis.ns_per_px());
    return {start, time_plus(start, axis.duration())};
}

/// `span` in the middle, taking `share` of the range.
[[nodiscard]] inline TimeRange framed(TimeRange span, double share, TimeNs shortest = 100) noexcept {
    const double inner = std::max(1.0, time_difference(span.end, span.start));
    const double length = std::clamp(inner / share, static_cast<double>(shortest), 9e18);
    const TimeNs start = time_plus(span.start, (inner - length) / 2);
    return {start, time_plus(start, length)};
}

/// The smallest of 1, 2, 5 · 10^n ns that is at least `min_px` pixels wide.
[[nodiscard]] inline TimeNs nice_step(double ns_per_px, double min_px) noexcept {
    const double wanted = std::clamp(ns_per_px * min_px, 1.0, 4e18);
    TimeNs decade = 1;
    while (decade <= 400'000'000'000'000'000 && static_cast<double>(decade) * 10 <= wanted) decade *= 10;
    for (const TimeNs factor : {1, 2, 5}) {
        if (static_cast<double>(decade * factor) >= wanted) return decade * factor;
    }
    return decade * (decade <= 900'000'000'000'000'000 ? 10 : 5);
}

/// The largest multiple of `step` that is at most `t`.
[[nodiscard]] constexpr TimeNs floor_to(TimeNs t, TimeNs step) noexcept {
    const TimeNs rest = t % step;
    return t - rest - (rest < 0 ? step : 0);
}

}  // namespace faultline
