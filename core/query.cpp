#include "core/query.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <memory>

namespace faultline {

namespace {

constexpr int kStepsBetweenChecks = 10000;  // of SQLite's virtual machine: some 100 us

struct FinalizeStatement {
    void operator()(sqlite3_stmt* statement) const noexcept { sqlite3_finalize(statement); }
};
using StatementHandle = std::unique_ptr<sqlite3_stmt, FinalizeStatement>;

int stop_requested(void* stop) { return static_cast<const std::stop_token*>(stop)->stop_requested() ? 1 : 0; }

/// What a query may do: read. PRAGMAs that take no value only tell something.
int allow(void*, int action, const char*, const char* second, const char*, const char*) {
    switch (action) {
        case SQLITE_SELECT:
        case SQLITE_READ:
        case SQLITE_FUNCTION:
        case SQLITE_RECURSIVE: return SQLITE_OK;
        case SQLITE_PRAGMA: return second == nullptr ? SQLITE_OK : SQLITE_DENY;
        default: return SQLITE_DENY;
    }
}

/// The rules of a query stand on the connection only while it runs.
class QueryGuard {
public:
    QueryGuard(sqlite3* connection, std::stop_token* stop) : connection_(connection) {
        sqlite3_set_authorizer(connection_, allow, nullptr);
        sqlite3_progress_handler(connection_, kStepsBetweenChecks, stop_requested, stop);
    }
    ~QueryGuard() {
        sqlite3_set_authorizer(connection_, nullptr, nullptr);
        sqlite3_progress_handler(connection_, 0, nullptr, nullptr);
    }
    QueryGuard(const QueryGuard&) = delete;
    QueryGuard& operator=(const QueryGuard&) = delete;

private:
    sqlite3* connection_;
};

tl::unexpected<Error> failed(sqlite3* connection, int code) {
    const std::string words = sqlite3_errmsg(connection);
    if ((code & 0xff) == SQLITE_INTERRUPT) return fail(ErrorCode::cancelled, "the query was stopped");
    if ((code & 0xff) == SQLITE_AUTH) return fail(ErrorCode::wrong_usage, "a query can only read", "Use a single SELECT statement");
    if ((code & 0xff) == SQLITE_CORRUPT)
        return fail(ErrorCode::unusable_input, fmt::format("the capture is damaged ({})", words), "Import its sources again");
    return fail(ErrorCode::wrong_usage, fmt::format("the query failed: {}", words),
                "All spans are in span; the views are kernels, api_calls, ranges, ops, memory_copies, collectives, steps, requests, logs, "
                "ledger, sources, "
                "processes, threads and devices");
}

/// The rest of a text behind its first statement: nothing but spaces, semicolons and comments?
bool only_blank(sqlite3* connection, std::string_view rest) {
    while (!rest.empty()) {
        sqlite3_stmt* next = nullptr;
        const char* tail = nullptr;
        const int code = sqlite3_prepare_v2(connection, rest.data(), static_cast<int>(rest.size()), &next, &tail);
        const StatementHandle handle(next);
        if (code != SQLITE_OK || handle) return false;
        const auto used = static_cast<std::size_t>(tail - rest.data());
        if (used == 0) return true;
        rest.remove_prefix(used);
    }
    return true;
}

std::string hexadecimal(const void* bytes, int size) {
    std::string text = "x'";
    for (int i = 0; i < size; ++i) text += fmt::format("{:02x}", static_cast<const unsigned char*>(bytes)[i]);
    return text + "'";
}

SqlValue value_of(sqlite3_stmt* statement, int column) {
    switch (sqlite3_column_type(statement, column)) {
        case SQLITE_INTEGER: return static_cast<std::int64_t>(sqlite3_column_int64(statement, column));
        case SQLITE_FLOAT: return sqlite3_column_double(statement, column);
        case SQLITE_TEXT:
            return std::string(reinterpret_cast<const char*>(sqlite3_column_text(statement, column)),
                               static_cast<std::size_t>(sqlite3_column_bytes(statement, column)));
        case SQLITE_BLOB: {
            const void* const bytes = sqlite3_column_blob(statement, column);
            return hexadecimal(bytes, sqlite3_column_bytes(statement, column));
        }
        default: return std::monostate{};
    }
}

Result<StatementHandle> prepare_reading(sqlite3* connection, std::string_view sql) {
    sqlite3_stmt* raw = nullptr;
    const char* tail = nullptr;
    const int code = sqlite3_prepare_v2(connection, sql.data(), static_cast<int>(sql.size()), &raw, &tail);
    StatementHandle statement(raw);
    if (code != SQLITE_OK) return failed(connection, code);
    if (!statement) return fail(ErrorCode::wrong_usage, "the query is empty", "Give a SELECT statement");
    if (!only_blank(connection, sql.substr(static_cast<std::size_t>(tail - sql.data()))))
        return fail(ErrorCode::wrong_usage, "there is more than one statement", "Give one SELECT statement");
    if (sqlite3_stmt_readonly(statement.get()) == 0)
        return fail(ErrorCode::wrong_usage, "a query can only read", "Use a single SELECT statement");
    return statement;
}

}  // namespace

Result<void> run_query(const CaptureReader& capture, std::string_view sql,
                       const std::function<void(const std::vector<std::string>&)>& on_columns,
                       const std::function<bool(const std::vector<SqlValue>&)>& on_row, std::stop_token stop) {
    sqlite3* const connection = capture.connection();
    const QueryGuard guard(connection, &stop);
    const Result<StatementHandle> statement = prepare_reading(connection, sql);
    if (!statement) return tl::unexpected<Error>(statement.error());
    const int columns = sqlite3_column_count(statement->get());
    std::vector<std::string> names;
    for (int i = 0; i < columns; ++i) names.emplace_back(sqlite3_column_name(statement->get(), i));
    on_columns(names);
    std::vector<SqlValue> row(static_cast<std::size_t>(columns));
    for (;;) {
        const int code = sqlite3_step(statement->get());
        if (code == SQLITE_DONE) return {};
        if (code != SQLITE_ROW) return failed(connection, code);
        for (int i = 0; i < columns; ++i) row[static_cast<std::size_t>(i)] = value_of(statement->get(), i);
        if (!on_row(row)) return {};
    }
}

}  // namespace faultline
