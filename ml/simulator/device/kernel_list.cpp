#include "ml/simulator/device/kernel_list.h"

#include <algorithm>
#include <string>
#include <utility>

namespace faultline::simulator {
namespace {

/// Sizes at which names change (kernel_names.cpp): rows between two of them share a name.
int size_class(std::int64_t rows) { return rows <= 1 ? 0 : rows <= 16 ? 1 : rows <= 64 ? 2 : rows <= 256 ? 3 : 4; }

bool is_product(Role role) {
    return role == Role::qkv_gemm || role == Role::o_gemm || role == Role::gate_up_gemm || role == Role::down_gemm || role == Role::lm_head ||
           role == Role::router_gemm;
}

bool in_attention(Role role) { return role == Role::kv_write || role == Role::attention || role == Role::attention_combine; }

}  // namespace

Name KernelMaker::name_of(Role role, const Size& size) {
    // Of a collective: one stage, two, or the library's.
    const int message = size.bytes <= 512 * 1024 ? 0 : takes_custom_all_reduce(deployment, gpu, size.bytes) ? 1 : 2;
    const auto key = std::tuple(role, role == Role::all_reduce ? message : size_class(size.rows), size.prefill);
    const auto [place, added] = cache_.try_emplace(key, Name::none);
    if (added) place->second = names.intern(kernel_names.name(role, size.rows, size.prefill, std::max<std::int64_t>(size.bytes, 0)));
    return place->second;
}

void KernelMaker::set_launch(Op& op) {
    const auto [place, added] = launches_.try_emplace(op.device_name);
    if (added) {
        // Triton launches through the driver; what uses programmatic launch or clusters through the extended call (ENGINES §4.5).
        const std::string_view kernel = names.text(op.device_name);
        const bool triton = kernel.starts_with("triton_") || (kernel.starts_with("_") && !kernel.starts_with("_Z")) || kernel.starts_with("kernel_unified") ||
                            kernel == "fused_moe_kernel" || kernel == "reduce_segments" || kernel.starts_with("apply_token") || kernel.starts_with("rejection_") ||
                            kernel == "compute_position_kernel" || kernel == "create_flashinfer_kv_indices_triton";
        const bool extended = kernel.starts_with("nvjet") || kernel.find("cutlass::device_kernel") != std::string_view::npos || kernel.starts_with("nccl");
        const std::string_view call = triton ? "cuLaunchKernelEx" : extended ? "cudaLaunchKernelExC" : "cudaLaunchKernel";
        place->second = {names.intern(call), {triton, triton ? 4'600 : extended ? 3'900 : 3'300}};
    }
    op.kind = OpKind::launch;
    op.name = place->second.first;
    op.event = place->second.second.first ? EventKind::driver_call : EventKind::runtime_call;
    op.cost = place->second.second.second;
}

Op KernelMaker::kernel(Role role, int layer, const Size& size, TimeNs cost, Bound bound, StreamIndex stream) {
    Op op;
    op.role = role;
    op.layer = static_cast<std::int16_t>(layer);
    op.stream = stream;
    op.bound = bound;
    op.device_cost = cost;
    op.device_name = name_of(role, size);
    op.block = is_product(role) ? 384 : in_attention(role) ? 128 : 256;
    const std::int64_t tiles = is_product(role) ? std::min<std::int64_t>(gpu.sms, 16 + size.rows / 4) : size.rows * 4 + 1;
    op.grid = static_cast<std::uint32_t>(std::clamp<std::int64_t>(tiles, 1, 1 << 20));
    set_launch(op);
    return op;
}

Op KernelMaker::piece(Role role, int layer, Piece piece, std::int64_t bytes, StreamIndex stream) {
    Op op;
    if (piece == Piece::device_copy) {
        op = copy(role, CopyKind::device_to_device, bytes / 2, stream);
    } else if (piece == Piece::clear_workspace) {
        op = call(OpKind::launch, role, "cudaMemsetAsync", 3'600, stream);
        op.device_event = EventKind::memory_set;
        op.bytes = bytes;
        op.device_cost = 850;
    } else {
        op.role = role;
        op.stream = stream;
        op.bound = Bound::memory;
        op.device_cost = costs.elementwise(kernel_names.piece_base_us(piece), bytes);
        op.block = 128;
        op.grid = static_cast<std::uint32_t>(std::clamp<std::int64_t>(bytes / 2048, 1, 1 << 20));
    }
    op.layer = static_cast<std::int16_t>(layer);
    op.piece = piece;
    if (piece == Piece::device_copy) return op;
    Name& name = pieces_[static_cast<std::size_t>(piece)];
    if (name == Name::none) name = names.intern(kernel_names.piece(piece));
    op.device_name = name;
    if (piece != Piece::clear_workspace) set_launch(op);
    return op;
}

Op KernelMaker::collective(Role role, int layer, std::int64_t bytes, TimeNs cost, StreamIndex stream, std::uint16_t group, std::int64_t rows) {
    Op op = kernel(role, layer, {rows, false, bytes}, cost, Bound::link, stream);
    op.group = group;
    op.bytes = bytes;
    op.grid = deployment.custom_all_reduce && role == Role::all_reduce ? 36 : 24;
    op.block = 512;
    return op;
}

Op KernelMaker::copy(Role role, CopyKind kind, std::int64_t bytes, StreamIndex stream) {
    Op op = call(OpKind::launch, role, "cudaMemcpyAsync", 5'200, stream);
    op.device_event = EventKind::memory_copy;
    op.copy = kind;
    op.bytes = bytes;
    op.bound = Bound::none;
    const bool pageable = kind == CopyKind::pageable_to_device || kind == CopyKind::device_to_pageable;
    op.device_cost = costs.copy(bytes, pageable);
    switch (kind) {
        case CopyKind::host_to_device: op.device_name = names.intern("Memcpy HtoD (Pinned -> Device)"); break;
        case CopyKind::device_to_host: op.device_name = names.intern("Memcpy DtoH (Device -> Pinned)"); break;
        case CopyKind::pageable_to_device: op.device_name = names.intern("Memcpy HtoD (Pageable -> Device)"); break;
        case CopyKind::device_to_pageable: op.device_name = names.intern("Memcpy DtoH (Device -> Pageable)"); break;
        default: op.device_name = names.intern("Memcpy DtoD (Device -> Device)"); break;
    }
    return op;
}

Op KernelMaker::call(OpKind kind, Role role, std::string_view name, TimeNs cost, StreamIndex stream, std::uint32_t event) {
    Op op;
    op.kind = kind;
    op.event = name.starts_with("cu") && !name.starts_with("cuda") ? EventKind::driver_call : EventKind::runtime_call;
    op.role = role;
    op.name = names.intern(name);
    op.cost = cost;
    op.stream = stream;
    op.signal = event;
    return op;
}

std::vector<Op> as_graph(KernelMaker& make, std::vector<Op> forward, StreamIndex stream) {
    std::vector<Op> graph;
    graph.reserve(forward.size() + 1);
    if (!forward.empty() && forward.front().role == Role::attention_prepare) {
        graph.push_back(forward.front());
        forward.erase(forward.begin());
    }
    graph.push_back(make.call(OpKind::graph_launch, Role::graph, "cudaGraphLaunch", 28'000 + 90 * static_cast<TimeNs>(forward.size()), stream));
    for (Op& op : forward) {
        op.kind = OpKind::node;
        op.cost = 0;
        op.name = Name::none;
        graph.push_back(op);
    }
    return graph;
}

std::vector<Op> as_pieces(KernelMaker& make, std::vector<Op> forward, StreamIndex stream) {
    std::vector<Op> pieces;
    std::vector<Op> piece;
    const auto flush = [&] {
        if (piece.empty()) return;
        pieces.push_back(make.call(OpKind::graph_launch, Role::graph, "cudaGraphLaunch", 9'000 + 90 * static_cast<TimeNs>(piece.size()), stream));
        for (Op& op : piece) {
            op.kind = OpKind::node;
            op.cost = 0;
            op.name = Name::none;
            pieces.push_back(op);
        }
        piece.clear();
    };
    for (Op& op : forward) {
        const bool outside = in_attention(op.role) || op.role == Role::attention_prepare || op.role == Role::mamba_scan || op.role == Role::mamba_update ||
                             op.role == Role::mamba_conv;
        if (outside) {
            flush();
            pieces.push_back(op);
        } else {
            piece.push_back(op);
        }
    }
    flush();
    return pieces;
}

}  // namespace faultline::simulator
