// Models as Hugging Face writes them and FSDP shards them: every operator of torch is a kernel of its own (ENGINES §1.4, §2.6; order and counts from a
// trace of transformers on an H100: 7 products, 8 kernels a norm, 10 a rotation, 49 with the cleared workspaces in a layer without q/k norms).
#include <algorithm>

#include "ml/simulator/device/kernel_list.h"

namespace faultline::simulator {
namespace {

class TorchForward {
public:
    TorchForward(KernelMaker& make, const StepPlan& plan, const RankPlace& place)
        : make_(make), model_(make.model), stream_(place.compute), rows_(std::max(plan.tokens, 1)) {
        for (const ScheduledRequest& r : plan.requests) {
            kv_tokens_ += r.computed_before + r.tokens;
            if (!r.context) continue;
            prefill_ = true;
            query_kv_ += static_cast<double>(r.tokens) * (static_cast<double>(r.computed_before) + r.tokens / 2.0);
        }
    }

    /// The table, the causal mask and the angles of the rotation, which all layers share.
    void embedding() {
        put(Role::embedding, -1, make_.costs.elementwise(1.8, 2 * rows_ * width()));
        for (const Piece piece : {Piece::count_up, Piece::to_long, Piece::fill_int}) add(Role::fill, -1, piece, rows_ * 8);
        const std::int64_t angles = rows_ * model_.head_dim * 4;
        for (const Piece piece : {Piece::scale, Piece::join, Piece::cosine, Piece::scale, Piece::sine, Piece::scale, Piece::downcast, Piece::downcast}) {
            add(Role::rope, -1, piece, 2 * angles);
        }
    }

    void layer(int l) {
        norm(Role::input_norm, l, rows_ * model_.hidden);
        attention(l);
        add(Role::post_norm, l, Piece::add, 3 * rows_ * width());
        norm(Role::post_norm, l, rows_ * model_.hidden);
        product(Role::gate_up_gemm, l, model_.hidden, model_.intermediate);
        const std::int64_t inner = rows_ * model_.intermediate * model_.dtype_bytes;
        add(Role::activation, l, Piece::silu, 2 * inner);
        product(Role::gate_up_gemm, l, model_.hidden, model_.intermediate);
        add(Role::activation, l, Piece::multiply, 3 * inner);
        product(Role::down_gemm, l, model_.intermediate, model_.hidden);
        add(Role::down_gemm, l, Piece::add, 3 * rows_ * width());
    }

    void final_norm() { norm(Role::final_norm, -1, rows_ * model_.hidden); }
    std::vector<Op> take() { return std::move(ops_); }

private:
    [[nodiscard]] std::int64_t width() const { return static_cast<std::int64_t>(model_.hidden) * model_.dtype_bytes; }
    void put(Role role, int l, TimeNs cost, Bound bound = Bound::memory) { ops_.push_back(make_.kernel(role, l, {rows_, prefill_}, cost, bound, stream_)); }
    void add(Role role, int l, Piece piece, std::int64_t bytes) { ops_.push_back(make_.piece(role, l, piece, bytes, stream_)); }

    void product(Role role, int l, std::int64_t in, std::int64_t out) {
        add(role, l, Piece::clear_workspace, 4096);
        const Bound bound = rows_ * 2 > static_cast<std::int64_t>(make_.gpu.bf16_tflops * 1e3 / make_.gpu.memory_gb_s) ? Bound::compute : Bound::memory;
        put(role, l, make_.costs.product(rows_, in, out, model_.dtype_bytes), bound);
    }

    /// In float32 and back: to float, squares, their mean, epsilon, the root, scaled, to bfloat16, weighed.
    void norm(Role role, int l, std::int64_t elements) {
        const std::int64_t rows = elements / std::max(1, model_.hidden);
        add(role, l, Piece::upcast, 6 * elements);
        add(role, l, Piece::square, 8 * elements);
        add(role, l, Piece::mean, 4 * elements);
        add(role, l, Piece::add_number, 8 * rows);
        add(role, l, Piece::rsqrt, 8 * rows);
        add(role, l, Piece::scale, 8 * elements);
        add(role, l, Piece::downcast, 6 * elements);
        add(role, l, Piece::weigh, 4 * elements);
    }

