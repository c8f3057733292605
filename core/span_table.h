// SQL over the packed spans: an eponymous-only virtual table `span` and the TEMP views of CONTRACT.md.
//
// Pushed down: time (start and end), track, kind, id, correlation (by a sorted index made once per connection). The module is marked
// SQLITE_VTAB_INNOCUOUS, nothing executable is stored in a capture. A module belongs to one connection and so to one thread.
#pragma once

#include "core/result.h"

struct sqlite3;

namespace faultline {

class CaptureReader;

/// Registers the table for the capture behind `reader` and makes the TEMP views. `reader` must outlive the connection's use.
[[nodiscard]] Result<void> register_span_table(sqlite3* connection, const CaptureReader& reader);

}  // namespace faultline
