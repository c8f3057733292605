#include "ml/simulator/logs/voice_vllm_v1.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ml/simulator/logs/voice_words.h"

namespace faultline::simulator {
namespace {

constexpr TimeNs kPeriod = 10'000'000'000;
constexpr TimeNs kMillisecond = 1'000'000;

}  // namespace

std::vector<LogDraft> VllmV1Voice::arrived(const Request& request, TimeNs time) {
    std::vector<LogDraft> out;
    if (!logs_requests() || !online()) return out;
    out.push_back(line(time, front(), "logger.py", 56,
                       fmt::format("Received request {}: params: {}, lora_request: None.", api_id(request.id),
                                   sampling_params(request, request.max_tokens, true))));
    out.push_back(line(time, front(), "async_llm.py", 398, fmt::format("Added request {}.", request.id)));
    return out;
}

std::vector<LogDraft> VllmV1Voice::departed(const Request& request, TimeNs time) {
    std::vector<LogDraft> out;
    if (!online()) {
        ++prompts_;
        read_ += request.prompt_tokens;
        made_ += request.generated;
        return out;
    }
    if (request.end == RequestEnd::aborted) {
        if (logs_requests()) out.push_back(line(time, front(), "async_llm.py", 703, fmt::format("Request {} aborted.", request.id)));
        return out;
    }
    if (request.end == RequestEnd::failed && logs_requests())
        out.push_back(line(time, front(), "serving.py", 1010, fmt::format("Request {} failed with an internal error during generation", api_id(request.id)),
                           LogLevel::error));
    out.push_back(answered(request, time));
    return out;
}

std::vector<LogDraft> VllmV1Voice::stepped(const StepForLog& step) {
    const StepPlan& plan = step.plan;
    std::vector<LogDraft> out;
    since(plan.instance).add(plan, step.outcome);
    if (first_ == kNull) first_ = step.start;
    if (options_.recording.iteration_log && plan.kind != StepKind::idle)
        out.push_back(line(
            step.end, core(plan.instance), "core.py", 427,
            fmt::format("Iteration({}): {} context requests, {} context tokens, {} generation requests, {} generation tokens, iteration "
                        "elapsed time: {:.2f} ms",
                        plan.instance_step, plan.context_requests, plan.context_tokens, plan.generation_requests, plan.generation_tokens,
                        static_cast<double>(step.end - step.start) / 1e6)));
    return out;
}

std::vector<LogDraft> VllmV1Voice::tick(InstanceIndex instance, const Scheduler& scheduler, TimeNs now) {
    std::vector<LogDraft> out;
    if (static_cast<int>(instance) == 0) probe(now, out);
    if (!due(instance, now, kPeriod)) return out;
    SinceLast& w = since(instance);
    const TimeNs time = w.due;
    const double seconds = std::max(seconds_of(now - w.began), 1e-3);
    const double prompt = static_cast<double>(w.prompt_tokens) / seconds, generated = static_cast<double>(w.generated_tokens) / seconds;
    const bool busy = w.prompt_tokens > 0 || w.generated_tokens > 0;
    // One more line when the work is over, then debug level: silence (ENGINES §5).
    const HeldSlots& apart = held(instance);
    if (busy || w.spoke || apart.stalled) {
        const std::int64_t preempted = scheduler.preemptions() - w.preemptions_before;
        const double usage = scheduler.blocks_total() > 0
                                 ? 100 * static_cast<double>(scheduler.blocks_used()) / static_cast<double>(scheduler.blocks_total())
                                 : 0;
        out.push_back(line(
            time, front(), "loggers.py", 259,
            fmt::format("Engine {:03}: Avg prompt throughput: {:.1f} tokens/s, Avg generation throughput: {:.1f} tokens/s, Running: {} "
                        "reqs, Waiting: {} reqs, {}{}GPU KV cache usage: {:.1f}%, Prefix cache hit rate: {:.1f}%",
                        static_cast<int>(instance), prompt, generated, scheduler.running(), scheduler.waiting() - apart.deferred,
                        apart.deferred > 0 ? fmt::format("Deferred: {} reqs, ", apart.deferred) : std::string(),
                        preempted > 0 ? fmt::format("Preemptions: {}, ", preempted) : std::string(), usage,
                        100 * scheduler.prefix_hit_rate())));
        out.back().suspect = apart.stalled || apart.deferred > 0;
        if (w.draft_rounds > 0) speculation_line(w, seconds, time, out);
    }
    w.preemptions_before = scheduler.preemptions();
    w.spoke = busy;
    w.restart(now);
    // The loop sleeps for its period and then works a little.
    for (std::uint64_t turn = 0; w.due <= now; ++turn)
        w.due +=
            kPeriod + static_cast<TimeNs>(1 + noise_.below(4, Draw::log_detail, 80, static_cast<std::uint64_t>(now), turn)) * kMillisecond;
    return out;
}

void VllmV1Voice::speculation_line(const SinceLast& w, double seconds, TimeNs time, std::vector<LogDraft>& out) const {
    const auto rounds = static_cast<double>(w.draft_rounds);
    std::string positions;
    const auto count = std::min<std::size_t>(w.accepted_at.size(), static_cast<std::size_t>(std::max(1, options_.deployment.spec_tokens)));
    for (std::size_t i = 0; i < count; ++i) positions += fmt::format("{:.3f}, ", static_cast<double>(w.accepted_at[i]) / rounds);
    out.push_back(
        line(time, front(), "metrics.py", 100,
             fmt::format(
                 "SpecDecoding metrics: Mean acceptance length: {:.2f}, Accepted throughput: {:.2f} tokens/s, Drafted throughput: {:.2f} "
                 "tokens/s, Accepted: {} tokens, Drafted: {} tokens, Per-position acceptance rate: {}Avg Draft acceptance rate: {:.1f}%",
                 1 + static_cast<double>(w.accepted) / rounds, static_cast<double>(w.accepted) / seconds,
                 static_cast<double>(w.drafted) / seconds, w.accepted, w.drafted, positions,
                 w.drafted > 0 ? 100 * static_cast<double>(w.accepted) / static_cast<double>(w.drafted) : 0)));
}

/// The bar of LLM.generate in its last state.
LogDraft VllmV1Voice::processed_prompts(TimeNs time) const {
    const TimeNs elapsed = std::max<TimeNs>(time - first_, kMillisecond);
    std::string text = progress_bar("Processed prompts", prompts_, prompts_, elapsed);
    text.pop_back();
    text += fmt::format(", est. speed input: {:.2f} toks/s, output: {:.2f} toks/s]", static_cast<double>(read_) / seconds_of(elapsed),
                        static_cast<double>(made_) / seconds_of(elapsed));
    return {time, front(), LogLevel::info, LogLayout::bare, {}, 0, std::move(text), false};
}

std::vector<LogDraft> VllmV1Voice::shut_down(TimeNs time) {
    Script script(time, time + 900 * kMillisecond);
    if (!online() && prompts_ > 0 && first_ != kNull) script.add(processed_prompts(time));
    const ProcessIndex p = front();
    for (int i = 0; i < instances(); ++i)
        script.say(0, core(static_cast<InstanceIndex>(i)), "core.py", 1214, "[shutdown] EngineCore: trigger received signal=SIGTERM");
    if (online()) {
        script.say(0.02, p, "launcher.py", 100, "[shutdown] API server: shutdown triggered");
        script.say(0.03, p, "launcher.py", 116, "[shutdown] API server: stopping engine client mode=abort timeout=0s");
    }
    for (int i = 0; i < instances(); ++i) {
        const auto instance = static_cast<InstanceIndex>(i);
        script.say(0.1, core(instance), "core.py", 1333, "[shutdown] EngineCore: start mode=abort timeout=0s");
        script.say(0.2, core(instance), "core.py", 1364, "[shutdown] EngineCore: request processing complete; starting resource teardown");
        if (ranks(instance).size() > 1)
            for (const ProcessIndex worker : ranks(instance))
                script.say(0.3, worker, "multiproc_executor.py", 707, "Parent process exited, terminating worker");
        script.say(0.4, core(instance), "core.py", 1227, "[shutdown] EngineCore: exiting busy loop");
        for (const ProcessIndex worker : ranks(instance)) {
            LogDraft leak =
                line(script.at(0.6), worker, "ProcessGroupNCCL.cpp", 1524,
                     "Warning: WARNING: destroy_process_group() was not called before program exit, which can leak resources. For more "
                     "info, please see https://pytorch.org/docs/stable/distributed.html#shutdown (function operator())",
                     LogLevel::warning);
            leak.layout = LogLayout::torch_cpp;
            if (worker == ranks(instance).front()) script.add(std::move(leak));
        }
    }
    if (online()) {
        script.say(0.8, p, "launcher.py", 149, "[shutdown] API server: shutting down FastAPI HTTP server");
        script.put(0.85, p, LogLayout::access, "Shutting down");
        script.put(0.95, p, LogLayout::access, "Waiting for application shutdown.");
        script.put(1, p, LogLayout::access, "Application shutdown complete.");
    }
    return script.take();
}

std::unique_ptr<LogVoice> make_vllm_v1_voice(const RunOptions& options, const Topology& topology, VoiceFacts facts, const Noise& noise) {
    return std::make_unique<VllmV1Voice>(options, topology, std::move(facts), noise);
}

}  // namespace faultline::simulator
