// What a row of pixels shows of a lane, at a cost of pixels and not of spans (DESIGN §9, STYLE §0).
//
// fold() suits host lanes: spans narrower than `min_px` are merged with their neighbours into one item that keeps their number.
// occupancy() suits device lanes: the busy share of each pixel column, exact from prefix sums, so that bubbles stay visible.
#pragma once

#include <cstdint>
#include <vector>

#include "core/span_index.h"
#include "core/types.h"

namespace faultline {

/// First position in [from, values.size()) whose value is not less than `limit`; values ascend. Found by doubling steps from `from`:
/// most searches of a frame end close to where the one before ended, so this touches far less memory than halving the whole lane.
[[nodiscard]] std::size_t first_not_less(const std::vector<TimeNs>& values, std::size_t from, TimeNs limit) noexcept;

/// A rectangle of a host lane. `count` is 1 for a span drawn as itself (then `first` is its position in the lane).
struct FoldItem {
    std::size_t first = 0;  ///< position in the lane of its first span
    std::size_t count = 1;
    TimeNs start = 0;
    TimeNs end = 0;
};

/// Items that touch `range`, drawn on `width_px` pixels; O(pixels · log spans). A span narrower than `min_px` is merged with those after
/// it for as long as each ends less than `min_px` after the one before; a wider span is always an item of its own.
[[nodiscard]] std::vector<FoldItem> fold(const Lane& lane, TimeRange range, int width_px, double min_px = 3.0);

/// Busy share 0…1 of each of `width_px` columns, exact; device lanes only (a lane without busy sums gives nothing). Sub-lanes of one
/// stream are drawn apart: putting them together is the caller's business.
/// `last`, where given, gets for each column the position of the last span that starts before its end (the one that colours it).
[[nodiscard]] std::vector<float> occupancy(const Lane& lane, TimeRange range, int width_px, std::vector<std::uint32_t>* last = nullptr);

}  // namespace faultline
