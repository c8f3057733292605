// SGLang: a line per prefill batch, one per 40 decode steps, by the first scheduler of an instance; retractions by all of them. The main
// process answers HTTP and logs requests. ENGINES §1.3, §5. One thread.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ml/simulator/logs/voice_base.h"
#include "ml/simulator/logs/voice_words.h"

namespace faultline::simulator {
namespace {

constexpr int kDecodeInterval = 40;
constexpr TimeNs kMillisecond = 1'000'000;

/// What the statistics of one scheduler remember.
struct BatchGauge {
    std::int64_t decode_steps = 0, made = 0, rounds = 0, drafted = 0, accepted = 0;
    TimeNs last_decode = kNull, last_prefill = kNull;
    std::int64_t last_prefill_tokens = 0;
    int in_flight = 0;
};

class SglangVoice final : public VoiceBase {
public:
    SglangVoice(const RunOptions& options, const Topology& topology, VoiceFacts facts, const Noise& noise)
        : VoiceBase(options, topology, std::move(facts), noise), gauges_(static_cast<std::size_t>(instances())) {}

    [[nodiscard]] std::vector<LogDraft> start_up(TimeNs from, TimeNs ready) override {
        Script script(from, ready);
        begin(script);
        for (int i = 0; i < instances(); ++i) prepare(script, static_cast<InstanceIndex>(i));
        end(script);
        return script.take();
    }
    [[nodiscard]] std::vector<LogDraft> arrived(const Request& request, TimeNs time) override;
    [[nodiscard]] std::vector<LogDraft> departed(const Request& request, TimeNs time) override;
    [[nodiscard]] std::vector<LogDraft> stepped(const StepForLog& step) override;
    [[nodiscard]] std::vector<LogDraft> tick(InstanceIndex instance, const Scheduler& scheduler, TimeNs now) override {
        (void)scheduler;
        std::vector<LogDraft> out;
        if (static_cast<int>(instance) == 0) probe(now, out);
        return out;
    }
    [[nodiscard]] std::vector<LogDraft> shut_down(TimeNs time) override;

private:
    void begin(Script& script) const;
    void prepare(Script& script, InstanceIndex instance) const;
    void end(Script& script) const;
    void prefill_line(const StepForLog& step, BatchGauge& gauge, std::vector<LogDraft>& out) const;
    void decode_line(const StepForLog& step, BatchGauge& gauge, std::vector<LogDraft>& out) const;
    void retraction_lines(const StepForLog& step, std::vector<LogDraft>& out) const;
    [[nodiscard]] std::string parameters(const Request& request) const;
    [[nodiscard]] std::string iteration(const StepPlan& plan) const {
        return options_.recording.iteration_log ? fmt::format(" [{}]", plan.instance_step) : std::string();
    }

