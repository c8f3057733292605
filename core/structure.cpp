#include "core/structure.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>

#include "core/kernel_roles.h"

namespace faultline {

namespace {

constexpr std::size_t kReferences = 9;
constexpr std::size_t kCloseNeeded = 3;
constexpr std::size_t kEitherSide = 2;  ///< of them with as much work or less, and with as much or more
constexpr std::size_t kWindow = 12;     ///< steps with less and with more work that are looked at for the nearest
constexpr double kLikeTokens = 1.25;
constexpr double kShare = 0.02;        ///< of the kernels of a step have to deviate …
constexpr double kShareOfOne = 0.1;    ///< … and a single kernel makes this share
constexpr double kUsualSpread = 3;     ///< … and this many times what four fifths of the steps stay below
constexpr TimeNs kCutOff = 1'000'000;  ///< a step that ends this near to the end of the trace may miss its last kernels
constexpr double kRecurring = 0.1;     ///< of the steps deviate in the same way: a way of the engine
constexpr std::size_t kRecurringLeast = 4;
constexpr std::size_t kPhaseSteps = 5;  ///< steps of either phase that tell which kernels are whose
constexpr double kNearlyAll = 0.9, kNearlyNone = 0.05;

struct RoleCount {
    std::uint32_t role = 0;
    std::int64_t count = 0;
};

/// One step, by roles.
struct Shape {
    std::vector<RoleCount> roles;      ///< by role
    std::vector<std::uint32_t> names;  ///< ascending name ids of kernels
    std::vector<std::int64_t> name_counts;
    std::int64_t kernels = 0, graph_launches = 0, kernel_launches = 0;

    [[nodiscard]] std::int64_t count_of(std::uint32_t role) const {
        const auto at =
            std::lower_bound(roles.begin(), roles.end(), role, [](const RoleCount& r, std::uint32_t id) { return r.role < id; });
        return at != roles.end() && at->role == role ? at->count : 0;
    }
    [[nodiscard]] bool has_name(std::uint32_t name) const { return std::binary_search(names.begin(), names.end(), name); }
};

/// What is out of line in a step.
struct Deviation {
    std::int64_t kernels = 0;
    std::uint64_t signature = 0;  ///< equal for steps that deviate in the same way
    std::string sentence;         ///< its biggest part
    std::int64_t biggest = 0;

    void add(std::int64_t weight, std::uint64_t key, std::string text) {
        kernels += weight;
        signature += (key + 1) * 0x9e3779b97f4a7c15u;
        if (weight <= biggest) return;
        biggest = weight;
        sentence = std::move(text);
    }
};

class Judging {
public:
    Judging(const CaptureReader& capture, std::span<const Step> steps, std::span<const StepParts> parts, std::span<const std::uint8_t> cold)
        : capture_(capture), steps_(steps), cold_(cold), roles_(capture), findings_(steps.size()) {
        for (const StepParts& p : parts) shapes_.push_back(shape_of(p));
        for (const Track& t : capture.tracks())
            if (t.kind == TrackKind::host || t.kind == TrackKind::device)
                traced_until_ = std::max(traced_until_, t.last_end + t.clock_offset_ns);
    }

    std::vector<StructureFinding> run() {
        std::map<std::pair<std::string_view, StepPhase>, std::vector<std::size_t>> groups;
        std::map<std::string_view, std::vector<std::size_t>> instances;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            groups[{steps_[i].instance, steps_[i].phase}].push_back(i);
            instances[steps_[i].instance].push_back(i);
        }
        for (auto& [key, members] : groups) judge_group(members);
        for (const auto& [instance, members] : instances) find_contradictions(members);
        for (std::size_t i = 0; i < steps_.size(); ++i) find_wrong_state(i);
        return std::move(findings_);
    }

private:
    Shape shape_of(const StepParts& parts) {
        Shape shape;
        for (const StepPart& p : parts.parts) {
            const std::optional<std::uint32_t> role = roles_.of(p.kind, p.name);
            if (!role) continue;
            shape.roles.push_back({*role, p.count});
            if (roles_[*role].graph_launch) shape.graph_launches += p.count;
            if (roles_[*role].kernel_launch) shape.kernel_launches += p.count;
            if (p.kind != SpanKind::kernel) continue;
            shape.kernels += p.count;
            shape.names.push_back(index_of(p.name));
            shape.name_counts.push_back(p.count);
        }
        std::sort(shape.roles.begin(), shape.roles.end(), [](const RoleCount& a, const RoleCount& b) { return a.role < b.role; });
        std::size_t kept = 0;
        for (const RoleCount& r : shape.roles) {
            if (kept > 0 && shape.roles[kept - 1].role == r.role)
                shape.roles[kept - 1].count += r.count;
            else
                shape.roles[kept++] = r;
        }
        shape.roles.resize(kept);
        return shape;  // kernels come by ascending name
    }

