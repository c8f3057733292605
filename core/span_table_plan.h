// How a query on `span` is carried out: which of its constraints narrow the scan, and what they come to for given values.
//
// Compiled twice, see sqlite_api.h.
#pragma once

#include <cstdint>
#include <string_view>

#include "core/span_table_scan.h"
#include "core/sqlite_api.h"

namespace faultline::FAULTLINE_SQLITE_FORM {

/// xBestIndex: chooses constraints, writes them to idxStr (two characters each: column, operator) and estimates costs.
[[nodiscard]] int plan_scan(sqlite3_index_info* info, std::uint64_t span_count);

/// xFilter: the filter that a plan comes to with its values.
[[nodiscard]] SpanFilter filter_of_plan(std::string_view plan, sqlite3_value** values, SpanStore& store);

}  // namespace faultline::FAULTLINE_SQLITE_FORM
