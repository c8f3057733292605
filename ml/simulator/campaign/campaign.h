// A campaign: many runs that together hold as many request traces of each engine and fault class as TELLER's data set (Table 1, §4.2), with
// whole runs in training, validation and test. A plan is a value: the same request gives the same plan, and nothing is run to make it.
//
// Nothing but the manifest and truth.json tells what a run is: runs are shuffled before they are numbered, seeds are drawn by number, and a
// normal run has the surroundings of a faulty one (the same kinds are set up in it and not injected).
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "ml/simulator/faults/fault.h"
#include "ml/simulator/serving/simulation.h"

namespace faultline::simulator {

enum class CampaignSize : std::uint8_t { paper, large };
[[nodiscard]] std::string_view campaign_name(CampaignSize size) noexcept;
[[nodiscard]] std::optional<CampaignSize> campaign_named(std::string_view name) noexcept;

enum class Split : std::uint8_t { train, validation, test };
[[nodiscard]] std::string_view split_name(Split split) noexcept;

/// What TELLER's Table 1 says of one engine: request traces, the faulty ones among them, and their steps.
struct EngineShare {
    Engine engine{};
    int traces = 0, faulty = 0, steps = 0;
};
inline constexpr std::array<EngineShare, kEngineCount> kPaperShares{{{Engine::sglang, 100, 40, 850},
                                                                     {Engine::fsdp, 50, 24, 437},
                                                                     {Engine::vllm_v0, 50, 15, 379},
                                                                     {Engine::vllm_v1_offline, 50, 29, 437},
                                                                     {Engine::vllm_v1_online, 50, 19, 379}}};
/// TELLER §4.2: memory, kernel, runtime, communication, scheduling; in tenths of a per cent of the faults.
inline constexpr std::array<int, 5> kClassShares{205, 213, 205, 181, 197};
inline constexpr int kLargeFactor = 8;  ///< `large` is so many times `paper`

struct CampaignRequest {
    CampaignSize size = CampaignSize::paper;
    std::uint64_t seed = 1;
    bool reserved = false;              ///< only reserved kinds, all of it test
    std::optional<TraceFormat> format;  ///< of all runs; else drawn for each
};

struct CampaignRun {
    std::string dir;  ///< run-0001
    Split split = Split::train;
    FaultClass type = FaultClass::normal;      ///< of what is injected
    SimulationJob job;                         ///< without its folder
    int faulty_traces = 0, normal_traces = 0;  ///< request traces to take from it
    int steps = 0;                             ///< of those traces, together, at most

    [[nodiscard]] bool injected() const { return job.fault && job.fault->inject; }
    /// The scenario that is injected, a look-alike or a fault; null in a normal run.
    [[nodiscard]] const FaultInfo* scenario() const { return injected() ? job.fault->info : nullptr; }
};

struct CampaignPlan {
    CampaignRequest request;
    std::vector<CampaignRun> runs;  ///< by dir
    std::string hash;               ///< of all that is in it
};

/// `catalogue` must outlive the plan.
[[nodiscard]] CampaignPlan plan_campaign(const CampaignRequest& request, const std::vector<FaultInfo>& catalogue);

/// How many faulty traces each engine has of each class: rows add up to the engines' faults, columns to the shares of the classes, as far
/// as `possible[engine][class]` allows. Both as in kPaperShares and kClassShares, times `factor`.
using FaultMatrix = std::array<std::array<int, 5>, kEngineCount>;
[[nodiscard]] FaultMatrix fault_matrix(int factor, const std::array<std::array<bool, 5>, kEngineCount>& possible);

}  // namespace faultline::simulator
