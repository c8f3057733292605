// vLLM v0: the engine is rank 0 itself, the others are VllmWorkerProcess; one line every 5 seconds of steps, every 10 where none comes
// through. ENGINES §1.2, §5. One thread.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ml/simulator/logs/voice_base.h"
#include "ml/simulator/logs/voice_words.h"

namespace faultline::simulator {
namespace {

constexpr TimeNs kPeriod = 5'000'000'000;
constexpr TimeNs kMillisecond = 1'000'000;

class VllmV0Voice final : public VoiceBase {
public:
    using VoiceBase::VoiceBase;

    [[nodiscard]] std::vector<LogDraft> start_up(TimeNs from, TimeNs ready) override {
        Script script(from, ready);
        begin(script);
        for (int i = 0; i < instances(); ++i) prepare(script, static_cast<InstanceIndex>(i));
        end(script);
        return script.take();
    }

    [[nodiscard]] std::vector<LogDraft> arrived(const Request& request, TimeNs time) override {
        std::vector<LogDraft> out;
        if (!logs_requests()) return out;
        out.push_back(line(time, front(), "logger.py", 39,
                           fmt::format("Received request {}: prompt: '', params: {}, prompt_token_ids: [], lora_request: None, "
                                       "prompt_adapter_request: None.",
                                       request.id, sampling_params(request, request.max_tokens, false))));
        out.push_back(line(time, core(request.instance), "engine.py", 275, fmt::format("Added request {}.", request.id)));
        return out;
    }

    [[nodiscard]] std::vector<LogDraft> departed(const Request& request, TimeNs time) override {
        std::vector<LogDraft> out;
        const bool aborted = request.end == RequestEnd::aborted;
        if (logs_requests() && request.end != RequestEnd::failed)
            out.push_back(line(time, core(request.instance), aborted ? "engine.py" : "async_llm_engine.py", aborted ? 293 : 179,
                               fmt::format("{} request {}.", aborted ? "Aborted" : "Finished", request.id)));
        if (!aborted && online()) out.push_back(answered(request, time));
        return out;
    }

    [[nodiscard]] std::vector<LogDraft> stepped(const StepForLog& step) override;
    [[nodiscard]] std::vector<LogDraft> tick(InstanceIndex instance, const Scheduler& scheduler, TimeNs now) override;
    [[nodiscard]] std::vector<LogDraft> shut_down(TimeNs time) override;

private:
    void begin(Script& script) const;
    void prepare(Script& script, InstanceIndex instance) const;
    void end(Script& script) const;

