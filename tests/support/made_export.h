// Nsight Systems databases made from SQL, and read by their importer, for tests. Hand-written; shaped as `nsys export` shapes them.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "tests/support/imported_trace.h"

namespace faultline::test {

/// Global ids as an export has them: machine, process, thread.
[[nodiscard]] constexpr std::int64_t global_id(std::uint64_t machine, std::uint64_t pid, std::uint64_t tid = 0) noexcept {
    return static_cast<std::int64_t>(machine << 48 | pid << 24 | tid);
}

/// Runs `sql` in a new database at `path`. False where a statement fails.
[[nodiscard]] bool make_database(const std::string& path, std::string_view sql);

/// The tables of the schemas as CREATE statements: without rows.
[[nodiscard]] std::string_view schema_2020();  ///< no META table, no session start
[[nodiscard]] std::string_view schema_3_7();   ///< 2023
[[nodiscard]] std::string_view schema_3_28();  ///< 2026

/// `sql` with ids written as `$G(machine,pid,tid)` replaced by their numbers.
[[nodiscard]] std::string with_ids(std::string_view sql);

/// Reads a database (or any file) with the importer into a builder of its own; nothing is sorted or bound.
[[nodiscard]] std::unique_ptr<ImportedTrace> import_export_file(const std::string& path);
/// A database of `schema` and rows, imported.
[[nodiscard]] std::unique_ptr<ImportedTrace> import_export(std::string_view schema, std::string_view rows);

/// The bytes of the database that `sql` makes; empty where it fails.
[[nodiscard]] std::string database_bytes(std::string_view sql);

}  // namespace faultline::test
