#include "ml/simulator/device/device_model.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "ml/simulator/device/kernel_list.h"

namespace faultline::simulator {
namespace {

constexpr double kMemoryShare = 0.9;                          ///< gpu_memory_utilization
constexpr std::int64_t kOverheadBytes = std::int64_t{4} << 30;  ///< activations, graphs, CUDA contexts

/// Graphs are captured for every eighth size, above this for every sixteenth.
constexpr int kFineSizes = 256;
int next_size(int size) { return size + (size < kFineSizes ? 8 : 16); }

/// (1 - share)^n by squaring, so that it is the same everywhere.
double power(double base, std::int64_t n) {
    double result = 1;
    for (; n > 0; n >>= 1, base *= base) {
        if ((n & 1) != 0) result *= base;
    }
    return result;
}

}  // namespace

struct DeviceModel::State {
    Deployment deployment;
    const ModelCard& model;
    const GpuCard& gpu;
    Noise noise;
    mutable KernelMaker make;

    State(const Deployment& d, Names& names, const Noise& n)
        : deployment(d), model(*model_named(d.model)), gpu(*gpu_named(d.gpu)), noise(n), make(deployment, model, gpu, names) {}

    [[nodiscard]] int distinct_experts(const StepPlan& plan) const {
        if (model.experts == 0) return 0;
        // Each token takes its own few; how evenly they spread differs from step to step.
        const double missed = power(1 - static_cast<double>(model.experts_per_token) / model.experts, std::max(plan.tokens, 1));
        const double spread = 0.85 + 0.15 * noise.uniform(Draw::expert_spread, plan.step);
        return std::clamp(static_cast<int>(model.experts * (1 - missed) * spread), model.experts_per_token, model.experts);
    }
};

DeviceModel::DeviceModel(const Deployment& deployment, Names& names, const Noise& noise) : state_(std::make_unique<State>(deployment, names, noise)) {}
DeviceModel::~DeviceModel() = default;

const ModelCard& DeviceModel::model() const { return state_->model; }
const GpuCard& DeviceModel::gpu() const { return state_->gpu; }

std::int64_t DeviceModel::kv_blocks() const {
    const State& s = *state_;
    if (s.deployment.kv_blocks > 0) return s.deployment.kv_blocks;
    const auto memory = static_cast<std::int64_t>(static_cast<double>(std::int64_t{s.gpu.memory_gib} << 30) * kMemoryShare);
    const std::int64_t room = memory - kOverheadBytes - s.model.weight_bytes() / s.deployment.tp;
    const std::int64_t block = s.model.kv_bytes_per_token() / s.deployment.tp * s.deployment.block_size;
    return std::max<std::int64_t>(room / std::max<std::int64_t>(block, 1), 64);
}

std::vector<int> DeviceModel::capture_sizes() const {
    std::vector<int> sizes;
    for (const int size : {1, 2, 4}) {
        if (size <= state_->deployment.max_capture_size) sizes.push_back(size);
    }
    for (int size = 8; size <= state_->deployment.max_capture_size; size = next_size(size)) sizes.push_back(size);
    return sizes;
}

int DeviceModel::padded(int batch) const {
    if (batch > state_->deployment.max_capture_size) return 0;
    if (batch <= 1) return 1;
    if (batch <= 2) return 2;
    if (batch <= 4) return 4;
    const int step = batch <= kFineSizes ? 8 : 16;
    const int rows = (batch + step - 1) / step * step;
    return rows <= state_->deployment.max_capture_size ? rows : 0;
}

StepKernels DeviceModel::kernels(const StepPlan& plan, const RankPlace& place) const {
    const State& s = *state_;
    KernelMaker& make = s.make;
    StepKernels k;
    k.distinct_experts = s.distinct_experts(plan);
    k.inputs = input_operations(make, plan, place);
    const Engine engine = s.deployment.engine;
    if (engine == Engine::fsdp) {
        k.forward = sharded_forward_kernels(make, plan, place);
    } else {
        const bool pure_decode = plan.context_requests == 0;
        const int padded_rows = padded(plan.tokens);
        const bool one_graph = s.deployment.graphs == GraphMode::full && pure_decode && padded_rows > 0;
        const bool has_pieces = engine == Engine::vllm_v1_offline || engine == Engine::vllm_v1_online;
        const bool pieces = !one_graph && s.deployment.graphs != GraphMode::none && has_pieces && padded_rows > 0;
        k.padded_batch = one_graph || pieces ? padded_rows : 0;
        std::vector<Op> forward = forward_kernels(make, plan, place, k.padded_batch > 0 ? k.padded_batch : plan.tokens, k.distinct_experts);
        if (one_graph) {
            k.graphs = GraphMode::full;
            k.forward = as_graph(make, std::move(forward), place.compute);
        } else if (pieces) {
            k.graphs = GraphMode::piecewise;
            k.forward = as_pieces(make, std::move(forward), place.compute);
        } else {
            k.forward = std::move(forward);
        }
    }
    if (plan.kind == StepKind::dummy) return k;
    k.logits = logits_kernels(make, plan, place);
    k.sampling = sampling_kernels(make, plan, place);
    if (s.deployment.spec_tokens > 0 && plan.generation_requests > 0) k.draft = draft_kernels(make, plan, place);
    k.outputs.push_back(make.copy(Role::token_copy, CopyKind::device_to_host, std::max<std::int64_t>(static_cast<std::int64_t>(plan.requests.size()), 1) * 8,
                                  place.compute));
    return k;
}

std::vector<DeviceModel::CapturePhase> DeviceModel::captures(const RankPlace& place) const {
    const State& s = *state_;
    std::vector<CapturePhase> phases;
    if (s.deployment.graphs == GraphMode::none || s.deployment.engine == Engine::fsdp) return phases;
    KernelMaker& make = s.make;
    // The largest sizes first, as engines do; a handful of them stands for all.
    std::vector<int> sizes = capture_sizes();
    std::reverse(sizes.begin(), sizes.end());
    if (sizes.size() > 6) sizes = {sizes.front(), sizes[sizes.size() / 2], 16, 8, 4, 1};
    for (const int size : sizes) {
        StepPlan plan;
        for (int r = 0; r < size; ++r) {
            ScheduledRequest request;
            request.tokens = 1;
            request.computed_before = 1;
            plan.requests.push_back(request);
        }
        count_tokens(plan);
        CapturePhase phase{s.deployment.graphs, size, {}};
        phase.ops.push_back(make.call(OpKind::call, Role::capture, "cudaStreamBeginCapture", 4'000, place.compute));
        for (Op& op : forward_kernels(make, plan, place, size, s.distinct_experts(plan))) {
            op.kind = OpKind::call;  // captured, not run
            op.group = kNoGroup;
            phase.ops.push_back(op);
        }
        phase.ops.push_back(make.call(OpKind::call, Role::capture, "cudaStreamEndCapture", 60'000, place.compute));
        phase.ops.push_back(make.call(OpKind::call, Role::capture, "cudaGraphInstantiateWithFlags", 2'400'000, place.compute));
        phases.push_back(std::move(phase));
    }
    return phases;
}

TimeNs DeviceModel::forward_estimate(const StepPlan& plan) const {
    RankPlace place;
    place.ranks = state_->deployment.tp;
    const ModelCard& m = state_->model;
    const std::int64_t message = static_cast<std::int64_t>(std::max(plan.tokens, 1)) * m.hidden * m.dtype_bytes;
    // The group is not known here: 2L + 1 reductions of the same size (ENGINES §4.4).
    TimeNs sum = place.ranks > 1 ? (2 * m.layers + 1) * state_->make.costs.all_reduce(message, place.ranks, state_->deployment.nodes > 1) : 0;
    for (const Op& op : forward_kernels(state_->make, plan, place, plan.tokens, state_->distinct_experts(plan))) sum += op.device_cost;
    return sum;
}

Name DeviceModel::other_build(Role role, Name usual) const {
    const std::string name = KernelNames::other_build(role, state_->make.names.text(usual));
    return name.empty() ? usual : state_->make.names.intern(name);
}

Op DeviceModel::eager(const Op& node) const {
    Op op = node;
    state_->make.set_launch(op);
    return op;
}

}  // namespace faultline::simulator
