#include "core/sql.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <utility>

namespace faultline::sql {

namespace {

Error error_of(sqlite3* db, std::string_view doing) {
    const int code = sqlite3_extended_errcode(db);
    const std::string words = sqlite3_errmsg(db);
    switch (code & 0xff) {
        case SQLITE_FULL:
            return {ErrorCode::unwritable_output, fmt::format("the disk is full while {}", doing),
                    "Free some space or choose another folder"};
        case SQLITE_READONLY:
        case SQLITE_PERM:
        case SQLITE_CANTOPEN:
            return {ErrorCode::unwritable_output, fmt::format("cannot write while {} ({})", doing, words),
                    "Choose a folder that can be written"};
        case SQLITE_IOERR:
            return {ErrorCode::unwritable_output, fmt::format("reading or writing failed while {} ({})", doing, words),
                    "Check the disk and try again"};
        case SQLITE_NOTADB:
        case SQLITE_CORRUPT:
            return {ErrorCode::unusable_input, fmt::format("the file is damaged or no capture ({})", words), "Import its sources again"};
        case SQLITE_INTERRUPT: return {ErrorCode::cancelled, "cancelled", ""};
        case SQLITE_BUSY:
        case SQLITE_LOCKED:
            return {ErrorCode::unwritable_output, "another program is writing this capture", "Wait until it is done, then try again"};
        default: return {ErrorCode::unusable_input, fmt::format("{} failed: {}", doing, words), ""};
    }
}

}  // namespace

Statement::Statement(Statement&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

Statement& Statement::operator=(Statement&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
}

Statement::~Statement() { sqlite3_finalize(handle_); }

Statement& Statement::bind(int index, std::int64_t value) {
    sqlite3_bind_int64(handle_, index, value);
    return *this;
}

Statement& Statement::bind(int index, double value) {
    sqlite3_bind_double(handle_, index, value);
    return *this;
}

Statement& Statement::bind(int index, std::string_view text) {
    // A null pointer would bind NULL, but an empty text is a text.
    sqlite3_bind_text64(handle_, index, text.data() ? text.data() : "", text.size(), SQLITE_STATIC, SQLITE_UTF8);
    return *this;
}

Statement& Statement::bind(int index, std::span<const std::byte> blob) {
    sqlite3_bind_blob64(handle_, index, blob.data(), blob.size(), SQLITE_STATIC);
    return *this;
}

Statement& Statement::bind_null(int index) {
    sqlite3_bind_null(handle_, index);
    return *this;
}

Statement& Statement::bind(int index, const std::optional<std::int64_t>& value) { return value ? bind(index, *value) : bind_null(index); }

Result<bool> Statement::step() {
    const int code = sqlite3_step(handle_);
    if (code == SQLITE_ROW) return true;
    if (code == SQLITE_DONE) return false;
    return tl::unexpected<Error>(error_of(sqlite3_db_handle(handle_), "using the capture"));
}

Result<void> Statement::run() {
    for (;;) {
        Result<bool> row = step();
        if (!row) {
            reset();
            return tl::unexpected<Error>(row.error());
        }
        if (!*row) break;
    }
    reset();
    return {};
}

void Statement::reset() {
    sqlite3_reset(handle_);
    sqlite3_clear_bindings(handle_);
}

int Statement::columns() const { return sqlite3_column_count(handle_); }
std::string_view Statement::column_name(int index) const { return sqlite3_column_name(handle_, index); }
bool Statement::is_null(int index) const { return sqlite3_column_type(handle_, index) == SQLITE_NULL; }
std::int64_t Statement::integer(int index) const { return sqlite3_column_int64(handle_, index); }

std::optional<std::int64_t> Statement::optional_integer(int index) const {
    if (is_null(index)) return std::nullopt;
    return integer(index);
}

double Statement::real(int index) const { return sqlite3_column_double(handle_, index); }

std::string_view Statement::text(int index) const {
    const auto* text = reinterpret_cast<const char*>(sqlite3_column_text(handle_, index));
    return text ? std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(handle_, index))) : std::string_view();
}

std::span<const std::byte> Statement::blob(int index) const {
    const auto* bytes = static_cast<const std::byte*>(sqlite3_column_blob(handle_, index));
    return {bytes, bytes ? static_cast<std::size_t>(sqlite3_column_bytes(handle_, index)) : 0};
}

