#include "core/own_time.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <tuple>

namespace faultline {

namespace {

constexpr TimeNs kBesideShare = 100;  ///< a step with less than this part of its interval to itself ran beside the one before

}  // namespace

std::vector<TimeRange> own_ranges(std::span<const Step> steps) {
    std::vector<TimeRange> own(steps.size());
    std::map<std::string_view, std::vector<std::size_t>> by_instance;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        own[i] = {steps[i].start, steps[i].end};
        if (steps[i].kind == StepKind::step) by_instance[steps[i].instance].push_back(i);
    }
    for (auto& [instance, members] : by_instance) {
        std::sort(members.begin(), members.end(), [&](std::size_t a, std::size_t b) {
            return std::tuple(steps[a].start, steps[a].end, a) < std::tuple(steps[b].start, steps[b].end, b);
        });
        TimeNs until = steps[members.front()].start, before = until;
        for (const std::size_t i : members) {
            const TimeNs length = steps[i].end - steps[i].start;
            const bool beside = steps[i].end - std::max(steps[i].start, until) < length / kBesideShare;
            own[i].start = std::min(steps[i].end, std::max(steps[i].start, beside ? before : until));
            if (!beside) before = until;
            until = std::max(until, steps[i].end);
        }
    }
    return own;
}

}  // namespace faultline
