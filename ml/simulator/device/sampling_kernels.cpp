// What stands around the forward: inputs, logits, sampling, drafts (ENGINES §4.1).
#include <algorithm>

#include "ml/simulator/device/kernel_list.h"

namespace faultline::simulator {
namespace {

constexpr int kLogitBytes = 4;

/// Rows that logits are computed for: one a request, more where drafts are verified.
std::int64_t logit_rows(const StepPlan& plan) {
    std::int64_t rows = 0;
    for (const ScheduledRequest& r : plan.requests) rows += r.context ? (r.last_chunk ? 1 : 0) : r.tokens;
    return std::max<std::int64_t>(rows, 1);
}

template <class Which>
std::int64_t count(const StepPlan& plan, Which which) {
    return std::count_if(plan.requests.begin(), plan.requests.end(), which);
}

}  // namespace

std::vector<Op> input_operations(KernelMaker& make, const StepPlan& plan, const RankPlace& place) {
    std::vector<Op> ops;
    const auto batch = static_cast<std::int64_t>(std::max<std::size_t>(plan.requests.size(), 1));
    const std::int64_t tokens = std::max(plan.tokens, 1);
    const auto copy = [&](Role role, std::int64_t bytes) { ops.push_back(make.copy(role, CopyKind::host_to_device, bytes, place.compute)); };
    const auto add = [&](Role role, Piece piece, std::int64_t bytes) { ops.push_back(make.piece(role, -1, piece, bytes, place.compute)); };
    if (make.deployment.engine == Engine::fsdp) {
        copy(Role::input_copy, tokens * 8);
        return ops;
    }
    const bool one_graph = make.deployment.graphs == GraphMode::full && plan.context_requests == 0;
    if (make.kernel_names.sglang()) {
        if (make.deployment.async_scheduling) add(Role::input_copy, Piece::future_tokens, tokens * 16);
        copy(Role::input_copy, tokens * 8);  // token ids
        copy(Role::input_copy, batch * 8);   // sequence lengths
        if (plan.context_requests > 0) add(Role::fill, Piece::positions, tokens * 8);
        add(Role::fill, Piece::sum, batch * 8);
        add(Role::block_table_copy, Piece::device_copy, batch * 8);
        add(Role::block_table_copy, Piece::scan, batch * 8);
        add(Role::block_table_copy, Piece::to_long, batch * 12);
        add(Role::block_table_copy, Piece::kv_indices, 8 * (plan.context_kv + plan.generation_kv));
        add(Role::slot_mapping, Piece::device_copy, batch * 8);
        if (plan.context_requests > 0) {
            for (const Piece piece : {Piece::to_long, Piece::add_long, Piece::scan, Piece::to_long, Piece::sum, Piece::device_copy}) add(Role::slot_mapping, piece, batch * 16);
        } else {
            add(Role::slot_mapping, Piece::add_long, batch * 16);
        }
        // What a graph reads is copied to where it was captured to read.
        if (one_graph) {
            for (const std::int64_t bytes : {tokens * 8, batch * 8, batch * 8, tokens * 8}) add(Role::input_copy, Piece::device_copy, bytes);
        }
        return ops;
    }
    copy(Role::input_copy, tokens * 4);       // token ids
    copy(Role::input_copy, tokens * 8);       // positions
    copy(Role::input_copy, (batch + 1) * 4);  // query starts
    copy(Role::input_copy, batch * 4);        // sequence lengths
    copy(Role::block_table_copy, batch * 4 * std::max<std::int64_t>(1, (plan.context_kv + plan.generation_kv) / batch / make.deployment.block_size));
    ops.push_back(make.kernel(Role::slot_mapping, -1, {tokens, false}, make.costs.elementwise(2.0, tokens * 16), Bound::none, place.compute));
    copy(Role::input_copy, batch * 8);  // logits indices
    add(Role::input_copy, Piece::to_long, tokens * 12);
    add(Role::fill, Piece::fill_int, batch * 4);
    add(Role::fill, Piece::add_int, batch * 8);
    // The rows that pad a batch to the size of its graph are set to nothing.
    if (one_graph) {
        for (const Piece piece : {Piece::fill_int, Piece::fill_long, Piece::fill_int}) add(Role::fill, piece, batch * 8);
    }
    return ops;
}

std::vector<Op> logits_kernels(KernelMaker& make, const StepPlan& plan, const RankPlace& place) {
    std::vector<Op> ops;
    const std::int64_t rows = logit_rows(plan);
    const int tp = make.deployment.engine == Engine::fsdp ? 1 : std::max(1, place.ranks);
    const std::int64_t vocabulary = make.model.vocabulary / tp;
    const auto add = [&](Role role, Piece piece, std::int64_t bytes) { ops.push_back(make.piece(role, -1, piece, bytes, place.compute)); };
    if (make.deployment.engine == Engine::fsdp) {
        add(Role::lm_head, Piece::clear_workspace, 4096);
    } else if (make.kernel_names.sglang() && plan.context_requests > 0) {
        add(Role::gather_last, Piece::scan, 16 * rows);  // where each prompt ends
        add(Role::gather_last, Piece::add_long, 16 * rows);
    } else {
        add(Role::gather_last, Piece::to_long, 12 * rows);
    }
    ops.push_back(make.kernel(Role::gather_last, -1, {rows, false}, make.costs.elementwise(1.8, rows * make.model.hidden * 4), Bound::memory, place.compute));
    ops.push_back(make.kernel(Role::lm_head, -1, {rows, false}, make.costs.product(rows, make.model.hidden, vocabulary, make.model.dtype_bytes), Bound::memory,
                              place.compute));
    if (tp > 1 && place.group != kNoGroup) {
        const std::int64_t bytes = rows * make.model.vocabulary * make.model.dtype_bytes;
        ops.push_back(make.collective(Role::logits_gather, -1, bytes, make.costs.all_gather(bytes, tp, place.between_nodes), place.compute, place.group, rows));
    }
    ops.push_back(make.kernel(Role::logits_cast, -1, {rows, false}, make.costs.elementwise(2.0, rows * make.model.vocabulary * 6), Bound::memory, place.compute));
    return ops;
}

std::vector<Op> sampling_kernels(KernelMaker& make, const StepPlan& plan, const RankPlace& place) {
    std::vector<Op> ops;
    const std::int64_t rows = logit_rows(plan);
    const std::int64_t logits = rows * make.model.vocabulary * kLogitBytes;
    const auto put = [&](Role role, double base, std::int64_t bytes) {
        ops.push_back(make.kernel(role, -1, {rows, false}, make.costs.elementwise(base, bytes), Bound::memory, place.compute));
    };
    if (const std::int64_t n = count(plan, [](const auto& r) { return r.penalties; }); n > 0) {
        std::int64_t outputs = 0;
        for (const ScheduledRequest& r : plan.requests) outputs += r.penalties ? r.generated_before : 0;
        ops.push_back(make.copy(Role::penalties, CopyKind::pageable_to_device, std::max<std::int64_t>(outputs, 1) * 8, place.compute));
        put(Role::penalties, 4.5, logits);
        put(Role::penalties, 3.0, logits);
    }
    if (count(plan, [](const auto& r) { return r.guided; }) > 0) {
        ops.push_back(make.copy(Role::grammar_mask, CopyKind::host_to_device, rows * make.model.vocabulary / 8, place.compute));
        put(Role::grammar_mask, 3.0, logits);
    }
    if (count(plan, [](const auto& r) { return r.logprobs; }) > 0) put(Role::logprobs, 6.0, 2 * logits);
    const bool random = count(plan, [](const auto& r) { return r.random; }) > 0;
    if (count(plan, [](const auto& r) { return r.top_k; }) > 0) {
        for (int pass = 0; pass < 4; ++pass) put(Role::sort, 18.0, 4 * logits);
    }
    if (random) {
        put(Role::softmax, 5.0, 2 * logits);
        put(Role::sample, 3.2, logits);
    }
    if (count(plan, [](const auto& r) { return r.drafts + r.ghost_drafts > 0; }) > 0) put(Role::verify, 4.0, rows * 64);
    put(Role::argmax, 6.0, logits);
    ops.push_back(make.piece(Role::argmax, -1, Piece::to_long, 12 * rows, place.compute));  // ids as the engine keeps them
    return ops;
}

std::vector<Op> draft_kernels(KernelMaker& make, const StepPlan& plan, const RankPlace& place) {
    std::vector<Op> ops;
    const std::int64_t rows = static_cast<std::int64_t>(plan.requests.size());
    // A drafter of one layer, once for each token that it proposes.
    for (int k = 0; k < make.deployment.spec_tokens; ++k) {
        const auto& m = make.model;
        for (const std::int64_t out : {m.hidden * 3, m.hidden, m.intermediate * 2, m.hidden}) {
            ops.push_back(make.kernel(Role::draft_forward, -1, {rows, false}, make.costs.product(rows, m.hidden, out / std::max(1, place.ranks), m.dtype_bytes),
                                      Bound::memory, place.compute));
        }
    }
    return ops;
}

}  // namespace faultline::simulator
