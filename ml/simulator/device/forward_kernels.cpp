// The layers of a forward: dense, mixture of experts, Mamba; reductions over the ranks (ENGINES §4.1, §4.2, §4.4).
#include <algorithm>

#include "ml/simulator/device/kernel_list.h"

namespace faultline::simulator {
namespace {

/// Counts of a step as its kernels see them.
struct Shape {
    std::int64_t rows = 1;     ///< of the products: tokens, padded in graphs
    bool prefill = false;      ///< prompt tokens are among them
    bool decode = false;       ///< generated tokens are among them
    std::int64_t decode_rows = 0, context_rows = 0;
    std::int64_t kv_tokens = 0;  ///< read by attention
    double query_kv = 0;       ///< products of a query and a key
};

Shape shape_of(const StepPlan& plan, std::int64_t rows) {
    Shape s;
    s.rows = std::max<std::int64_t>(rows, 1);
    for (const ScheduledRequest& r : plan.requests) {
        const bool context = r.context && !r.decode_route;
        (context ? s.context_rows : s.decode_rows) += r.tokens;
        s.kv_tokens += r.computed_before + r.tokens;
        if (context) s.query_kv += static_cast<double>(r.tokens) * (static_cast<double>(r.computed_before) + r.tokens / 2.0);
    }
    s.prefill = s.context_rows > 0;
    s.decode = s.decode_rows > 0 || !s.prefill;
    return s;
}

class Forward {
public:
    Forward(KernelMaker& make, const StepPlan& plan, const RankPlace& place, std::int64_t rows, int distinct_experts)
        : make_(make), model_(make.model), place_(place), s_(shape_of(plan, rows)), experts_(distinct_experts) {
        tp_ = std::max(1, place.ranks);
    }

    void embedding() {
        // The split of the attention over the SMs is planned before the forward, outside of its graph (FlashAttention 3).
        if (flash3()) put(Role::attention_prepare, -1, make_.costs.elementwise(2.6, 0), Bound::none);
        put(Role::embedding, -1, make_.costs.elementwise(1.8, 2 * s_.rows * hidden()), Bound::memory);
        reduce(-1);
    }

    void layer(int l) {
        put(Role::input_norm, l, make_.costs.elementwise(2.6, 4 * s_.rows * hidden()), Bound::memory);
        if (model_.mamba_every > 0 && (l + 1) % model_.mamba_every != 0) {
            mamba(l);
        } else {
            attention(l);
        }
        put(Role::post_norm, l, make_.costs.elementwise(2.6, 4 * s_.rows * hidden()), Bound::memory);
        if (model_.experts > 0) {
            experts(l);
        } else {
            dense(l);
        }
    }

    void final_norm() { put(Role::final_norm, -1, make_.costs.elementwise(2.6, 4 * s_.rows * hidden()), Bound::memory); }
    std::vector<Op> take() { return std::move(ops_); }

private:
    [[nodiscard]] std::int64_t hidden() const { return model_.hidden * static_cast<std::int64_t>(model_.dtype_bytes); }
    [[nodiscard]] bool flash3() const {
        return make_.kernel_names.hopper() && make_.deployment.attention_backend == "flash" && !make_.kernel_names.sglang();
    }
    void add(Role role, int l, Piece piece, std::int64_t bytes) { ops_.push_back(make_.piece(role, l, piece, bytes, place_.compute)); }
    void put(Role role, int l, TimeNs cost, Bound bound, std::int64_t rows = 0, bool prefill = false) {
        ops_.push_back(make_.kernel(role, l, {rows > 0 ? rows : s_.rows, prefill || s_.prefill}, cost, bound, place_.compute));
    }
    void product(Role role, int l, std::int64_t in, std::int64_t out) {
        // What limits a product changes with its rows (about 150 on an H100).
        const Bound bound = s_.rows * 2 > static_cast<std::int64_t>(make_.gpu.bf16_tflops * 1e3 / make_.gpu.memory_gb_s) ? Bound::compute : Bound::memory;
        put(role, l, make_.costs.product(s_.rows, in, out, model_.dtype_bytes), bound);
        // Few tiles of a deep product leave most of the SMs idle, so that cuBLAS splits it along its depth and sums the parts.
        const bool few_tiles = (out + 127) / 128 * 4 < make_.gpu.sms;
        if (s_.rows > 1 && s_.rows <= 64 && in >= 4096 && in >= 2 * out && few_tiles) add(role, l, Piece::split_k, 10 * s_.rows * out);
    }
    void reduce(int l) {
        if (tp_ <= 1 || place_.group == kNoGroup) return;
        const std::int64_t bytes = s_.rows * hidden();
        ops_.push_back(make_.collective(Role::all_reduce, l, bytes, make_.costs.all_reduce(bytes, tp_, place_.between_nodes), place_.compute, place_.group, s_.rows));
    }

