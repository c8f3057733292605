// What is derived from all sources of a capture together, once they are in the file: requests, aligned logs, verdicts, bubbles, findings.
//
// It can be thrown away and derived again (DESIGN §4). Values in, values out; any thread with its own reader.
#pragma once

#include <string>
#include <vector>

#include "core/analyse_capture.h"
#include "core/capture_reader.h"
#include "core/layer_rules.h"
#include "core/log_alignment.h"
#include "core/model.h"
#include "core/progress.h"
#include "core/request.h"
#include "core/result.h"
#include "core/step_verdict.h"

namespace faultline {

struct DerivedRows {
    std::vector<Request> requests;
    std::vector<LogAlignment> alignments;  ///< one for each log line, by id
    CaptureAnalysis analysis;
    std::vector<HealthFinding> health;  ///< findings about the capture as a whole
};

[[nodiscard]] Result<DerivedRows> derive_capture(const CaptureReader& capture, const LayerRules& layers, const AnalysisOptions& options,
                                                 const Progress& progress);

/// Derives and stores what is missing in a capture: one that an older program wrote, or whose last append was cut off before its end.
/// A capture that cannot be written stays as it is, and shows no verdicts. Costs next to nothing where nothing is missing.
[[nodiscard]] Result<void> ensure_analysed(const std::string& path, const Progress& progress);

}  // namespace faultline
