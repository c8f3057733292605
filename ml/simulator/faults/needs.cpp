#include <algorithm>
#include <array>

#include "ml/simulator/device/cards.h"
#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

bool one_of(std::string_view id, std::initializer_list<std::string_view> ids) { return std::find(ids.begin(), ids.end(), id) != ids.end(); }

/// The first model with a property that fits on the ranks; the chosen one where it has it.
template <class Property>
void need_model(Deployment& d, Property has) {
    const ModelCard* chosen = model_named(d.model);
    if (chosen != nullptr && has(*chosen)) return;
    for (const ModelCard& card : model_cards()) {
        if (has(card)) {
            d.model = card.name;
            return;
        }
    }
}

/// Longer prompts at the same load of tokens.
void need_prompts(Workload& w, int median) {
    if (median <= w.prompt_median) return;
    w.rate = w.rate * w.prompt_median / median;
    w.prompt_median = median;
    w.prompt_max = std::max(w.prompt_max, 4 * median);
}

/// Requests that are served at the same time, whatever the model and the GPU.
void need_company(Workload& w) {
    w.arrivals = Arrivals::closed_loop;
    w.clients = std::max(w.clients, 8);
}

void need_ranks(Deployment& d, int ranks) {
    if (d.tp * d.dp < ranks) d.tp = ranks;
}

/// A pool that the load nearly fills, with and without the fault; no prompt is so long that a third of it could not hold it.
void need_small_pool(RunOptions& o) {
    Workload& w = o.workload;
    Deployment& d = o.deployment;
    w.prompt_max = std::min(w.prompt_max, 5 * w.prompt_median);
    w.output_median = std::max(w.output_median, 160);  // requests that grow while they are served
    w.output_max = std::max(w.output_max, 600);
    d.kv_blocks = static_cast<std::int64_t>(w.clients) * ((2 * w.prompt_median + w.output_median) / d.block_size + 1) + 64;
}

void need_for_memory(std::string_view id, double size, RunOptions& o) {
    if (one_of(id, {"A1", "A2", "A10", "L8"})) need_company(o.workload);
    // Who stands still while there is nothing to do delays nothing.
    if (one_of(id, {"A7", "C2", "C9", "E3"})) need_company(o.workload);
    if (one_of(id, {"A1", "A2"})) {
        need_prompts(o.workload, std::clamp(static_cast<int>(size * 0.7), 400, 2500));
        need_small_pool(o);
    }
    if (id == "A5") o.workload.penalties = std::max(o.workload.penalties, 0.6);
    if (id == "A7") o.workload.guided = std::max(o.workload.guided, 0.3);
    // The slots that leak in SGLang are those of transfers.
    if (id == "A10" && o.deployment.engine == Engine::sglang) o.deployment.prefill_decode = true;
    if (id == "A11") o.deployment.spec_tokens = std::max(o.deployment.spec_tokens, 3);
}

void need_for_network(std::string_view id, RunOptions& o) {
    Deployment& d = o.deployment;
    if (one_of(id, {"D1", "D2", "D3", "D4", "D5", "D6", "D7", "D11", "D12", "D13", "D14"}) && d.tp < 2) d.tp = 2;
    if (one_of(id, {"D2", "D3", "D12"})) {
        d.custom_all_reduce = true;
        d.nodes = 1;
    }
    if (one_of(id, {"D4", "D5", "D6", "D13"})) {
        d.nodes = 2;
        d.rdma = true;
    }
    if (id == "D6") need_prompts(o.workload, 1500);
    if (one_of(id, {"D8", "D9", "L16"})) d.prefill_decode = true;
    if (one_of(id, {"D10", "L15"})) {
        need_model(d, [](const ModelCard& m) { return m.experts > 0; });
        d.dp = std::max(d.dp, 2);
        d.expert_parallel = true;
        o.workload.arrivals = Arrivals::poisson;
        o.workload.rate = std::min(o.workload.rate, 1.5);
    }
}

void need_for_scheduling(std::string_view id, RunOptions& o) {
    Deployment& d = o.deployment;
    if (id == "E1") {
        need_model(d, [](const ModelCard& m) { return m.mamba_every > 0; });
        need_prompts(o.workload, 1200);
    }
    if (one_of(id, {"E2", "E11", "E16", "L13"})) d.spec_tokens = std::max(d.spec_tokens, 3);
    if (id == "L13") d.draft_acceptance = std::min(d.draft_acceptance, 0.55);
    if (id == "E4") {
        need_company(o.workload);
        o.workload.prompt_median = std::max(o.workload.prompt_median, 3'000);
        o.workload.prompt_spread = std::max(o.workload.prompt_spread, 1.0);
        o.workload.prompt_max = std::max(o.workload.prompt_max, 65'536);
    }
    if (id == "E8") o.workload.guided = std::max(o.workload.guided, 0.35);
    if (id == "E12") d.async_scheduling = true;
    if (id == "C10") {
        o.workload.arrivals = Arrivals::poisson;  // with rests between requests
        o.workload.rate = std::min(o.workload.rate, 4.0);
    }
    if (one_of(id, {"L7"})) o.workload.shared_prefix = std::max(o.workload.shared_prefix, 0.9);
}

}  // namespace

void configure_needs(std::string_view id, double size, RunOptions& options) {
    Deployment& d = options.deployment;
    need_for_memory(id, size, options);
    need_for_network(id, options);
    need_for_scheduling(id, options);
    if (one_of(id, {"B8", "L11"})) need_model(d, [](const ModelCard& m) { return m.experts > 0; });
    if (one_of(id, {"B4", "B5", "L3"})) d.graphs = GraphMode::full;
    if (one_of(id, {"C10", "C11", "L6", "L11", "L12"})) need_ranks(d, 2);
    if (one_of(id, {"L6", "L12"}) && d.tp < 2) d.tp = 2;
}

void configure_look_alike(std::string_view id, double size, RunOptions& options) {
    Workload& w = options.workload;
    if (id == "L1") {
        w.prompt_median = static_cast<int>(w.prompt_median * size);
        w.prompt_max = static_cast<int>(w.prompt_max * size);
    } else if (id == "L2") {
        w.output_median = static_cast<int>(w.output_median * size);
        w.output_max = static_cast<int>(w.output_max * size);
    } else if (id == "L3") {
        w.arrivals = Arrivals::bursts;
        w.rate *= 1.5;
    } else if (id == "L4") {
        options.recording.startup = true;
    } else if (id == "L9") {
        w.arrivals = Arrivals::bursts;
        w.output_spread = 0.05;
    } else if (id == "L10") {
        w.arrivals = Arrivals::closed_loop;
        w.clients = 1;
    } else if (id == "L14") {
        w.arrivals = Arrivals::poisson;
        w.rate = std::min(w.rate, 0.15);
    } else if (id == "L15") {
        w.rate = std::min(w.rate, 0.5);
    } else if (id == "L19") {
        w.random_sampling = 1;
        w.top_k = 0.8;
        w.logprobs = 0.6;
    }
}

}  // namespace faultline::simulator
