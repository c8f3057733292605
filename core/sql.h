// A thin RAII over SQLite: a connection, a prepared statement, a transaction. Errors are values with SQLite's own words.
//
// One connection belongs to one thread.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "core/result.h"

struct sqlite3;
struct sqlite3_stmt;

namespace faultline::sql {

enum class OpenMode { read_only, read_only_immutable, read_write, create };

class Statement {
public:
    Statement() = default;
    explicit Statement(sqlite3_stmt* handle) : handle_(handle) {}
    Statement(Statement&& other) noexcept;
    Statement& operator=(Statement&& other) noexcept;
    ~Statement();

    /// Binds from index 1. Texts and blobs are not copied: they must live until the next reset().
    Statement& bind(int index, std::int64_t value);
    Statement& bind(int index, double value);
    Statement& bind(int index, std::string_view text);
    Statement& bind(int index, std::span<const std::byte> blob);
    Statement& bind_null(int index);
    Statement& bind(int index, const std::optional<std::int64_t>& value);

    /// True: a row is there. False: done.
    [[nodiscard]] Result<bool> step();
    /// step() to the end, then reset().
    [[nodiscard]] Result<void> run();
    void reset();

    [[nodiscard]] int columns() const;
    [[nodiscard]] std::string_view column_name(int index) const;
    [[nodiscard]] bool is_null(int index) const;
    [[nodiscard]] std::int64_t integer(int index) const;
    [[nodiscard]] std::optional<std::int64_t> optional_integer(int index) const;
    [[nodiscard]] double real(int index) const;
    [[nodiscard]] std::string_view text(int index) const;            ///< valid until the next step()
    [[nodiscard]] std::span<const std::byte> blob(int index) const;  ///< valid until the next step()
    [[nodiscard]] sqlite3_stmt* handle() const noexcept { return handle_; }

private:
    sqlite3_stmt* handle_ = nullptr;
};

class Connection {
public:
    [[nodiscard]] static Result<Connection> open(const std::string& path, OpenMode mode);
    Connection(Connection&& other) noexcept;
    Connection& operator=(Connection&& other) noexcept;
    ~Connection();

    [[nodiscard]] Result<void> execute(const std::string& sql);
    [[nodiscard]] Result<Statement> prepare(std::string_view sql) const;
    [[nodiscard]] Result<std::int64_t> integer(std::string_view sql) const;  ///< first column of the first row; 0 where there is none
    [[nodiscard]] Error last_error(std::string_view doing) const;
    [[nodiscard]] sqlite3* handle() const noexcept { return handle_; }
    [[nodiscard]] Result<void> close();

private:
    explicit Connection(sqlite3* handle) : handle_(handle) {}
    sqlite3* handle_ = nullptr;
};

/// Calls `each` with every row of a query.
template <class Each>
[[nodiscard]] Result<void> for_rows(const Connection& db, std::string_view query, Each each) {
    Result<Statement> rows = db.prepare(query);
    if (!rows) return tl::unexpected<Error>(rows.error());
    for (;;) {
        const Result<bool> row = rows->step();
        if (!row) return tl::unexpected<Error>(row.error());
        if (!*row) return {};
        each(*rows);
    }
}

/// Rolled back unless committed.
class Transaction {
public:
    [[nodiscard]] static Result<Transaction> begin(Connection& connection);
    Transaction(Transaction&& other) noexcept;
    Transaction& operator=(Transaction&&) = delete;
    ~Transaction();
    [[nodiscard]] Result<void> commit();

private:
    explicit Transaction(Connection& connection) : connection_(&connection) {}
    Connection* connection_ = nullptr;
};

}  // namespace faultline::sql
