// Which program's database a SQLite file is, by its tables: many carry the suffix .sqlite or .db.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/result.h"

namespace faultline {

enum class DatabaseKind { nsight, dlprof, rocpd, ascend, empty, other };

/// The first bytes of a file are those of a SQLite database.
[[nodiscard]] bool is_database(std::string_view head) noexcept;

/// Names of the tables whose definitions stand in the first bytes of a database: all of them in small files, some in large ones.
[[nodiscard]] std::vector<std::string> tables_in_head(std::string_view head);

/// No table has a row, as far as the first bytes show: true only where they are the whole database.
[[nodiscard]] bool holds_no_rows(std::string_view head) noexcept;

/// A database without tables is `empty`.
[[nodiscard]] DatabaseKind database_kind(const std::vector<std::string>& tables) noexcept;

/// Bytes of the whole database, as its header says.
[[nodiscard]] std::uint64_t database_bytes(std::string_view head) noexcept;

/// Why a database that is not Nsight's cannot be used, and what to give instead.
[[nodiscard]] Error refused_database(DatabaseKind kind, const std::vector<std::string>& tables, std::string_view path);

}  // namespace faultline
