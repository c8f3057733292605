// Every row of a table, forward, and past damaged pages from the other end; what lies between cannot be read and is counted.
//
// Columns that the table lacks in this schema are null in every row (columns moved and were renamed between releases, FORMATS §1.1).
// "a|b" asks for the first of several columns that is not null.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/import_ledger.h"
#include "core/progress.h"
#include "core/sql.h"
#include "core/types.h"
#include "importers/nsys/export_database.h"

struct sqlite3_stmt;

namespace faultline::nsys {

/// What a scan needs of its import. All outlive it.
struct ScanContext {
    const ExportDatabase& db;
    ImportLedger& ledger;
    const Progress& progress;
};

class TableScan {
public:
    /// What to leave out and how to sort, as SQL. A sorted scan is not taken up again behind damage.
    /// `losses`: whether rows that cannot be read count as dropped records, are noted (rows that only name things), or are left to
    /// another scan of the same table, so that each counts once.
    enum class Losses : std::uint8_t { dropped, noted, elsewhere };
    struct Clauses {
        std::string_view where, order;
        Losses losses = Losses::dropped;
    };
    TableScan(const ScanContext& context, std::string_view table, std::initializer_list<std::string_view> columns, Clauses clauses);
    TableScan(const ScanContext& context, std::string_view table, std::initializer_list<std::string_view> columns)
        : TableScan(context, table, columns, Clauses{}) {}

    /// False at the end, or when stopped.
    [[nodiscard]] bool next();

    [[nodiscard]] std::int64_t integer(int column) const noexcept;  ///< kNull where it is null
    [[nodiscard]] std::int64_t integer_or_zero(int column) const noexcept;
    [[nodiscard]] bool is_null(int column) const noexcept;
    [[nodiscard]] double real(int column) const noexcept;
    [[nodiscard]] std::string_view text(int column) const noexcept;  ///< valid until the next row
    [[nodiscard]] std::uint64_t rows() const noexcept { return rows_; }
    [[nodiscard]] std::uint64_t lost() const noexcept { return lost_; }  ///< that cannot be read; known at the end
    /// "NVTX_EVENTS row 12": the place of the current row in the ledger.
    [[nodiscard]] std::string place() const;

private:
    void prepare(bool backward);
    void meet_damage();
    void count_losses();
    /// Rows between the last one that was read forward and the first one from the other end; nothing where it is not known.
    [[nodiscard]] std::optional<std::uint64_t> rows_between() const;
    [[nodiscard]] std::optional<std::int64_t> row_id_of(std::uint64_t row) const;

    const ScanContext& context_;
    std::string table_, columns_, where_, order_;
    Losses losses_;
    std::vector<bool> absent_;  ///< columns that are null in every row
    int rowid_column_ = -1;     ///< of a backward scan
    sql::Statement rows_of_;
    sqlite3_stmt* row_ = nullptr;
    std::uint64_t rows_ = 0;
    bool backward_ = false;
    bool ended_ = false;
    std::uint64_t rows_forward_ = 0;                       ///< before the damage
    std::int64_t last_forward_ = kNull;                    ///< row id of the last of them, where there is one
    std::int64_t first_after_ = kNull, last_row_ = kNull;  ///< row ids of the first row after it and of the last
    std::uint64_t lost_ = 0;
};

}  // namespace faultline::nsys
