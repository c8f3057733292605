// Which requests of a run are the request traces of a data set: chosen from its truth.json, spread over the run, each with a window of
// steps.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/result.h"
#include "ml/simulator/campaign/campaign.h"

namespace faultline::simulator {

struct RequestTrace {
    std::string id;                   ///< of the request, as truth.json names it
    std::string label;                ///< normal, or the fault type
    std::vector<std::int64_t> steps;  ///< ids in truth.json, ascending
};

/// Faulty ones are those that truth labels so; normal ones took part in no faulty step. Fewer where the run has no more.
[[nodiscard]] Result<std::vector<RequestTrace>> request_traces(const std::string& truth_path, const CampaignRun& run);

}  // namespace faultline::simulator
