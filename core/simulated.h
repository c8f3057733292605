// How a trace says that it was simulated (`faultline simulate`), and what the program says then, wherever it shows the capture.
#pragma once

#include <algorithm>
#include <span>
#include <string>
#include <string_view>

#include "core/model.h"

namespace faultline {

/// A member of the header of a Kineto trace and a row of the metadata of an Nsight database, with the value 1.
inline constexpr std::string_view kSimulatedKey = "faultline_simulated";
inline constexpr std::string_view kSimulatedCode = "capture.simulated";

[[nodiscard]] inline HealthFinding simulated_finding() {
    return {std::string(kSimulatedCode), Severity::info, "This capture is simulated: its times follow from a model, nothing in it was measured."};
}

[[nodiscard]] inline bool is_simulated(std::span<const HealthFinding> health) {
    return std::any_of(health.begin(), health.end(), [](const HealthFinding& finding) { return finding.code == kSimulatedCode; });
}

}  // namespace faultline
