// Which kernel of a role an operation is, where one role takes several: what eager torch code makes of a norm or a rotation, and the helpers that
// engines put beside their kernels. Roles say what work is for; pieces what runs (traces of Hugging Face code, vLLM and SGLang).
#pragma once

#include <cstdint>

namespace faultline::simulator {

enum class Piece : std::uint8_t {
    whole,  ///< the kernel that the role is known by
    // torch, one operator at a time
    upcast, square, mean, add_number, rsqrt, scale, downcast, weigh, multiply, negate, join, add, copy, silu, cosine, sine, clear_workspace,
    // beside the kernels of engines
    split_k,         ///< sums the parts of a product that was split along its depth
    second_half,     ///< the keys' half of a rotation that torch.compile made two kernels of
    fill_long, fill_int, add_int, add_long, to_long, sum, scan, count_up,
    future_tokens,   ///< SGLang, overlap: token ids of the batch before, still on the device
    positions, kv_indices, device_copy,
    // routing of experts in Triton (gpt-oss)
    pad, route_rows, route_clear, route_compute,
};
inline constexpr int kPieceCount = static_cast<int>(Piece::route_compute) + 1;

}  // namespace faultline::simulator
