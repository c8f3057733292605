// Read-only SQL over a capture, row by row.
#pragma once

#include <cstdint>
#include <functional>
#include <stop_token>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "core/capture_reader.h"
#include "core/result.h"

namespace faultline {

using SqlValue = std::variant<std::monostate, std::int64_t, double, std::string>;

/// Runs one statement. `on_columns` is called once, `on_row` for each row (return false to stop). Refuses statements that write and
/// more than one statement; an error names what SQLite said. Stops within a fraction of a second when `stop` is requested.
[[nodiscard]] Result<void> run_query(const CaptureReader& capture, std::string_view sql,
                                     const std::function<void(const std::vector<std::string>&)>& on_columns,
                                     const std::function<bool(const std::vector<SqlValue>&)>& on_row, std::stop_token stop = {});

}  // namespace faultline
