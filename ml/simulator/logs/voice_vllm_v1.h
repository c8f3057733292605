// vLLM v1: the API server (offline: the caller) and an engine core with its workers for each instance. ENGINES §1.1, §5. One thread.
#pragma once

#include "ml/simulator/logs/voice_base.h"

namespace faultline::simulator {

class VllmV1Voice final : public VoiceBase {
public:
    using VoiceBase::VoiceBase;

    [[nodiscard]] std::vector<LogDraft> start_up(TimeNs from, TimeNs ready) override;
    [[nodiscard]] std::vector<LogDraft> arrived(const Request& request, TimeNs time) override;
    [[nodiscard]] std::vector<LogDraft> departed(const Request& request, TimeNs time) override;
    [[nodiscard]] std::vector<LogDraft> stepped(const StepForLog& step) override;
    [[nodiscard]] std::vector<LogDraft> tick(InstanceIndex instance, const Scheduler& scheduler, TimeNs now) override;
    [[nodiscard]] std::vector<LogDraft> shut_down(TimeNs time) override;

private:
    void start_front(Script& script) const;
    void start_core(Script& script, InstanceIndex instance) const;
    void load_model(Script& script, InstanceIndex instance) const;
    void size_cache(Script& script, InstanceIndex instance) const;
    void capture_graphs(Script& script, InstanceIndex instance) const;
    void announce(Script& script) const;
    [[nodiscard]] LogDraft processed_prompts(TimeNs time) const;
    void speculation_line(const SinceLast& w, double seconds, TimeNs time, std::vector<LogDraft>& out) const;

    // of an offline batch
    int prompts_ = 0;
    std::int64_t read_ = 0, made_ = 0;
    TimeNs first_ = kNull;
};

}  // namespace faultline::simulator
