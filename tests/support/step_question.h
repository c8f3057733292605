// What a question about one step is asked with, from a planted service: steps, then stalls, and all that was derived.
#pragma once

#include <memory>
#include <vector>

#include "core/layer_rules.h"
#include "core/step_evidence.h"
#include "tests/support/analysed_service.h"

namespace faultline::test {

struct StepQuestion {
    std::unique_ptr<AnalysedService> service;
    LayerRules layers = LayerRules::built_in();
    std::vector<Step> steps;
    std::vector<LogLine> logs;
    std::vector<Request> requests;

    [[nodiscard]] DiagnosisInput input() const {
        return {*service->reader, layers, steps, service->analysis.verdicts, service->analysis.bubbles, logs, requests};
    }
    /// The step that was planned at a position.
    [[nodiscard]] StepId at(int position) const { return service->steps[static_cast<std::size_t>(position)].id; }
    /// The first stall; an id of no step where there is none.
    [[nodiscard]] StepId stall() const { return service->analysis.stalls.empty() ? StepId{-1} : service->analysis.stalls.front().id; }
};

/// `service->error` says what failed where `service->reader` is null.
[[nodiscard]] inline StepQuestion ask_about(const ServiceOptions& options, bool with_log = true) {
    StepQuestion q;
    q.service = analyse_service(options, with_log);
    if (!q.service->reader) return q;
    q.steps = q.service->reader->steps().value_or(std::vector<Step>{});
    q.steps.insert(q.steps.end(), q.service->analysis.stalls.begin(), q.service->analysis.stalls.end());
    q.logs = q.service->reader->logs().value_or(std::vector<LogLine>{});
    q.requests = q.service->reader->requests().value_or(std::vector<Request>{});
    return q;
}

/// One anomaly at the first decode step from `from` on; the position is in `options.planted`.
[[nodiscard]] inline ServiceOptions planted(Plant what, int ranks = 1, int from = 40) {
    ServiceOptions options;
    options.ranks = ranks;
    const PlantedService plain = make_service(options);
    int at = from;
    while (at + 1 < options.steps && plain.steps[static_cast<std::size_t>(at)].phase != StepPhase::decode) ++at;
    options.planted = {{what, at}};
    return options;
}

}  // namespace faultline::test
