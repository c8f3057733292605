"""The kernels of one forward pass: a dense decoder of 36 layers (hidden 4096, 8 KV heads) on two H100, this rank's half.

Durations follow from bytes over bandwidth for the matrix products of a decode step and from operations over peak for many tokens.
"""

from machine import Kernel

LAYERS = 36
HIDDEN = 4096
RANKS = 2
VOCABULARY = 151_936
_BYTES_PER_NS = 2_850  # 85 % of 3,350 GB/s
_FLOP_PER_NS = 640_000  # 65 % of 989 TFLOP/s

_GEMM_FEW = "nvjet_tst_64x8_64x16_4x1_v_bz_TNT"
_GEMM_MANY = "nvjet_tst_192x192_64x4_2x1_v_bz_coopB_TNN"
_NORM_FIRST = "void vllm::rms_norm_kernel<c10::BFloat16, 8, 2>(c10::BFloat16*, c10::BFloat16 const*, long, c10::BFloat16 const*, float, int, int)"
_NORM = ("std::enable_if<(8>(0)) && vllm::_typeConvert<c10::BFloat16>::exists, void>::type vllm::fused_add_rms_norm_kernel"
         "<c10::BFloat16, 8>(c10::BFloat16*, long, c10::BFloat16*, c10::BFloat16 const*, float, int, int)")
_ROTARY = ("void vllm::rotary_embedding_kernel<c10::BFloat16, true>(long const*, c10::BFloat16*, c10::BFloat16*, c10::BFloat16 const*,"
           " int, long, long, long, int, int, int)")
_CACHE = ("void vllm::reshape_and_cache_flash_kernel<__nv_bfloat16, __nv_bfloat16, (vllm::Fp8KVCacheDataType)0>(__nv_bfloat16 const*,"
          " __nv_bfloat16 const*, __nv_bfloat16*, __nv_bfloat16*, long const*, long, long, long, long, long, int, int, int)")
_ATTENTION_PREPARE = "flash::prepare_varlen_num_blocks_kernel(int, int, int, int const*, int const*, int const*, int, int*)"
_ATTENTION = ("void cutlass::device_kernel<flash::enable_sm90_or_later<flash::FlashAttnFwdSm90<flash::CollectiveMainloopFwdSm90<2,"
              " cute::tuple<cute::C<1>, cute::C<1>, cute::C<1>>, cute::tuple<cute::C<64>, cute::C<128>, cute::C<128>>, 128,"
              " cutlass::bfloat16_t, float, cutlass::arch::Sm90>>>>(flash::FlashAttnFwdSm90::Params)")
_ATTENTION_COMBINE = "void cutlass::device_kernel<flash::enable_sm80_or_later<flash::FlashAttnFwdCombine>>(flash::FlashAttnFwdCombine::Params)"
_ACTIVATION = ("void vllm::act_and_mul_kernel<c10::BFloat16, &(c10::BFloat16 vllm::silu_kernel<c10::BFloat16>(c10::BFloat16 const&)), true>"
               "(c10::BFloat16*, c10::BFloat16 const*, int)")
_REDUCE_1 = "void vllm::cross_device_reduce_1stage<__nv_bfloat16, 2>(vllm::RankData*, vllm::RankSignals, vllm::Signal*, __nv_bfloat16*, int, int)"
_REDUCE_NCCL = "ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)"
GATHER_NCCL = "ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)"


