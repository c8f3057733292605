#include "importers/nsys/export_database.h"

#include <fmt/format.h>
#include <sqlite3.h>
#include <sys/stat.h>

#include <cstdlib>
#include <filesystem>
#include <system_error>

namespace faultline::nsys {

namespace {

bool holds_bytes(const std::string& path) {
    struct stat info {};
    return ::stat(path.c_str(), &info) == 0 && info.st_size > 0;
}

/// Where SQLite looks for logs: beside the file itself, whatever link leads to it.
std::string resolved(const std::string& path) {
    std::error_code none;
    const std::filesystem::path real = std::filesystem::canonical(path, none);
    return none ? path : real.string();
}

/// The database and its logs in a folder of their own: to take a log in, SQLite writes beside the database.
std::unique_ptr<CopiesFolder> copies_of(const std::string& path) {
    const char* const temporary = std::getenv("TMPDIR");
    std::string folder = fmt::format("{}/faultline-log-XXXXXX", temporary != nullptr && *temporary != '\0' ? temporary : "/tmp");
    if (::mkdtemp(folder.data()) == nullptr) return nullptr;
    auto copies = std::make_unique<CopiesFolder>(folder);
    std::error_code failed;
    for (const std::string_view log : {"", "-wal", "-journal"}) {
        const std::string from = path + std::string(log);
        const std::string to = folder + "/export" + std::string(log);
        if (!log.empty() && !holds_bytes(from)) continue;
        if (!std::filesystem::copy_file(from, to, failed)) return nullptr;
        std::filesystem::permissions(to, std::filesystem::perms::owner_read | std::filesystem::perms::owner_write, failed);
        if (failed) return nullptr;
    }
    return copies;
}

/// Nothing of a foreign schema runs: no views, no triggers, no functions from it (sqlite.org/security.html).
void harden(const sql::Connection& db) {
    sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_ENABLE_VIEW, 0, nullptr);
    sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_ENABLE_TRIGGER, 0, nullptr);
    sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0, nullptr);
    sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_DEFENSIVE, 1, nullptr);
}

/// A database that is shorter than its header says is refused by SQLite as a whole, but not while its schema may be written, which a
/// read-only connection cannot do anyway; broken entries of the schema are passed over then too.
void allow_damage(const sql::Connection& db) {
    sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_DEFENSIVE, 0, nullptr);
    sqlite3_db_config(db.handle(), SQLITE_DBCONFIG_WRITABLE_SCHEMA, 1, nullptr);
}

}  // namespace

std::string quoted_name(std::string_view name) {
    std::string out = "\"";
    for (const char c : name) {
        out += c;
        if (c == '"') out += '"';
    }
    return out + '"';
}

CopiesFolder::~CopiesFolder() {
    std::error_code left;
    std::filesystem::remove_all(path_, left);
}

std::optional<ExportDatabase> ExportDatabase::open_with_log(const std::string& path) {
    std::unique_ptr<CopiesFolder> copies = copies_of(path);
    if (!copies) return std::nullopt;
    Result<sql::Connection> connection = sql::Connection::open(copies->path() + "/export", sql::OpenMode::read_write);
    if (!connection) return std::nullopt;
    harden(*connection);
    ExportDatabase db(std::move(*connection));
    db.copies_ = std::move(copies);
    if (!db.read_schema()) return std::nullopt;
    return db;
}

Result<ExportDatabase> ExportDatabase::open(const std::string& given, std::string_view called) {
    // Two slashes would begin the name of a host where the path becomes a URI.
    const std::string real = resolved(given);
    const std::size_t first = real.find_first_not_of('/');
    const std::string path = first == std::string::npos || first < 2 ? real : real.substr(first - 1);
    // Immutable: no lock is taken and no file is made beside the user's. Only a log that waits there needs more than that.
    const bool log = holds_bytes(path + "-wal") || holds_bytes(path + "-journal");
    if (log)
        if (std::optional<ExportDatabase> db = open_with_log(path)) return std::move(*db);
    Result<sql::Connection> connection = sql::Connection::open(path, sql::OpenMode::read_only_immutable);
    if (!connection) return tl::unexpected<Error>(connection.error());
    harden(*connection);
    ExportDatabase db(std::move(*connection));
    db.without_log_ = log;
    if (db.read_schema()) return db;
    const bool no_database = sqlite3_errcode(db.connection_.handle()) == SQLITE_NOTADB;
    allow_damage(db.connection_);
    db.cut_short_ = true;
    if (!no_database && db.read_schema()) return db;
    return fail(ErrorCode::unusable_input, fmt::format("{} is cut short, damaged or encrypted, so that its tables cannot be found", called),
                "Export the report again: nsys export --type sqlite");
}

bool ExportDatabase::read_schema() {
    names_.clear();
    tables_.clear();
    // Virtual tables and views have no root page.
    const auto listed = sql::for_rows(
        connection_, "SELECT name FROM sqlite_schema WHERE type = 'table' AND rootpage > 0 AND name NOT LIKE 'sqlite\\_%' ESCAPE '\\'",
        [&](const sql::Statement& row) { names_.emplace_back(row.text(0)); });
    // A schema that goes on on pages which are missing still has its beginning.
    if (!listed && (!cut_short_ || names_.empty())) return false;
    passed_over_.clear();
    const auto others =
        sql::for_rows(connection_, "SELECT name FROM sqlite_schema WHERE type = 'view' OR (type = 'table' AND rootpage = 0)",
                      [&](const sql::Statement& row) { passed_over_.emplace_back(row.text(0)); });
    if (!others && !cut_short_) return false;
    const auto pages = connection_.integer("PRAGMA page_count");
    const auto page = connection_.integer("PRAGMA page_size");
    constexpr std::int64_t kLeastRowBytes = 4;
    most_rows_ = pages && page ? static_cast<std::uint64_t>(*pages * *page / kLeastRowBytes) : 0;
    for (const std::string& name : names_) tables_.emplace(name, read_columns(name));
    return true;
}

std::vector<TableColumn> ExportDatabase::read_columns(const std::string& table) const {
    std::vector<TableColumn> columns;
    int keys = 0;
    // table_info leaves generated columns out.
    const auto read = sql::for_rows(connection_, fmt::format("PRAGMA table_info({})", quoted_name(table)), [&](const sql::Statement& row) {
        const bool key = row.integer(5) != 0;
        keys += key;
        std::string type(row.text(2));
        for (char& c : type) c = c >= 'a' && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
        columns.push_back({std::string(row.text(1)), key && type == "INTEGER"});
    });
    if (!read) columns.clear();
    if (keys != 1)
        for (TableColumn& column : columns) column.key = false;
    return columns;
}

const std::vector<TableColumn>& ExportDatabase::columns(std::string_view table) const {
    static const std::vector<TableColumn> none;
    const auto found = tables_.find(std::string(table));
    return found == tables_.end() ? none : found->second;
}

bool ExportDatabase::has_column(std::string_view table, std::string_view column) const {
    for (const TableColumn& c : columns(table))
        if (c.name == column) return true;
    return false;
}

std::int64_t ExportDatabase::row_count(std::string_view table) const {
    const Result<std::int64_t> rows = connection_.integer(fmt::format("SELECT count(*) FROM {}", quoted_name(table)));
    return rows ? *rows : -1;
}

}  // namespace faultline::nsys
