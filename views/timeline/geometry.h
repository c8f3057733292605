// What one lane shows on a number of pixels: rectangles that know their spans, and busy shares where a device lane is dense.
//
// Pure functions of (lane, range, width), in device pixels from the start of the range; cached by the painter on exactly these. Costs
// pixels, not spans (core/drawable.h). Hit testing goes through the same rectangles, so what is clicked is what was painted.
#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "core/drawable.h"
#include "core/span_index.h"
#include "core/types.h"

namespace faultline {

/// span: one span as itself. folded: several, too narrow to be told apart. busy: several of a device lane, drawn as the busy share of
/// each column. instant: one span without length.
enum class BlockKind : std::uint8_t { span, folded, busy, instant };

struct Block {
    int x0 = 0;  ///< [x0, x1), clipped to [0, width)
    int x1 = 0;
    BlockKind kind = BlockKind::span;
    bool starts_before = false;  ///< its first span starts left of the range
    std::size_t first = 0;       ///< position of its first span in the lane
    std::size_t count = 1;
};

struct LaneGeometry {
    TimeRange range;
    int width = 0;
    std::vector<Block> blocks;  ///< by x; may touch, never overlap by more than a pixel
    std::vector<float> busy;    ///< share of each column where there is a busy block, else empty
    /// Position of the span that colours each slice of a folded or busy block: kSlice columns from the block's first, kept at the first
    /// column of the slice (every column of a busy block has one); empty where there is neither.
    std::vector<std::uint32_t> sample;
    static constexpr int kSlice = 4;  ///< a colour for each column of a block would be noise
    std::vector<float> level;         ///< counters: value of each column as a share of `level_top`; below 0 where there is none yet
    double level_top = 0;

    [[nodiscard]] bool fits(TimeRange wanted, int wanted_width) const noexcept { return range == wanted && width == wanted_width; }
};

/// `device` chooses busy shares for dense places; counters (lanes with values) give levels.
[[nodiscard]] LaneGeometry lane_geometry(const Lane& lane, bool device, TimeRange range, int width);

/// The block at column `x`, or the nearest one at most `slack` pixels away.
[[nodiscard]] const Block* block_at(const LaneGeometry& geometry, int x, int slack = 2) noexcept;
/// The span of the lane that a pointer at `t` over `block` means: the one that holds `t`, else the nearest of the block.
[[nodiscard]] std::size_t span_under(const Lane& lane, const Block& block, TimeNs t) noexcept;

}  // namespace faultline
