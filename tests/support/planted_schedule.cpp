#include "tests/support/planted_schedule.h"

#include <fmt/format.h>

#include <algorithm>
#include <ctime>

namespace faultline::test {

namespace {

constexpr TimeNs kSecond = 1'000'000'000;

/// What happens at the start of each step: requests arrive, and some of those that run take part.
class Scheduling {
public:
    Scheduling(const ServiceOptions& options, Chance& chance) : options_(options), chance_(chance) {}

    Schedule run() {
        for (int i = 0; i < options_.steps; ++i) {
            ScheduledStep step;
            for (const Planted& p : options_.planted)
                if (p.step == i) step.planted = p.what;
            step.slow = options_.all_slow && i % 3 == 1;
            const bool alone = i == 0 || i % 13 == 6 || running_.empty();
            // An arrival would make a planted step a mixed one.
            const bool arrival = (alone || i % 9 == 4) && (!step.planted || options_.planted_in_any_phase || running_.empty());
            if (arrival) admit(step, i, i == 0 || chance_.fraction() < 0.3 ? 2 : 1);
            if (arrival && alone)
                join();
            else
                decode(step, i);
            schedule_.steps.push_back(std::move(step));
        }
        for (const auto& [request, left] : running_) schedule_.requests[request].last_step = options_.steps - 1;
        return std::move(schedule_);
    }

private:
    void admit(ScheduledStep& step, int at, int count) {
        for (int n = 0; n < count; ++n) {
            PlannedRequest request;
            request.id =
                fmt::format("chatcmpl-{:016x}{:016x}", static_cast<std::uint64_t>(chance_.between(1, 1'000'000'000)) * 0x9e3779b97f4a7c15u,
                            static_cast<std::uint64_t>(chance_.between(1, 1'000'000'000)) * 0xc2b2ae3d27d4eb4fu);
            request.prompt_tokens = chance_.between(60, 1'400);
            request.output_tokens = chance_.between(20, 60);
            request.first_step = at;
            step.context_tokens += request.prompt_tokens;
            ++step.context_requests;
            const std::size_t position = schedule_.requests.size();
            step.requests.push_back(position);
            fresh_.push_back({position, request.output_tokens - 1});
            schedule_.requests.push_back(std::move(request));
        }
    }

    void decode(ScheduledStep& step, int at) {
        step.generation_requests = static_cast<std::int64_t>(running_.size());
        for (auto& [request, left] : running_) {
            step.requests.push_back(request);
            --left;
            if (left == 0) schedule_.requests[request].last_step = at;
        }
        // Before an idle stretch everything finishes; before a stall nothing does.
        if (step.planted == Plant::idle)
            for (auto& [request, left] : running_) {
                schedule_.requests[request].last_step = at;
                left = 0;
            }
        if (step.planted == Plant::stall || step.planted == Plant::empty_schedule || step.planted == Plant::endless_kernel)
            for (auto& [request, left] : running_) left = std::max<std::int64_t>(left, 3);
        std::erase_if(running_, [](const auto& r) { return r.second <= 0; });
        join();
    }

    void join() {
        running_.insert(running_.end(), fresh_.begin(), fresh_.end());
        fresh_.clear();
    }

    const ServiceOptions& options_;
    Chance& chance_;
    Schedule schedule_;
    std::vector<std::pair<std::size_t, std::int64_t>> running_, fresh_;  ///< request and output tokens left
};

struct LogEntry {
    TimeNs time;
    std::string text;
};

std::string stamp(TimeNs time) {
    const std::time_t seconds = static_cast<std::time_t>(time / kSecond);
    std::tm utc{};
    gmtime_r(&seconds, &utc);
    return fmt::format("{:02}-{:02} {:02}:{:02}:{:02}", utc.tm_mon + 1, utc.tm_mday, utc.tm_hour, utc.tm_min, utc.tm_sec);
}

/// What the engine says about the ten seconds before `time`.
std::string throughput(TimeNs time, const std::vector<PlannedStep>& steps, const std::vector<PlannedRequest>& requests) {
    std::int64_t prompt = 0, generated = 0, running = 0;
    for (const PlannedStep& s : steps) {
        if (s.end > time || s.end <= time - 10 * kSecond) continue;
        generated += s.batch;
        prompt += s.phase == StepPhase::decode ? 0 : s.tokens;
    }
    for (const PlannedRequest& r : requests) running += r.arrival <= time && r.end > time;
    return fmt::format(
        "Engine 000: Avg prompt throughput: {:.1f} tokens/s, Avg generation throughput: {:.1f} tokens/s, Running: {} reqs, Waiting: 0 "
        "reqs, "
        "GPU KV cache usage: {:.1f}%, Prefix cache hit rate: 0.0%",
        static_cast<double>(prompt) / 10, static_cast<double>(generated) / 10, running, 0.7 * static_cast<double>(running));
}

}  // namespace

std::string ScheduledStep::text() const {
    return fmt::format("execute_context_{}({})_generation_{}({})", context_requests, context_tokens, generation_requests,
                       generation_requests);
}

Schedule make_schedule(const ServiceOptions& options, Chance& chance) { return Scheduling(options, chance).run(); }

std::string service_log(const std::vector<PlannedStep>& steps, const std::vector<PlannedRequest>& requests) {
    std::vector<LogEntry> entries;
    const auto say = [&](TimeNs time, const char* process, const char* logger, std::string text) {
        entries.push_back({time, fmt::format("{} INFO {} [{}] {}\n", process, stamp(time), logger, text)});
    };
    constexpr const char* kServer = "(APIServer pid=4100)";
    if (steps.empty()) return {};
    const TimeNs begin = steps.front().start - 2 * kSecond, end = std::max(steps.back().end, steps.front().start + kSecond);
    say(begin, "(EngineCore_DP0 pid=4211)", "core.py:77", "Initializing a V1 LLM engine (v0.11.0) with config: model='planted'");
    say(begin + kSecond / 2, kServer, "launcher.py:42", "Route: /v1/chat/completions, Methods: POST");
    for (const PlannedRequest& r : requests) {
        say(r.arrival, kServer, "logger.py:40",
            fmt::format("Received request {}: prompt: None, params: SamplingParams(n=1, max_tokens={}), prompt_token_ids: None", r.id,
                        r.output_tokens));
        say(r.arrival + 200'000, kServer, "async_llm.py:321", fmt::format("Added request {}.", r.id));
        if (r.end > 0) say(r.end, kServer, "async_llm.py:422", fmt::format("Finished request {}.", r.id));
    }
    for (TimeNs t = begin + 10 * kSecond; t < end + 10 * kSecond; t += 10 * kSecond)
        say(t, kServer, "loggers.py:127", throughput(t, steps, requests));
    std::stable_sort(entries.begin(), entries.end(), [](const LogEntry& a, const LogEntry& b) { return a.time < b.time; });
    std::string log;
    for (const LogEntry& e : entries) log += e.text;
    return log;
}

}  // namespace faultline::test
