// A generation script under torchrun: every rank logs its start, rank 0 its batches and every ten seconds its pace. ENGINES §1.4. One
// thread.
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ml/simulator/logs/voice_base.h"
#include "ml/simulator/logs/voice_words.h"

namespace faultline::simulator {
namespace {

constexpr TimeNs kPeriod = 10'000'000'000;
constexpr TimeNs kMillisecond = 1'000'000;
constexpr std::string_view kFile = "generate.py";

class FsdpVoice final : public VoiceBase {
public:
    using VoiceBase::VoiceBase;

    [[nodiscard]] std::vector<LogDraft> start_up(TimeNs from, TimeNs ready) override;
    [[nodiscard]] std::vector<LogDraft> arrived(const Request& request, TimeNs time) override {
        std::vector<LogDraft> out;
        if (logs_requests()) out.push_back(line(time, core(request.instance), kFile, 131, fmt::format("Added request {}.", request.id)));
        return out;
    }
    [[nodiscard]] std::vector<LogDraft> departed(const Request& request, TimeNs time) override {
        std::vector<LogDraft> out;
        if (logs_requests() && request.end != RequestEnd::failed)
            out.push_back(line(time, core(request.instance), kFile, request.end == RequestEnd::aborted ? 210 : 204,
                               fmt::format("{} request {}.", request.end == RequestEnd::aborted ? "Aborted" : "Finished", request.id)));
        return out;
    }
    [[nodiscard]] std::vector<LogDraft> stepped(const StepForLog& step) override;
    [[nodiscard]] std::vector<LogDraft> tick(InstanceIndex instance, const Scheduler& scheduler, TimeNs now) override;
    [[nodiscard]] std::vector<LogDraft> shut_down(TimeNs time) override;

private:
    std::int64_t batches_ = 0, batch_tokens_ = 0;
    TimeNs batch_began_ = kNull;
    std::uint32_t last_step_ = 0;
};

std::vector<LogDraft> FsdpVoice::start_up(TimeNs from, TimeNs ready) {
    Script script(from, ready);
    for (int i = 0; i < instances(); ++i) {
        const auto instance = static_cast<InstanceIndex>(i);
        const auto& all = ranks(instance);
        const int world = static_cast<int>(all.size());
        const double shard = gib(facts_.weight_bytes) / std::max(1, world);
        nccl_start(script, instance, 0.08, 0.16);
        for (int r = 0; r < world; ++r) {
            const ProcessIndex p = all[static_cast<std::size_t>(r)];
            const double late = 0.01 * r / std::max(1, world);
            const int local = r % std::max(1, world / std::max(1, options_.deployment.nodes));
            script.say(0.05 + late, p, kFile, 58,
                       fmt::format("Initialized process group: backend=nccl, world_size={}, rank={}, local_rank={}, device=cuda:{}", world,
                                   r, local, local));
            script.say(0.72 + late, p, kFile, 93,
                       fmt::format("Sharded {} decoder layers: {:.2f} GiB of parameters on this rank", facts_.layers, shard));
        }
        script.say(0.18, core(instance), kFile, 71, fmt::format("Loading {} with torch_dtype=torch.bfloat16", facts_.model_title));
        load_shards(script, core(instance), "Loading checkpoint shards", 0.2, 0.65, true);
        script.say(0.9, core(instance), kFile, 118, fmt::format("Warm-up forward took {:.2f} s", seconds_of(script.between(0.75, 0.9))));
        script.say(1, core(instance), kFile, 124,
                   fmt::format("Generating with batches of {}, max_new_tokens={}, synced_gpus=True", options_.deployment.max_num_seqs,
                               options_.workload.output_max));
    }
    return script.take();
}

std::vector<LogDraft> FsdpVoice::stepped(const StepForLog& step) {
    std::vector<LogDraft> out;
    const StepPlan& plan = step.plan;
    since(plan.instance).add(plan, step.outcome);
    last_step_ = plan.instance_step;
    if (plan.context_requests > 0) {
        if (batch_began_ == kNull) {
            int longest = 0;
            for (const ScheduledRequest& r : plan.requests) longest = std::max(longest, r.computed_before + r.tokens);
            batch_began_ = step.start;
            batch_tokens_ = 0;
            out.push_back(line(step.start, core(plan.instance), kFile, 148,
                               fmt::format("Batch {}: {} prompts, {} prompt tokens, longest {}", ++batches_, plan.context_requests,
                                           plan.context_tokens, longest)));
        }
    }
    batch_tokens_ += step.outcome.tokens_out;
    if (batch_began_ != kNull && step.scheduler.running() == 0) {
        const double seconds = std::max(seconds_of(step.end - batch_began_), 1e-3);
        out.push_back(line(step.end, core(plan.instance), kFile, 187,
                           fmt::format("Batch {} done in {:.2f} s: {} new tokens, {:.1f} tokens/s", batches_, seconds, batch_tokens_,
                                       static_cast<double>(batch_tokens_) / seconds)));
        batch_began_ = kNull;
    }
    return out;
}

std::vector<LogDraft> FsdpVoice::tick(InstanceIndex instance, const Scheduler& scheduler, TimeNs now) {
    std::vector<LogDraft> out;
    if (!due(instance, now, kPeriod)) return out;
    SinceLast& w = since(instance);
    const double seconds = std::max(seconds_of(now - w.began), 1e-3);
    if (w.steps > 0)
        out.push_back(
            line(w.due, core(instance), kFile, 169,
                 fmt::format("step {}: {} sequences, {} waiting, {:.1f} tokens/s, {:.1f} steps/s", last_step_, scheduler.running(),
                             scheduler.waiting(), static_cast<double>(w.generated_tokens) / seconds, w.steps / seconds)));
    w.restart(now);
    while (w.due <= now) w.due += kPeriod;
    return out;
}

std::vector<LogDraft> FsdpVoice::shut_down(TimeNs time) {
    Script script(time, time + 1200 * kMillisecond);
    for (int i = 0; i < instances(); ++i) {
        const auto instance = static_cast<InstanceIndex>(i);
        const auto& all = ranks(instance);
        script.say(0, core(instance), kFile, 226, fmt::format("Done: {} batches", batches_));
        for (std::size_t r = 0; r < all.size(); ++r)
            script.say(0.3 + 0.1 * static_cast<double>(r) / static_cast<double>(all.size()), all[r], kFile, 231,
                       "Destroying process group");
    }
    return script.take();
}

}  // namespace

std::unique_ptr<LogVoice> make_fsdp_voice(const RunOptions& options, const Topology& topology, VoiceFacts facts, const Noise& noise) {
    return std::make_unique<FsdpVoice>(options, topology, std::move(facts), noise);
}

}  // namespace faultline::simulator
