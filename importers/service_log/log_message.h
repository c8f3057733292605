// One message of a log before its clock is known: the lines that belong together, and the stamps as they are written. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "importers/service_log/line_header.h"
#include "importers/service_log/stamp.h"

namespace faultline::service_log {

struct LogMessage {
    Stamp stamp;  ///< the best that the first line has: with a zone before without, the header's before the wrapper's
    Stamp local;  ///< what the same line says without a zone, where `stamp` has one: the two tell the zone
    Shape shape = Shape::none;
    std::string_view level;  ///< static text
    std::string logger;
    std::string text;
    std::string process;  ///< name of the process, or SGLang's ranks where there is no process id
    std::string host;
    std::optional<std::int64_t> pid, rank, pipeline_rank;
    std::uint64_t offset = 0;  ///< of the first line in the input
    std::uint64_t lines = 1;   ///< that were joined
    bool repaired = false;     ///< held bytes that are no text
    bool cut = false;          ///< a line of it was too long and was cut
};

}  // namespace faultline::service_log
