#include "ml/simulator/check/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <set>
#include <utility>

#include "ml/simulator/check/capture_shape.h"
#include "ml/simulator/check/obstacles.h"

namespace faultline::simulator {
namespace {

constexpr std::size_t kFewSteps = 8;    // for a single real one
constexpr std::size_t kMostSteps = 64;  // of the simulated capture, nearest in size to the real ones

/// |ln| of a ratio; `floor` keeps counts and times near zero from being infinitely far apart.
double ratio_distance(double a, double b, double floor) { return std::abs(std::log((a + floor) / (b + floor))); }

class Table {
public:
    explicit Table(std::string phase) : phase_(std::move(phase)) {}

    void count(std::string measure, double real, double simulated, std::string why_not = {}) {
        if (real != 0 || simulated != 0)
            add(std::move(measure), CheckUnit::count, real, simulated, ratio_distance(real, simulated, 1), std::move(why_not));
    }
    void time(std::string measure, double real, double simulated, std::string why_not = {}) {
        add(std::move(measure), CheckUnit::nanoseconds, real, simulated, ratio_distance(real, simulated, 100), std::move(why_not));
    }
    void share(std::string measure, double real, double simulated) {
        add(std::move(measure), CheckUnit::share, real, simulated, std::abs(real - simulated));
    }
    void overlap(const std::string& what, const std::map<std::string, double>& real, const std::map<std::string, double>& simulated,
                 const std::string& why_not = {}) {
        if (real.empty() || simulated.empty()) return;
        double common = 0, covered = 0;
        for (const auto& [name, weight] : real) {
            if (simulated.count(name) == 0) continue;
            ++common;
            covered += weight;
        }
        const double jaccard = common / (static_cast<double>(real.size() + simulated.size()) - common);
        add(what + ": names in common", CheckUnit::share, {}, jaccard, 1 - jaccard, why_not);
        add(what + ": share of the real under common names", CheckUnit::share, {}, std::min(1.0, covered), std::max(0.0, 1 - covered), why_not);
    }
    void add(std::string measure, CheckUnit unit, std::optional<double> real, std::optional<double> simulated, double distance,
             std::string why_not = {}) {
        if (distance < 1e-9 || !why_not.empty()) distance = 0;
        rows.push_back({phase_, std::move(measure), unit, real, simulated, distance, std::move(why_not)});
    }