    void judge_group(std::vector<std::size_t>& members) {
        std::erase_if(members, [&](std::size_t i) { return cold_[i] != 0; });
        if (members.size() <= kCloseNeeded) return;
        std::vector<std::size_t> by_work = members;
        std::stable_sort(by_work.begin(), by_work.end(), [&](std::size_t a, std::size_t b) { return work(a) < work(b); });
        std::vector<std::pair<std::size_t, Deviation>> found;
        std::vector<double> shares;
        for (std::size_t at = 0; at < by_work.size(); ++at) {
            if (!is_whole(by_work[at])) continue;
            const std::vector<std::size_t> references = close_steps(by_work, at);
            if (references.size() < kCloseNeeded) continue;
            Deviation deviation = deviation_of(by_work[at], references);
            shares.push_back(share_of(by_work[at], deviation));
            const bool enough = deviation.kernels >= 2 ? shares.back() >= kShare : shares.back() >= kShareOfOne;
            if (enough) found.emplace_back(by_work[at], std::move(deviation));
        }
        if (found.empty()) return;
        const auto usual_share = shares.begin() + static_cast<std::ptrdiff_t>(shares.size() * 4 / 5);
        std::nth_element(shares.begin(), usual_share, shares.end());
        std::erase_if(found, [&](const auto& f) { return share_of(f.first, f.second) < kUsualSpread * *usual_share; });
        std::unordered_map<std::uint64_t, std::size_t> same;
        for (const auto& [step, deviation] : found) ++same[deviation.signature];
        const auto usual = std::max(kRecurringLeast, static_cast<std::size_t>(kRecurring * static_cast<double>(members.size())));
        for (auto& [step, deviation] : found) {
            if (same[deviation.signature] >= usual) continue;
            findings_[step].structure = true;
            findings_[step].structure_sentence = std::move(deviation.sentence);
        }
    }

    /// Of its kernels; of those that are missing all count.
    [[nodiscard]] double share_of(std::size_t step, const Deviation& deviation) const {
        return static_cast<double>(deviation.kernels) / static_cast<double>(std::max<std::int64_t>(1, shapes_[step].kernels));
    }

    /// With borders that a text gives; not cut off by the end of the trace; and none of the empty turns by which engines tell their workers
    /// of finished requests.
    [[nodiscard]] bool is_whole(std::size_t i) const {
        if (steps_[i].inferred || steps_[i].end + kCutOff > traced_until_) return false;
        return shapes_[i].kernels > 0 || steps_[i].tokens.value_or(0) > 0;
    }

    /// Tokens, then time: what is close in both lies side by side.
    [[nodiscard]] std::pair<std::int64_t, TimeNs> work(std::size_t i) const { return {steps_[i].tokens.value_or(0), steps_[i].start}; }

    [[nodiscard]] bool like(const Step& a, const Step& b) const {
        if (a.ranks.size() != b.ranks.size()) return false;  // counts are sums over ranks
        if (!a.tokens || !b.tokens) return !a.tokens && !b.tokens;
        if (a.phase == StepPhase::decode) return graph_bucket(a.batch.value_or(*a.tokens)) == graph_bucket(b.batch.value_or(*b.tokens));
        const auto low = static_cast<double>(std::min(*a.tokens, *b.tokens)), high = static_cast<double>(std::max(*a.tokens, *b.tokens));
        return high <= kLikeTokens * low;
    }

    /// The nearest steps that do the same work, nearest first; positions in the capture.
    [[nodiscard]] std::vector<std::size_t> close_steps(const std::vector<std::size_t>& by_work, std::size_t at) const {
        const std::size_t first = at > kWindow ? at - kWindow : 0, last = std::min(by_work.size(), at + kWindow + 1);
        const Step& of = steps_[by_work[at]];
        std::vector<std::pair<std::pair<std::int64_t, TimeNs>, std::size_t>> near;
        for (std::size_t i = first; i < last; ++i) {
            const Step& other = steps_[by_work[i]];
            if (i == at || !like(of, other) || !is_whole(by_work[i])) continue;
            near.push_back({{std::abs(of.tokens.value_or(0) - other.tokens.value_or(0)), std::abs(of.start - other.start)}, by_work[i]});
        }
        std::sort(near.begin(), near.end());
        // Engines change their ways at some size: what lies at the edge of the sizes seen may be on the other side.
        std::size_t less = 0, more = 0;
        for (const auto& [distance, i] : near) {
            less += steps_[i].tokens <= of.tokens;
            more += steps_[i].tokens >= of.tokens;
        }
        if (less < kEitherSide || more < kEitherSide) return {};
        std::vector<std::size_t> close;
        for (std::size_t i = 0; i < std::min(kReferences, near.size()); ++i) close.push_back(near[i].second);
        return close;
    }