    void rotate(int l, std::int64_t elements) {
        const std::int64_t bytes = elements * model_.dtype_bytes;
        add(Role::rope, l, Piece::weigh, 2 * bytes);
        add(Role::rope, l, Piece::negate, bytes);
        add(Role::rope, l, Piece::join, 2 * bytes);
        add(Role::rope, l, Piece::weigh, 2 * bytes);
        add(Role::rope, l, Piece::add, 3 * bytes);
    }

    void attention(int l) {
        const std::int64_t q = static_cast<std::int64_t>(model_.heads) * model_.head_dim, kv = static_cast<std::int64_t>(model_.kv_heads) * model_.head_dim;
        product(Role::qkv_gemm, l, model_.hidden, q);
        if (model_.qk_norm) norm(Role::qk_norm, l, rows_ * q);
        product(Role::qkv_gemm, l, model_.hidden, kv);
        if (model_.qk_norm) norm(Role::qk_norm, l, rows_ * kv);
        product(Role::qkv_gemm, l, model_.hidden, kv);
        rotate(l, rows_ * q);
        rotate(l, rows_ * kv);
        // The cache is joined anew with what came (generate() with a dynamic cache).
        const std::int64_t cached = kv_tokens_ * kv * model_.dtype_bytes;
        if (!prefill_) {
            add(Role::kv_write, l, Piece::join, 2 * cached);
            add(Role::kv_write, l, Piece::join, 2 * cached);
        }
        // Query, keys and values made contiguous; keys and values repeated for every head that shares them.
        const std::int64_t repeated = kv_tokens_ * q * model_.dtype_bytes;
        add(Role::attention, l, Piece::copy, 2 * rows_ * q * model_.dtype_bytes);
        add(Role::attention, l, Piece::copy, cached + repeated);
        add(Role::attention, l, Piece::copy, cached + repeated);
        put(Role::attention, l, make_.costs.attention(2 * repeated, query_kv_, model_.heads, model_.head_dim), prefill_ ? Bound::compute : Bound::memory);
        if (!prefill_) put(Role::attention_combine, l, make_.costs.elementwise(2.9, 0));
        add(Role::attention, l, Piece::copy, 2 * rows_ * q * model_.dtype_bytes);
        product(Role::o_gemm, l, q, model_.hidden);
    }

    KernelMaker& make_;
    const ModelCard& model_;
    StreamIndex stream_;
    std::int64_t rows_, kv_tokens_ = 0;
    bool prefill_ = false;
    double query_kv_ = 0;
    std::vector<Op> ops_;
};

}  // namespace

std::vector<Op> sharded_forward_kernels(KernelMaker& make, const StepPlan& plan, const RankPlace& place) {
    const ModelCard& model = make.model;
    const int units = model.layers + 1;  // the embeddings with the head, and each layer
    const std::int64_t table = 2LL * model.vocabulary * model.hidden * model.dtype_bytes;
    const std::int64_t layer = (model.weight_bytes() - table) / model.layers;
    std::vector<Op> ops;
    const auto gather = [&](int unit) {
        if (place.ranks <= 1 || place.group == kNoGroup) return;
        const std::int64_t bytes = unit == 0 ? table : layer;
        ops.push_back(make.collective(Role::all_gather, unit - 1, bytes, make.costs.all_gather(bytes, place.ranks, place.between_nodes), place.communication,
                                      place.group, plan.tokens));
        ops.push_back(make.call(OpKind::record_event, Role::event_record, "cudaEventRecord", 1'300, place.communication, static_cast<std::uint32_t>(unit)));
    };
    const auto wait = [&](int unit) {
        if (place.ranks <= 1 || place.group == kNoGroup) return;
        ops.push_back(make.call(OpKind::stream_wait, Role::event_wait, "cudaStreamWaitEvent", 1'100, place.compute, static_cast<std::uint32_t>(unit)));
    };
    const auto run = [&](auto part) {
        TorchForward forward(make, plan, place);
        part(forward);
        for (Op& op : forward.take()) ops.push_back(op);
    };
    gather(0);
    for (int unit = 0; unit < units; ++unit) {
        if (unit + 1 < units) gather(unit + 1);  // the next unit comes while this one runs
        wait(unit);
        run([&](TorchForward& forward) { unit == 0 ? forward.embedding() : forward.layer(unit - 1); });
    }
    run([](TorchForward& forward) { forward.final_norm(); });
    return ops;
}

}  // namespace faultline::simulator
