// What all voices share: who writes what, lines of a script between two times, access lines, health probes, NCCL's start, and what passed
// since the last periodic line. Nothing here grows with time. One thread.
#pragma once

#include <algorithm>
#include <array>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "ml/simulator/logs/log_voice.h"
#include "ml/simulator/logs/voice_facts.h"

namespace faultline::simulator {

/// Lines placed by their share of the time between two ends, for sequences that are known as a whole.
class Script {
public:
    Script(TimeNs from, TimeNs to) : from_(from), to_(to > from ? to : from) {}

    [[nodiscard]] TimeNs at(double share) const { return from_ + static_cast<TimeNs>(static_cast<double>(to_ - from_) * share); }
    [[nodiscard]] TimeNs between(double begin, double end) const { return at(end) - at(begin); }
    void say(double share, ProcessIndex process, std::string_view file, int line, std::string text, LogLevel level = LogLevel::info);
    void put(double share, ProcessIndex process, LogLayout layout, std::string text, LogLevel level = LogLevel::info);
    void add(LogDraft draft) { drafts_.push_back(std::move(draft)); }
    /// By time; lines of one time as they were said.
    [[nodiscard]] std::vector<LogDraft> take();

private:
    TimeNs from_, to_;
    std::vector<LogDraft> drafts_;
};

/// What passed on one instance since its last periodic line.
struct SinceLast {
    TimeNs began = kNull, due = 0;
    int steps = 0;
    std::int64_t prompt_tokens = 0, generated_tokens = 0, hit_tokens = 0, asked_tokens = 0;
    std::int64_t drafted = 0, accepted = 0, draft_rounds = 0;
    std::array<std::int64_t, 16> accepted_at{};  ///< rounds in which the draft at that position was taken
    std::int64_t preemptions_before = 0;
    bool spoke = false;  ///< the last line showed some throughput

    void add(const StepPlan& plan, const StepOutcome& outcome);
    void restart(TimeNs now);
};

class VoiceBase : public LogVoice {
public:
    VoiceBase(const RunOptions& options, const Topology& topology, VoiceFacts facts, const Noise& noise);
    void hold(InstanceIndex instance, const HeldSlots& held) override { held_[std::min(static_cast<std::size_t>(instance), held_.size() - 1)] = held; }

protected:
    [[nodiscard]] static LogDraft line(TimeNs time, ProcessIndex process, std::string_view file, int number, std::string text,
                                       LogLevel level = LogLevel::info);
    /// `10.60.1.149:54426 - "POST /v1/chat/completions HTTP/1.1" 200 OK`; clients differ by `key`.
    [[nodiscard]] LogDraft access(TimeNs time, std::string_view what, std::string_view status, std::uint64_t key) const;
    [[nodiscard]] LogDraft answered(const Request& request, TimeNs time) const;
    /// GET /health of whatever watches the service, where anything does.
    void probe(TimeNs now, std::vector<LogDraft>& out);
    /// Communicators of the ranks of an instance, as NCCL_DEBUG=INFO shows them.
    void nccl_start(Script& script, InstanceIndex instance, double begin, double end, std::string_view version = "2.27.5+cuda12.9") const;
    /// Whether the periodic line of `instance` is due; sets up the first window.
    [[nodiscard]] bool due(InstanceIndex instance, TimeNs now, TimeNs period);

    [[nodiscard]] SinceLast& since(InstanceIndex instance);
    [[nodiscard]] const HeldSlots& held(InstanceIndex instance) const { return held_[std::min(static_cast<std::size_t>(instance), held_.size() - 1)]; }
    [[nodiscard]] ProcessIndex front() const { return front_; }  ///< of the API server; offline the caller of the engine
    [[nodiscard]] bool online() const { return online_; }
    [[nodiscard]] int instances() const { return static_cast<int>(cores_.size()); }
    [[nodiscard]] ProcessIndex core(InstanceIndex instance) const;                       ///< of the process that schedules
    [[nodiscard]] const std::vector<ProcessIndex>& ranks(InstanceIndex instance) const;  ///< that launch, by rank
    [[nodiscard]] bool logs_requests() const { return options_.recording.request_ids; }
    [[nodiscard]] std::int64_t kv_tokens() const { return facts_.kv_blocks * options_.deployment.block_size; }
    [[nodiscard]] int max_model_len() const;
    [[nodiscard]] double weights_gib() const;                            ///< of one rank
    [[nodiscard]] int shards() const;                                    ///< files of the checkpoint
    [[nodiscard]] double jitter(double value, std::uint64_t key) const;  ///< value ± some percent
    /// The checkpoint's files, one after the other between two shares of the script; with a bar or without.
    void load_shards(Script& script, ProcessIndex process, std::string_view label, double begin, double end, bool bar) const;
    [[nodiscard]] std::string address() const;  ///< of the first node
    [[nodiscard]] int port(std::uint64_t key) const;

    RunOptions options_;
    const Topology* topology_;
    VoiceFacts facts_;
    Noise noise_;

private:
    ProcessIndex front_{};
    bool online_ = false;
    std::vector<ProcessIndex> cores_;
    std::vector<std::vector<ProcessIndex>> ranks_;
    std::vector<SinceLast> since_;
    std::vector<HeldSlots> held_;
    TimeNs probe_period_ = 0, next_probe_ = kNull;
    std::uint64_t probes_ = 0;
};

/// An id without the suffix that the engine gave it: what the API server's own lines say (FORMATS §7.2).
[[nodiscard]] std::string_view api_id(std::string_view id);
/// SamplingParams(…) of a request in vLLM's lines.
[[nodiscard]] std::string sampling_params(const Request& request, int max_tokens, bool structured_outputs);

[[nodiscard]] std::unique_ptr<LogVoice> make_vllm_v1_voice(const RunOptions& options, const Topology& topology, VoiceFacts facts,
                                                           const Noise& noise);
[[nodiscard]] std::unique_ptr<LogVoice> make_vllm_v0_voice(const RunOptions& options, const Topology& topology, VoiceFacts facts,
                                                           const Noise& noise);
[[nodiscard]] std::unique_ptr<LogVoice> make_sglang_voice(const RunOptions& options, const Topology& topology, VoiceFacts facts,
                                                          const Noise& noise);
[[nodiscard]] std::unique_ptr<LogVoice> make_fsdp_voice(const RunOptions& options, const Topology& topology, VoiceFacts facts,
                                                        const Noise& noise);

}  // namespace faultline::simulator