    /// Counts between the least and the most of the references are in line. One reference may be out of line itself.
    struct Bounds {
        std::int64_t low = 0, high = 0;
    };
    [[nodiscard]] Bounds bounds(const std::vector<std::size_t>& references, std::uint32_t role) const {
        std::vector<std::int64_t> counts;
        for (const std::size_t r : references) counts.push_back(shapes_[r].count_of(role));
        std::sort(counts.begin(), counts.end());
        const std::size_t spare = counts.size() >= 5 ? 1 : 0;
        return {counts[spare], counts[counts.size() - 1 - spare]};
    }

    Deviation deviation_of(std::size_t step, const std::vector<std::size_t>& references) {
        Deviation deviation;
        std::vector<std::uint32_t> roles;
        for (const RoleCount& r : shapes_[step].roles) roles.push_back(r.role);
        for (const std::size_t reference : references)
            for (const RoleCount& r : shapes_[reference].roles) roles.push_back(r.role);
        std::sort(roles.begin(), roles.end());
        roles.erase(std::unique(roles.begin(), roles.end()), roles.end());
        for (const std::uint32_t role : roles) compare_role(step, references, role, deviation);
        compare_launches(step, references, deviation);
        compare_variants(step, references, deviation);
        return deviation;
    }

    void compare_role(std::size_t step, const std::vector<std::size_t>& references, std::uint32_t id, Deviation& deviation) const {
        const KernelRole& role = roles_[id];
        if (role.kind != SpanKind::kernel && role.kind != SpanKind::graph) return;  // copies come and go
        const std::int64_t count = shapes_[step].count_of(id);
        const Bounds usual = bounds(references, id);
        const std::int64_t off = std::max(usual.low - count, count - usual.high);
        if (off <= 0 || (role.product && off * 10 < count + usual.high)) return;  // split-k: a few products more or less
        const std::int64_t expected = count < usual.low ? usual.low : usual.high;
        deviation.add(
            off, id * 2 + (count < usual.low),
            fmt::format("{} {}{} instead of {} in steps like it", count, role.text, role.product && count != 1 ? "s" : "", expected));
    }

    void compare_launches(std::size_t step, const std::vector<std::size_t>& references, Deviation& deviation) const {
        const Shape& shape = shapes_[step];
        std::vector<std::int64_t> graphs, kernels;
        for (const std::size_t r : references) {
            graphs.push_back(shapes_[r].graph_launches);
            kernels.push_back(shapes_[r].kernel_launches);
        }
        std::sort(graphs.begin(), graphs.end());
        std::sort(kernels.begin(), kernels.end());
        const std::int64_t graph = graphs[graphs.size() / 2], kernel = kernels[kernels.size() / 2];
        const bool all_graphs = graphs[graphs.size() >= 5 ? 1 : 0] > 0,
                   no_graphs = graphs[graphs.size() - 1 - (graphs.size() >= 5 ? 1 : 0)] == 0;
        if (all_graphs && shape.graph_launches == 0 && shape.kernel_launches > kernel)
            deviation.add(std::max<std::int64_t>(2, shape.kernel_launches - kernel), 1'000'001,
                          fmt::format("launched kernel by kernel ({} launches) instead of by a graph ({} launches and {} of graphs)",
                                      shape.kernel_launches, kernel, graph));
        else if (no_graphs && shape.graph_launches > 0)
            deviation.add(std::max<std::int64_t>(2, kernel - shape.kernel_launches), 1'000'002,
                          fmt::format("launched by {} graphs instead of kernel by kernel", shape.graph_launches));
    }

    /// Kernels that none of the references runs in this form, though they run as many of their kind.
    void compare_variants(std::size_t step, const std::vector<std::size_t>& references, Deviation& deviation) {
        const Shape& shape = shapes_[step];
        for (std::size_t n = 0; n < shape.names.size(); ++n) {
            const std::uint32_t name = shape.names[n];
            std::size_t having = 0, same_tokens = 0;
            for (const std::size_t r : references) {
                having += shapes_[r].has_name(name);
                same_tokens += steps_[r].tokens == steps_[step].tokens && steps_[r].tokens.has_value();
            }
            if (having > (references.size() >= 5 ? 1u : 0u)) continue;
            const std::optional<std::uint32_t> id = roles_.of(SpanKind::kernel, NameId{name});
            if (!id || shape.count_of(*id) > bounds(references, *id).high) continue;  // more of them: counted already
            if (roles_[*id].product && same_tokens < kCloseNeeded) continue;
            deviation.add(shape.name_counts[n], 2'000'003u + name,
                          fmt::format("{} kernels of another variant: {}", shape.name_counts[n], capture_.name(NameId{name})));
        }
    }

