// An opened capture with everything that was derived from it: what the questions about one step start from.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/capture_reader.h"
#include "core/layer_rules.h"
#include "core/step_evidence.h"

namespace faultline {

struct AnalysedCapture {
    std::unique_ptr<CaptureReader> reader;
    LayerRules layers = LayerRules::built_in();
    std::vector<Step> steps;  ///< then the stalls
    std::vector<StepVerdict> verdicts;
    std::vector<Bubble> bubbles;
    std::vector<RooflineLine> rooflines;
    std::string parameters;  ///< JSON of the options of the analysis
    std::vector<LogLine> logs;
    std::vector<Request> requests;

    [[nodiscard]] DiagnosisInput input() const { return {*reader, layers, steps, verdicts, bubbles, logs, requests}; }
};

/// Why a capture without steps or devices has nothing to say, where the reason is that it holds logs and no trace; else nothing.
[[nodiscard]] std::optional<std::string> log_only_text(const AnalysedCapture& capture);

/// Moves what was read into its place.
template <class T>
[[nodiscard]] Result<void> take(Result<T> from, T& into) {
    if (!from) return tl::unexpected<Error>(from.error());
    into = std::move(*from);
    return {};
}

/// Opens a capture for a command; what was not derived from it yet (an older program wrote it) is derived first.
[[nodiscard]] Result<std::unique_ptr<CaptureReader>> open_capture(const std::string& path);

[[nodiscard]] Result<AnalysedCapture> open_analysed_capture(const std::string& path);

}  // namespace faultline
