// Makes the runs of a campaign in a folder and writes its manifest.json (CONTRACT.md).
//
// Resumable: a run is made beside its place and renamed when it is whole, so what has its name is complete; a folder that holds the
// manifest of the same plan is gone on with. One thread.
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/progress.h"
#include "core/result.h"
#include "ml/simulator/campaign/campaign.h"

namespace faultline::simulator {

/// What makes a run: simulate(), or what a test puts in its place.
using RunMaker = std::function<Result<SimulationSummary>(const SimulationJob&, const Progress&)>;

struct CampaignSummary {
    std::size_t runs = 0, made = 0, kept = 0;  ///< kept: were complete already
    std::size_t traces = 0, faulty_traces = 0, planned_traces = 0, planned_faulty_traces = 0;
    std::uint64_t trace_steps = 0, events = 0, steps = 0, faulty_steps = 0;  ///< the last three of the runs that were made
    std::vector<std::string> short_runs;  ///< that gave fewer request traces than planned, a sentence each
};

/// Called before each run with its position.
using CampaignReport = std::function<void(std::size_t position, const CampaignRun& run)>;

/// Stopped or failed: the run that was being made is removed, complete ones stay; where there are none, nothing stays.
[[nodiscard]] Result<CampaignSummary> run_campaign(const CampaignPlan& plan, const std::string& folder, const RunMaker& maker,
                                                   const Progress& progress = {}, const CampaignReport& report = {});

}  // namespace faultline::simulator