    /// Decode steps that run the kernels by which prompts are read, and the other way round.
    void find_contradictions(const std::vector<std::size_t>& members) {
        std::vector<std::size_t> decode, context;
        for (const std::size_t i : members) {
            if (steps_[i].inferred || cold_[i] != 0 || !steps_[i].tokens) continue;
            if (steps_[i].phase == StepPhase::decode) decode.push_back(i);
            if (steps_[i].phase == StepPhase::prefill || steps_[i].phase == StepPhase::mixed) context.push_back(i);
        }
        if (decode.size() < kPhaseSteps || context.size() < kPhaseSteps) return;
        std::vector<std::uint32_t> decode_only, context_only;
        for (std::uint32_t role = 0; role < roles_.size(); ++role) {
            if (!roles_[role].phase) continue;
            const double in_decode = share_with(decode, role), in_context = share_with(context, role);
            if (in_decode >= kNearlyAll && in_context <= spare(context.size())) decode_only.push_back(role);
            if (in_context >= kNearlyAll && in_decode <= spare(decode.size())) context_only.push_back(role);
        }
        for (const std::size_t i : decode) contradict(i, context_only, decode_only, "decode", "prefill");
        for (const std::size_t i : context) {
            // A prompt of a few tokens may go the way of decoding.
            if (steps_[i].context_tokens.value_or(0) < 16 * steps_[i].context_requests.value_or(1)) continue;
            contradict(i, decode_only, context_only, phase_name(steps_[i].phase), "decode");
        }
    }

    /// New requests have no state to carry on (TELLER §6).
    void find_wrong_state(std::size_t i) {
        const Step& step = steps_[i];
        if (step.inferred || step.context_requests.value_or(0) == 0) return;
        std::int64_t scans = 0, updates = 0;
        for (const RoleCount& r : shapes_[i].roles) {
            if (roles_[r.role].state_scan) scans += r.count;
            if (roles_[r.role].state_update) updates += r.count;
        }
        const bool none_generates = step.generation_requests && *step.generation_requests == 0;
        if (updates == 0 || (scans > 0 && !none_generates)) return;
        findings_[i].contradiction = true;
        findings_[i].contradiction_sentence =
            scans == 0
                ? fmt::format(
                      "its text counts {} requests that read a prompt, but no kernel reads one into their state; {} carry a state on",
                      *step.context_requests, updates)
                : fmt::format("its text counts no request that generates, but {} kernels carry a state on", updates);
    }

    /// A share that one or two steps out of line may make up.
    static double spare(std::size_t steps) { return std::max(kNearlyNone, 1.5 / static_cast<double>(steps)); }

    [[nodiscard]] double share_with(const std::vector<std::size_t>& steps, std::uint32_t role) const {
        const auto having = std::count_if(steps.begin(), steps.end(), [&](std::size_t i) { return shapes_[i].count_of(role) > 0; });
        return static_cast<double>(having) / static_cast<double>(steps.size());
    }

    void contradict(std::size_t step, const std::vector<std::uint32_t>& others, const std::vector<std::uint32_t>& own,
                    std::string_view says, std::string_view runs) {
        const auto here = [&](std::uint32_t role) { return shapes_[step].count_of(role) > 0; };
        const auto foreign = std::find_if(others.begin(), others.end(), here);
        const auto missing = std::count_if(own.begin(), own.end(), [&](std::uint32_t r) { return !here(r); });
        if (foreign == others.end() || (!own.empty() && 2 * static_cast<std::size_t>(missing) < own.size())) return;
        findings_[step].contradiction = true;
        findings_[step].contradiction_sentence = fmt::format("its text says {}, but it runs {} times {}, a kernel of {} steps", says,
                                                             shapes_[step].count_of(*foreign), roles_[*foreign].text, runs);
    }

    const CaptureReader& capture_;
    std::span<const Step> steps_;
    std::span<const std::uint8_t> cold_;
    TimeNs traced_until_ = std::numeric_limits<TimeNs>::min();
    KernelRoles roles_;
    std::vector<Shape> shapes_;
    std::vector<StructureFinding> findings_;
};

}  // namespace

std::int64_t graph_bucket(std::int64_t batch) noexcept {
    for (const std::int64_t size : {1, 2, 4, 8})
        if (batch <= size) return size;
    return (batch + 7) / 8 * 8;
}

std::vector<StructureFinding> judge_structure(const CaptureReader& capture, std::span<const Step> steps, std::span<const StepParts> parts,
                                              std::span<const std::uint8_t> cold) {
    return Judging(capture, steps, parts, cold).run();
}

}  // namespace faultline
