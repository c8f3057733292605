#include "importers/nsys/table_scan.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

namespace faultline::nsys {

namespace {

/// SQL for a column, or for the first of several that is not null.
std::string value_of(const ExportDatabase& db, std::string_view table, std::string_view column) {
    std::vector<std::string> there;
    for (std::size_t begin = 0; begin <= column.size();) {
        const std::size_t end = std::min(column.find('|', begin), column.size());
        const std::string_view one = column.substr(begin, end - begin);
        if (db.has_column(table, one)) there.push_back(quoted_name(one));
        begin = end + 1;
    }
    if (there.empty()) return "NULL";
    return there.size() == 1 ? there.front() : fmt::format("coalesce({})", fmt::join(there, ", "));
}

}  // namespace

TableScan::TableScan(const ScanContext& context, std::string_view table, std::initializer_list<std::string_view> columns, Clauses clauses)
    : context_(context), table_(table), where_(clauses.where), order_(clauses.order) {
    if (!context_.db.has(table)) {
        ended_ = true;
        return;
    }
    for (const std::string_view column : columns) {
        const std::string value = value_of(context_.db, table, column);
        absent_.push_back(value == "NULL");
        columns_ += (columns_.empty() ? "" : ", ") + value;
    }
    prepare(false);
}

void TableScan::prepare(bool backward) {
    // In the order of the table itself: other programs add indexes, whose order is not that of row ids, and which may be damaged too.
    std::string query = fmt::format("SELECT {}{} FROM {}{}", columns_, backward ? ", rowid" : "", quoted_name(table_),
                                    order_.empty() ? " NOT INDEXED" : "");
    if (!where_.empty()) query += fmt::format(" WHERE {}", where_);
    if (backward)
        query += " ORDER BY rowid DESC";
    else if (!order_.empty())
        query += fmt::format(" ORDER BY {}", order_);
    row_ = nullptr;
    Result<sql::Statement> statement = context_.db.connection().prepare(query);
    if (!statement) return meet_damage();
    rows_of_ = std::move(*statement);
    row_ = rows_of_.handle();
}

/// Row id of the row with this number (from 1): looked for only where the pages behind it are damaged.
std::int64_t TableScan::row_id_of(std::uint64_t row) const {
    if (row == 0) return 0;
    const Result<std::int64_t> id =
        context_.db.connection().integer(fmt::format("SELECT rowid FROM {} NOT INDEXED{} LIMIT 1 OFFSET {}", quoted_name(table_),
                                                     where_.empty() ? "" : fmt::format(" WHERE {}", where_), row - 1));
    return id ? *id : -1;
}

bool TableScan::next() {
    constexpr std::uint64_t kReportEvery = 8192;
    while (!ended_) {
        const int code = sqlite3_step(row_);
        if (code == SQLITE_DONE) {
            ended_ = true;
            break;
        }
        if (code != SQLITE_ROW || rows_ >= context_.db.most_rows()) {
            backward_ = backward_ || code == SQLITE_ROW;
            meet_damage();
            continue;
        }
        if (rowid_column_ >= 0) {
            const std::int64_t id = sqlite3_column_int64(row_, rowid_column_);
            if (id <= last_forward_) {
                ended_ = true;
                break;
            }
            first_after_ = id;
        }
        if (++rows_ % kReportEvery == 0) {
            context_.progress({ImportPhase::reading, 0, 0, context_.ledger.totals().read});
            if (context_.progress.stopped()) {
                ended_ = true;
                break;
            }
        }
        return true;
    }
    return false;
}

/// The first time the rest is read from the other end; the second time what lies between is given up.
void TableScan::meet_damage() {
    if (context_.progress.stopped()) {  // interrupted, not damaged
        ended_ = true;
        return;
    }
    if (!backward_ && order_.empty()) {
        last_forward_ = row_id_of(rows_);
        if (last_forward_ >= 0) {
            backward_ = true;
            rowid_column_ = static_cast<int>(absent_.size());
            return prepare(true);
        }
    }
    ended_ = true;
    const bool counted = backward_ && first_after_ > last_forward_;
    const std::uint64_t lost = counted ? static_cast<std::uint64_t>(first_after_ - last_forward_ - 1) : 1;
    const std::string place = counted ? fmt::format("{} rows {} to {}", table_, last_forward_ + 1, first_after_ - 1)
                                      : fmt::format("{} after {} rows", table_, rows_);
    if (lost > 0)
        context_.ledger.dropped("nsys.damaged-pages",
                                "Rows on pages of the database that are missing or damaged cannot be read; where their number is not "
                                "known, they count as one",
                                place, lost);
}

std::int64_t TableScan::integer(int column) const noexcept {
    if (absent_[static_cast<std::size_t>(column)]) return kNull;
    const std::int64_t value = sqlite3_column_int64(row_, column);
    return value == 0 && sqlite3_column_type(row_, column) == SQLITE_NULL ? kNull : value;
}

std::int64_t TableScan::integer_or_zero(int column) const noexcept {
    return absent_[static_cast<std::size_t>(column)] ? 0 : sqlite3_column_int64(row_, column);
}

bool TableScan::is_null(int column) const noexcept {
    return absent_[static_cast<std::size_t>(column)] || sqlite3_column_type(row_, column) == SQLITE_NULL;
}

double TableScan::real(int column) const noexcept { return sqlite3_column_double(row_, column); }

std::string_view TableScan::text(int column) const noexcept {
    const auto* const text = reinterpret_cast<const char*>(sqlite3_column_text(row_, column));
    return text == nullptr ? std::string_view() : std::string_view(text, static_cast<std::size_t>(sqlite3_column_bytes(row_, column)));
}

std::string TableScan::place() const {
    return backward_ ? fmt::format("{} row id {}", table_, first_after_) : fmt::format("{} row {}", table_, rows_);
}

}  // namespace faultline::nsys
