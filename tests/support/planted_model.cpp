#include "tests/support/planted_model.h"

#include <fmt/format.h>

#include <algorithm>

namespace faultline::test {

namespace {

constexpr double kMilli = 1e6;

constexpr const char* kAddNorm = "void vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)";
constexpr const char* kReduce = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*)";

template <class Add>
void add_attention(const ScheduledStep& step, bool decode_kernels, double ns, const Add& add) {
    if (!decode_kernels) {
        add("void flash::flash_fwd_kernel<Flash_fwd_kernel_traits<128, 128, 64, 4, false, false, cutlass::bfloat16_t>, true>()", ns, false,
            true);
        return;
    }
    const char* const tile = step.planted == Plant::other_variant ? "128, 128, 128" : "128, 64, 128";
    add(fmt::format("void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<{}, 4, false, false, cutlass::bfloat16_t>, false>()",
                    tile),
        ns, false, true);
    add("void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4>, 4, 1, true>()", 3'000, false, true);
}

std::int64_t bucket(std::int64_t batch) {
    for (const std::int64_t size : {1, 2, 4, 8, 16, 24, 32})
        if (batch <= size) return size;
    return batch;
}
std::string decode_gemm(std::int64_t padded) {
    if (padded == 1) return "void internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, float, false, true>()";
    if (padded <= 4) return "nvjet_tst_64x8_64x16_1x1_h_bz_TNT";
    if (padded <= 16) return "nvjet_tst_64x16_64x16_1x1_v_bz_TNT";
    return "nvjet_tst_128x32_64x10_1x2_v_bz_TNT";
}

}  // namespace

std::vector<PlannedKernel> PlantedModel::forward(const ScheduledStep& step, bool decode_kernels) {
    const bool decode_times = step.phase() == StepPhase::decode;
    const double tokens = static_cast<double>(step.tokens());
    const double work = decode_times ? 1 + 0.004 * tokens : std::max(1.0, tokens / 100);
    const std::int64_t padded = bucket(step.batch());
    const double weather = static_cast<double>(chance_.about(1'000'000, 0.06)) / 1e6;  // clocks, caches: the whole pass
    std::vector<PlannedKernel> kernels;
    const auto add = [&](std::string name, double ns, bool collective = false, bool attention = false) {
        if (attention && step.planted == Plant::missing_kernels && layer_ < 2) return;
        const double factor = step.planted == Plant::slow_kernels || step.slow ? 2.5 : 1;
        const double extra = collective && step.planted == Plant::slow_link ? 3 * kMilli : 0;
        kernels.push_back({std::move(name), chance_.about(ns * factor * weather) + static_cast<TimeNs>(extra), collective, attention});
    };
    const std::string gemm = decode_kernels ? decode_gemm(padded) : "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN";
    for (layer_ = 0; layer_ < options_.layers; ++layer_) {
        add(layer_ == 0 ? "void vllm::rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*)" : kAddNorm, 4'000 * work);
        add(gemm, 60'000 * work);
        if (decode_kernels && padded == 4) add("void cublasLt::splitKreduce_kernel<32, 16, int, __nv_bfloat16>()", 3'000);
        add("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*)", 4'000 * work);
        add("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>()", 3'000 * work);
        add_attention(step, decode_kernels, decode_times ? 12'000 + 800 * tokens : 30'000 * work, add);
        add(gemm, 40'000 * work);
        if (options_.ranks > 1) add(kReduce, 14'000 * (decode_times ? 1 : work), true);
        add(kAddNorm, 4'000 * work);
        add(gemm, 230'000 * work);
        add("void vllm::act_and_mul_kernel<c10::BFloat16, &vllm::silu_kernel<c10::BFloat16>, true>()", 6'000 * work);
        add(gemm, 120'000 * work);
        if (options_.ranks > 1) add(kReduce, 14'000 * (decode_times ? 1 : work), true);
    }
    return kernels;
}

}  // namespace faultline::test
