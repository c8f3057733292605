// How an engine of vLLM v1 starts: which lines in which order, with numbers that follow from the deployment and from when they are written.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "ml/simulator/logs/voice_vllm_v1.h"
#include "ml/simulator/logs/voice_words.h"

namespace faultline::simulator {
namespace {

// Shares of the start-up; what is timed in a text is timed between these.
constexpr double kCoreBegins = 0.10, kLoads = 0.17, kLoaded = 0.36, kCompiled = 0.62, kProfiled = 0.68, kCaptures = 0.70, kCaptured = 0.90,
                 kReady = 0.93;

std::string underscored(std::string text) {
    std::replace(text.begin(), text.end(), ' ', '_');
    return text;
}

int sizes_up_to(const std::vector<int>& sizes, int largest) {
    return static_cast<int>(std::count_if(sizes.begin(), sizes.end(), [&](int size) { return size <= largest; }));
}

/// What a bar of tqdm leaves in a file: its states with carriage returns between them.
std::string bar_states(std::string_view label, int total, TimeNs took) {
    std::string text = progress_bar(label, 0, total, 0);
    for (const int part : {3, 2}) {
        const int done = total / part;
        if (done > 0 && done < total) text += '\r' + progress_bar(label, done, total, took * done / total);
    }
    return text + '\r' + progress_bar(label, total, total, took);
}

}  // namespace

std::vector<LogDraft> VllmV1Voice::start_up(TimeNs from, TimeNs ready) {
    Script script(from, ready);
    start_front(script);
    for (int i = 0; i < instances(); ++i) {
        const auto instance = static_cast<InstanceIndex>(i);
        start_core(script, instance);
        load_model(script, instance);
        size_cache(script, instance);
        capture_graphs(script, instance);
    }
    announce(script);
    return script.take();
}

void VllmV1Voice::start_front(Script& script) const {
    const Deployment& d = options_.deployment;
    const ProcessIndex p = front();
    if (online()) {
        script.say(0, p, "utils.py", 302, fmt::format("vLLM API server version {}", kVllmV1Version));
        script.say(
            0, p, "utils.py", 238,
            fmt::format("non-default args: {{'model_tag': '{0}', 'host': '0.0.0.0', 'model': '{0}', 'max_model_len': {1}, "
                        "'tensor_parallel_size': {2}, 'data_parallel_size': {3}, 'max_num_batched_tokens': {4}, 'max_num_seqs': {5}{6}}}",
                        facts_.model_title, max_model_len(), d.tp, d.dp, d.chunk_tokens, d.max_num_seqs,
                        d.kv_blocks > 0 ? fmt::format(", 'num_gpu_blocks_override': {}", d.kv_blocks) : std::string{}));
    }
    script.say(0.03, p, "model.py", 531, fmt::format("Resolved architecture: {}", facts_.architecture));
    script.say(0.031, p, "model.py", 1554, fmt::format("Using max model len {}", max_model_len()));
    script.say(0.04, p, "scheduler.py", 231, fmt::format("Chunked prefill is enabled with max_num_batched_tokens={}.", d.chunk_tokens));
    if (d.async_scheduling) script.say(0.041, p, "vllm.py", 747, "Asynchronous scheduling is enabled.");
    if (d.graphs == GraphMode::none) {
        script.say(0.042, p, "vllm.py", 601, "Enforce eager set, overriding optimization level to -O0", LogLevel::warning);
        script.say(0.043, p, "vllm.py", 707, "Cudagraph is disabled under eager mode");
    }
    if (noise_.chance(0.5, Draw::log_detail, 30))
        script.put(0.045, p, LogLayout::bare,
                   "Warning: You are sending unauthenticated requests to the HF Hub. Please set a HF_TOKEN to enable higher rate limits "
                   "and faster "
                   "downloads.",
                   LogLevel::warning);
}

void VllmV1Voice::start_core(Script& script, InstanceIndex instance) const {
    const Deployment& d = options_.deployment;
    const auto& all = ranks(instance);
    script.say(kCoreBegins, core(instance), "core.py", 101, engine_configuration(options_, facts_.model_title, d.graphs == GraphMode::none));
    const int endpoint = port(40 + static_cast<std::uint64_t>(instance));
    const int world = static_cast<int>(all.size());
    for (int r = 0; r < world; ++r) {
        const ProcessIndex p = all[static_cast<std::size_t>(r)];
        const double late = 0.002 * r / std::max(world, 1);
        script.say(0.12 + late, p, "parallel_state.py", 1393,
                   fmt::format("world_size={} rank={} local_rank={} distributed_init_method=tcp://{}:{} backend=nccl", world, r,
                               r % std::max(1, world / std::max(1, d.nodes)), d.nodes > 1 ? address() : "127.0.0.1", endpoint));
        if (world > 1) script.say(0.13 + late, p, "pynccl.py", 111, "vLLM is using nccl==2.27.5");
        if (world > 1 && !d.custom_all_reduce)
            script.say(0.152 + late, p, "custom_all_reduce.py", 146,
                       d.nodes > 1
                           ? "Custom allreduce is disabled because this process group spans across nodes."
                           : "Custom allreduce is disabled because it's not supported on more than two PCIe-only GPUs. To silence this "
                             "warning, specify disable_custom_all_reduce=True explicitly.",
                       LogLevel::warning);
        script.say(
            0.155 + late, p, "parallel_state.py", 1715,
            fmt::format(
                "rank {0} in world size {1} is assigned as DP rank {2}, PP rank 0, PCP rank 0, TP rank {0}, EP rank {3}, EPLB rank N/A", r,
                world, std::max(0, topology_->process(p).dp_rank), d.expert_parallel ? fmt::format("{}", r) : std::string("N/A")));
    }
    nccl_start(script, instance, 0.131, 0.15);
    const bool flashinfer = noise_.chance(0.5, Draw::log_detail, 33);
    for (const ProcessIndex p : all)
        script.say(
            0.16, p, "topk_topp_sampler.py", flashinfer ? 55 : 69,
            flashinfer
                ? "Using FlashInfer for top-p & top-k sampling."
                : "FlashInfer is not available. Falling back to the PyTorch-native implementation of top-p & top-k sampling. For the "
                  "best performance, please install FlashInfer.",
            flashinfer ? LogLevel::info : LogLevel::warning);
}

void VllmV1Voice::load_model(Script& script, InstanceIndex instance) const {
    const Deployment& d = options_.deployment;
    const auto& all = ranks(instance);
    const double loading = seconds_of(script.between(kLoads, kLoaded));
    for (std::size_t r = 0; r < all.size(); ++r) {
        const ProcessIndex p = all[r];
        const double late = 0.004 * static_cast<double>(r) / static_cast<double>(all.size());
        script.say(kLoads + late, p, "gpu_model_runner.py", 4255, fmt::format("Starting to load model {}...", facts_.model_title));
        if (r == 0) {
            const bool flashinfer = d.attention_backend == "flashinfer";
            const std::string_view backend = flashinfer ? "FLASHINFER" : d.attention_backend == "triton" ? "TRITON_ATTN" : "FLASH_ATTN";
            script.say(kLoads + 0.006, p, "cuda.py", 405,
                       fmt::format("Using {} attention backend out of potential backends: ['FLASH_ATTN', 'FLASHINFER', 'TRITON_ATTN', "
                                   "'FLEX_ATTENTION'].",
                                   backend));
            load_shards(script, p, "Loading safetensors checkpoint shards", kLoads + 0.01, kLoaded - 0.01, false);
        }
        const auto key = 50 + r;
        script.say(kLoaded - 0.008 + late, p, "default_loader.py", 293,
                   fmt::format("Loading weights took {:.2f} seconds", jitter(loading * 0.93, key)));
        script.say(kLoaded + late, p, "gpu_model_runner.py", 4338,
                   fmt::format("Model loading took {:.2f} GiB memory and {:.6f} seconds", weights_gib() * 1.004, jitter(loading, key)));
    }
}

void VllmV1Voice::size_cache(Script& script, InstanceIndex instance) const {
    const Deployment& d = options_.deployment;
    const auto& all = ranks(instance);
    const double compiling = seconds_of(script.between(kLoaded, kCompiled));
    const auto hash = noise_.bits(Draw::log_detail, 31) & 0xFFFFFFFFFFULL;
    for (std::size_t r = 0; r < all.size(); ++r) {
        const ProcessIndex p = all[r];
        const double late = 0.004 * static_cast<double>(r) / static_cast<double>(all.size());
        if (d.graphs != GraphMode::none) {
            const double dynamo = jitter(compiling * 0.33, 60 + r), graph = jitter(compiling * 0.5, 70 + r);
            script.say(
                kLoaded + 0.09 + late, p, "backends.py", 916,
                fmt::format(
                    "Using cache directory: /root/.cache/vllm/torch_compile_cache/{:010x}/rank_{}_0/backbone for vLLM's torch.compile",
                    hash, r));
            script.say(kLoaded + 0.09 + late, p, "backends.py", 976, fmt::format("Dynamo bytecode transform time: {:.2f} s", dynamo));
            if (r == 0)
                script.say(kCompiled - 0.09, p, "backends.py", 350,
                           fmt::format("Cache the graph of compile range (1, {}) for later use", d.chunk_tokens));
            script.say(kCompiled - 0.005 + late, p, "backends.py", 366,
                       fmt::format("Compiling a graph for compile range (1, {}) takes {:.2f} s", d.chunk_tokens, graph));
            script.say(kCompiled + late, p, "monitor.py", 35, fmt::format("torch.compile takes {:.2f} s in total", dynamo + graph));
        }
        if (facts_.experts > 0 && r == 0)
            script.say(
                kCompiled + 0.006, p, "fused_moe.py", 964,
                fmt::format("Using configuration from /usr/local/lib/python3.12/dist-packages/vllm/model_executor/layers/fused_moe/configs/"
                            "E={},N={},device_name={}.json for MoE layer.",
                            facts_.experts, facts_.expert_intermediate / std::max(1, d.tp), underscored(facts_.gpu_title)));
        const double cache = gib(static_cast<double>(kv_tokens()) * static_cast<double>(facts_.kv_bytes_per_token) / std::max(1, d.tp));
        script.say(kProfiled + late, p, "gpu_worker.py", 424, fmt::format("Available KV cache memory: {:.2f} GiB", cache));
    }
    script.say(kProfiled + 0.006, core(instance), "kv_cache_utils.py", 1314,
               fmt::format("GPU KV cache size: {} tokens", grouped(kv_tokens())));
    script.say(kProfiled + 0.006, core(instance), "kv_cache_utils.py", 1319,
               fmt::format("Maximum concurrency for {} tokens per request: {:.2f}x", grouped(max_model_len()),
                           static_cast<double>(kv_tokens()) / max_model_len()));
}

void VllmV1Voice::capture_graphs(Script& script, InstanceIndex instance) const {
    const Deployment& d = options_.deployment;
    const auto& all = ranks(instance);
    if (d.graphs != GraphMode::none && !facts_.capture_sizes.empty()) {
        const int piecewise = static_cast<int>(facts_.capture_sizes.size());
        const int full = d.graphs == GraphMode::full ? sizes_up_to(facts_.capture_sizes, d.max_num_seqs) : 0;
        const double half = full > 0 ? kCaptures + (kCaptured - kCaptures) * 0.6 : kCaptured;
        script.put(
            half - 0.002, all.front(), LogLayout::bare,
            bar_states("Capturing CUDA graphs (mixed prefill-decode, PIECEWISE)", piecewise, script.between(kCaptures, half - 0.002)));
        if (full > 0)
            script.put(kCaptured - 0.002, all.front(), LogLayout::bare,
                       bar_states("Capturing CUDA graphs (decode, FULL)", full, script.between(half, kCaptured - 0.002)));
        for (std::size_t r = 0; r < all.size(); ++r)
            script.say(kCaptured + 0.001 * static_cast<double>(r) / static_cast<double>(all.size()), all[r], "gpu_model_runner.py", 5360,
                       fmt::format("Graph capturing finished in {:.0f} secs, took {:.2f} GiB",
                                   seconds_of(script.between(kCaptures, kCaptured)), 0.013 * (piecewise + full)));
    }
    script.say(kReady, core(instance), "core.py", 282,
               fmt::format("init engine (profile, create kv cache, warmup model) took {:.2f} seconds",
                           seconds_of(script.between(kLoaded, kReady))));
    if (d.async_scheduling) script.say(kReady + 0.002, core(instance), "vllm.py", 747, "Asynchronous scheduling is enabled.");
}

void VllmV1Voice::announce(Script& script) const {
    const ProcessIndex p = front();
    if (!online()) {
        script.say(0.99, p, "llm.py", 343, "Supported tasks: ['generate']");
        return;
    }
    script.say(0.94, p, "loggers.py", 257,
               fmt::format("Engine 000: vllm cache_config_info with initialization after num_gpu_blocks is: {}", facts_.kv_blocks));
    script.say(0.945, p, "api_server.py", 495, "Supported tasks: ['generate']");
    script.say(
        0.95, p, "model.py", 1355,
        "Default vLLM sampling parameters have been overridden by the model's `generation_config.json`: `{'temperature': 0.6, 'top_k': 20, "
        "'top_p': 0.95}`. If this is not intended, please relaunch vLLM instance with `--generation-config vllm`.",
        LogLevel::warning);
    script.say(0.955, p, "serving.py", 185, "Warming up chat template processing...");
    script.say(0.97, p, "hf.py", 318,
               "Detected the chat template content format to be 'string'. You can set `--chat-template-content-format` to override this.");
    script.say(0.972, p, "serving.py", 210,
               fmt::format("Chat template warmup completed in {:.1f}ms", seconds_of(script.between(0.955, 0.972)) * 1000));
    script.say(0.985, p, "api_server.py", 500, "Starting vLLM API server 0 on http://0.0.0.0:8000");
    script.say(0.986, p, "launcher.py", 38, "Available routes are:");
    constexpr std::array<std::string_view, 10> kRoutes{"/openapi.json, Methods: HEAD, GET",
                                                       "/docs, Methods: HEAD, GET",
                                                       "/health, Methods: GET",
                                                       "/metrics, Methods: GET",
                                                       "/load, Methods: GET",
                                                       "/version, Methods: GET",
                                                       "/v1/models, Methods: GET",
                                                       "/v1/chat/completions, Methods: POST",
                                                       "/v1/completions, Methods: POST",
                                                       "/tokenize, Methods: POST"};
    for (const std::string_view route : kRoutes) script.say(0.986, p, "launcher.py", 47, fmt::format("Route: {}", route));
    script.put(0.99, p, LogLayout::access, fmt::format("Started server process [{}]", topology_->process(p).pid));
    script.put(0.99, p, LogLayout::access, "Waiting for application startup.");
    script.put(0.995, p, LogLayout::access, "Application startup complete.");
}

}  // namespace faultline::simulator
