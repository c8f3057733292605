#include "core/reference_steps.h"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace faultline {

namespace {

bool may_serve(const Step& step, const Step& of, const StepVerdict* verdict) {
    if (step.kind != StepKind::step || step.phase != of.phase || step.instance != of.instance) return false;
    return !verdict || (!verdict->outlier && (verdict->reasons & ~static_cast<std::uint32_t>(reason_slo)) == 0);
}

/// How far apart in work two steps are: 0.1 is about a tenth more tokens.
double work_distance(const Step& a, const Step& b) {
    const auto apart = [](const std::optional<std::int64_t>& x, const std::optional<std::int64_t>& y) {
        if (!x || !y) return 0.0;
        return std::abs(std::log((static_cast<double>(*x) + 1) / (static_cast<double>(*y) + 1)));
    };
    return apart(a.tokens, b.tokens) + 0.5 * apart(a.batch, b.batch);
}

}  // namespace

std::vector<std::size_t> reference_steps(std::span<const Step> steps, std::span<const StepVerdict> verdicts, std::size_t step,
                                         std::size_t limit) {
    if (step >= steps.size() || steps[step].kind != StepKind::step) return {};
    const Step& of = steps[step];
    std::vector<std::tuple<double, TimeNs, std::size_t>> near;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        if (i == step || !may_serve(steps[i], of, i < verdicts.size() ? &verdicts[i] : nullptr)) continue;
        near.emplace_back(work_distance(steps[i], of), std::abs(steps[i].start - of.start), i);
    }
    const std::size_t count = std::min(limit, near.size());
    std::partial_sort(near.begin(), near.begin() + static_cast<std::ptrdiff_t>(count), near.end());
    std::vector<std::size_t> positions;
    for (std::size_t i = 0; i < count; ++i) positions.push_back(std::get<2>(near[i]));
    return positions;
}

}  // namespace faultline
