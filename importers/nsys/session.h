// One export while it is read: what every reader of a table needs, and what they tell each other. One thread.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_set>

#include "core/source_builder.h"
#include "importers/nsys/call_times.h"
#include "importers/nsys/export_strings.h"
#include "importers/nsys/places.h"
#include "importers/nsys/table_scan.h"

namespace faultline::nsys {

struct Session {
    Session(const ExportDatabase& database, SourceBuilder& builder, ImportLedger& import_ledger, const Progress& import_progress)
        : scan{database, import_ledger, import_progress},
          db(database),
          source(builder),
          ledger(import_ledger),
          strings(scan, builder),
          places(builder) {}

    ScanContext scan;
    const ExportDatabase& db;
    SourceBuilder& source;
    ImportLedger& ledger;
    ExportStrings strings;
    Places places;

    std::optional<TimeNs> duration;                    ///< of the session: ranges that end there were still open (FORMATS §1.3)
    bool graph_nodes = false;                          ///< kernels inside graphs are there one by one
    std::uint64_t graph_rows = 0;                      ///< graphs that are one device row each
    CallTimes graph_launches;                          ///< calls that launched a graph
    std::unordered_set<std::string_view> tables_read;  ///< names are literals

    /// A scan of a table that is now known as read.
    [[nodiscard]] TableScan rows_of(std::string_view table, std::initializer_list<std::string_view> columns,
                                    TableScan::Clauses clauses = {}) {
        tables_read.insert(table);
        return TableScan(scan, table, columns, clauses);
    }

    /// The same for a table whose rows only name things: what damage takes of them is noted.
    [[nodiscard]] TableScan names_of(std::string_view table, std::initializer_list<std::string_view> columns) {
        return rows_of(table, columns, {{}, {}, TableScan::Losses::noted});
    }

    /// Whether a time is one that a clock can show: so far from the limits that no difference of two of them overflows.
    [[nodiscard]] static bool usable_time(std::int64_t t) noexcept;
    /// Counts the row as dropped, as it has no such time.
    void drop_without_time(const TableScan& row);
    /// The interval of a row, or nothing where it has no time that can be used; then the row is counted as dropped. A negative duration
    /// is repaired to 0 by append().
    [[nodiscard]] std::optional<TimeRange> interval(const TableScan& row, int start, int end);
    /// Counts the row as read and puts it on a track; returns its position.
    std::uint32_t append(TrackBuffer& track, const TableScan& row, TimeRange at, NameId name, SpanKind kind);
};

/// Sets a column where the value is not null.
inline void set_if(TrackBuffer& track, std::uint32_t at, Column column, std::int64_t value) {
    if (value != kNull) track.set(at, column, value);
}

}  // namespace faultline::nsys
