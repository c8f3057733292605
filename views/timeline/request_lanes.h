// The requests of a capture as rows of bars: packed so that no two of a lane overlap, each cut into waiting, prefill and decode by its
// steps. Built once for a capture; painting and hit testing search in it.
#pragma once

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "core/types.h"
#include "views/loaded_capture.h"

namespace faultline {

enum class RequestPart : std::uint8_t { waiting, prefill, decode };

struct RequestSegment {
    TimeNs start = 0;
    TimeNs end = 0;
    RequestPart part = RequestPart::decode;
};

/// From arrival (or first step) to end (or last step).
struct RequestBar {
    TimeNs start = 0;
    TimeNs end = 0;
    std::optional<TimeNs> first_token;
    std::uint32_t request = 0;   ///< position in LoadedCapture::requests
    bool arrival_known = false;  ///< else it starts with its first step
    bool end_known = false;
};

/// Bars and segments each by start, none overlapping another of its kind.
struct RequestLane {
    std::vector<RequestBar> bars;
    std::vector<RequestSegment> segments;

    /// First bar or segment that ends after `t`.
    [[nodiscard]] std::size_t first_bar(TimeNs t) const noexcept;
    [[nodiscard]] std::size_t first_segment(TimeNs t) const noexcept;
    /// The bar at `t`, or the nearest one at most `slack` away; empty where there is none.
    [[nodiscard]] std::optional<std::size_t> bar_at(TimeNs t, TimeNs slack) const noexcept;
};

struct RequestLanes {
    static constexpr std::size_t kOwnRows = 6;  ///< up to so many requests each have a row

    std::vector<RequestLane> lanes;
    std::size_t requests = 0;  ///< with a place on the time axis
    std::vector<std::pair<StepId, std::uint32_t>> by_step;

    [[nodiscard]] static RequestLanes build(const LoadedCapture& capture);
    [[nodiscard]] bool packed() const noexcept { return requests > kOwnRows; }
    /// Lane and bar of a request; empty where it has no place.
    [[nodiscard]] std::optional<std::pair<std::size_t, std::size_t>> find(std::size_t request) const noexcept;
    /// Whether any request lives in the range.
    [[nodiscard]] bool any_in(TimeRange range) const noexcept;
    /// Requests of a step, ascending.
    [[nodiscard]] std::vector<std::uint32_t> of_step(StepId step) const;
};

}  // namespace faultline
