// The numeric analysis of a whole capture: rooflines and verdicts of the steps, stalls, bubbles (StriaTrace §5.3–5.4, DESIGN §7).
//
// Run once when sources were added, and again when a person changes the options. Values in, values out; any thread with its own reader.
// Linear in spans; BUDGETS: 2,500 steps within 20 s on one core.
#pragma once

#include <stop_token>

#include "core/capture_reader.h"
#include "core/layer_rules.h"
#include "core/request.h"
#include "core/result.h"
#include "core/span_index.h"
#include "core/step_verdict.h"

namespace faultline {

struct AnalysisOptions {
    double slow_ratio = 1.25;          ///< a step is slow where it lasts longer than this times what is expected
    TimeNs slow_least_ns = 1'000'000;  ///< … and at least this much longer
    std::int64_t roofline_steps = 20;  ///< fewer steps of an instance and phase: the median rule
    std::int64_t cold_steps = 1;       ///< first steps of an instance that are not learned from
    TimeNs bubble_least_ns = 20'000;   ///< shorter gaps are no bubbles
    TimeNs stall_least_ns = 2'000'000'000;
    TimeNs slo_ttft_ns = 5'000'000'000;
    TimeNs slo_tpot_ns = 100'000'000;
};

/// `requests` are those of the capture (live requests make stalls; limits make SLO reasons); `index` is the index of `capture`.
[[nodiscard]] Result<CaptureAnalysis> analyse_capture(const CaptureReader& capture, const SpanIndex& index, const LayerRules& layers,
                                                      std::span<const Request> requests, const AnalysisOptions& options = {},
                                                      std::stop_token stop = {});

}  // namespace faultline