    std::int64_t preempted_ = 0;
};

void VllmV0Voice::begin(Script& script) const {
    const Deployment& d = options_.deployment;
    script.say(0, front(), "__init__.py", 190, "Automatically detected platform cuda.");
    if (online()) script.say(0.02, front(), "api_server.py", 840, fmt::format("vLLM API server version {}", kVllmV0Version));
    script.say(0.05, front(), "config.py", 542,
               "This model supports multiple tasks: {'generate', 'classify', 'embed', 'score', 'reward'}. Defaulting to 'generate'.");
    if (d.tp > 1) script.say(0.055, front(), "config.py", 1401, "Defaulting to use mp for distributed inference");
    if (d.graphs == GraphMode::none)
        script.say(0.056, front(), "cuda.py", 100,
                   "To see benefits of async output processing, enable CUDA graph. Since, enforce-eager is enabled, async output processor "
                   "cannot be used",
                   LogLevel::warning);
}

void VllmV0Voice::prepare(Script& script, InstanceIndex instance) const {
    const Deployment& d = options_.deployment;
    const auto& all = ranks(instance);
    const ProcessIndex engine = core(instance);
    script.say(0.1, engine, "llm_engine.py", 234, engine_configuration(options_, facts_.model_title, d.graphs == GraphMode::none));
    nccl_start(script, instance, 0.151, 0.168, "2.21.5+cuda12.4");
    const double loading = seconds_of(script.between(0.18, 0.45));
    for (std::size_t r = 0; r < all.size(); ++r) {
        const ProcessIndex p = all[r];
        const double late = 0.004 * static_cast<double>(r) / static_cast<double>(all.size());
        if (r > 0) script.say(0.12 + late, p, "multiproc_worker_utils.py", 229, "Worker ready; awaiting tasks");
        script.say(0.14 + late, p, "cuda.py", 230, "Using Flash Attention backend.");
        if (all.size() > 1) {
            script.say(0.15 + late, p, "utils.py", 950, "Found nccl from library libnccl.so.2");
            script.say(0.15 + late, p, "pynccl.py", 69, "vLLM is using nccl==2.21.5");
        }
        script.say(0.18 + late, p, "model_runner.py", 1110, fmt::format("Starting to load model {}...", facts_.model_title));
        if (r == 0) load_shards(script, p, "Loading safetensors checkpoint shards", 0.2, 0.44, false);
        script.say(0.45 + late, p, "model_runner.py", 1115, fmt::format("Loading model weights took {:.4f} GB", weights_gib()));
        script.say(
            0.55 + late, p, "worker.py", 267,
            fmt::format(
                "Memory profiling takes {:.2f} seconds\nthe current vLLM instance can use total_gpu_memory ({:.2f}GiB) x "
                "gpu_memory_utilization (0.90) = {:.2f}GiB\nmodel weights take {:.2f}GiB; the rest of the memory reserved for KV Cache "
                "is {:.2f}GiB.",
                jitter(loading * 0.2, 100 + r), facts_.gpu_memory_gib * 0.99, facts_.gpu_memory_gib * 0.891, weights_gib(),
                gib(static_cast<double>(kv_tokens()) * static_cast<double>(facts_.kv_bytes_per_token) / std::max(1, d.tp))));
        if (d.graphs != GraphMode::none) {
            script.say(0.6 + late, p, "model_runner.py", 1434,
                       "Capturing cudagraphs for decoding. This may lead to unexpected consequences if the model is not static. To run the "
                       "model in eager "
                       "mode, set 'enforce_eager=True' or use '--enforce-eager' in the CLI. If out-of-memory error occurs during cudagraph "
                       "capture, "
                       "consider decreasing `gpu_memory_utilization` or switching to eager mode. You can also reduce the `max_num_seqs` as "
                       "needed to "
                       "decrease memory usage.");
            script.say(0.9 + late, p, "model_runner.py", 1562,
                       fmt::format("Graph capturing finished in {:.0f} secs, took {:.2f} GiB", seconds_of(script.between(0.6, 0.9)),
                                   0.009 * static_cast<double>(facts_.capture_sizes.size())));
        }
    }
    // The engine runs with 4 GiB of swap space per rank.
    const double block =
        static_cast<double>(options_.deployment.block_size) * static_cast<double>(facts_.kv_bytes_per_token) / std::max(1, d.tp);
    script.say(0.56, engine, "executor_base.py", 110,
               fmt::format("# CUDA blocks: {}, # CPU blocks: {}", facts_.kv_blocks,
                           block > 0 ? static_cast<std::int64_t>(4.0 * 1024 * 1024 * 1024 / block) : 0));
    script.say(0.56, engine, "executor_base.py", 115,
               fmt::format("Maximum concurrency for {} tokens per request: {:.2f}x", max_model_len(),
                           static_cast<double>(kv_tokens()) / max_model_len()));
    if (d.graphs != GraphMode::none && !facts_.capture_sizes.empty())
        script.put(0.898, all.front(), LogLayout::bare,
                   progress_bar("Capturing CUDA graph shapes", static_cast<int>(facts_.capture_sizes.size()),
                                static_cast<int>(facts_.capture_sizes.size()), script.between(0.6, 0.898)));
    script.say(
        0.91, engine, "llm_engine.py", 431,
        fmt::format("init engine (profile, create kv cache, warmup model) took {:.2f} seconds", seconds_of(script.between(0.45, 0.91))));
}

void VllmV0Voice::end(Script& script) const {
    if (!online()) return;
    script.say(0.95, front(), "api_server.py", 756, "Using supplied chat template:\nNone");
    script.say(0.955, front(), "launcher.py", 21, "Available routes are:");
    for (const std::string_view route :
         {"/health, Methods: GET", "/v1/models, Methods: GET", "/v1/chat/completions, Methods: POST", "/metrics, Methods: GET"})
        script.say(0.955, front(), "launcher.py", 29, fmt::format("Route: {}", route));
    script.put(0.98, front(), LogLayout::access, fmt::format("Started server process [{}]", topology_->process(front()).pid));
    script.put(0.98, front(), LogLayout::access, "Waiting for application startup.");
    script.put(0.99, front(), LogLayout::access, "Application startup complete.");
    script.put(1, front(), LogLayout::access, "Uvicorn running on http://0.0.0.0:8000 (Press CTRL+C to quit)");
}

std::vector<LogDraft> VllmV0Voice::stepped(const StepForLog& step) {
    std::vector<LogDraft> out;
    since(step.plan.instance).add(step.plan, step.outcome);
    for (const RequestNumber number : step.plan.preempted) {
        // The scheduler warns at the first and at every 50th.
        if (preempted_++ % 50 != 0) continue;
        const Request* request = step.scheduler.request(number);
        if (request == nullptr) continue;
        out.push_back(line(
            step.plan.scheduled, core(step.plan.instance), "scheduler.py", 1754,
            fmt::format("Sequence group {} is preempted by PreemptionMode.RECOMPUTE mode because there is not enough KV cache space. This "
                        "can affect the end-to-end performance. Increase gpu_memory_utilization or tensor_parallel_size to provide more KV "
                        "cache memory. total_num_cumulative_preemption={}",
                        request->id, preempted_),
            LogLevel::warning));
    }
    return out;
}

std::vector<LogDraft> VllmV0Voice::tick(InstanceIndex instance, const Scheduler& scheduler, TimeNs now) {
    std::vector<LogDraft> out;
    if (static_cast<int>(instance) == 0) probe(now, out);
    if (!due(instance, now, kPeriod)) return out;
    SinceLast& w = since(instance);
    // Steps drive the line; without any the server asks for one every 10 seconds.
    if (w.steps == 0 && now - w.began < 2 * kPeriod) return out;
    const double seconds = std::max(seconds_of(now - w.began), 1e-3);
    const bool live = w.steps > 0 || w.spoke || scheduler.running() > 0 || scheduler.waiting() > 0;
    if (live) {
        const double usage = scheduler.blocks_total() > 0
                                 ? 100 * static_cast<double>(scheduler.blocks_used()) / static_cast<double>(scheduler.blocks_total())
                                 : 0;
        const TimeNs time = w.steps > 0 ? w.due : now;
        out.push_back(line(
            time, core(instance), "metrics.py", 455,
            fmt::format("Avg prompt throughput: {:.1f} tokens/s, Avg generation throughput: {:.1f} tokens/s, Running: {} reqs, Swapped: 0 "
                        "reqs, Pending: {} reqs, GPU KV cache usage: {:.1f}%, CPU KV cache usage: 0.0%.",
                        static_cast<double>(w.prompt_tokens) / seconds, static_cast<double>(w.generated_tokens) / seconds,
                        scheduler.running(), scheduler.waiting(), usage)));
        if (options_.deployment.prefix_cache)
            out.push_back(line(time, core(instance), "metrics.py", 471,
                               fmt::format("Prefix cache hit rate: GPU: {:.2f}%, CPU: 0.00%", 100 * scheduler.prefix_hit_rate())));
    }
    w.spoke = w.prompt_tokens > 0 || w.generated_tokens > 0;
    w.restart(now);
    while (w.due <= now) w.due += kPeriod;
    return out;
}

std::vector<LogDraft> VllmV0Voice::shut_down(TimeNs time) {
    Script script(time, time + 900 * kMillisecond);
    if (online()) script.say(0, front(), "launcher.py", 57, "Shutting down FastAPI HTTP server.");
    for (int i = 0; i < instances(); ++i) {
        const auto& all = ranks(static_cast<InstanceIndex>(i));
        for (std::size_t r = 1; r < all.size(); ++r) script.say(0.3, all[r], "multiproc_worker_utils.py", 253, "Worker exiting");
        if (all.size() > 1) script.say(0.5, all.front(), "multiproc_worker_utils.py", 140, "Terminating local vLLM worker processes");
    }
    if (online()) {
        script.put(0.6, front(), LogLayout::access, "Shutting down");
        script.put(0.8, front(), LogLayout::access, "Waiting for application shutdown.");
        script.put(1, front(), LogLayout::access, "Application shutdown complete.");
    }
    return script.take();
}

}  // namespace

std::unique_ptr<LogVoice> make_vllm_v0_voice(const RunOptions& options, const Topology& topology, VoiceFacts facts, const Noise& noise) {
    return std::make_unique<VllmV0Voice>(options, topology, std::move(facts), noise);
}

}  // namespace faultline::simulator
