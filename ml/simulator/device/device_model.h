// What a step makes a rank's device do: kernels with names, order, counts and durations (ENGINES §4), how they are launched (eager, piecewise
// graphs, one full graph padded to a capture size), copies and collectives. One for the whole run; const after construction but for the names
// that it interns. One thread.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "ml/simulator/base/names.h"
#include "ml/simulator/base/noise.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/device/cards.h"
#include "ml/simulator/machine/op.h"
#include "ml/simulator/workload/step_plan.h"

namespace faultline::simulator {

/// Where a rank's work goes.
struct RankPlace {
    int rank = 0, ranks = 1;        ///< in its TP (or FSDP) group
    StreamIndex compute{}, copy{}, communication{};  ///< communication: FSDP's and NCCL's own stream
    std::uint16_t group = kNoGroup;         ///< TP or FSDP collectives
    std::uint16_t expert_group = kNoGroup;  ///< dispatch and combine over DP ranks
    bool between_nodes = false;     ///< the group spans nodes
};

/// The device work of one step on one rank, by phase, as launch, graph_launch, node, record, wait and sync operations without host ranges:
/// the host model puts its ranges, operators and host work around and between them.
struct StepKernels {
    std::vector<Op> inputs;    ///< copies to the device, slot mapping, block tables
    std::vector<Op> forward;   ///< embedding, layers, final norm
    std::vector<Op> logits;    ///< last rows, lm_head, gather, cast
    std::vector<Op> sampling;  ///< penalties, grammar mask, sampling or rejection sampling
    std::vector<Op> draft;     ///< the drafter's forward (speculative decoding)
    std::vector<Op> outputs;   ///< token ids to the host (the wait for them is the host model's)
    GraphMode graphs = GraphMode::none;  ///< used by this step
    int padded_batch = 0, distinct_experts = 0;
};

class DeviceModel {
public:
    DeviceModel(const Deployment& deployment, Names& names, const Noise& noise);
    ~DeviceModel();

    [[nodiscard]] StepKernels kernels(const StepPlan& plan, const RankPlace& place) const;
    /// Weights loaded, memory profiled, torch.compile, one graph per capture size: the start of a worker, in phases that the host model
    /// wraps (warm-up forward, capture of each size).
    struct CapturePhase {
        GraphMode mode{};
        int size = 0;
        std::vector<Op> ops;
    };
    [[nodiscard]] std::vector<CapturePhase> captures(const RankPlace& place) const;

    [[nodiscard]] const ModelCard& model() const;
    [[nodiscard]] const GpuCard& gpu() const;
    [[nodiscard]] std::int64_t kv_blocks() const;     ///< that fit beside the weights on each rank (Deployment::kv_blocks where set)
    [[nodiscard]] int padded(int batch) const;        ///< rows of the graph that a batch runs in; 0: none is large enough
    [[nodiscard]] std::vector<int> capture_sizes() const;
    [[nodiscard]] TimeNs forward_estimate(const StepPlan& plan) const;  ///< device time of the forward, for logs of start-up and tests
    /// The name that `role` has in another build (B1), with a bad configuration (B8, B10) or by another backend (B12).
    [[nodiscard]] Name other_build(Role role, Name usual) const;
    /// The same kernel as `op` launched eagerly instead of as a node (B4, B5).
    [[nodiscard]] Op eager(const Op& node) const;

private:
    struct State;
    std::unique_ptr<State> state_;
};

}  // namespace faultline::simulator
