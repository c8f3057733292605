#include "core/step_verdict.h"

namespace faultline {

std::vector<std::string_view> reason_names(std::uint32_t reasons) {
    static constexpr std::string_view kNames[] = {"slow", "structure", "contradiction", "stall", "slo"};
    std::vector<std::string_view> names;
    for (std::uint32_t bit = 0; bit < std::size(kNames); ++bit)
        if ((reasons & 1u << bit) != 0) names.push_back(kNames[bit]);
    return names;
}

std::string_view bound_name(StepBound bound) noexcept {
    switch (bound) {
        case StepBound::cpu: return "cpu";
        case StepBound::gpu: return "gpu";
        case StepBound::communication: return "communication";
        case StepBound::balanced: return "balanced";
        case StepBound::unknown: break;
    }
    return "unknown";
}

std::string_view bubble_cause_name(BubbleCause cause) noexcept {
    switch (cause) {
        case BubbleCause::cpu: return "cpu";
        case BubbleCause::sync: return "sync";
        case BubbleCause::communication: return "communication";
        case BubbleCause::unknown: break;
    }
    return "unknown";
}

}  // namespace faultline
