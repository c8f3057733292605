// Makes the operations of a step: names, launches, grids. Private to this folder.
#pragma once

#include <array>
#include <map>
#include <tuple>
#include <vector>

#include "ml/simulator/base/names.h"
#include "ml/simulator/device/device_costs.h"
#include "ml/simulator/device/device_model.h"
#include "ml/simulator/device/kernel_names.h"

namespace faultline::simulator {

/// What all steps share; DeviceModel::State holds one.
struct KernelMaker {
    const Deployment& deployment;
    const ModelCard& model;
    const GpuCard& gpu;
    DeviceCosts costs;
    KernelNames kernel_names;
    Names& names;

    KernelMaker(const Deployment& d, const ModelCard& m, const GpuCard& g, Names& n)
        : deployment(d), model(m), gpu(g), costs(g, d), kernel_names(d, m, g), names(n) {}

    struct Size {
        std::int64_t rows = 1;
        bool prefill = false;
        std::int64_t bytes = -1;
    };
    /// One kernel with the call that launches it by itself.
    [[nodiscard]] Op kernel(Role role, int layer, const Size& size, TimeNs cost, Bound bound, StreamIndex stream);
    /// One of the small kernels of a role; `bytes` read and written.
    [[nodiscard]] Op piece(Role role, int layer, Piece piece, std::int64_t bytes, StreamIndex stream);
    /// A collective of `group`.
    [[nodiscard]] Op collective(Role role, int layer, std::int64_t bytes, TimeNs cost, StreamIndex stream, std::uint16_t group, std::int64_t rows);
    [[nodiscard]] Op copy(Role role, CopyKind kind, std::int64_t bytes, StreamIndex stream);
    [[nodiscard]] Op call(OpKind kind, Role role, std::string_view name, TimeNs cost, StreamIndex stream, std::uint32_t event = kNoSignal);
    /// The call that launches this kernel eagerly, and what it costs the host.
    void set_launch(Op& op);

private:
    [[nodiscard]] Name name_of(Role role, const Size& size);
    std::map<std::tuple<Role, int, bool>, Name> cache_;
    std::array<Name, kPieceCount> pieces_{};
    std::map<Name, std::pair<Name, std::pair<bool, TimeNs>>> launches_;
};

/// The forward of a step as eager launches in order, embedding to final norm (ENGINES §4.1, §4.2).
[[nodiscard]] std::vector<Op> forward_kernels(KernelMaker& make, const StepPlan& plan, const RankPlace& place, std::int64_t rows, int distinct_experts);
/// The same of models as Hugging Face writes them, one torch operator at a time, for FSDP: every unit is gathered before it runs, the next one meanwhile (ENGINES §1.4, §2.6). Events are numbered from 0 in the step.
[[nodiscard]] std::vector<Op> sharded_forward_kernels(KernelMaker& make, const StepPlan& plan, const RankPlace& place);
[[nodiscard]] std::vector<Op> input_operations(KernelMaker& make, const StepPlan& plan, const RankPlace& place);
[[nodiscard]] std::vector<Op> logits_kernels(KernelMaker& make, const StepPlan& plan, const RankPlace& place);
[[nodiscard]] std::vector<Op> sampling_kernels(KernelMaker& make, const StepPlan& plan, const RankPlace& place);
[[nodiscard]] std::vector<Op> draft_kernels(KernelMaker& make, const StepPlan& plan, const RankPlace& place);

/// The forward in one graph, or in pieces between the attentions (ENGINES §4.5).
[[nodiscard]] std::vector<Op> as_graph(KernelMaker& make, std::vector<Op> forward, StreamIndex stream);
[[nodiscard]] std::vector<Op> as_pieces(KernelMaker& make, std::vector<Op> forward, StreamIndex stream);

}  // namespace faultline::simulator
