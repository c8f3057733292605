// An Nsight Systems export as a database: opened so that nothing in it can run and nothing beside it is written (FORMATS §1.1).
//
// Only base tables count: a view, a trigger, a virtual table or a generated column of a foreign file is never touched. A file whose end
// is missing is opened too; what its pages still hold can be read. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/result.h"
#include "core/sql.h"

namespace faultline::nsys {

/// A folder of copies, removed with what is in it.
class CopiesFolder {
public:
    explicit CopiesFolder(std::string path) : path_(std::move(path)) {}
    CopiesFolder(const CopiesFolder&) = delete;
    CopiesFolder& operator=(const CopiesFolder&) = delete;
    ~CopiesFolder();
    [[nodiscard]] const std::string& path() const noexcept { return path_; }

private:
    std::string path_;
};

/// A column as the table declares it.
struct TableColumn {
    std::string name;
    bool key = false;  ///< the only column of an INTEGER PRIMARY KEY
};

class ExportDatabase {
public:
    /// `called` is the name of the input in a sentence. Fails where the file is no database at all or cannot be read.
    [[nodiscard]] static Result<ExportDatabase> open(const std::string& path, std::string_view called);

    [[nodiscard]] bool has(std::string_view table) const { return tables_.contains(std::string(table)); }
    /// Columns of a table that hold data; empty where there is no such table or its shape cannot be read.
    [[nodiscard]] const std::vector<TableColumn>& columns(std::string_view table) const;
    [[nodiscard]] bool has_column(std::string_view table, std::string_view column) const;
    /// Names of all base tables in the order of the file.
    [[nodiscard]] const std::vector<std::string>& tables() const noexcept { return names_; }
    /// Names of views and virtual tables: what stands in them is not read.
    [[nodiscard]] const std::vector<std::string>& passed_over() const noexcept { return passed_over_; }
    /// Rows of a table; -1 where they cannot be counted.
    [[nodiscard]] std::int64_t row_count(std::string_view table) const;
    /// More rows than the file has room for: a damaged tree that leads into itself would go on for ever.
    [[nodiscard]] std::uint64_t most_rows() const noexcept { return most_rows_; }
    [[nodiscard]] const sql::Connection& connection() const noexcept { return connection_; }
    /// The end of the file is missing, so that some pages cannot be read.
    [[nodiscard]] bool cut_short() const noexcept { return cut_short_; }
    /// Changes that wait in a log beside the file (-wal, -journal) could not be taken in.
    [[nodiscard]] bool without_log() const noexcept { return without_log_; }

private:
    explicit ExportDatabase(sql::Connection connection) : connection_(std::move(connection)) {}
    [[nodiscard]] static std::optional<ExportDatabase> open_with_log(const std::string& path);
    [[nodiscard]] bool read_schema();
    [[nodiscard]] std::vector<TableColumn> read_columns(const std::string& table) const;

    std::unique_ptr<CopiesFolder> copies_;  ///< outlives the connection to what is in it
    sql::Connection connection_;
    std::vector<std::string> names_, passed_over_;
    std::unordered_map<std::string, std::vector<TableColumn>> tables_;
    std::uint64_t most_rows_ = 0;
    bool cut_short_ = false;
    bool without_log_ = false;
};

/// A name as it stands in SQL: quoted, so that any name is one.
[[nodiscard]] std::string quoted_name(std::string_view name);

}  // namespace faultline::nsys
