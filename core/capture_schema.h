// The identity and version of a capture file, and how older files are brought forward.
#pragma once

#include <cstdint>
#include <string>

#include "core/model.h"
#include "core/result.h"
#include "core/sql.h"

namespace faultline {

inline constexpr std::int32_t kApplicationId = 0x464C544C;  ///< "FLTL"
inline constexpr int kSchemaVersion = 2;                    ///< `PRAGMA user_version`

/// Makes the tables in an empty database.
[[nodiscard]] Result<void> create_schema(sql::Connection& connection);

/// An error with a clear sentence where the database is no capture, or one that is newer than this program.
[[nodiscard]] Result<void> check_capture(const sql::Connection& connection, const std::string& path);

/// Brings an older capture to this version: adds tables and columns, changes nothing that is there. The file is writable.
[[nodiscard]] Result<void> bring_forward(sql::Connection& connection, const std::string& path);

/// Removes the rows of sources that never became complete (an import that was cut off).
[[nodiscard]] Result<void> remove_incomplete_sources(sql::Connection& connection);

/// All steps with their ranks and spans, by id.
[[nodiscard]] Result<std::vector<Step>> read_steps(const sql::Connection& connection);

}  // namespace faultline
