// Host annotations projected on streams, as Kineto makes them: from the first to the last piece of device work on a stream that was launched
// while the annotation was the innermost one of its thread. They are told when no more work of theirs can come, or at the end.
//
// Holds the annotations of the last few steps, never more than a fixed number. One thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "ml/simulator/base/event.h"

namespace faultline::simulator {

class DeviceRanges {
public:
    struct Stretch {
        StreamIndex stream{};
        TimeNs start = 0, end = 0;
    };

    /// A call launched work inside the annotation with this id.
    void launched(std::uint32_t id) { find_or_add(id); }
    /// Work of the annotation ran on a stream.
    void worked(std::uint32_t id, StreamIndex stream, TimeNs start, TimeNs end);
    /// The annotation is over and has this name (escaped for JSON). Those without a launch are none of the device's business.
    void ended(std::uint32_t id, std::string_view json);

    /// `tell(id, json, stretch)` for each stretch of the annotations that are over and done, or over where it is the end.
    template <class Tell>
    void tell_done(Tell tell, bool at_end = false) {
        while (!ranges_.empty() && (at_end || ranges_.size() > kKept)) {
            const std::size_t at = oldest();
            const Range& range = ranges_[at];
            if (range.ended)
                for (const Stretch& stretch : range.stretches) tell(range.id, std::string_view(range.json), stretch);
            forget(at);
        }
    }

private:
    struct Range {
        std::uint32_t id = 0;
        bool ended = false;
        std::string json;
        std::vector<Stretch> stretches;  ///< one for each stream
    };

    /// Work that is queued is never that far behind: a stream takes a thousand launches, and engines wait once in a step or two.
    static constexpr std::size_t kKept = 256;

    Range& find_or_add(std::uint32_t id);
    [[nodiscard]] std::size_t oldest() const;
    void forget(std::size_t at);

    std::vector<Range> ranges_;  ///< in the order of their first launches
    std::vector<Range> spare_;   ///< keep their memory
    std::size_t latest_ = 0;     ///< the one asked for last
};

}  // namespace faultline::simulator
