#include "ml/simulator/workload/step_plan.h"

namespace faultline::simulator {

void count_tokens(StepPlan& plan) {
    plan.tokens = plan.context_requests = plan.context_tokens = plan.generation_requests = plan.generation_tokens = 0;
    plan.context_kv = plan.generation_kv = 0;
    for (const ScheduledRequest& r : plan.requests) {
        plan.tokens += r.tokens;
        const std::int64_t kv = r.computed_before + r.tokens;
        if (r.context) {
            ++plan.context_requests;
            plan.context_tokens += r.tokens;
            plan.context_kv += kv;
        } else {
            ++plan.generation_requests;
            plan.generation_tokens += r.tokens;
            plan.generation_kv += kv;
        }
    }
    if (plan.requests.empty()) {
        if (plan.kind != StepKind::dummy) plan.kind = StepKind::idle;
    } else if (plan.context_requests == 0) {
        plan.kind = StepKind::decode;
    } else {
        plan.kind = plan.generation_requests == 0 ? StepKind::prefill : StepKind::mixed;
    }
}

}  // namespace faultline::simulator
