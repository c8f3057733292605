// The virtual table `span` as a SQLite module. Compiled twice, see sqlite_api.h.
#pragma once

#include <memory>
#include <string>

#include "core/capture_reader.h"
#include "core/sqlite_api.h"

namespace faultline::FAULTLINE_SQLITE_FORM {

/// Registers the module, which shares `capture`, and makes the TEMP views. Returns SQLite's words where that fails, else nothing.
[[nodiscard]] std::string create_span_table(sqlite3* connection, std::shared_ptr<const CaptureReader> capture);

}  // namespace faultline::FAULTLINE_SQLITE_FORM
