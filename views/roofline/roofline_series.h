// The steps of one engine instance and phase as points of a plot, and the line that was fitted through them (StriaTrace §5.4).
//
// Values made from a capture; any thread.
#pragma once

#include <QString>
#include <optional>
#include <string>
#include <vector>

#include "views/loaded_capture.h"

namespace faultline {

struct RooflineKey {
    std::string instance;
    StepPhase phase = StepPhase::other;
    friend bool operator==(const RooflineKey&, const RooflineKey&) = default;
};

struct RooflinePoint {
    std::size_t step = 0;  ///< position in LoadedCapture::steps
    double x = 0;          ///< tokens; the number of the step, from 1, where `by_order`
    TimeNs duration = 0;
    bool outlier = false;
    bool slow = false;  ///< an outlier by its duration; else by something else
};

struct RooflineSeries {
    RooflineKey key;
    std::vector<RooflinePoint> points;  ///< by x, then duration
    bool by_order = false;              ///< no step of it says its tokens
    std::optional<RooflineLine> line;

    [[nodiscard]] double expected(double x) const noexcept;  ///< ns; where there is a line
};

/// Those that have steps, in the order in which they first appear.
[[nodiscard]] std::vector<RooflineKey> roofline_keys(const LoadedCapture& capture);
[[nodiscard]] RooflineSeries roofline_series(const LoadedCapture& capture, const RooflineKey& key);

/// "P99 by RANSAC over 812 steps, 37 token counts, R² 0.98: 3.1 ms + 42 µs a token".
[[nodiscard]] QString rule_text(const RooflineSeries& series);
/// What one point is: step, tokens, duration, expectation, verdict.
[[nodiscard]] QString point_text(const LoadedCapture& capture, const RooflineSeries& series, const RooflinePoint& point);

}  // namespace faultline
