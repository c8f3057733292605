#include "ml/simulator/device/kernel_names.h"

#include <fmt/format.h>

#include "ml/simulator/device/device_costs.h"

namespace faultline::simulator {
namespace {

std::string replaced(std::string_view text, std::string_view from, std::string_view to) {
    const std::size_t at = text.find(from);
    if (at == std::string_view::npos) return {};
    return std::string(text.substr(0, at)) + std::string(to) + std::string(text.substr(at + from.size()));
}

}  // namespace

bool KernelNames::compiled() const {
    return (deployment_.engine == Engine::vllm_v1_offline || deployment_.engine == Engine::vllm_v1_online) && deployment_.graphs != GraphMode::none;
}

bool KernelNames::older_cublas() const {
    return deployment_.engine == Engine::fsdp || deployment_.engine == Engine::vllm_v0 || (compiled() && deployment_.graphs == GraphMode::piecewise);
}

std::string KernelNames::product(Role role, std::int64_t rows) const {
    if (rows == 1) {
        return "std::enable_if<!(false), void>::type internal::gemvx::kernel<int, int, __nv_bfloat16, __nv_bfloat16, __nv_bfloat16, float, false, true, "
               "true, false, 7, false, cublasGemvParamsEx<int, cublasGemvTensorStridedBatched<__nv_bfloat16 const>>>(float)";
    }
    const bool wide = role == Role::gate_up_gemm || role == Role::lm_head;
    if (hopper_ && older_cublas()) {
        if (rows <= 64 && role == Role::qkv_gemm) {
            return "void cutlass::Kernel2<cutlass_80_tensorop_s16816gemm_bf16_128x64_64x6_tn_align8>(cutlass_80_tensorop_s16816gemm_bf16_128x64_64x6_tn_align8::Params)";
        }
        if (rows <= 64 && role == Role::o_gemm) {
            return "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x4_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x4_tn_align8::Params)";
        }
        const std::string_view tile = rows > 64 ? "128x128x64" : role == Role::lm_head ? "64x256x64" : "64x128x64";
        return fmt::format("sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize{}_warpgroupsize1x1x1_execute_segment_k_off_kernel__5x_cublas", tile);
    }
    if (hopper_) {
        if (rows <= 64) return wide ? "nvjet_tst_64x8_64x16_4x1_v_bz_TNT" : "nvjet_tst_64x8_64x16_1x1_h_bz_TNT";
        if (rows <= 256) return wide ? "nvjet_tst_128x64_64x8_2x1_v_bz_TNT" : "nvjet_tst_64x64_64x13_2x1_h_bz_TNN";
        return wide ? "nvjet_tst_256x128_64x4_1x2_h_bz_coopA_TNT" : "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN";
    }
    if (rows <= 16) return "ampere_bf16_s16816gemm_bf16_64x64_sliced1x2_ldg8_f2f_stages_64x6_tn";
    if (rows <= 256) return "void cutlass::Kernel2<cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x4_tn_align8>(cutlass_80_tensorop_bf16_s16816gemm_relu_bf16_64x64_64x4_tn_align8::Params)";
    return wide ? "ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_tn" : "ampere_bf16_s16816gemm_bf16_128x128_ldg8_f2f_stages_64x4_tn";
}

std::string KernelNames::attention(std::int64_t rows, bool prefill) const {
    if (deployment_.engine == Engine::fsdp) {
        return fmt::format("void pytorch_flash::{0}<pytorch_flash::Flash_fwd_kernel_traits<128, 64, {1}, 4, false, false, cutlass::bfloat16_t, "
                           "pytorch_flash::Flash_kernel_traits<128, 64, {1}, 4, cutlass::bfloat16_t> >, false, {2}, false, false, true, true, false, "
                           "false>(pytorch_flash::Flash_fwd_params)",
                           prefill ? "flash_fwd_kernel" : "flash_fwd_splitkv_kernel", prefill ? 64 : 128, prefill ? "true" : "false");
    }
    if (deployment_.attention_backend == "triton") return prefill ? "kernel_unified_attention_2d" : "kernel_unified_attention_3d";
    if (deployment_.attention_backend == "flashinfer" || sglang()) {
        return prefill ? "void flashinfer::BatchPrefillWithPagedKVCacheKernel<flashinfer::KernelTraits<(flashinfer::MaskMode)1, 128u, 1u, 2u, 8u, 8u, 4u, 1u>>"
                       : "void flashinfer::BatchDecodeWithPagedKVCacheKernel<(flashinfer::PosEncodingMode)0, 2u, 4u, 8u, 16u, 1u>";
    }
    if (hopper_) {
        return fmt::format("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2, "
                           "cute::tuple<cute::C<1>, cute::C<1>, cute::C<1>>, cute::tuple<cute::C<{}>, cute::C<{}>, cute::C<128>>, 128, cutlass::bfloat16_t, float>>>>",
                           prefill && rows > 64 ? 128 : 64, prefill && rows > 64 ? 128 : 176);
    }
    const std::string_view tile = deployment_.build == "no-64-tile" ? "128, 128, 128, 4" : "128, 64, 128, 4";
    return fmt::format("void flash::flash_fwd_splitkv_kernel<Flash_fwd_kernel_traits<{}, false, false, cutlass::bfloat16_t>, {}, false, false, false, true, "
                       "{}, false>(flash::Flash_fwd_params)",
                       tile, prefill ? "true" : "false", prefill ? "false" : "true");
}

std::string KernelNames::norm(Role role) const {
    if (sglang()) {
        return role == Role::post_norm || role == Role::input_norm ? "void flashinfer::norm::FusedAddRMSNormKernel<8u, __nv_bfloat16>"
                                                                   : "void flashinfer::norm::RMSNormKernel<8u, __nv_bfloat16>";
    }
    if (compiled()) {
        switch (role) {
            case Role::input_norm: return "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_2";
            case Role::post_norm: return "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_0";
            case Role::qk_norm: return "triton_red_fused__to_copy_mean_mul_pow_rsqrt_view_3";
            default: return "triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_1";
        }
    }
    return role == Role::qk_norm ? "void vllm::rms_norm_kernel<c10::BFloat16>(c10::BFloat16*, c10::BFloat16 const*, c10::BFloat16 const*, float, int, int)"
                                 : "std::enable_if<(((8)>(0)))&&vllm::_typeConvert<c10::BFloat16>::exists, void>::type "
                                   "vllm::fused_add_rms_norm_kernel<c10::BFloat16, 8>(c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, float, int, int)";
}

std::string KernelNames::name(Role role, std::int64_t rows, bool prefill, std::int64_t bytes) const {
    const std::string_view space = sglang() ? "sglang" : "vllm";
    switch (role) {
        case Role::qkv_gemm:
        case Role::o_gemm:
        case Role::gate_up_gemm:
        case Role::down_gemm:
        case Role::router_gemm:
        case Role::lm_head: return product(role, rows);
        case Role::input_norm:
        case Role::post_norm:
        case Role::qk_norm:
        case Role::final_norm: return norm(role);
        case Role::rope:
            return sglang() ? "void flashinfer::BatchQKApplyRotaryPosIdsCosSinCacheEnhancedKernel<false, 128u, 8u, 16u, __nv_bfloat16, long>"
                   : compiled() ? "triton_poi_fused_cat_3"
                                : "void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*, "
                                  "int, long, long, int, int, int)";
        case Role::kv_write:
            return sglang() ? "void store_kvcache<1024, 4, false, long>(StoreKVCacheParams)"
                            : "void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*, "
                              "__nv_bfloat16 const*, __nv_bfloat16*, __nv_bfloat16*, long const*, long, long, int, int, int, int, float const*)";
        case Role::attention_prepare: return "flash::prepare_varlen_num_blocks_kernel(int, int, int, int const*, int const*, int const*, int const*, int)";
        case Role::attention: return attention(rows, prefill);
        case Role::attention_combine:
            if (deployment_.attention_backend == "triton") return "reduce_segments";
            if (deployment_.engine == Engine::fsdp) {
                return "void pytorch_flash::flash_fwd_splitkv_combine_kernel<pytorch_flash::Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, "
                       "cutlass::bfloat16_t, pytorch_flash::Flash_kernel_traits<128, 64, 128, 4, cutlass::bfloat16_t> >, 4, 4, true>(pytorch_flash::Flash_fwd_params)";
            }
            if (sglang() || deployment_.attention_backend == "flashinfer") return "void flashinfer::PersistentVariableLengthMergeStatesKernel<8u, 16u, 8u, 4u, __nv_bfloat16>";
            return hopper_ ? "void cutlass::device_kernel<flash::FlashAttnFwdCombine<cute::tuple<cute::C<8>, cute::C<128>>, 4, 256, 1, false, "
                             "cutlass::bfloat16_t, float, cutlass::arch::Sm90>>"
                           : "void flash::flash_fwd_splitkv_combine_kernel<Flash_fwd_kernel_traits<128, 64, 128, 4, false, false, cutlass::bfloat16_t>, 4, 2, "
                             "true>(flash::Flash_fwd_params)";
        case Role::all_reduce:
            if (!takes_custom_all_reduce(deployment_, gpu_, bytes)) return "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
            return fmt::format("void {}::cross_device_reduce_{}stage<__nv_bfloat16, {}>({}::RankData*, {}::RankSignals, {}::Signal*, __nv_bfloat16*, int, int)", space,
                               bytes <= 512 * 1024 ? 1 : 2, deployment_.tp, space, space, space);
        case Role::all_gather:
        case Role::logits_gather: return "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
        case Role::reduce_scatter: return "ncclDevKernel_ReduceScatter_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)";
        case Role::expert_dispatch: return "void deep_ep::intranode::dispatch<8, 768, 8192>(int4*, float*, int*, long*, float*, int*)";
        case Role::expert_combine: return "void deep_ep::intranode::combine<__nv_bfloat16, 8, 768, 4096>(__nv_bfloat16*, float*, __nv_bfloat16 const*)";
        case Role::activation:
            return compiled() ? "triton_poi_fused_mul_silu_slice_1"
                              : fmt::format("void {}::act_and_mul_kernel<c10::BFloat16, &({}::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>(c10::BFloat16*, "
                                            "c10::BFloat16 const*, int)",
                                            space, space);
        case Role::moe_topk:
            if (triton_experts_) return "_topk_forward";
            return "void vllm::moe::topkGatingSoftmax<4, 128, 4, 16, int>(float const*, bool const*, float*, int, int*, int*, int, int, int)";
        case Role::moe_align: return "void vllm::moe::moe_align_block_size_kernel<int>(int const*, int*, int*, int*, int, int, int, unsigned long, int*)";
        case Role::moe_up:
        case Role::moe_down:
            if (!triton_experts_) return "fused_moe_kernel";
            return fmt::format("_matmul_ogs_NNT_bf16xbf16xmxfp4_{}{}", rows <= 64 ? "16x128x256x1" : "128x128x128x1", role == Role::moe_up ? "_swiglu" : "");
        case Role::moe_sum:
            if (triton_experts_) return "_finalize_matmul_scatter_bf16";
            return "void vllm::moe::moe_sum_kernel<c10::BFloat16, 8>(c10::BFloat16*, c10::BFloat16 const*, int)";
        case Role::mamba_conv: return prefill ? "void causal_conv1d_fwd_kernel<Causal_conv1d_fwd_kernel_traits<128, 4, true, c10::BFloat16, c10::BFloat16>>" : "_causal_conv1d_update_kernel";
        case Role::mamba_scan: return "void selective_scan_fwd_kernel<Selective_Scan_fwd_kernel_traits<128, 16, 1, false, true, true, true, true, c10::BFloat16, float>>";
        case Role::mamba_update: return "_selective_scan_update_kernel";
        case Role::embedding:
            if (compiled()) return deployment_.tp > 1 ? "triton_poi_fused_add_all_reduce_bitwise_and_bitwise_or_embedding_ge_lt_masked_fill_mul_sub_0" : "triton_poi_fused_embedding_0";
            return prefill ? "void at::native::(anonymous namespace)::indexSelectLargeIndex<c10::BFloat16, long, unsigned int, 2, 2, -2, true>"
                           : "void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>";
        case Role::fill: return "void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<int>, std::array<char*, 1ul>>(int, at::native::FillFunctor<int>, std::array<char*, 1ul>)";
        case Role::slot_mapping: return "_compute_slot_mapping_kernel";
        case Role::block_table_copy: return "_gather_block_tables_kernel";
        case Role::gather_last: return "void at::native::index_elementwise_kernel<128, 4, at::native::gpu_index_kernel<at::native::index_kernel_impl<at::native::OpaqueType<2>>>>";
        case Role::logits_cast: return "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}>";
        case Role::penalties: return "void at::native::_scatter_gather_elementwise_kernel<128, 8, at::native::_cuda_scatter_gather_internal_kernel<true, at::native::OpaqueType<8>>>";
        case Role::grammar_mask: return "apply_token_bitmask_inplace_kernel";
        case Role::softmax: return "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, at::native::(anonymous namespace)::SoftMaxForwardEpilogue>";
        case Role::sort: return "void at_cuda_detail::cub::DeviceRadixSortOnesweepKernel<at_cuda_detail::cub::DeviceRadixSortPolicy<float, long, unsigned long>::Policy900, true>";
        case Role::sample: return "void at::native::(anonymous namespace)::distribution_elementwise_grid_stride_kernel<float, 4, at::native::templates::cuda::exponential_kernel>";
        case Role::argmax: return "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::ArgMaxOps<float>, unsigned int, long, 4, 4>>";
        case Role::logprobs: return "void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>";
        case Role::verify: return "rejection_greedy_sample_kernel";
        case Role::draft_forward: return hopper_ ? "nvjet_tst_64x8_64x16_2x1_v_bz_TNT" : "ampere_bf16_s16816gemm_bf16_64x64_ldg8_f2f_stages_64x5_tn";
        default: return fmt::format("void at::native::elementwise_kernel<128, 4, at::native::{}>", role_name(role));
    }
}

std::string KernelNames::other_build(Role role, std::string_view usual) {
    switch (role) {
        case Role::attention:
            // FlashAttention 2 without its (64, 128, 128) tile (FAULTS B1), 3 with another tile; or another backend.
            if (std::string name = replaced(usual, "128, 64, 128", "128, 128, 128"); !name.empty()) return name;
            if (std::string name = replaced(usual, "cute::C<64>, cute::C<176>", "cute::C<128>, cute::C<128>"); !name.empty()) return name;
            if (std::string name = replaced(usual, "cute::C<128>, cute::C<128>", "cute::C<64>, cute::C<176>"); !name.empty()) return name;
            return "kernel_unified_attention_2d";
        case Role::moe_up:
        case Role::moe_down: return "fused_moe_kernel";
        default: return {};
    }
}

}  // namespace faultline::simulator
