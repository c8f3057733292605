// How what was derived from a capture stands in its tables (schema.sql).
#pragma once

#include <vector>

#include "core/derive_capture.h"
#include "core/request.h"
#include "core/result.h"
#include "core/sql.h"
#include "core/step_verdict.h"

namespace faultline {

/// Replaces all derived rows and marks the capture as analysed. Inside the caller's transaction.
[[nodiscard]] Result<void> replace_derived(sql::Connection& db, const DerivedRows& rows);

[[nodiscard]] Result<std::vector<Request>> read_requests(const sql::Connection& db);
/// Without Step::spans and ranks of stalls beyond what read_steps() gives.
[[nodiscard]] Result<CaptureAnalysis> read_analysis(const sql::Connection& db);

}  // namespace faultline
