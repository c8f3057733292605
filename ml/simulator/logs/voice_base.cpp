#include "ml/simulator/logs/voice_base.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "ml/simulator/logs/voice_words.h"

namespace faultline::simulator {
namespace {

constexpr TimeNs kSecond = 1'000'000'000;

bool schedules(ProcessRole role) {
    return role == ProcessRole::engine_core || role == ProcessRole::scheduler || role == ProcessRole::fsdp_rank;
}

bool launches(ProcessRole role) { return role == ProcessRole::worker || role == ProcessRole::scheduler || role == ProcessRole::fsdp_rank; }

}  // namespace

void Script::say(double share, ProcessIndex process, std::string_view file, int line, std::string text, LogLevel level) {
    drafts_.push_back({at(share), process, level, LogLayout::engine, std::string(file), line, std::move(text), false});
}

void Script::put(double share, ProcessIndex process, LogLayout layout, std::string text, LogLevel level) {
    drafts_.push_back({at(share), process, level, layout, {}, 0, std::move(text), false});
}

std::vector<LogDraft> Script::take() {
    std::stable_sort(drafts_.begin(), drafts_.end(), [](const LogDraft& a, const LogDraft& b) { return a.time < b.time; });
    return std::move(drafts_);
}

void SinceLast::add(const StepPlan& plan, const StepOutcome& outcome) {
    ++steps;
    prompt_tokens += plan.context_tokens;
    generated_tokens += outcome.tokens_out;
    hit_tokens += plan.hit_tokens;
    asked_tokens += plan.asked_tokens;
    for (const ScheduledRequest& r : plan.requests) {
        const int drafts = r.drafts + r.ghost_drafts;
        if (drafts == 0) continue;
        ++draft_rounds;
        drafted += drafts;
        accepted += r.accepted;
        for (std::size_t i = 0; i < accepted_at.size() && i < static_cast<std::size_t>(r.accepted); ++i) ++accepted_at[i];
    }
}

void SinceLast::restart(TimeNs now) {
    const SinceLast old = *this;
    *this = {};
    began = now;
    due = old.due;
    preemptions_before = old.preemptions_before;
    spoke = old.spoke;
}

VoiceBase::VoiceBase(const RunOptions& options, const Topology& topology, VoiceFacts facts, const Noise& noise)
    : options_(options), topology_(&topology), facts_(std::move(facts)), noise_(noise) {
    std::size_t count = 1;
    for (const ProcessInfo& p : topology.processes)
        if (schedules(p.role)) count = std::max(count, static_cast<std::size_t>(p.instance) + 1);
    cores_.resize(count);
    ranks_.resize(count);
    since_.resize(count);
    held_.resize(count);
    std::vector<bool> found(count, false);
    bool has_front = false;
    for (std::size_t i = 0; i < topology.processes.size(); ++i) {
        const ProcessInfo& p = topology.processes[i];
        const auto index = static_cast<ProcessIndex>(i);
        const auto instance = static_cast<std::size_t>(p.instance);
        if (p.role == ProcessRole::api_server && !online_) {
            front_ = index;
            online_ = has_front = true;
        } else if (p.role == ProcessRole::client && !has_front) {
            front_ = index;
            has_front = true;
        }
        if (instance >= count) continue;
        if (schedules(p.role) && p.rank <= 0 && !found[instance]) {
            cores_[instance] = index;
            found[instance] = true;
        }
        if (launches(p.role)) ranks_[instance].push_back(index);
    }
    // v0's engine is rank 0 itself, and may be the API server's own process (ENGINES §1.2).
    for (std::size_t i = 0; i < count; ++i) {
        if (!found[i]) cores_[i] = front_;
        auto& of = ranks_[i];
        std::stable_sort(of.begin(), of.end(),
                         [&](ProcessIndex a, ProcessIndex b) { return topology.process(a).rank < topology.process(b).rank; });
        const bool in_core = of.empty() || (options.deployment.engine == Engine::vllm_v0 && topology.process(of.front()).rank > 0);
        if (in_core) of.insert(of.begin(), cores_[i]);
    }
    if (!has_front) front_ = cores_.front();
    if (online_ && noise_.chance(0.7, Draw::log_detail, 1))
        probe_period_ = static_cast<TimeNs>(5 + 5 * noise_.below(3, Draw::log_detail, 2)) * kSecond;
}

LogDraft VoiceBase::line(TimeNs time, ProcessIndex process, std::string_view file, int number, std::string text, LogLevel level) {
    return {time, process, level, LogLayout::engine, std::string(file), number, std::move(text), false};
}

LogDraft VoiceBase::access(TimeNs time, std::string_view what, std::string_view status, std::uint64_t key) const {
    const auto host = noise_.bits(Draw::log_detail, 3, key % 7);  // few clients send all
    return {time,
            front(),
            LogLevel::info,
            LogLayout::access,
            {},
            0,
            fmt::format("10.{}.{}.{}:{} - \"{} HTTP/1.1\" {}", 40 + noise_.below(40, Draw::log_detail, 4), host % 4, 2 + (host >> 8) % 250,
                        32768 + noise_.below(28000, Draw::log_detail, 5, key), what, status),
            false};
}

LogDraft VoiceBase::answered(const Request& request, TimeNs time) const {
    const bool failed = request.end == RequestEnd::failed;
    return access(time, "POST /v1/chat/completions", failed ? "500 Internal Server Error" : "200 OK", request.number);
}

void VoiceBase::probe(TimeNs now, std::vector<LogDraft>& out) {
    if (probe_period_ == 0) return;
    if (next_probe_ == kNull)
        next_probe_ = now + static_cast<TimeNs>(noise_.below(static_cast<std::uint64_t>(probe_period_), Draw::log_detail, 6));
    for (; next_probe_ <= now; next_probe_ += probe_period_) {
        const auto port = 32768 + noise_.below(28000, Draw::log_detail, 8, probes_++);
        const std::string network = address().substr(0, address().find(".0.11"));
        out.push_back({next_probe_,
                       front(),
                       LogLevel::info,
                       LogLayout::access,
                       {},
                       0,
                       fmt::format("{}.0.1:{} - \"GET /health HTTP/1.1\" 200 OK", network, port),
                       false});
    }
}

bool VoiceBase::due(InstanceIndex instance, TimeNs now, TimeNs period) {
    SinceLast& w = since(instance);
    if (w.began == kNull) {
        w.began = now;
        // Engines of one run started one after the other, the capture began whenever it did.
        w.due = now + kSecond / 2 +
                static_cast<TimeNs>(
                    noise_.below(static_cast<std::uint64_t>(period), Draw::log_detail, 9, static_cast<std::uint64_t>(instance)));
    }
    return now >= w.due;
}

SinceLast& VoiceBase::since(InstanceIndex instance) { return since_[std::min(static_cast<std::size_t>(instance), since_.size() - 1)]; }

ProcessIndex VoiceBase::core(InstanceIndex instance) const {
    return cores_[std::min(static_cast<std::size_t>(instance), cores_.size() - 1)];
}

const std::vector<ProcessIndex>& VoiceBase::ranks(InstanceIndex instance) const {
    return ranks_[std::min(static_cast<std::size_t>(instance), ranks_.size() - 1)];
}

int VoiceBase::max_model_len() const { return simulator::max_model_len(options_.workload); }

double VoiceBase::weights_gib() const { return gib(facts_.weight_bytes) / std::max(options_.deployment.tp, 1); }

int VoiceBase::shards() const { return static_cast<int>(std::max<std::int64_t>(1, (facts_.weight_bytes + 3'999'999'999) / 4'000'000'000)); }

double VoiceBase::jitter(double value, std::uint64_t key) const {
    return value * (0.97 + 0.06 * noise_.uniform(Draw::log_detail, 10, key));
}

void VoiceBase::load_shards(Script& script, ProcessIndex process, std::string_view label, double begin, double end, bool bar) const {
    const int files = shards();
    for (int done = 0; done <= files; ++done) {
        const double uneven =
            done == 0 || done == files ? 0 : 0.5 * (noise_.uniform(Draw::log_detail, 12, static_cast<std::uint64_t>(done)) - 0.5);
        const double share = (end - begin) * (done + uneven) / files;
        const TimeNs elapsed = script.between(0, share);
        script.put(begin + share, process, LogLayout::bare,
                   bar ? progress_bar(label, done, files, elapsed) : progress_count(label, done, files, elapsed));
    }
}

std::string VoiceBase::address() const { return fmt::format("10.{}.0.11", 40 + noise_.below(40, Draw::log_detail, 4)); }

int VoiceBase::port(std::uint64_t key) const { return 32768 + static_cast<int>(noise_.below(28000, Draw::log_detail, 11, key)); }

std::string_view api_id(std::string_view id) {
    const std::size_t dash = id.rfind('-');
    if (dash == std::string_view::npos || id.size() - dash != 9 || id.find('-') == dash) return id;
    const std::string_view suffix = id.substr(dash + 1);
    const bool hex = std::all_of(suffix.begin(), suffix.end(), [](char c) { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f'); });
    return hex ? id.substr(0, dash) : id;
}

std::string sampling_params(const Request& request, int max_tokens, bool structured_outputs) {
    return fmt::format(
        "SamplingParams(n=1, presence_penalty={}, frequency_penalty=0.0, repetition_penalty={}, temperature={}, top_p={}, top_k={}, "
        "min_p=0.0, "
        "seed=None, stop=[], stop_token_ids=[], bad_words=[], include_stop_str_in_output=False, ignore_eos=False, max_tokens={}, "
        "min_tokens=0, "
        "logprobs={}, prompt_logprobs=None, skip_special_tokens=True, spaces_between_special_tokens=True, truncate_prompt_tokens=None, {})",
        request.penalties ? "0.5" : "0.0", request.penalties ? "1.05" : "1.0", request.random ? "0.7" : "0.0",
        request.random ? "0.95" : "1.0",
        request.top_k        ? 20
        : structured_outputs ? 0
                             : -1,
        max_tokens, request.logprobs ? "5" : "None",
        structured_outputs ? request.guided ? "structured_outputs=StructuredOutputsParams(json_object=True), extra_args=None"
                                            : "structured_outputs=None, extra_args=None"
        : request.guided   ? "guided_decoding=GuidedDecodingParams(json_object=True)"
                           : "guided_decoding=None");
}

std::unique_ptr<LogVoice> make_voice(const RunOptions& options, const Topology& topology, VoiceFacts facts, const Noise& noise) {
    switch (options.deployment.engine) {
        case Engine::vllm_v0: return make_vllm_v0_voice(options, topology, std::move(facts), noise);
        case Engine::sglang: return make_sglang_voice(options, topology, std::move(facts), noise);
        case Engine::fsdp: return make_fsdp_voice(options, topology, std::move(facts), noise);
        case Engine::vllm_v1_offline:
        case Engine::vllm_v1_online: break;
    }
    return make_vllm_v1_voice(options, topology, std::move(facts), noise);
}

}  // namespace faultline::simulator