    std::vector<CheckRow> rows;

private:
    std::string phase_;
};

void compare_counts(Table& table, const StepShape& real, const StepShape& simulated, const Obstacles& obstacles) {
    static constexpr std::array<std::pair<SpanKind, const char*>, 8> kKinds{{{SpanKind::range, "ranges per step"},
                                                                             {SpanKind::op, "operators per step"},
                                                                             {SpanKind::python, "Python frames per step"},
                                                                             {SpanKind::runtime_call, "runtime calls per step"},
                                                                             {SpanKind::driver_call, "driver calls per step"},
                                                                             {SpanKind::kernel, "kernels per step"},
                                                                             {SpanKind::memory_copy, "copies per step"},
                                                                             {SpanKind::memory_set, "fills per step"}}};
    double all_real = 0, all_simulated = 0;
    for (const auto& [kind, name] : kKinds) {
        const std::string why_not = obstacles.to(kind);
        table.count(name, real.per_step(kind), simulated.per_step(kind), why_not);
        if (!why_not.empty()) continue;
        all_real += real.per_step(kind);
        all_simulated += simulated.per_step(kind);
    }
    table.count(obstacles.host.empty() ? "events per step" : "events per step, of kinds that can be compared", all_real, all_simulated);
    table.count("kernel launches per step", real.launches, simulated.launches, obstacles.launches);
    table.count("graph launches per step", real.graph_launches, simulated.graph_launches, obstacles.launches);
    table.count("layers", real.layers, simulated.layers, obstacles.layers);
    if (real.layers > 0 && simulated.layers > 0) {
        table.count("kernels per layer", real.per_step(SpanKind::kernel) / real.layers,
                    simulated.per_step(SpanKind::kernel) / simulated.layers);
    }
    table.count("nesting, deepest", real.depth, simulated.depth, obstacles.nesting);
    table.count("nesting, mean", real.mean_depth, simulated.mean_depth, obstacles.nesting);
    table.count("nesting of frames, deepest", real.frame_depth, simulated.frame_depth, obstacles.to(SpanKind::python));
}

void compare_times(Table& table, const StepShape& real, const StepShape& simulated, const Obstacles& obstacles) {
    table.time("length of a step", real.length_ns, simulated.length_ns, obstacles.times);
    table.share("share of the step in which a device works", real.busy_share, simulated.busy_share);
    if (!real.gaps_ns.empty() && !simulated.gaps_ns.empty()) {
        for (const double q : {0.5, 0.9, 0.99})
            table.time(fmt::format("gap between kernels, p{:.0f}", q * 100), real.gap(q), simulated.gap(q), obstacles.gaps);
    }
    std::set<std::string> families;
    for (const auto& [family, shape] : real.families) families.insert(family);
    for (const auto& [family, shape] : simulated.families) families.insert(family);
    double variation = 0;
    for (const std::string& family : families) {
        const auto a = real.families.find(family), b = simulated.families.find(family);
        const FamilyShape x = a == real.families.end() ? FamilyShape{} : a->second,
                          y = b == simulated.families.end() ? FamilyShape{} : b->second;
        variation += std::abs(x.share - y.share) / 2;
        table.share("kernel time: " + family, x.share, y.share);
        if (std::min(x.share, y.share) >= 0.01) table.time("mean kernel: " + family, x.mean_ns, y.mean_ns, obstacles.times);
    }
    table.add("kernel time by family, total variation", CheckUnit::share, {}, {}, variation);
}

void compare_names(Table& table, const StepShape& real, const StepShape& simulated, const Obstacles& obstacles) {
    table.overlap("kernels", real.kernel_names, simulated.kernel_names, obstacles.names);
    static constexpr std::array<std::pair<SpanKind, const char*>, 4> kKinds{{{SpanKind::range, "ranges"},
                                                                             {SpanKind::op, "operators"},
                                                                             {SpanKind::runtime_call, "runtime calls"},
                                                                             {SpanKind::driver_call, "driver calls"}}};
    for (const auto& [kind, name] : kKinds) {
        const auto a = real.host_names.find(kind), b = simulated.host_names.find(kind);
        if (a == real.host_names.end() || b == simulated.host_names.end()) continue;
        table.overlap(name, a->second, b->second, is_api_call(kind) ? obstacles.names : std::string());
    }
}

std::vector<Step> of_phase(const std::vector<Step>& steps, StepPhase phase) {
    std::vector<Step> chosen;
    std::copy_if(steps.begin(), steps.end(), std::back_inserter(chosen),
                 [phase](const Step& s) { return s.phase == phase && s.kernels > 0; });
    return chosen;
}

/// The simulated steps nearest to the middle of the real ones: in tokens, or in the time that devices work where the real ones do not say their tokens.
std::vector<Step> nearest(std::vector<Step> steps, std::vector<Step> real) {
    // Against itself a capture must come out at 0, so all of them where that is not many more than there are real ones.
    const std::size_t most = real.size() == 1 ? kFewSteps : std::max(kMostSteps, real.size());
    const bool tell = std::any_of(real.begin(), real.end(), [](const Step& s) { return s.tokens && *s.tokens > 0; });
    if (tell) std::erase_if(real, [](const Step& s) { return !s.tokens || *s.tokens <= 0; });
    const auto size = [tell](const Step& s) { return static_cast<double>(std::max<std::int64_t>(1, tell ? s.tokens.value_or(1) : s.kernel_busy_ns)); };
    std::sort(real.begin(), real.end(), [&](const Step& a, const Step& b) { return size(a) < size(b); });
    const double wanted = size(real[real.size() / 2]);
    std::stable_sort(steps.begin(), steps.end(), [&](const Step& a, const Step& b) {
        return std::abs(std::log(size(a) / wanted)) < std::abs(std::log(size(b) / wanted));
    });
    if (steps.size() > most) steps.resize(most);
    return steps;
}

Result<void> compare_phase(const CaptureReader& real, const std::vector<Step>& real_steps, const CaptureReader& simulated,
                           const std::vector<Step>& simulated_steps, std::string_view phase, CheckTable& table) {
    const auto a = shape_of(real, real_steps);
    if (!a) return tl::unexpected<Error>(a.error());
    const auto b = shape_of(simulated, simulated_steps);
    if (!b) return tl::unexpected<Error>(b.error());
    Table rows{std::string(phase)};
    const Obstacles found = obstacles(real, *a, simulated, *b);
    compare_counts(rows, *a, *b, found);
    compare_times(rows, *a, *b, found);
    compare_names(rows, *a, *b, found);
    table.rows.insert(table.rows.end(), rows.rows.begin(), rows.rows.end());
    table.notes.push_back(
        fmt::format("{}: {} real and {} simulated steps, {} and {} ranks", phase, a->steps, b->steps, a->ranks, b->ranks));
    return {};
}

/// Lines of service logs: what a profiler keeps of the output of its processes is none.
Result<std::vector<LogLine>> service_log(const CaptureReader& capture) {
    auto lines = capture.logs();
    if (!lines) return lines;
    std::set<SourceId> logs;
    for (const Source& source : capture.sources())
        if (source.format == "service-log") logs.insert(source.id);
    std::erase_if(*lines, [&](const LogLine& line) { return logs.count(line.source) == 0; });
    return lines;
}

Result<void> compare_logs(const CaptureReader& real, const CaptureReader& simulated, CheckTable& table) {
    const auto a = service_log(real);
    if (!a) return tl::unexpected<Error>(a.error());
    const auto b = service_log(simulated);
    if (!b) return tl::unexpected<Error>(b.error());
    if (a->empty() || b->empty()) {
        table.notes.push_back(fmt::format("log lines are not comparable: the {} capture holds no log of a service", a->empty() ? "real" : "simulated"));
        return {};
    }
    Table rows{""};
    rows.overlap("log line shapes", log_shapes(*a), log_shapes(*b));
    table.rows.insert(table.rows.end(), rows.rows.begin(), rows.rows.end());
    return {};
}

}  // namespace

Result<CheckTable> check_likeness(const CaptureReader& real, const CaptureReader& simulated) {
    const auto real_steps = real.steps();
    if (!real_steps) return tl::unexpected<Error>(real_steps.error());
    const auto simulated_steps = simulated.steps();
    if (!simulated_steps) return tl::unexpected<Error>(simulated_steps.error());
    CheckTable table;
    for (const StepPhase phase : {StepPhase::prefill, StepPhase::decode, StepPhase::mixed, StepPhase::other}) {
        const std::vector<Step> a = of_phase(*real_steps, phase);
        if (a.empty()) continue;
        std::vector<Step> b = of_phase(*simulated_steps, phase);
        // Steps whose texts say no phase are compared with the decode steps: they are most of what a server does.
        if (b.empty() && phase == StepPhase::other) {
            b = of_phase(*simulated_steps, StepPhase::decode);
            if (!b.empty()) table.notes.emplace_back("other: the real steps do not say their phase; they are compared with decode steps");
        }
        if (b.empty()) {
            table.notes.push_back(fmt::format("{}: no simulated steps to compare {} real ones with", phase_name(phase), a.size()));
            continue;
        }
        if (auto done = compare_phase(real, a, simulated, nearest(std::move(b), a), phase_name(phase), table); !done) {
            return tl::unexpected<Error>(done.error());
        }
    }
    if (table.rows.empty()) return tl::unexpected<Error>(without_steps(real));
    if (auto done = compare_logs(real, simulated, table); !done) return tl::unexpected<Error>(done.error());
    std::stable_sort(table.rows.begin(), table.rows.end(), [](const CheckRow& x, const CheckRow& y) {
        return std::pair(!x.not_comparable.empty(), y.distance) < std::pair(!y.not_comparable.empty(), x.distance);
    });
    for (const CheckRow& row : table.rows) table.compared += row.not_comparable.empty() ? 1 : 0;
    for (const CheckRow& row : table.rows) table.mean_distance += row.distance / static_cast<double>(std::max<std::size_t>(1, table.compared));
    return table;
}

}  // namespace faultline::simulator
