// The SQL columns of the virtual table `span`: their names, what they hold, and what a query may narrow a scan by.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "core/columns.h"

namespace faultline {

/// Where the value of a SQL column comes from.
enum class SpanField : std::uint8_t {
    id,
    start,
    end,
    duration,
    name,
    kind,
    source,
    process,
    thread,
    rank,
    device,
    stream,
    track,
    lane,
    parent,
    args,
    pid,
    tid,
    process_id,
    thread_id,
    collective,
    gap,
    family,
    stored,  ///< the stored column, as it is
};

struct SpanColumn {
    std::string_view name;
    std::string_view type;
    SpanField field = SpanField::stored;
    Column stored = Column::start;
    bool hidden = false;  ///< left out of SELECT *
};

[[nodiscard]] std::span<const SpanColumn> span_columns() noexcept;
/// The text for sqlite3_declare_vtab().
[[nodiscard]] std::string span_table_declaration();

}  // namespace faultline
