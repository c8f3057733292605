// A load that is served by one scheduler without a machine under it: what tests of the scheduler share.
#pragma once

#include <QTest>

#include <algorithm>
#include <cstdint>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "ml/simulator/workload/arrivals.h"
#include "ml/simulator/workload/scheduler.h"

namespace faultline::test {

inline simulator::RunOptions load_of(simulator::Engine engine) {
    simulator::RunOptions options;
    options.deployment.engine = engine;
    options.deployment.max_num_seqs = 24;
    options.workload.rate = 40;
    options.workload.clients = 12;
    options.workload.prompt_median = 300;
    options.workload.output_median = 40;
    options.workload.output_max = 200;
    options.workload.aborts = 0;
    return options;
}

/// One that reaches what its client allows.
inline simulator::Request answer_of(simulator::RequestNumber number, int prompt, int output) {
    simulator::Request r;
    r.number = number;
    r.prompt_tokens = prompt;
    r.output_tokens = r.max_tokens = output;
    return r;
}

/// Serves with a clock of 5 ms a step, and counts. Clients go away as the front door lets them.
struct ServedLoad {
    simulator::RunOptions options;
    simulator::Noise noise;
    simulator::ArrivalSource arrivals;
    simulator::Scheduler scheduler;
    TimeNs now = 0;
    std::int64_t tokens_out = 0, scheduled = 0, rejected = 0, last_chunks = 0;
    std::uint64_t sent = 0, preempted = 0, hits = 0;
    std::vector<simulator::Request> done;
    std::set<std::string> ids;
    int most_at_once = 0;

    explicit ServedLoad(const simulator::RunOptions& o, std::int64_t blocks = 4000, std::uint64_t seed = 11)
        : options(o), noise(seed), arrivals(o, noise, 0), scheduler(o, noise, simulator::InstanceIndex{}, simulator::InstanceDuty::both, blocks) {}

    simulator::StepPlan step(const simulator::SchedulerKnobs& knobs = {}) {
        now += 5'000'000;
        while (arrivals.next_time() && *arrivals.next_time() <= now) {
            simulator::Request r = arrivals.take();
            ++sent;
            ids.insert(r.id);
            scheduler.add(std::move(r), now);
        }
        most_at_once = std::max(most_at_once, scheduler.running() + scheduler.waiting());
        simulator::StepPlan plan = scheduler.schedule(now, knobs);
        for (const simulator::ScheduledRequest& r : plan.requests) {
            if (r.context) last_chunks += r.last_chunk ? 1 : 0;
            if (!r.context) scheduled += r.tokens;
        }
        preempted += plan.preempted.size();
        hits += static_cast<std::uint64_t>(plan.hit_tokens);
        const simulator::StepOutcome outcome = scheduler.complete(plan, now);
        tokens_out += outcome.tokens_out;
        rejected += outcome.drafts - outcome.accepted;
        for (const simulator::ScheduledRequest& s : plan.requests) {
            const simulator::Request* r = scheduler.request(s.request);
            if (r->end == simulator::RequestEnd::running && r->abort_after >= 0 && r->generated >= r->abort_after) scheduler.abort(s.request, now);
        }
        for (simulator::Request& r : scheduler.take_departed()) {
            arrivals.answered(r, now);
            done.push_back(std::move(r));
        }
        return plan;
    }
};

inline void add_engines() {
    QTest::addColumn<int>("engine");
    for (int e = 0; e < simulator::kEngineCount; ++e) QTest::newRow(std::string(simulator::engine_name(static_cast<simulator::Engine>(e))).c_str()) << e;
}

}  // namespace faultline::test