    std::vector<BatchGauge> gauges_;
};

std::string SglangVoice::parameters(const Request& request) const {
    return fmt::format("sampling_params={{'temperature': {}, 'max_new_tokens': {}, 'top_p': {}, 'top_k': {}, 'frequency_penalty': {}{}}}",
                       request.random ? "0.7" : "0.0", request.max_tokens, request.random ? "0.95" : "1.0",
                       request.top_k ? 20 : -1, request.penalties ? "0.5" : "0.0", request.guided ? ", 'json_schema': '{}'" : "");
}

std::vector<LogDraft> SglangVoice::arrived(const Request& request, TimeNs time) {
    std::vector<LogDraft> out;
    if (!logs_requests() || !online()) return out;
    out.push_back(
        line(time, front(), "tokenizer_manager.py", 481,
             fmt::format("Receive: obj=GenerateReqInput(rid='{}', http_worker_ipc=None, video_data=None, {}, return_logprob={}, "
                         "logprob_start_len=-1, top_logprobs_num=0, token_ids_logprob=None, return_text_in_logprobs=True, stream=True, "
                         "log_metrics=True, return_hidden_states=False, modalities=[], session_params=None, lora_path=None)",
                         request.id, parameters(request), request.logprobs ? "True" : "False")));
    return out;
}

std::vector<LogDraft> SglangVoice::departed(const Request& request, TimeNs time) {
    std::vector<LogDraft> out;
    if (!online()) return out;
    if (logs_requests() && request.end != RequestEnd::failed) {
        const std::string reason =
            request.end == RequestEnd::aborted ? "{'type': 'abort', 'message': 'Abort in decode', 'status_code': None, 'err_type': None}"
            : request.end == RequestEnd::finished_length ? fmt::format("{{'type': 'length', 'length': {}}}", request.generated)
                                                         : "{'type': 'stop', 'matched': 151645}";
        const double latency = request.received == kNull ? 0 : seconds_of(time - request.received);
        out.push_back(
            line(time, front(), "tokenizer_manager.py", 1012,
                 fmt::format(
                     "Finish: obj=GenerateReqInput(rid='{0}', http_worker_ipc=None, {1}, stream=True), out={{'meta_info': {{'id': '{0}', "
                     "'finish_reason': {2}, 'prompt_tokens': {3}, 'weight_version': 'default', 'completion_tokens': {4}, "
                     "'cached_tokens': {5}, 'e2e_latency': {6:.6f}}}}}",
                     request.id, parameters(request), reason, request.prompt_tokens, request.generated, request.cached, latency)));
    }
    if (request.end != RequestEnd::aborted) out.push_back(answered(request, time));
    return out;
}

std::vector<LogDraft> SglangVoice::stepped(const StepForLog& step) {
    std::vector<LogDraft> out;
    const StepPlan& plan = step.plan;
    BatchGauge& gauge = gauges_[std::min(static_cast<std::size_t>(plan.instance), gauges_.size() - 1)];
    if (!plan.preempted.empty()) retraction_lines(step, out);
    if (plan.context_requests > 0) prefill_line(step, gauge, out);
    if (plan.generation_requests > 0) {
        gauge.made +=
            step.outcome.tokens_out - (plan.context_requests > 0 ? static_cast<std::int64_t>(step.outcome.first_tokens.size()) : 0);
        for (const ScheduledRequest& r : plan.requests) {
            if (r.context || r.drafts + r.ghost_drafts == 0) continue;
            ++gauge.rounds;
            gauge.drafted += r.drafts + r.ghost_drafts;
            gauge.accepted += r.accepted;
        }
        if (++gauge.decode_steps % kDecodeInterval == 0) decode_line(step, gauge, out);
    }
    return out;
}

void SglangVoice::prefill_line(const StepForLog& step, BatchGauge& gauge, std::vector<LogDraft>& out) const {
    const StepPlan& plan = step.plan;
    std::int64_t cached = 0;
    for (const ScheduledRequest& r : plan.requests)
        if (r.context) cached += r.cached;
    // The rate is that of the batch before, over the time since.
    const double gap = gauge.last_prefill == kNull ? 0 : seconds_of(step.start - gauge.last_prefill);
    const double rate = gap > 0 ? static_cast<double>(gauge.last_prefill_tokens) / gap : 0;
    gauge.last_prefill = step.start;
    gauge.last_prefill_tokens = plan.context_tokens;
    const bool disaggregated = options_.deployment.prefill_decode;
    out.push_back(
        line(step.start, core(plan.instance), "scheduler_metrics_mixin.py", 184,
             fmt::format(
                 "Prefill batch{}, #new-seq: {}, #new-token: {}, #cached-token: {}, token usage: {:.2f}, #running-req: {}, #queue-req: {}, "
                 "{}cuda graph: {}, input throughput (token/s): {:.2f}",
                 iteration(plan), plan.context_requests, plan.context_tokens, cached, plan.kv_usage(),
                 std::max(0, plan.running - plan.context_requests), plan.waiting,
                 disaggregated ? fmt::format("#prealloc-req: 0, #inflight-req: {}, ", gauge.in_flight) : std::string(),
                 step.graphs == GraphMode::none ? "False" : "True", rate)));
    gauge.in_flight = static_cast<int>(step.outcome.prefilled.size());
}

void SglangVoice::decode_line(const StepForLog& step, BatchGauge& gauge, std::vector<LogDraft>& out) const {
    const StepPlan& plan = step.plan;
    const double gap =
        gauge.last_decode == kNull ? seconds_of(step.end - step.start) * kDecodeInterval : seconds_of(step.end - gauge.last_decode);
    const double rate = gap > 0 ? static_cast<double>(gauge.made) / gap : 0;
    std::string drafts;
    if (gauge.rounds > 0)
        drafts = fmt::format("accept len: {:.2f}, accept rate: {:.2f}, ",
                             1 + static_cast<double>(gauge.accepted) / static_cast<double>(gauge.rounds),
                             static_cast<double>(gauge.accepted) / static_cast<double>(std::max<std::int64_t>(1, gauge.drafted)));
    out.push_back(line(
        step.end, core(plan.instance), "scheduler_metrics_mixin.py", 289,
        fmt::format(
            "Decode batch{}, #running-req: {}, #token: {}, token usage: {:.2f}, {}{}cuda graph: {}, gen throughput (token/s): {:.2f}, "
            "#queue-req: {}",
            iteration(plan), plan.generation_requests, plan.blocks_used * options_.deployment.block_size, plan.kv_usage(), drafts,
            options_.deployment.prefill_decode
                ? fmt::format("pre-allocated usage: 0.00, #prealloc-req: 0, #transfer-req: {}, #retracted-req: 0, ", held(plan.instance).transferring)
                : std::string(),
            step.graphs == GraphMode::none ? "False" : "True", rate, plan.waiting)));
    gauge.last_decode = step.end;
    gauge.made = gauge.rounds = gauge.drafted = gauge.accepted = 0;
}

void SglangVoice::retraction_lines(const StepForLog& step, std::vector<LogDraft>& out) const {
    const StepPlan& plan = step.plan;
    const std::string text = fmt::format(
        "KV cache pool is full. Retract requests. #retracted_reqs: {}, #new_tokens_gained: {}, #new_token_ratio: {:.4f} -> {:.4f}",
        plan.preempted.size(), plan.tokens_gained, plan.new_token_ratio_before, plan.new_token_ratio);
    for (const ProcessIndex p : ranks(plan.instance)) out.push_back(line(plan.scheduled, p, "scheduler.py", 1873, text, LogLevel::warning));
}

void SglangVoice::begin(Script& script) const {
    const Deployment& d = options_.deployment;
    const ProcessIndex p = front();
    script.say(0, p, "server_args.py", 1565,
               fmt::format("Attention backend not specified. Use {} backend by default.",
                           d.attention_backend == "flash" ? "fa3" : d.attention_backend));
    script.say(
        0.01, p, "launch_server.py", 40,
        fmt::format(
            "server_args=ServerArgs(model_path='{0}', tokenizer_path='{0}', tokenizer_mode='auto', skip_tokenizer_init=False, "
            "load_format='auto', trust_remote_code=False, context_length={1}, host='0.0.0.0', port=30000, max_running_requests={2}, "
            "chunked_prefill_size={3}, tp_size={4}, dp_size={5}, ep_size={6}, page_size={7}, log_requests={8}, log_requests_level=1, "
            "disable_overlap_schedule={9}, disable_radix_cache={10}, watchdog_timeout=300)",
            facts_.model_title, max_model_len(), d.max_num_seqs, d.chunk_tokens, d.tp, d.dp, d.expert_parallel ? d.dp : 1, d.block_size,
            logs_requests() ? "True" : "False", d.async_scheduling ? "False" : "True", d.prefix_cache ? "False" : "True"));
    if (noise_.chance(0.5, Draw::log_detail, 32))
        script.put(0.02, p, LogLayout::bare,
                   "Warning: You are sending unauthenticated requests to the HF Hub. Please set a HF_TOKEN to enable higher rate limits "
                   "and faster "
                   "downloads.");
    script.say(0.04, p, "jinja_template_utils.py", 110, "Using default HuggingFace chat template with detected content format: string");
}

void SglangVoice::prepare(Script& script, InstanceIndex instance) const {
    const Deployment& d = options_.deployment;
    const auto& all = ranks(instance);
    const double memory = facts_.gpu_memory_gib * 0.985, weights = weights_gib() * 1.01;
    const double cache = gib(static_cast<double>(kv_tokens()) * static_cast<double>(facts_.kv_bytes_per_token) / std::max(1, d.tp));
    const double after_load = memory - 0.6 - weights, after_pool = std::max(0.8, after_load - cache);
    const auto sizes = facts_.capture_sizes.size();
    const double graphs = d.graphs == GraphMode::none ? 0 : 0.02 * static_cast<double>(sizes);
    nccl_start(script, instance, 0.11, 0.14);
    for (std::size_t r = 0; r < all.size(); ++r) {
        const ProcessIndex p = all[r];
        const double late = 0.004 * static_cast<double>(r) / static_cast<double>(all.size());
        const auto say = [&](double share, int number, std::string text) {
            script.say(share + late, p, "model_runner.py", number, std::move(text));
        };
        say(0.1, 601, "Init torch distributed begin.");
        say(0.15, 645,
            fmt::format("Init torch distributed ends. elapsed={:.2f} s, mem usage=0.60 GB",
                        jitter(seconds_of(script.between(0.1, 0.15)), 120 + r)));
        script.put(0.145 + late, p, LogLayout::bare,
                   fmt::format("[Gloo] Rank {} is connected to {} peer ranks. Expected number of connected peer ranks is : {}", r,
                               all.size() - 1, all.size() - 1));
        if (facts_.experts > 0) say(0.155, 650, "MOE_RUNNER_BACKEND is not initialized, the backend will be automatically selected");
        say(0.16, 690, fmt::format("Load weight begin. avail mem={:.2f} GB", memory - 0.6));
        if (r == 0) load_shards(script, p, "Loading safetensors checkpoint shards", 0.17, 0.44, false);
        say(0.45, 742,
            fmt::format("Load weight end. elapsed={:.2f} s, type={}, avail mem={:.2f} GB, mem usage={:.2f} GB.",
                        jitter(seconds_of(script.between(0.16, 0.45)), 130 + r), facts_.architecture, after_load, weights));
        say(0.46, 1350, "Using KV cache dtype: torch.bfloat16");
        say(0.47, 610,
            fmt::format("KV Cache is allocated. dtype: torch.bfloat16, #tokens: {}, K size: {:.2f} GB, V size: {:.2f} GB", kv_tokens(),
                        cache / 2, cache / 2));
        say(0.475, 1580, fmt::format("Memory pool end. avail mem={:.2f} GB", after_pool));
        if (d.graphs != GraphMode::none && sizes > 0) {
            say(0.5, 1890, fmt::format("Capture cuda graph begin. This can take up to several minutes. avail mem={:.2f} GB", after_pool));
            std::string list;
            for (const int size : facts_.capture_sizes) list += fmt::format("{}{}", list.empty() ? "" : ", ", size);
            if (r == 0) say(0.501, 372, fmt::format("Capture cuda graph bs [{}]", list));
            if (r == 0)
                script.put(0.848, p, LogLayout::bare,
                           progress_bar(fmt::format("Capturing batches (bs=1 avail_mem={:.2f} GB)", after_pool - graphs),
                                        static_cast<int>(sizes), static_cast<int>(sizes), script.between(0.5, 0.848)));
            say(0.85, 1910,
                fmt::format("Capture cuda graph end. Time elapsed: {:.2f} s. mem usage={:.2f} GB. avail mem={:.2f} GB.",
                            seconds_of(script.between(0.5, 0.85)), graphs, after_pool - graphs));
        }
        if (r == 0)
            say(0.87, 640,
                fmt::format(
                    "max_total_num_tokens={}, chunked_prefill_size={}, max_prefill_tokens=16384, max_running_requests={}, context_len={}, "
                    "available_gpu_mem={:.2f} GB",
                    kv_tokens(), d.chunk_tokens, d.max_num_seqs, max_model_len(), after_pool - graphs));
    }
}

void SglangVoice::end(Script& script) const {
    if (!online()) return;
    const ProcessIndex p = front();
    script.put(0.9, p, LogLayout::access, fmt::format("Started server process [{}]", topology_->process(p).pid));
    script.put(0.9, p, LogLayout::access, "Waiting for application startup.");
    script.say(0.905, p, "serving_chat.py", 90,
               "Using default chat sampling params from model generation config: {'repetition_penalty': 1.0, 'temperature': 0.6, 'top_k': "
               "20, 'top_p': 0.95}");
    script.put(0.91, p, LogLayout::access, "Application startup complete.");
    script.put(0.911, p, LogLayout::access, "Uvicorn running on http://0.0.0.0:30000 (Press CTRL+C to quit)");
    script.put(0.93, p, LogLayout::access, fmt::format("127.0.0.1:{} - \"GET /model_info HTTP/1.1\" 200 OK", port(90)));
    // The server sends itself a prompt of a few tokens before it says that it is ready.
    for (int i = 0; i < instances(); ++i)
        script.say(0.94, core(static_cast<InstanceIndex>(i)), "scheduler_metrics_mixin.py", 184,
                   fmt::format("Prefill batch, #new-seq: 1, #new-token: 6, #cached-token: 0, token usage: 0.00, #running-req: 0, "
                               "#queue-req: 0, {}cuda graph: "
                               "False, input throughput (token/s): 0.00",
                               options_.deployment.prefill_decode ? "#prealloc-req: 0, #inflight-req: 0, " : ""));
    script.put(0.99, p, LogLayout::access, fmt::format("127.0.0.1:{} - \"POST /generate HTTP/1.1\" 200 OK", port(91)));
    script.say(1, p, "http_server.py", 1480, "The server is fired up and ready to roll!");
}

std::vector<LogDraft> SglangVoice::shut_down(TimeNs time) {
    Script script(time, time + 1500 * kMillisecond);
    script.say(0, front(), "tokenizer_manager.py", 2010,
               "SIGTERM received. signum=None frame=None. Draining requests and shutting down...");
    script.say(0.4, front(), "tokenizer_manager.py", 1770,
               "Gracefully exiting... Remaining number of requests 0. Remaining requests remaining_rids=[].");
    if (online()) {
        script.put(0.5, front(), LogLayout::access, "Shutting down");
        script.put(0.6, front(), LogLayout::access, "Waiting for application shutdown.");
        script.put(0.7, front(), LogLayout::access, "Application shutdown complete.");
        script.put(1, front(), LogLayout::access, fmt::format("Finished server process [{}]", topology_->process(front()).pid));
    }
    return script.take();
}

}  // namespace

std::unique_ptr<LogVoice> make_sglang_voice(const RunOptions& options, const Topology& topology, VoiceFacts facts, const Noise& noise) {
    return std::make_unique<SglangVoice>(options, topology, std::move(facts), noise);
}

}  // namespace faultline::simulator
