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
    : context_(context), table_(table), where_(clauses.where), order_(clauses.order), losses_(clauses.losses) {
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
    std::string query = fmt::format("SELECT {}{} FROM {}{}", columns_.empty() ? "NULL" : columns_, backward ? ", rowid" : "",
                                    quoted_name(table_), order_.empty() ? " NOT INDEXED" : "");
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
std::optional<std::int64_t> TableScan::row_id_of(std::uint64_t row) const {
    const Result<std::int64_t> id =
        context_.db.connection().integer(fmt::format("SELECT rowid FROM {} NOT INDEXED{} LIMIT 1 OFFSET {}", quoted_name(table_),
                                                     where_.empty() ? "" : fmt::format(" WHERE {}", where_), row - 1));
    return id ? std::optional(*id) : std::nullopt;
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
            if (last_forward_ != kNull && id <= last_forward_) {
                ended_ = true;
                break;
            }
            if (last_row_ == kNull) last_row_ = id;
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
        rows_forward_ = rows_;
        const std::optional<std::int64_t> last = rows_ == 0 ? std::optional(kNull) : row_id_of(rows_);
        if (last) {
            last_forward_ = *last;
            backward_ = true;
            rowid_column_ = std::max(static_cast<int>(absent_.size()), 1);
            return prepare(true);
        }
    }
    ended_ = true;
    if (losses_ != Losses::elsewhere) count_losses();
}

std::optional<std::uint64_t> TableScan::rows_between() const {
    if (rowid_column_ < 0 || first_after_ == kNull) return std::nullopt;
    // Row ids that leave some out elsewhere may do so here: they tell the number of rows only where they count them.
    const std::uint64_t rows_after = rows_ - rows_forward_;
    if (static_cast<std::uint64_t>(last_row_) - static_cast<std::uint64_t>(first_after_) + 1 != rows_after) return std::nullopt;
    if (rows_forward_ > 0) {
        const std::optional<std::int64_t> first = row_id_of(1);
        if (!first || static_cast<std::uint64_t>(last_forward_) - static_cast<std::uint64_t>(*first) + 1 != rows_forward_)
            return std::nullopt;
    }
    const std::int64_t before = rows_forward_ > 0 ? last_forward_ : 0;  // tables are counted from 1
    if (first_after_ <= before) return rows_forward_ > 0 ? std::optional<std::uint64_t>(0) : std::nullopt;
    const std::uint64_t between = static_cast<std::uint64_t>(first_after_) - static_cast<std::uint64_t>(before) - 1;
    const std::uint64_t room = context_.db.most_rows() - std::min(context_.db.most_rows(), rows_);
    return between <= room ? std::optional(between) : std::nullopt;
}

void TableScan::count_losses() {
    std::string place = fmt::format("{} after {} rows", table_, rows_);
    lost_ = 1;
    if (!order_.empty()) {
        // What a sort does not give any more is what the table itself still has, and has lost.
        TableScan all(context_, table_, {}, {where_, {}, Losses::elsewhere});
        while (all.next()) {
        }
        const std::uint64_t between = all.rowid_column_ >= 0 ? all.rows_between().value_or(1) : 0;
        lost_ = std::max<std::uint64_t>(all.rows_ + between, rows_ + 1) - rows_;
    } else if (const std::optional<std::uint64_t> between = rows_between()) {
        lost_ = *between;
        place = fmt::format("{} rows {} to {}", table_, rows_forward_ > 0 ? last_forward_ + 1 : 1, first_after_ - 1);
    }
    if (lost_ == 0) return;
    if (losses_ == Losses::noted)
        context_.ledger.note("nsys.damaged-names",
                             "Rows that name things lie on pages of the database that are missing or damaged; where their number is not "
                             "known, they count as one",
                             place, lost_);
    else
        context_.ledger.dropped("nsys.damaged-pages",
                                "Rows on pages of the database that are missing or damaged cannot be read; where their number is not "
                                "known, they count as one",
                                place, lost_);
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