    void attention(int l) {
        const std::int64_t q = static_cast<std::int64_t>(model_.heads) * model_.head_dim / tp_;
        const std::int64_t kv = std::max<std::int64_t>(model_.head_dim, static_cast<std::int64_t>(model_.kv_heads) * model_.head_dim / tp_);
        product(Role::qkv_gemm, l, model_.hidden, q + 2 * kv);
        if (model_.qk_norm) {
            // SGLang makes its slices of the product contiguous before it takes their norms.
            if (make_.kernel_names.sglang()) add(Role::qk_norm, l, Piece::copy, 4 * s_.rows * q);
            put(Role::qk_norm, l, make_.costs.elementwise(2.2, 4 * s_.rows * q), Bound::memory);
            if (make_.kernel_names.sglang()) add(Role::qk_norm, l, Piece::copy, 4 * s_.rows * kv);
            put(Role::qk_norm, l, make_.costs.elementwise(2.0, 4 * s_.rows * kv), Bound::memory);
        }
        put(Role::rope, l, make_.costs.elementwise(3.0, 4 * s_.rows * (q + kv)), Bound::memory);
        if (make_.kernel_names.compiled() && !model_.qk_norm) add(Role::rope, l, Piece::second_half, 4 * s_.rows * kv);
        put(Role::kv_write, l, make_.costs.elementwise(2.2, 4 * s_.rows * kv), Bound::memory);
        const std::int64_t read = s_.kv_tokens * model_.kv_bytes_per_token() / std::max(1, model_.attention_layers()) / tp_;
        put(Role::attention, l, make_.costs.attention(read, s_.query_kv, std::max(1, model_.heads / tp_), model_.head_dim),
            s_.prefill ? Bound::compute : Bound::memory, s_.prefill ? s_.context_rows : s_.decode_rows);
        if (!s_.prefill) put(Role::attention_combine, l, make_.costs.elementwise(2.9, 0), Bound::memory);
        // Seen after each attention in the years when vLLM had graphs in pieces alone.
        if (make_.deployment.graphs == GraphMode::piecewise && make_.kernel_names.compiled() && flash3()) {
            add(Role::attention, l, Piece::fill_long, 8);
            add(Role::attention, l, Piece::fill_long, 8);
        }
        product(Role::o_gemm, l, q, model_.hidden);
        reduce(l);
    }

    /// Prompts go through the scan, generated tokens through the update of the state; a mixed step has both (FAULTS E1).
    void mamba(int l) {
        const std::int64_t inner = 2LL * model_.hidden / tp_;
        product(Role::qkv_gemm, l, model_.hidden, 2 * inner);
        const auto rows = [&](Role role, bool prefill, std::int64_t n, TimeNs cost) {
            ops_.push_back(make_.kernel(role, l, {std::max<std::int64_t>(n, 1), prefill}, cost, Bound::memory, place_.compute));
        };
        if (s_.prefill) rows(Role::mamba_conv, true, s_.context_rows, make_.costs.elementwise(5.5, 6 * s_.context_rows * inner));
        if (s_.decode) rows(Role::mamba_conv, false, s_.decode_rows, make_.costs.elementwise(3.5, 6 * s_.decode_rows * inner));
        if (s_.prefill) rows(Role::mamba_scan, true, s_.context_rows, make_.costs.elementwise(24, 40 * s_.context_rows * inner));
        if (s_.decode) rows(Role::mamba_update, false, s_.decode_rows, make_.costs.elementwise(6.5, 80 * s_.decode_rows * inner));
        product(Role::o_gemm, l, inner, model_.hidden);
        reduce(l);
    }

