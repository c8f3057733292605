// The schedule of a planted service: which requests each step serves (planted_service.h), and the log that tells of it.
#pragma once

#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "tests/support/planted_service.h"

namespace faultline::test {

/// Numbers that are the same with every standard library.
class Chance {
public:
    explicit Chance(std::uint64_t seed) : engine_(seed) {}
    double fraction() { return static_cast<double>(engine_() >> 11) * 0x1.0p-53; }
    std::int64_t between(std::int64_t first, std::int64_t last) {
        return first + static_cast<std::int64_t>(fraction() * static_cast<double>(last - first + 1));
    }
    /// `ns` give or take up to `share` of it.
    TimeNs about(double ns, double share = 0.04) { return static_cast<TimeNs>(ns * (1 + share * (2 * fraction() - 1))); }

private:
    std::mt19937_64 engine_;
};

struct ScheduledStep {
    std::int64_t context_requests = 0, context_tokens = 0, generation_requests = 0;
    std::vector<std::size_t> requests;  ///< positions in Schedule::requests
    std::optional<Plant> planted;
    bool slow = false;  ///< one of ServiceOptions::all_slow

    [[nodiscard]] std::int64_t tokens() const { return context_tokens + generation_requests; }
    [[nodiscard]] std::int64_t batch() const { return context_requests + generation_requests; }
    [[nodiscard]] StepPhase phase() const {
        if (context_requests == 0) return StepPhase::decode;
        return generation_requests == 0 ? StepPhase::prefill : StepPhase::mixed;
    }
    [[nodiscard]] std::string text() const;
};

struct Schedule {
    std::vector<ScheduledStep> steps;
    std::vector<PlannedRequest> requests;
};

[[nodiscard]] Schedule make_schedule(const ServiceOptions& options, Chance& chance);

/// Lines of vLLM v1: received, added and finished requests, and throughput every ten seconds and at the end.
[[nodiscard]] std::string service_log(const std::vector<PlannedStep>& steps, const std::vector<PlannedRequest>& requests);

}  // namespace faultline::test
