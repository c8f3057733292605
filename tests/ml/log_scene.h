// A small service for tests of simulated logs: its topology, its numbers, and what the importer of real logs reads out of its lines.
#pragma once

#include <QTest>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "core/request_rules.h"
#include "importers/service_log/log_text.h"
#include "importers/service_log/status_line.h"
#include "ml/simulator/logs/log_layout.h"
#include "ml/simulator/logs/voice_facts.h"

namespace faultline::simulator {

inline constexpr TimeNs kSecond = 1'000'000'000;
inline constexpr TimeNs kNoon = 1'796'075'080 * kSecond + 408'271'257;  // 2026-11-30 21:44:40.408271257 UTC

/// Backticks stand for quotation marks.
inline std::string quoted(std::string text) {
    std::replace(text.begin(), text.end(), '`', '\x22');
    return text;
}

inline RunOptions options_of(Engine engine, int tp = 1) {
    RunOptions options;
    options.deployment.engine = engine;
    options.deployment.tp = tp;
    options.start = kNoon;
    return options;
}

inline void add_process(Topology& t, ProcessRole role, std::int64_t pid, int rank, bool device, int dp_rank = -1) {
    const auto index = static_cast<ProcessIndex>(t.processes.size());
    t.processes.push_back({NodeIndex{0}, role, InstanceIndex{0}, pid, rank, dp_rank, {}});
    t.threads.push_back({index, pid, "MainThread"});
    if (device) t.devices.push_back({NodeIndex{0}, std::max(0, rank), index, std::max(0, rank)});
}

inline Topology topology_of(const RunOptions& options, TimeNs offset = 0) {
    Topology t;
    const int tp = options.deployment.tp;
    t.nodes.push_back({"node-0", {kNoon, offset, 0}, kNoon - 22859 * kSecond - 81'860'000});
    switch (options.deployment.engine) {
        case Engine::sglang:
            add_process(t, ProcessRole::api_server, 4000, -1, false);
            for (int r = 0; r < tp; ++r) add_process(t, ProcessRole::scheduler, 4100 + r, r, true);
            add_process(t, ProcessRole::detokenizer, 4200, -1, false);
            break;
        case Engine::fsdp:
            for (int r = 0; r < tp; ++r) add_process(t, ProcessRole::fsdp_rank, 4100 + r, r, true);
            break;
        case Engine::vllm_v0:
            add_process(t, ProcessRole::api_server, 4000, -1, false);
            add_process(t, ProcessRole::engine_core, 4100, 0, true);
            for (int r = 1; r < tp; ++r) add_process(t, ProcessRole::worker, 4100 + r, r, true);
            break;
        case Engine::vllm_v1_offline:
        case Engine::vllm_v1_online:
            if (options.deployment.engine == Engine::vllm_v1_online) add_process(t, ProcessRole::api_server, 4000, -1, false);
            add_process(t, ProcessRole::engine_core, 4100, -1, tp == 1);
            if (tp > 1)
                for (int r = 0; r < tp; ++r) add_process(t, ProcessRole::worker, 4200 + r, r, true);
            break;
    }
    return t;
}

inline VoiceFacts facts() {
    VoiceFacts f;
    f.model_title = "Qwen/Qwen3-8B";
    f.architecture = "Qwen3ForCausalLM";
    f.gpu_title = "NVIDIA H100 80GB HBM3";
    f.weight_bytes = 16'381'000'000;
    f.kv_bytes_per_token = 147'456;
    f.kv_blocks = 10'000;
    f.layers = 36;
    f.gpu_memory_gib = 80;
    f.capture_sizes = {1, 2, 4, 8, 16, 32, 64, 128, 256, 512};
    return f;
}

inline std::string written(const RunOptions& options, const Topology& topology, const std::vector<LogDraft>& drafts) {
    LogFormatter formatter(options, topology);
    std::string text;
    for (const LogDraft& d : drafts) formatter.append(text, {d.time, d.process, d.level, d.layout, d.file, d.line, d.text, d.suspect});
    return text;
}

inline std::string line_of(const RunOptions& options, const Topology& topology, std::size_t process, LogLayout layout,
                           std::string_view file, int line, std::string_view text, LogLevel level = LogLevel::info) {
    LogFormatter formatter(options, topology);
    std::string out;
    formatter.append(out, {kNoon, static_cast<ProcessIndex>(process), level, layout, file, line, text, false});
    return out;
}

inline std::vector<LogLine> read_back(const std::string& text) {
    ImportContext context;
    context.time_zone = "UTC";
    context.wall = TimeRange{kNoon - 3600 * kSecond, kNoon + 3600 * kSecond};
    return service_log::read_log_text(text, context, 0);
}

inline std::string_view word_of(LogLevel level) {
    return level == LogLevel::info ? "INFO" : level == LogLevel::warning ? "WARNING" : level == LogLevel::error ? "ERROR" : "DEBUG";
}

/// Every draft that is no progress bar comes back as one message, in order, with time, level and logger as they were.
inline void compare_all(const RunOptions& options, const std::vector<LogDraft>& drafts, const std::vector<LogLine>& lines) {
    std::size_t at = 0;
    for (const LogDraft& d : drafts) {
        if (d.text.find("| ") != std::string::npos && d.layout == LogLayout::bare) continue;
        // Of "[Gloo] Rank 0 is connected" the first word is taken for the component that wrote it.
        const auto is_it = [&](const std::string& text) {
            return text == d.text || (d.layout == LogLayout::bare && text.size() > 20 && d.text.ends_with(text));
        };
        while (at < lines.size() && !is_it(lines[at].text)) ++at;
        QVERIFY2(at < lines.size(), d.text.c_str());
        const LogLine& line = lines[at++];
        if (d.layout == LogLayout::engine || d.layout == LogLayout::torch_cpp) {
            QVERIFY2(line.time.has_value(), d.text.c_str());
            const TimeNs off = d.time - *line.time;
            QVERIFY2(off >= 0 && off < kSecond, d.text.c_str());
            if (options.deployment.engine != Engine::sglang) {
                QCOMPARE(line.level, std::string(word_of(d.level)));
                QCOMPARE(line.logger, d.file + ":" + std::to_string(d.line));
            }
        }
        if (d.layout == LogLayout::access) QCOMPARE(line.level, std::string(word_of(d.level)));
        if (d.layout == LogLayout::nccl_info) QCOMPARE(line.logger, std::string("NCCL"));
    }
}

inline bool has_text(const std::vector<LogDraft>& drafts, std::string_view text) {
    return std::any_of(drafts.begin(), drafts.end(), [&](const LogDraft& d) { return d.text.find(text) != std::string::npos; });
}

inline std::map<std::string, double> status_of(const std::string& text) {
    std::map<std::string, double> values;
    for (const auto& value : service_log::read_status(text)) values[value.name] = value.value;
    return values;
}

inline bool near(double a, double b, double tolerance) { return std::abs(a - b) <= tolerance; }

inline simulator::Request request_of(RequestNumber number, int prompt, int output, const char* id) {
    simulator::Request r;
    r.number = number;
    r.id = id;
    r.prompt_tokens = prompt;
    r.output_tokens = output;
    r.sent = r.received = kNoon;
    return r;
}

/// A scheduler that is stepped every 20 ms, and what the voice says to it.
struct Service {
    RunOptions options;
    Topology topology;
    std::unique_ptr<LogVoice> voice;
    Scheduler scheduler;
    TimeNs now = kNoon;
    std::int64_t made = 0, context = 0, steps = 0, decode_steps = 0;
    std::vector<LogDraft> said;

