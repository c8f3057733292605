// What reading an Nsight Systems database costs at least: the columns that an import needs, row by row, and nothing done with them.
#pragma once

#include <cstdint>
#include <string>

#include "core/result.h"

namespace faultline::bench {

/// Steps over the calls, kernels, copies, waits, ranges and strings of a database and keeps their numbers. Returns the rows.
[[nodiscard]] Result<std::uint64_t> column_read(const std::string& path);

}  // namespace faultline::bench
