// Rows of a scan in another order than that of their ids, so that SQLite need not sort them: grouped by a column, or by lane and time.
//
// Knows nothing of SQLite. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

#include "core/columns.h"
#include "core/result.h"
#include "core/span_table_store.h"
#include "core/types.h"

namespace faultline {

/// The order that a query wants, where a scan can give it. Nothing set: ascending ids.
struct RowOrder {
    std::optional<Column> value;   ///< by the value of a column, as SQL shows it: names and kinds by their text, NULL first
    bool descending = false;       ///< … the greatest first
    bool numbers = false;          ///< … names and kinds by their number instead
    std::vector<TrackFact> facts;  ///< by what tracks share …
    bool start = false;            ///< … and then by start

    /// Whether ascending ids are not in this order already.
    [[nodiscard]] bool needs_work() const noexcept;
};

/// The rows that a scan found, in ascending order of their ids.
struct FoundRows {
    struct Part {
        TrackId track{};
        std::size_t chunk = 0;
        std::size_t first = 0, count = 0;  ///< its rows in `rows`
    };
    std::vector<Part> parts;
    std::vector<std::uint16_t> rows;  ///< positions in their chunks
};

/// Takes 14 bytes a row, and 8 for each column that is asked for.
class RearrangedRows {
public:
    [[nodiscard]] static Result<std::unique_ptr<RearrangedRows>> make(SpanStore& store, FoundRows found, const RowOrder& order);

    [[nodiscard]] const std::vector<SpanId>& spans() const noexcept { return spans_; }
    /// One column of all rows, read when it is first asked for.
    [[nodiscard]] Result<const std::vector<std::int64_t>*> column(Column column);

private:
    RearrangedRows(SpanStore& store, FoundRows found) : store_(store), found_(std::move(found)), places_(found_.rows.size()) {}
    [[nodiscard]] Result<void> place_by_value(const RowOrder& order);
    [[nodiscard]] Result<void> place_by_track(const RowOrder& order);
    [[nodiscard]] Result<void> place_by_start(const std::vector<const FoundRows::Part*>& parts, std::uint32_t first);
    void place_groups(const RowOrder& order, const std::vector<std::int64_t>& keys, std::vector<std::uint32_t>& sizes) const;
    void fill_spans();

    SpanStore& store_;
    FoundRows found_;
    std::vector<std::uint32_t> places_;  ///< of each found row
    std::vector<SpanId> spans_;
    std::array<std::unique_ptr<std::vector<std::int64_t>>, kColumnCount> columns_;
};

}  // namespace faultline