    explicit Service(const RunOptions& o, std::int64_t blocks = 4000)
        : options(o),
          topology(topology_of(o)),
          voice(make_voice(options, topology, facts(), Noise(o.seed))),
          scheduler(options, Noise(o.seed), InstanceIndex{0}, InstanceDuty::both, blocks) {}

    void add(RequestNumber number, int prompt, int output) {
        const std::string id = "chatcmpl-" + std::to_string(1000 + number);
        scheduler.add(request_of(number, prompt, output, id.c_str()), now);
    }
    void keep(std::vector<LogDraft> drafts) { said.insert(said.end(), drafts.begin(), drafts.end()); }
    void step(const SchedulerKnobs& knobs = {}) {
        StepPlan plan = scheduler.schedule(now, knobs);
        plan.instance_step = static_cast<std::uint32_t>(steps++);
        const TimeNs start = now;
        now += 20'000'000;
        if (plan.kind == simulator::StepKind::idle) return;
        const StepOutcome outcome = scheduler.complete(plan, now);
        made += outcome.tokens_out;
        context += plan.context_tokens;
        if (plan.generation_requests > 0) ++decode_steps;
        keep(voice->stepped({plan, outcome, scheduler, start, now, GraphMode::full}));
        (void)scheduler.take_departed();
    }
    void tick() { keep(voice->tick(InstanceIndex{0}, scheduler, now)); }
    [[nodiscard]] std::vector<LogDraft> saying(std::string_view text) const {
        std::vector<LogDraft> found;
        for (const LogDraft& d : said)
            if (d.text.find(text) != std::string::npos) found.push_back(d);
        return found;
    }
};

}  // namespace faultline::simulator