def matmul(tokens, inner, outer):
    weight_bytes = 2 * inner * outer
    ns = max(3_000, weight_bytes // _BYTES_PER_NS, 2 * tokens * inner * outer // _FLOP_PER_NS)
    few = tokens <= 64
    grid = (outer // 64, 1, 1) if few else ((outer + 191) // 192, (tokens + 191) // 192, 1)
    return Kernel(_GEMM_FEW if few else _GEMM_MANY, ns, grid, (384, 1, 1), 168, 215_040)


def _elementwise(name, tokens, ns):
    return Kernel(name, ns + 11 * tokens, (max(1, tokens), 1, 1), (256, 1, 1), 32)


def all_reduce(tokens):
    """Custom all-reduce for small messages, NCCL above 8 MB; both are known by the kernel's name only."""
    size = tokens * HIDDEN * 2
    if size <= 8 << 20:
        return Kernel(_REDUCE_1, 6_400 + size // 160, (36, 1, 1), (512, 1, 1), 40)
    return Kernel(_REDUCE_NCCL, 14_000 + size // 290, (24, 1, 1), (640, 1, 1), 96, 90_112)


def attention(tokens, context_tokens):
    """The operator that stays outside of piecewise graphs: KV write, then attention over `context_tokens` cached ones."""
    kv_bytes = context_tokens * 4 * 128 * 2 * 2
    ns = max(8_500, kv_bytes // _BYTES_PER_NS + 90 * tokens)
    return [
        _elementwise(_CACHE, tokens, 2_100),
        Kernel(_ATTENTION_PREPARE, 1_600, (1, 1, 1), (1024, 1, 1), 24),
        Kernel(_ATTENTION, ns, (16 * max(1, tokens // 64), 1, 1), (384, 1, 1), 168, 196_608),
        Kernel(_ATTENTION_COMBINE, 2_600, (max(1, tokens // 4), 16, 1), (256, 1, 1), 48, 16_384),
    ]


def before_attention(tokens, first):
    """(operator, kernels, input shapes) up to attention."""
    heads = [tokens, 16, 128]
    return [
        ("_C::rms_norm" if first else "_C::fused_add_rms_norm", [_elementwise(_NORM_FIRST if first else _NORM, tokens, 2_800)],
         [[tokens, HIDDEN], [HIDDEN]]),
        ("aten::mm", [matmul(tokens, HIDDEN, 3_072)], [[tokens, HIDDEN], [HIDDEN, 3_072]]),
        ("_C::rms_norm", [_elementwise(_NORM_FIRST, tokens, 2_100)], [heads, [128]]),
        ("_C::rms_norm", [_elementwise(_NORM_FIRST, tokens, 1_900)], [[tokens, 4, 128], [128]]),
        ("_C::rotary_embedding", [_elementwise(_ROTARY, tokens, 3_000)], [[tokens], heads, [tokens, 4, 128]]),
    ]


def after_attention(tokens):
    wide = 12_288
    return [
        ("aten::mm", [matmul(tokens, HIDDEN // RANKS, HIDDEN)], [[tokens, HIDDEN // RANKS], [HIDDEN // RANKS, HIDDEN]]),
        ("vllm::all_reduce", [all_reduce(tokens)], [[tokens, HIDDEN], []]),
        ("_C::fused_add_rms_norm", [_elementwise(_NORM, tokens, 2_800)], [[tokens, HIDDEN], [tokens, HIDDEN], [HIDDEN]]),
        ("aten::mm", [matmul(tokens, HIDDEN, wide)], [[tokens, HIDDEN], [HIDDEN, wide]]),
        ("_C::silu_and_mul", [_elementwise(_ACTIVATION, tokens, 2_600)], [[tokens, wide // 2], [tokens, wide]]),
        ("aten::mm", [matmul(tokens, wide // 2, HIDDEN)], [[tokens, wide // 2], [wide // 2, HIDDEN]]),
        ("vllm::all_reduce", [all_reduce(tokens)], [[tokens, HIDDEN], []]),
    ]


def embedding(tokens):
    return [Kernel("void at::native::(anonymous namespace)::indexSelectSmallIndex<c10::BFloat16, long, unsigned int, 2, 2, -2>"
                   "(at::cuda::detail::TensorInfo<c10::BFloat16, unsigned int>, unsigned int)", 4_200 + 9 * tokens, (512, 1, 1)),
            all_reduce(tokens)]


def whole_pass(tokens, context_tokens):
    """Every kernel of a captured forward pass, as a full graph replays them."""
    kernels = embedding(tokens)
    for layer in range(LAYERS):
        for _, part, _ in before_attention(tokens, layer == 0):
            kernels += part
        kernels += attention(tokens, context_tokens)
        for _, part, _ in after_attention(tokens):
            kernels += part
    return kernels
