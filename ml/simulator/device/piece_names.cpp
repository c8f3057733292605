// The small kernels, by the names that traces hold: torch's elementwise kernels (Hugging Face code), the helpers of vLLM and SGLang, Triton's routing.
#include <fmt/format.h>

#include "ml/simulator/device/kernel_names.h"

namespace faultline::simulator {
namespace {

std::string vectorized(std::string_view functor, int operands) {
    return fmt::format("void at::native::vectorized_elementwise_kernel<4, at::native::{0}, std::array<char*, {1}ul> >(int, at::native::{0}, std::array<char*, {1}ul>)",
                       functor, operands);
}

std::string strided(std::string_view functor, int unroll = 4) {
    return fmt::format("void at::native::elementwise_kernel<128, {1}, at::native::gpu_kernel_impl_nocast<at::native::{0} >(at::TensorIteratorBase&, "
                       "at::native::{0} const&)::{{lambda(int)#1}}>(int, at::native::gpu_kernel_impl_nocast<at::native::{0} >(at::TensorIteratorBase&, "
                       "at::native::{0} const&)::{{lambda(int)#1}})",
                       functor, unroll);
}

constexpr std::string_view kProduct = "BinaryFunctor<c10::BFloat16, c10::BFloat16, c10::BFloat16, at::native::binary_internal::MulFunctor<float> >";

}  // namespace

std::string KernelNames::piece(Piece piece) const {
    switch (piece) {
        case Piece::whole: return {};
        case Piece::upcast:
            return "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
                   "const::{lambda()#7}::operator()() const::{lambda(float)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, "
                   "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >";
        case Piece::square: return vectorized("pow_tensor_scalar_kernel_impl<float, float>(at::TensorIteratorBase&, float)::{lambda(float)#1}", 2);
        case Piece::mean:
            return "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, "
                   "4> >(at::native::ReduceOp<float, at::native::MeanOps<float, float, float, float>, unsigned int, float, 4>)";
        case Piece::add_number: return vectorized("CUDAFunctorOnSelf_add<float>", 2);
        case Piece::rsqrt: return vectorized("rsqrt_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}", 2);
        case Piece::scale: return strided("BinaryFunctor<float, float, float, at::native::binary_internal::MulFunctor<float> >", 2);
        case Piece::downcast: return vectorized("bfloat16_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda(float)#1}", 2);
        case Piece::weigh: return strided(kProduct);
        case Piece::multiply: return vectorized(kProduct, 3);
        case Piece::negate: return strided("neg_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#9}::operator()() const::{lambda(c10::BFloat16)#1}");
        case Piece::join:
            return "void at::native::(anonymous namespace)::CatArrayBatchedCopy<at::native::(anonymous namespace)::OpaqueType<2u>, unsigned int, 4, 64, 64>"
                   "(at::native::(anonymous namespace)::OpaqueType<2u>*, at::native::(anonymous namespace)::CatArrInputTensorMetadata<at::native::(anonymous "
                   "namespace)::OpaqueType<2u>, unsigned int, 64, 64>, at::native::(anonymous namespace)::TensorSizeStride<unsigned int, 4u>, int, unsigned int)";
        case Piece::add: return vectorized("CUDAFunctor_add<c10::BFloat16>", 3);
        case Piece::copy: return strided("direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() const::{lambda()#12}::operator()() const::{lambda(c10::BFloat16)#1}");
        case Piece::silu: return vectorized("silu_kernel(at::TensorIteratorBase&)::{lambda()#1}::operator()() const::{lambda()#6}::operator()() const::{lambda(c10::BFloat16)#1}", 2);
        case Piece::cosine: return vectorized("cos_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}", 2);
        case Piece::sine: return vectorized("sin_kernel_cuda(at::TensorIteratorBase&)::{lambda()#2}::operator()() const::{lambda()#2}::operator()() const::{lambda(float)#1}", 2);
        case Piece::clear_workspace: return "Memset (Device)";
        case Piece::split_k:
            return "void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float, __nv_bfloat16, true, false, false>"
                   "(cublasLt::cublasSplitKParams<float>, float const*, __nv_bfloat16 const*, __nv_bfloat16*, float const*, float const*, __nv_bfloat16 const*)";
        case Piece::second_half: return "triton_poi_fused_cat_4";
        case Piece::fill_long: return vectorized("FillFunctor<long>", 1);
        case Piece::fill_int: return vectorized("FillFunctor<int>", 1);
        case Piece::add_int:
            return "void at::native::unrolled_elementwise_kernel<at::native::CUDAFunctorOnSelf_add<int>, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, "
                   "unsigned int>, TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithoutCast, at::native::memory::StoreWithoutCast>";
        case Piece::add_long: return vectorized("CUDAFunctorOnSelf_add<long>", 2);
        case Piece::to_long:
            return "void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda(at::TensorIteratorBase&)::{lambda()#3}::operator()() "
                   "const::{lambda()#4}::operator()() const::{lambda(long)#1}, std::array<char*, 2ul>, 4, TrivialOffsetCalculator<1, unsigned int>, "
                   "TrivialOffsetCalculator<1, unsigned int>, at::native::memory::LoadWithCast<1>, at::native::memory::StoreWithCast<1> >";
        case Piece::sum:
            return "void at::native::reduce_kernel<512, 1, at::native::ReduceOp<long, at::native::func_wrapper_t<long, at::native::sum_functor<long, long, "
                   "long>::operator()(at::TensorIterator&)::{lambda(long, long)#1}>, unsigned int, long, 4> >";
        case Piece::scan: return "void at_cuda_detail::cub::DeviceScanKernel<at_cuda_detail::cub::DeviceScanPolicy<long, std::plus<long> >::Policy900, long const*, long*, "
                                 "at_cuda_detail::cub::ScanTileState<long, true>, std::plus<long>, at_cuda_detail::cub::NullType, int, long, false>";
        case Piece::count_up:
            return "void (anonymous namespace)::elementwise_kernel_with_index<int, at::native::arange_cuda_out(c10::Scalar const&, c10::Scalar const&, c10::Scalar "
                   "const&, at::Tensor&)::{lambda()#1}::operator()() const::{lambda()#4}::operator()() const::{lambda(long)#1}>";
        case Piece::future_tokens: return "void (anonymous namespace)::resolve_future_token_ids_kernel<long>(long*, long const*, unsigned long)";
        case Piece::positions: return "compute_position_kernel";
        case Piece::kv_indices: return "create_flashinfer_kv_indices_triton";
        case Piece::device_copy: return "Memcpy DtoD (Device -> Device)";
        case Piece::pad: return "triton_poi_fused_constant_pad_nd_moe_forward_0";
        case Piece::route_rows: return "_sum_bitmatrix_rows";
        case Piece::route_clear: return "_combined_routing_memset";
        case Piece::route_compute: return "_combined_routing_compute";
    }
    return {};
}

double KernelNames::piece_base_us(Piece piece) {
    // Medians of small ones in traces of an H100 (k01, k12 of the public captures): 1.3 to 3 us.
    switch (piece) {
        case Piece::add_number:
        case Piece::rsqrt: return 1.5;
        case Piece::fill_int:
        case Piece::fill_long: return 1.3;
        case Piece::split_k:
        case Piece::second_half: return 1.8;
        case Piece::mean:
        case Piece::sum: return 4.0;
        case Piece::scan: return 3.2;
        case Piece::positions:
        case Piece::kv_indices:
        case Piece::route_rows:
        case Piece::route_clear:
        case Piece::route_compute: return 3.0;
        default: return 1.7;
    }
}

}  // namespace faultline::simulator
