// The limit that an import of Chrome JSON is measured against: simdjson On Demand over windows of 8 MiB cut at the ends of events,
// reading the fields that an import needs and keeping nothing but numbers.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"

namespace faultline::bench {

/// Parses a Kineto trace as its profiler writes it (each event closed by a line `  },`), plain or gzip. Returns the number of events.
[[nodiscard]] Result<std::uint64_t> windowed_parse(const std::string& path);

}  // namespace faultline::bench
