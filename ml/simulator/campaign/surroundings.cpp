#include "ml/simulator/campaign/surroundings.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "ml/simulator/campaign/pilot.h"

namespace faultline::simulator {
namespace {

// What of a GPU and a model the load of a run is estimated by [K]: good to a factor of two, which is all that is needed here.
struct GpuFigure {
    std::string_view name;
    double gb_s, tflops, memory_gb;
    int weight;
};
constexpr std::array<GpuFigure, 5> kGpus{{{"a40", 696, 150, 48, 4},
                                          {"a100", 2039, 312, 80, 2},
                                          {"h100", 3350, 990, 80, 3},
                                          {"h200", 4800, 990, 141, 1},
                                          {"h20", 4000, 148, 96, 1}}};

struct ModelFigure {
    std::string_view name;
    double weights_gb, active_gb;  ///< bf16; read per decode step at a small batch
    int layers, weight;
};
constexpr std::array<ModelFigure, 3> kModels{
    {{"qwen3-8b", 16.4, 16.4, 36, 5}, {"qwen3-30b-a3b", 61, 16, 48, 2}, {"qwen1.5-0.5b", 1, 1, 24, 2}}};

/// Draws of one run, one after the other.
class Choice {
public:
    Choice(const Noise& noise, std::uint64_t key) : noise_(noise), key_(key) {}
    double uniform(double lo, double hi) { return lo + (hi - lo) * noise_.uniform(Draw::campaign, kSurroundings, key_, ++drawn_); }
    double log_uniform(double lo, double hi) { return noise_.log_uniform(lo, hi, Draw::campaign, kSurroundings, key_, ++drawn_); }
    bool chance(double p) { return noise_.chance(p, Draw::campaign, kSurroundings, key_, ++drawn_); }
    template <class Row, std::size_t N>
    const Row& row(const std::array<Row, N>& rows) {
        int all = 0;
        for (const Row& row : rows) all += row.weight;
        int at = static_cast<int>(noise_.below(static_cast<std::uint64_t>(all), Draw::campaign, kSurroundings, key_, ++drawn_));
        for (const Row& row : rows) {
            if ((at -= row.weight) < 0) return row;
        }
        return rows.back();
    }

private:
    static constexpr std::uint64_t kSurroundings = 0x5355;
    const Noise& noise_;
    std::uint64_t key_, drawn_ = 0;
};

struct Costs {
    double decode_s, prefill_s_per_token;
};

Costs costs_of(const GpuFigure& gpu, const ModelFigure& model, int tp, Engine engine) {
    Costs costs{};
    costs.decode_s = model.active_gb / (gpu.gb_s * 0.8 * tp) + 0.002;
    costs.prefill_s_per_token = 2e-3 * model.active_gb / 2 / (gpu.tflops * 0.5 * tp);
    if (engine == Engine::fsdp) {  // gathers every weight from its peers in each forward
        const double link_gb_s = gpu.name == "a40" ? 20 : 200;
        costs.decode_s = model.weights_gb / link_gb_s + 0.015;
    }
    return costs;
}

/// Requests a second, or clients, so that both phases come often.
void set_load(const Costs& costs, Engine engine, Choice& choice, RunOptions& options) {
    Workload& load = options.workload;
    load.prompt_median = static_cast<int>(choice.log_uniform(120, 700));
    load.prompt_max = 4096;
    load.prompt_spread = choice.uniform(0.4, 0.8);
    load.output_median = static_cast<int>(engine == Engine::fsdp ? choice.uniform(5, 9) : choice.log_uniform(7, 24));
    load.output_spread = engine == Engine::fsdp ? 0.3 : choice.uniform(0.3, 0.6);
    load.output_max = engine == Engine::fsdp ? 16 : 128;
    load.shared_prefix = choice.uniform(0, 0.5);
    load.random_sampling = choice.uniform(0.3, 0.8);
    load.top_k = choice.uniform(0, 0.2);
    load.penalties = choice.uniform(0, 0.2);
    load.guided = choice.uniform(0, 0.1);
    load.aborts = choice.uniform(0, 0.02);
    const double prefill_s = costs.prefill_s_per_token * load.prompt_median * 1.25 + costs.decode_s;
    const double share = choice.uniform(0.25, 0.45);  // of steps that read a prompt
    if (engine == Engine::fsdp) {
        load.arrivals = Arrivals::closed_loop;
        load.clients = static_cast<int>(choice.uniform(2, 7));
    } else if (engine == Engine::vllm_v1_offline || choice.chance(0.2)) {
        load.arrivals = Arrivals::closed_loop;
        load.clients = std::max(2, static_cast<int>(share * load.output_median));
    } else {
        load.arrivals = choice.chance(0.25) ? Arrivals::bursts : Arrivals::poisson;
        load.rate = std::min(share / costs.decode_s, 0.4 / prefill_s);
        // Where the shortest run has room for more than is needed, the load may be lighter.
        load.rate = std::min(load.rate, std::max(2 * kHistory / kShortestRun, load.rate * choice.uniform(0.3, 1)));
    }
}

void set_recording(const Deployment& d, Choice& choice, RecordingOptions& recording) {
    struct Weighed {
        Dialect dialect;
        int weight;
    };
    static constexpr std::array<Weighed, 5> kDialects{{{Dialect::semantic, 12},
                                                       {Dialect::engine_current, 3},
                                                       {Dialect::engine_older, 2},
                                                       {Dialect::engine_detailed, 1},
                                                       {Dialect::engine_scopes, 2}}};
    recording.dialect = choice.row(kDialects).dialect;
    // v0 writes nothing about its steps: only what is added to it does.
    if (d.engine == Engine::vllm_v0) recording.dialect = Dialect::semantic;
    // Where a graph does not stand for them, operators are most of a capture.
    recording.operators = choice.chance(d.engine == Engine::fsdp ? 0.1 : d.graphs == GraphMode::full ? 0.7 : 0.3);
    recording.python = choice.chance(0.05);
    recording.request_ids = choice.chance(0.9);
    recording.samples = choice.chance(0.7);
    recording.counters = choice.chance(0.7);
    recording.iteration_log = choice.chance(0.15);
}

}  // namespace

RunOptions surroundings(Engine engine, const FaultInfo* scenario, const Noise& noise, std::uint64_t key) {
    Choice choice(noise, key);
    RunOptions options;
    Deployment& d = options.deployment;
    d.engine = engine;
    const GpuFigure& gpu = choice.row(kGpus);
    // Over PCIe a forward of FSDP takes as long as its weights take on the bus: nobody serves a large model so.
    const ModelFigure* drawn = &choice.row(kModels);
    if (engine == Engine::fsdp && (drawn->weights_gb > 20 || gpu.name == "a40")) drawn = &kModels.back();
    const bool host_bound = scenario != nullptr && scenario->host_bound;
    if (host_bound) drawn = &kModels.back();
    const ModelFigure& model = *drawn;
    d.gpu = gpu.name;
    d.model = model.name;
    struct Weighed {
        int tp, weight;
    };
    static constexpr std::array<Weighed, 3> kSizes{{{1, 5}, {2, 9}, {4, 2}}};
    d.tp = choice.row(kSizes).tp;
    const int fewest = std::max(scenario != nullptr ? scenario->ranks : 1, engine == Engine::fsdp ? 2 : 1);
    while (d.tp < 8 && (d.tp < fewest || model.weights_gb / d.tp > 0.8 * gpu.memory_gb)) d.tp *= 2;
    d.nodes = d.tp > 1 && choice.chance(0.15) ? 2 : 1;
    const double graphs = choice.uniform(0, 1);
    d.graphs = engine == Engine::fsdp || host_bound || graphs < 0.15 ? GraphMode::none : graphs < 0.35 ? GraphMode::piecewise : GraphMode::full;
    d.prefix_cache = choice.chance(0.8);
    d.custom_all_reduce = choice.chance(0.8);
    d.rdma = choice.chance(0.8);
    d.async_scheduling = engine == Engine::sglang && choice.chance(0.5);
    d.spec_tokens = engine == Engine::vllm_v1_online && choice.chance(0.1) ? 3 : 0;
    d.max_num_seqs = choice.chance(0.5) ? 128 : 64;
    d.attention_backend = choice.chance(0.75) ? "flash" : "flashinfer";
    set_load(costs_of(gpu, model, d.tp, engine), engine, choice, options);
    set_recording(d, choice, options.recording);
    return options;
}

}  // namespace faultline::simulator
