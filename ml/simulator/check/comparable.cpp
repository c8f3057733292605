#include "ml/simulator/check/comparable.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdlib>

#include "ml/simulator/check/capture_shape.h"

namespace faultline::simulator {
namespace {

constexpr std::size_t kEnoughSteps = 400;

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

bool has(const std::string& text, std::string_view part) { return text.find(part) != std::string::npos; }

/// Which names occur anywhere in the capture.
struct NameSigns {
    bool sglang = false, vllm_v1 = false, vllm = false, fsdp = false, moe = false, nccl = false, aten = false, transformers = false;

    explicit NameSigns(const CaptureReader& capture) {
        for (std::uint32_t i = 0; i < capture.name_count(); ++i) {
            const std::string name = lower(capture.name(NameId{i}));
            sglang = sglang || has(name, "sglang") || has(name, "sgl_");
            vllm_v1 = vllm_v1 || has(name, "vllm/v1/");
            vllm = vllm || has(name, "vllm");
            fsdp = fsdp || has(name, "fsdp") || has(name, "fullyshardeddataparallel");
            moe = moe || has(name, "fused_moe") || has(name, "moe_align") || has(name, "moe_forward") || has(name, "matmul_ogs") ||
                  has(name, "grouped_gemm");
            nccl = nccl || has(name, "nccldevkernel");
            aten = aten || name.starts_with("aten::");
            transformers = transformers || name.starts_with("transformers/");
        }
    }
};

Engine engine_of(const NameSigns& signs, const std::vector<Step>& steps, std::string& why) {
    const auto rule_has = [&](std::string_view part) {
        return std::any_of(steps.begin(), steps.end(), [part](const Step& s) { return has(s.dialect, part); });
    };
    if (signs.fsdp || rule_has("fsdp")) return why = "names of FSDP", Engine::fsdp;
    if (signs.sglang || rule_has("sglang")) return why = "names of SGLang", Engine::sglang;
    if (signs.vllm_v1) return why = "frames of vllm/v1", Engine::vllm_v1_offline;
    if (signs.vllm && !rule_has("vllm")) return why = "names of vLLM without those of v1", Engine::vllm_v0;
    if (rule_has("vllm")) return why = "the wording of vLLM's steps", Engine::vllm_v1_online;
    if (signs.transformers) return why = "frames of transformers, which FSDP shards", Engine::fsdp;
    return why = "no name tells the engine", Engine::vllm_v1_offline;
}

std::int64_t ranks_of(const CaptureReader& capture, int devices) {
    std::int64_t ranks = devices;
    for (const Source& source : capture.sources()) ranks = std::max(ranks, source.world_size.value_or(1));
    for (const std::int64_t size : {8, 4, 2}) {
        if (ranks >= size) return size;
    }
    return 1;
}

double median_of(std::vector<double> values, double otherwise) {
    if (values.empty()) return otherwise;
    std::sort(values.begin(), values.end());
    return values[values.size() / 2];
}

/// Load that makes steps of about the same size: a closed loop with as many clients as requests are decoded at once.
void load_like(const std::vector<Step>& steps, RunOptions& options) {
    std::vector<double> batches, prompts;
    double largest = 0;
    for (const Step& s : steps) {
        if (s.generation_requests && *s.generation_requests > 0) batches.push_back(static_cast<double>(*s.generation_requests));
        if (s.context_requests && s.context_tokens && *s.context_requests > 0) {
            prompts.push_back(static_cast<double>(*s.context_tokens) / static_cast<double>(*s.context_requests));
            if (batches.empty() && !s.generation_requests) batches.push_back(static_cast<double>(*s.context_requests));
        }
        largest = std::max(largest, static_cast<double>(s.tokens.value_or(0)));
    }
    Workload& load = options.workload;
    load.arrivals = Arrivals::closed_loop;
    load.clients = static_cast<int>(std::clamp(median_of(batches, 16), 1.0, 512.0));
    load.prompt_median = static_cast<int>(std::clamp(median_of(prompts, 600), 16.0, 8192.0));
    options.deployment.max_num_seqs = std::max(options.deployment.max_num_seqs, load.clients);
    while (options.deployment.chunk_tokens < largest && options.deployment.chunk_tokens < 32768) options.deployment.chunk_tokens *= 2;
}

/// Of the models whose weights fit on the ranks, as a run demands it.
const ModelCard* model_like(const std::vector<ModelCard>& models, int layers, bool moe, const GpuCard* gpu, int ranks) {
    const ModelCard* best = nullptr;
    double nearest = 0;
    for (const ModelCard& model : models) {
        if (gpu != nullptr && !fits(model, *gpu, ranks)) continue;
        const double distance = std::abs(std::log(static_cast<double>(model.layers) / std::max(1, layers))) +
                                ((model.experts > 0) != moe ? 2 : 0) + (model.mamba_every > 0 ? 1 : 0);
        if (best == nullptr || distance < nearest) {
            best = &model;
            nearest = distance;
        }
    }
    return best;
}

const GpuCard* gpu_like(const CaptureReader& capture, const std::vector<GpuCard>& gpus, std::string& name) {
    for (const Device& device : capture.devices()) {
        const std::string text = lower(device.name + " " + device.properties);
        if (name.empty()) name = device.name;
        const GpuCard* found = nullptr;  // the longest, so that h20 is not found in h200
        for (const GpuCard& gpu : gpus) {
            if (has(text, gpu.name) && (found == nullptr || gpu.name.size() > found->name.size())) found = &gpu;
        }
        if (found != nullptr) {
            name = device.name;
            return found;
        }
    }
    return nullptr;
}

}  // namespace

Dialect dialect_of(const std::string& rule) {
    if (rule == "key-value") return Dialect::semantic;
    if (has(rule, "detailed") || has(rule, "roofline")) return Dialect::engine_detailed;
    if (has(rule, "scope")) return Dialect::engine_scopes;
    if (has(rule, "0.10") || has(rule, "total") || has(rule, "iteration")) return Dialect::engine_older;
    if (has(rule, "vllm") || rule == "sglang" || has(rule, "sglang-mixed") || has(rule, "fsdp")) return Dialect::engine_current;
    return Dialect::none;
}

Result<Comparable> comparable_run(const CaptureReader& real, const std::vector<ModelCard>& models, const std::vector<GpuCard>& gpus) {
    const auto steps = real.steps();
    if (!steps) return tl::unexpected<Error>(steps.error());
    std::vector<Step> some = *steps;  // the first ones tell as much as all
    std::erase_if(some, [](const Step& s) { return s.kernels == 0; });
    if (some.empty()) return tl::unexpected<Error>(without_steps(real));
    if (some.size() > kEnoughSteps) some.resize(kEnoughSteps);
    const auto shape = shape_of(real, some);
    if (!shape) return tl::unexpected<Error>(shape.error());
    Comparable run;
    RunOptions& options = run.options;
    Deployment& d = options.deployment;
    const NameSigns signs(real);
    std::string why;
    d.engine = engine_of(signs, *steps, why);
    run.reasons.push_back(fmt::format("engine {}: {}", engine_name(d.engine), why));
    d.tp = static_cast<int>(ranks_of(real, shape->ranks));
    run.reasons.push_back(fmt::format("{} ranks", d.tp));
    std::string device;
    const GpuCard* gpu = gpu_like(real, gpus, device);
    if (gpu != nullptr) {
        d.gpu = gpu->name;
        run.reasons.push_back(fmt::format("GPU {}: the capture names {}", d.gpu, device));
    } else {
        run.reasons.push_back(
            fmt::format("GPU {}: {} is none that can be simulated", d.gpu, device.empty() ? "an unnamed device" : device));
        const auto chosen = std::find_if(gpus.begin(), gpus.end(), [&](const GpuCard& card) { return card.name == d.gpu; });
        gpu = chosen == gpus.end() ? nullptr : &*chosen;
    }
    if (const ModelCard* model = model_like(models, shape->layers, signs.moe, gpu, d.tp)) {
        d.model = model->name;
        run.reasons.push_back(fmt::format("model {}: {} layers{}", d.model, shape->layers, signs.moe ? ", a mixture of experts" : ""));
    }
    // A graph per step is a full one; one around each layer's attention is a piecewise one.
    d.graphs = shape->graph_launches < 0.5 ? GraphMode::none : shape->graph_launches < 4 ? GraphMode::full : GraphMode::piecewise;
    run.reasons.push_back(fmt::format("graphs {}: {:.0f} graph launches per step", graph_mode_name(d.graphs), shape->graph_launches));
    if (d.graphs == GraphMode::piecewise) d.max_capture_size = std::max(d.max_capture_size, 8192);
    d.custom_all_reduce = !signs.nccl;
    options.recording.dialect = steps->empty() ? Dialect::none : dialect_of(steps->front().dialect);
    options.recording.operators = shape->per_step(SpanKind::op) > 0 || signs.aten;  // as ranges, where a format has only those
    options.recording.python = shape->per_step(SpanKind::python) > 0;
    run.reasons.push_back(fmt::format("dialect {}", dialect_name(options.recording.dialect)));
    for (const Source& source : real.sources())
        if (source.format == "nsys") run.format = TraceFormat::nsys;
    load_like(*steps, options);
    options.duration_s = 20;
    options.max_steps = 400;
    return run;
}

}  // namespace faultline::simulator
