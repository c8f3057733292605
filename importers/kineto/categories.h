// What a category of a Chrome trace is: its kind of span, and where its rows lie (FORMATS §2.4). One thread.
#pragma once

#include <array>
#include <string>
#include <string_view>

#include "core/model.h"

namespace faultline::kineto {

/// Where the spans of a category go. Never decided by pid ranges: device indices and OS pids overlap.
enum class Place : std::uint8_t {
    host,            ///< the thread (pid, tid)
    device,          ///< the stream (args.device, args.stream)
    device_ranges,   ///< beside the stream: ranges and waits are not busy time
    device_or_host,  ///< device where args name one
    window,          ///< the profiler's own rows
};

/// What the flow events of a category say.
enum class FlowUse : std::uint8_t {
    unknown,
    launch,    ///< host call to device row: the correlation says the same
    backward,  ///< forward operator to backward operator
};

struct Category {
    SpanKind kind = SpanKind::other;
    Place place = Place::host;
    FlowUse flow = FlowUse::unknown;
};

/// Looks categories up by their raw text; case does not matter. Unknown ones are generic host spans.
class Categories {
public:
    [[nodiscard]] const Category& find(std::string_view raw);

private:
    struct Known {
        std::string raw;
        Category category;
        bool used = false;
    };
    std::array<Known, 64> known_;  ///< by a hash of the text; a clash is looked up again
};

}  // namespace faultline::kineto