Result<Connection> Connection::open(const std::string& path, OpenMode mode) {
    int flags = SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    std::string target = path;
    if (mode == OpenMode::read_only_immutable) {
        // A WAL file in a read-only folder opens only so; the path is percent-encoded as a URI demands.
        target = "file:";
        for (const char c : path) {
            const bool plain =
                (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '/' || c == '.' || c == '-' || c == '_';
            target += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
        }
        target += "?immutable=1";
    } else {
        flags &= ~SQLITE_OPEN_URI;
    }
    switch (mode) {
        case OpenMode::read_only:
        case OpenMode::read_only_immutable: flags |= SQLITE_OPEN_READONLY; break;
        case OpenMode::read_write: flags |= SQLITE_OPEN_READWRITE; break;
        case OpenMode::create: flags |= SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE; break;
    }
    sqlite3* handle = nullptr;
    if (sqlite3_open_v2(target.c_str(), &handle, flags, nullptr) != SQLITE_OK) {
        Error error = handle ? error_of(handle, fmt::format("opening {}", path)) : Error{ErrorCode::unusable_input, "out of memory", ""};
        if (mode == OpenMode::read_only || mode == OpenMode::read_only_immutable) {
            error = {ErrorCode::unusable_input,
                     fmt::format("{} cannot be opened ({})", path, handle ? sqlite3_errmsg(handle) : "out of memory"),
                     "Check the name and the permissions"};
        }
        sqlite3_close_v2(handle);
        return tl::unexpected<Error>(std::move(error));
    }
    sqlite3_busy_timeout(handle, 2000);
    // A file that is being made needs journal_mode=OFF, which the defensive mode ignores without a word.
    sqlite3_db_config(handle, SQLITE_DBCONFIG_DEFENSIVE, mode == OpenMode::create ? 0 : 1, nullptr);
    sqlite3_db_config(handle, SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    return Connection(handle);
}

Connection::Connection(Connection&& other) noexcept : handle_(std::exchange(other.handle_, nullptr)) {}

Connection& Connection::operator=(Connection&& other) noexcept {
    std::swap(handle_, other.handle_);
    return *this;
}

Connection::~Connection() { sqlite3_close_v2(handle_); }

Result<void> Connection::execute(const std::string& sql) {
    if (sqlite3_exec(handle_, sql.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK)
        return tl::unexpected<Error>(last_error("using the capture"));
    return {};
}

Result<Statement> Connection::prepare(std::string_view sql) const {
    sqlite3_stmt* statement = nullptr;
    if (sqlite3_prepare_v3(handle_, sql.data(), static_cast<int>(sql.size()), SQLITE_PREPARE_PERSISTENT, &statement, nullptr) != SQLITE_OK)
        return tl::unexpected<Error>(last_error("reading the capture"));
    return Statement(statement);
}

Result<std::int64_t> Connection::integer(std::string_view sql) const {
    Result<Statement> statement = prepare(sql);
    if (!statement) return tl::unexpected<Error>(statement.error());
    Result<bool> row = statement->step();
    if (!row) return tl::unexpected<Error>(row.error());
    return *row ? statement->integer(0) : 0;
}

Error Connection::last_error(std::string_view doing) const { return error_of(handle_, doing); }

Result<void> Connection::close() {
    if (sqlite3_close(handle_) != SQLITE_OK) return tl::unexpected<Error>(last_error("closing the capture"));
    handle_ = nullptr;
    return {};
}

Result<Transaction> Transaction::begin(Connection& connection) {
    if (Result<void> begun = connection.execute("BEGIN IMMEDIATE"); !begun) return tl::unexpected<Error>(begun.error());
    return Transaction(connection);
}

Transaction::Transaction(Transaction&& other) noexcept : connection_(std::exchange(other.connection_, nullptr)) {}

Transaction::~Transaction() {
    if (connection_) sqlite3_exec(connection_->handle(), "ROLLBACK", nullptr, nullptr, nullptr);
}

Result<void> Transaction::commit() {
    Result<void> done = connection_->execute("COMMIT");
    if (done) connection_ = nullptr;
    return done;
}

}  // namespace faultline::sql
