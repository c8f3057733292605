// One message of a service log: what the line says, when, and what it was aligned to (FORMATS §7, TELLER §3.3).
//
// A value. Times are the source's own clock inside a SourceBuilder and capture times where a CaptureReader gives them.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/types.h"

namespace faultline {

/// How a line was aligned. A line that names a request of the step belongs to it by request, whatever its time.
enum class AlignMethod : std::uint8_t { none = 0, request = 1, time = 2 };
[[nodiscard]] std::string_view align_method_name(AlignMethod method) noexcept;  ///< as in CONTRACT.md

struct LogLine {
    std::int64_t id = 0;  ///< row of the capture; ascending in the order of the source
    SourceId source{};
    std::optional<TimeNs> time;  ///< begin of the instant that its stamp names; absent where the line has none
    TimeNs resolution_ns = 0;    ///< the stamp means [time, time + resolution): 1 s for most engines, 1 for nanoseconds
    std::optional<ProcessId> process;
    std::optional<std::int64_t> rank;
    std::string level;            ///< DEBUG, INFO, WARNING, ERROR or CRITICAL; empty where the line has none
    std::string logger;           ///< file or component that wrote it, as the line says
    std::string text;             ///< the message, continuation lines joined by line feeds, without colours
    std::uint64_t offset = 0;     ///< of its first byte in the input
    std::string request;          ///< the request that it names (the first, as Request::name), else empty
    std::optional<StepId> step;   ///< the step it is aligned to
    AlignMethod method = AlignMethod::none;
    std::optional<TimeNs> distance_ns;  ///< between the instant of the line and the step's interval; 0 where they overlap
};

}  // namespace faultline