    void dense(int l) {
        const std::int64_t inner = model_.intermediate / tp_;
        product(Role::gate_up_gemm, l, model_.hidden, 2 * inner);
        put(Role::activation, l, make_.costs.elementwise(2.4, 6 * s_.rows * inner), Bound::memory);
        product(Role::down_gemm, l, inner, model_.hidden);
        reduce(l);
    }

    void experts(int l) {
        product(Role::router_gemm, l, model_.hidden, model_.experts);
        const bool triton = model_.triton_experts;
        if (triton) add(Role::moe_topk, l, Piece::pad, 4 * s_.rows * hidden() / 2);
        put(Role::moe_topk, l, make_.costs.elementwise(3.4, 8 * s_.rows * model_.experts), Bound::memory);
        if (triton) {
            for (const Piece piece : {Piece::route_rows, Piece::route_clear, Piece::route_compute}) add(Role::moe_align, l, piece, 4 * s_.rows * model_.experts);
        }
        const bool parallel = place_.expert_group != kNoGroup;
        const int sharing = parallel ? std::max(1, make_.deployment.dp) * tp_ : 1;  // ranks that hold the experts between them
        const std::int64_t moved = s_.rows * hidden() * model_.experts_per_token / 2;
        const auto exchange = [&](Role role) {
            ops_.push_back(make_.collective(role, l, moved, make_.costs.all_gather(moved, sharing, place_.between_nodes), place_.compute, place_.expert_group,
                                            s_.rows));
        };
        if (parallel) exchange(Role::expert_dispatch);
        if (!triton) put(Role::moe_align, l, make_.costs.elementwise(6.5, 0), Bound::none);
        // Shared out whole over the ranks, or each cut into slices; the tokens of all DP ranks come together at the experts.
        const std::int64_t inner = parallel ? model_.expert_intermediate : model_.expert_intermediate / tp_;
        const std::int64_t touched = std::max<std::int64_t>(1, (experts_ > 0 ? experts_ : model_.experts) / sharing);
        const std::int64_t rows = parallel ? std::max<std::int64_t>(1, s_.rows / tp_) : s_.rows;
        const auto weights = [&](std::int64_t out) { return static_cast<std::int64_t>(static_cast<double>(touched * model_.hidden * out) * model_.expert_bytes()); };
        const double flops = 2.0 * model_.hidden * static_cast<double>(inner) * model_.experts_per_token;
        put(Role::moe_up, l, make_.costs.experts(rows, weights(2 * inner), 2 * flops), Bound::memory);
        if (!triton) put(Role::activation, l, make_.costs.elementwise(2.4, 6 * rows * inner * model_.experts_per_token), Bound::memory);
        put(Role::moe_down, l, make_.costs.experts(rows, weights(inner), flops), Bound::memory);
        put(Role::moe_sum, l, make_.costs.elementwise(2.8, 2 * rows * hidden() * model_.experts_per_token), Bound::memory);
        if (parallel) {
            exchange(Role::expert_combine);
        } else {
            reduce(l);
        }
    }

    KernelMaker& make_;
    const ModelCard& model_;
    const RankPlace& place_;
    Shape s_;
    int experts_;
    int tp_ = 1;
    std::vector<Op> ops_;
};

}  // namespace

std::vector<Op> forward_kernels(KernelMaker& make, const StepPlan& plan, const RankPlace& place, std::int64_t rows, int distinct_experts) {
    Forward forward(make, plan, place, rows, distinct_experts);
    forward.embedding();
    for (int l = 0; l < make.model.layers; ++l) forward.layer(l);
    forward.final_norm();
    return forward.take();
}

}  // namespace faultline::simulator
