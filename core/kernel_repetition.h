// Where the kernels of a stream repeat: the last way to find steps, where neither texts, frames, graphs nor sampling tell them.
#pragma once

#include <cstdint>
#include <vector>

#include "core/source_builder.h"

namespace faultline {

/// Starts of the repeated runs on one device track: kernels [starts[i], starts[i + 1]) are one run; positions in the track.
struct KernelRepetition {
    std::uint32_t track = 0;            ///< position in SourceBuilder::tracks()
    std::vector<std::uint32_t> starts;  ///< at least three, so at least two runs; the last entry ends the last run
};

/// Looks at the busiest stream of each device. A repetition is found at the rarest kernel that stands at least three times, at least
/// 16 kernels apart, with runs between that hold the same kernels (nine in ten by name) and fill most of the stream.
[[nodiscard]] std::vector<KernelRepetition> repeated_kernels(const SourceBuilder& source);

}  // namespace faultline
