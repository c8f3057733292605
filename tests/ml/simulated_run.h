// A run that is served without files, and what tests ask of it.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "ml/simulator/serving/simulation.h"

namespace faultline::test {

/// Short, small, and with two ranks: enough for every rule.
inline simulator::RunOptions small_run(simulator::Engine engine, int tp = 2) {
    simulator::RunOptions options;
    options.deployment.engine = engine;
    options.deployment.model = "qwen1.5-0.5b";
    options.deployment.tp = tp;
    options.deployment.max_num_seqs = 32;
    options.workload.rate = 20;
    options.workload.clients = 8;
    options.workload.prompt_median = 200;
    options.workload.output_median = 24;
    options.workload.output_max = 64;
    options.duration_s = 1.5;
    options.seed = 7;
    return options;
}

/// Keeps what it is told, texts as strings.
class KeepingSink final : public simulator::Sink {
public:
    struct Kept {
        simulator::Event event;
        std::string text;
    };
    void event(const simulator::Event& event) override {
        events.push_back({event, std::string(event.text)});
        events.back().event.text = {};
    }
    void log(const simulator::LogEntry& entry) override { logs.emplace_back(entry.time, std::string(entry.text)); }
    void sample(const simulator::StackSampleEvent& /*sample*/) override { ++samples; }
    void counter(const simulator::CounterEvent& counter) override { counters.emplace_back(counter.time, counter.value); }
    void gap(const simulator::IdleGap& gap) override { gaps.push_back(gap); }

    std::vector<Kept> events;
    std::vector<std::pair<TimeNs, std::string>> logs;
    std::vector<std::pair<TimeNs, double>> counters;
    std::vector<simulator::IdleGap> gaps;
    std::uint64_t samples = 0;
};

}  // namespace faultline::test
