// Another attention backend than the one that was meant (B12): the whole family of kernels is another one, and so is their number in a layer.
#include <string_view>

#include <fmt/format.h>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

/// The kernels of a backend; an empty name is a kernel that it does not have.
struct Family {
    std::string_view backend;  ///< in the words of the engine
    std::string_view prefill, decode;
    std::string_view merge_prefill, merge_decode;  ///< of parts into one
    std::string_view prepare;                      ///< once a decode step, before the forward
};

constexpr Family kFlashInfer{"FLASHINFER",
                             "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, 128u, 1u, 2u, 8u, 8u, 4u, "
                             "1u>>",
                             "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u, 16u, 1u>",
                             "void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 8u, 4u, __nv_bfloat16>", {}, {}};
constexpr Family kTriton{"TRITON_ATTN", "kernel_unified_attention_2d", "kernel_unified_attention_2d", {}, {}, {}};
constexpr Family kXformers{"XFormers",
                           "fmha_cutlassF_bf16_aligned_64x128_rf_sm80(PyTorchMemEffAttention::AttentionKernel<cutlass::bfloat16_t, cutlass::arch::Sm80, true, "
                           "64, 128, 128, true, true>::Params)",
                           "void vllm::paged_attention_v1_kernel<__nv_bfloat16, __nv_bfloat16, 128, 16, 128, (vllm::Fp8KVCacheDataType)0, false>", {}, {}, {}};
constexpr Family kSglangTriton{"triton", "_fwd_kernel", "_fwd_grouped_kernel_stage1", {}, "_fwd_kernel_stage2", "get_num_kv_splits_triton"};
constexpr Family kEfficient{{}, kXformers.prefill, kXformers.prefill, {}, {}, {}};  ///< torch's own, in FSDP

class AttentionFallback final : public Mechanism {
public:
    AttentionFallback(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::all, .structural = true}) {}

    void begin(FaultReach& reach) override {
        Mechanism::begin(reach);
        family_ = choose(reach.options.deployment.attention_backend);
        const ProcessIndex worker = worker_process(reach, 0);
        if (engine_ == Engine::vllm_v0) {
            write(reach, settings_.start, worker, LogLevel::info, "cuda.py", 184, fmt::format("Using {} backend.", family_->backend));
        } else if (sglang()) {
            const ThreadIndex api = reach.host.places().api;
            write(reach, settings_.start, api != ThreadIndex::none ? process(reach, api) : worker, LogLevel::info, "server_args.py", 1565,
                  fmt::format("Attention backend not specified. Use {} backend by default.", family_->backend));
        } else if (engine_ != Engine::fsdp) {
            write(reach, settings_.start, worker, LogLevel::info, "cuda.py", 405,
                  fmt::format("Using {} attention backend out of potential backends: [{}'TRITON_ATTN', 'FLEX_ATTENTION'].", family_->backend,
                              family_ == &kFlashInfer ? "'FLASHINFER', " : ""));
        }
    }
    bool change_kernels(StepKernels& kernels, const StepPlan& plan, int rank, FaultReach& reach) override {
        if (!at_kernels(plan, rank)) return false;
        const bool prefill = plan.context_requests > 0;
        const std::string_view merge = prefill ? family_->merge_prefill : family_->merge_decode;
        std::vector<Op> forward;
        forward.reserve(kernels.forward.size() + 64);
        bool changed = false;
        for (const Op& op : kernels.forward) {
            if (!is_device_work(op) || !is_attention(op.role)) {
                forward.push_back(op);
                continue;
            }
            changed = true;
            if (op.role == Role::attention_prepare) continue;  // this one plans in another way, or not at all
            if (op.role == Role::attention_combine) {
                // What the kernel before it now does as well.
                if (forward.empty() || forward.back().role != Role::attention) continue;
                if (merge.empty()) forward.back().device_cost += slower(op.device_cost);
                else forward.push_back(renamed(op, merge, slower(op.device_cost), reach));
                continue;
            }
            forward.push_back(renamed(op, prefill ? family_->prefill : family_->decode, slower(op.device_cost), reach));
            if (prefill && !merge.empty()) {
                Op extra = op;
                extra.role = Role::attention_combine;
                forward.push_back(renamed(extra, merge, 2'600, reach));
            }
        }
        if (changed && !prefill && !family_->prepare.empty()) put_prepare(forward, reach);
        kernels.forward = std::move(forward);
        return changed;
    }

private:
    [[nodiscard]] const Family* choose(std::string_view meant) const {
        if (engine_ == Engine::fsdp) return &kEfficient;
        if (sglang()) return &kSglangTriton;
        if (engine_ == Engine::vllm_v0) return &kXformers;
        if (meant == "flashinfer") return &kTriton;
        return meant == "triton" || uniform(51) < 0.4 ? &kFlashInfer : &kTriton;
    }
    [[nodiscard]] TimeNs slower(TimeNs cost) const { return static_cast<TimeNs>(static_cast<double>(cost) * size()); }
    /// The launch goes with the kernel: Triton's is the driver's.
    static Op renamed(Op op, std::string_view name, TimeNs cost, const FaultReach& reach) {
        op.device_name = reach.names.intern(name);
        op.device_cost = cost;
        op.suspect = true;
        return op.kind == OpKind::launch ? reach.device.eager(op) : op;
    }
    void put_prepare(std::vector<Op>& forward, const FaultReach& reach) const {
        for (const Op& op : forward) {
            if (op.role != Role::attention) continue;
            Op prepare = op;
            prepare.kind = OpKind::launch;
            prepare.role = Role::attention_prepare;
            prepare.layer = -1;
            prepare.grid = 1;
            forward.insert(forward.begin(), renamed(prepare, family_->prepare, 2'100, reach));
            return;
        }
    }

    const Family* family_ = &kTriton;
};

}  // namespace

std::unique_ptr<Fault> make_attention_fallback(const FaultSettings& settings, const Noise& noise) {
    if (settings.info->id == "B12") return std::make_unique<AttentionFallback>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
