#include "core/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <unordered_map>

#include "core/gaussian_mixture.h"

namespace faultline {

namespace {

constexpr double kQuantile = 0.05;        ///< q: the share of a family's instances that speaks for it
constexpr std::size_t kLeastRows = 30;    ///< fewer reference instances: median and MAD instead of a mixture (MODEL §3)
constexpr std::size_t kMostRows = 400;    ///< of a family that a model is fitted on
constexpr double kLeastScale = 0.1;       ///< of a standardized feature, in units of log(1 + ·)
constexpr double kCandidate = 0.25;       ///< suspiciousness of a candidate family in mode density
constexpr double kPaperCandidate = 0.5;   ///< … in mode paper
constexpr double kFamilyShare = 0.01;     ///< of the step's duration: excess at which a family counts half
constexpr double kInstanceShare = 0.002;  ///< … at which an instance counts half

/// Ranges, calls and device work of one family differ in what their features mean: each has a model of its own.
enum class Place : std::uint8_t { host, call, device };

Place place_of(SpanKind kind) {
    if (is_device_work(kind)) return Place::device;
    return is_api_call(kind) || kind == SpanKind::os_call ? Place::call : Place::host;
}

using ModelKey = std::uint32_t;
ModelKey model_key(FamilyId family, SpanKind kind) {
    return (static_cast<std::uint32_t>(family) << 8) | static_cast<std::uint32_t>(place_of(kind));
}

/// Numbers in order become numbers without any (splitmix64).
std::uint64_t scattered(std::uint64_t z) {
    z += 0x9e3779b97f4a7c15u;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
}

/// 0 up to three deviations, then towards 1.
double beyond_three(double z) { return z <= 3 ? 0 : 1 - std::exp(-(z - 3) / 3); }

/// What the reference instances of one family and place look like.
class FamilyModel {
public:
    void add(const FeatureVector& x) { rows_.push_back(x); }

    void fit() {
        choose_features();
        if (rows_.size() < kLeastRows || used_.empty()) return;
        const std::vector<double> standardized = all_standardized();
        MixtureOptions options;
        options.full_covariance = false;
        options.stop_at_worse_bic = true;
        options.most_iterations = 25;
        options.tolerance = 1e-4;
        mixture_ = GaussianMixture::fit(standardized, used_.size(), options);
        if (!mixture_) return;
        central_ = mixture_->central_components();
        std::vector<double> surprises;
        for (std::size_t at = 0; at < standardized.size(); at += used_.size())
            surprises.push_back(-mixture_->log_density({standardized.data() + at, used_.size()}));
        std::sort(surprises.begin(), surprises.end());
        median_ = surprises[surprises.size() / 2];
        tail_ = surprises[(surprises.size() - 1) * 99 / 100];
    }

    [[nodiscard]] bool has_mixture() const noexcept { return mixture_.has_value(); }
    [[nodiscard]] std::size_t components() const noexcept { return mixture_ ? mixture_->components() : 0; }

    /// a(x) = 1 − ρ(x).
    [[nodiscard]] double paper_score(const FeatureVector& x) const {
        if (!mixture_) return robust_score(x);
        const std::vector<double> posterior = mixture_->responsibilities(standardized(x));
        double central = 0;
        for (std::size_t k = 0; k < posterior.size(); ++k) central += central_[k] ? posterior[k] : 0;
        return std::clamp(1 - central, 0.0, 1.0);
    }

    [[nodiscard]] double density_score(const FeatureVector& x) const {
        if (!mixture_) return robust_score(x);
        const double beyond = (-mixture_->log_density(standardized(x)) - tail_) / (tail_ - median_ + 1);
        return beyond > 0 ? beyond / (1 + beyond) : 0;
    }

private:
    /// Features without any difference say nothing, and would make every later difference endless.
    void choose_features() {
        for (std::size_t f = 0; f < kFeatures; ++f) {
            std::vector<double> values;
            values.reserve(rows_.size());
            for (const FeatureVector& row : rows_) values.push_back(row[f]);
            const auto [least, most] = std::minmax_element(values.begin(), values.end());
            const bool varies = !values.empty() && *most - *least > 1e-9;
            const RobustScale scale = robust_scale(values);
            centre_[f] = scale.median;
            scale_[f] = std::max(scale.spread, kLeastScale);
            if (varies) used_.push_back(f);
        }
    }

    [[nodiscard]] std::vector<double> standardized(const FeatureVector& x) const {
        std::vector<double> out;
        out.reserve(used_.size());
        for (const std::size_t f : used_) out.push_back((x[f] - centre_[f]) / scale_[f]);
        return out;
    }

    [[nodiscard]] std::vector<double> all_standardized() const {
        std::vector<double> out;
        out.reserve(rows_.size() * used_.size());
        for (const FeatureVector& row : rows_)
            for (const std::size_t f : used_) out.push_back((row[f] - centre_[f]) / scale_[f]);
        return out;
    }

    [[nodiscard]] double robust_score(const FeatureVector& x) const {
        double most = 0;
        for (std::size_t f = 0; f < kFeatures; ++f) most = std::max(most, (x[f] - centre_[f]) / scale_[f]);
        return beyond_three(most);
    }

    std::vector<FeatureVector> rows_;
    FeatureVector centre_{}, scale_{};
    std::vector<std::size_t> used_;
    std::optional<GaussianMixture> mixture_;
    std::vector<bool> central_;
    double median_ = 0, tail_ = 0;  ///< of −log density over the reference instances
};

class Scoring {
public:
    Scoring(const StepComparison& comparison, NameFamilies& families, CandidateScore score)
        : c_(comparison), families_(families), score_(score) {}

    Candidates run() {
        Candidates out;
        out.step = c_.step.id;
        out.score = score_;
        for (const Step& s : c_.references) out.references.push_back(s.id);
        collect_rows();
        for (auto& [key, model] : models_) model.fit();
        score_instances();
        out.rule = rule();
        add_families(out);
        add_instances(out);
        return out;
    }

private:
    /// At most about kMostRows of each family and place, picked by chance: every n-th would meet the same operator of each layer.
    void collect_rows() {
        const std::vector<OperatorInstance>& from = c_.alone ? c_.instances : c_.reference_instances;
        std::vector<ModelKey> keys;
        keys.reserve(from.size());
        std::unordered_map<ModelKey, std::uint64_t> counts;
        for (const OperatorInstance& x : from) {
            keys.push_back(model_key(families_.id(x.kind, x.name), x.kind));
            ++counts[keys.back()];
        }
        for (std::size_t i = 0; i < from.size(); ++i)
            if (scattered(i) % counts[keys[i]] < kMostRows) models_[keys[i]].add(feature_vector(from[i]));
    }

    void score_instances() {
        scores_.reserve(c_.instances.size());
        for (std::size_t i = 0; i < c_.instances.size(); ++i) {
            const OperatorInstance& x = c_.instances[i];
            const FamilyId family = families_.id(x.kind, x.name);
            const auto model = models_.find(model_key(family, x.kind));
            const double a = model == models_.end()            ? 1  // no reference step has anything like it
                             : score_ == CandidateScore::paper ? model->second.paper_score(feature_vector(x))
                                                               : density_score(i, model->second);
            scores_.push_back(a);
            by_family_[static_cast<std::uint32_t>(family)].push_back(i);
        }
    }

    /// One-sided: slow or extra is bad; what is missing or faster shows in the differences of the step.
    [[nodiscard]] double density_score(std::size_t i, const FamilyModel& model) const {
        const InstanceDeviation& d = c_.deviations[i];
        if (d.extra) return 1;
        if (d.excess_ns <= 0) return 0;
        return std::max(model.density_score(feature_vector(c_.instances[i])), beyond_three(d.z));
    }

    [[nodiscard]] double costs(TimeNs excess, double share) const {
        const double time = static_cast<double>(std::max<TimeNs>(0, excess));
        const double half = share * static_cast<double>(std::max<TimeNs>(1, c_.duration()));
        return time / (time + half);
    }

    void add_families(Candidates& out) {
        std::unordered_map<std::uint32_t, TimeNs> excess, missing;
        for (const OperatorDifference& of : c_.operators) {
            excess[static_cast<std::uint32_t>(of.family)] += std::max<TimeNs>(0, of.excess_ns);
            if (of.count < of.least_count) missing[static_cast<std::uint32_t>(of.family)] += std::max<TimeNs>(0, -of.excess_ns);
        }
        for (const auto& [family, time] : missing) by_family_[family];  // what has no instance left counts as well
        for (const auto& [family, members] : by_family_) {
            std::vector<double> scores;
            TimeNs of_instances = 0;
            for (const std::size_t i : members) {
                scores.push_back(scores_[i]);
                of_instances = std::max(of_instances, c_.deviations[i].excess_ns);
            }
            FamilyScore of;
            of.family = std::string(families_.rules().name(static_cast<FamilyId>(family)));
            of.instances = static_cast<std::int64_t>(members.size());
            of.suspiciousness = family_suspiciousness(scores, kQuantile);
            if (score_ == CandidateScore::density) of.suspiciousness *= costs(std::max(of_instances, excess[family]), kFamilyShare);
            if (score_ == CandidateScore::density) of.suspiciousness = std::max(of.suspiciousness, costs(missing[family], kFamilyShare));
            of.candidate = of.suspiciousness >= (score_ == CandidateScore::density ? kCandidate : kPaperCandidate);
            out.families.push_back(std::move(of));
        }
        std::sort(out.families.begin(), out.families.end(), [](const FamilyScore& a, const FamilyScore& b) {
            return a.suspiciousness != b.suspiciousness ? a.suspiciousness > b.suspiciousness : a.family < b.family;
        });
    }

    void add_instances(Candidates& out) const {
        std::unordered_map<std::string_view, std::size_t> position;
        for (std::size_t f = 0; f < out.families.size(); ++f) position.emplace(out.families[f].family, f);
        for (std::size_t i = 0; i < c_.instances.size(); ++i) {
            InstanceScore of;
            of.span = c_.instances[i].span;
            of.family = position.at(families_.family(c_.instances[i].kind, c_.instances[i].name));
            of.excess_ns = c_.deviations[i].excess_ns;
            of.score = scores_[i];
            if (score_ == CandidateScore::density) of.score *= costs(of.excess_ns, kInstanceShare);
            out.instances.push_back(of);
        }
        std::sort(out.instances.begin(), out.instances.end(), [](const InstanceScore& a, const InstanceScore& b) {
            if (a.score != b.score) return a.score > b.score;
            return a.excess_ns != b.excess_ns ? a.excess_ns > b.excess_ns : a.span < b.span;
        });
    }

    [[nodiscard]] std::string rule() const {
        std::size_t mixtures = 0;
        for (const auto& [key, model] : models_) mixtures += model.has_mixture() ? 1 : 0;
        std::string text =
            score_ == CandidateScore::paper
                ? "a(x) = 1 - responsibility of the components that hold 80% of the weight"
                : "a(x) = surprise beyond the 99th percentile of the references, or robust z beyond 3, for what is slower or extra, "
                  "weighted by the time it costs";
        text += fmt::format("; {} Gaussian mixtures (diagonal, K of 1 to 5 by BIC), {} smaller groups by median and MAD", mixtures,
                            models_.size() - mixtures);
        if (c_.alone) return text + "; there is no reference step, so the operators of the step were held against each other";
        return text + fmt::format("; fitted on {} reference {}", c_.references.size(), c_.references.size() == 1 ? "step" : "steps");
    }

    const StepComparison& c_;
    NameFamilies& families_;
    CandidateScore score_;
    std::unordered_map<ModelKey, FamilyModel> models_;
    std::unordered_map<std::uint32_t, std::vector<std::size_t>> by_family_;
    std::vector<double> scores_;
};

}  // namespace

double family_suspiciousness(std::span<const double> scores, double quantile) {
    if (scores.empty()) return 0;
    std::vector<double> sorted(scores.begin(), scores.end());
    std::sort(sorted.begin(), sorted.end(), std::greater<>());
    const auto counted = std::max<std::size_t>(1, static_cast<std::size_t>(quantile * static_cast<double>(sorted.size())));
    double sum = 0;
    for (std::size_t i = 0; i < std::min(counted, sorted.size()); ++i) sum += sorted[i];
    return sum / static_cast<double>(std::min(counted, sorted.size()));
}

Candidates find_candidates(const StepComparison& comparison, NameFamilies& families, CandidateScore score) {
    return Scoring(comparison, families, score).run();
}

Result<Candidates> find_candidates(const CaptureReader& capture, const LayerRules& layers, std::span<const Step> steps,
                                   std::span<const StepVerdict> verdicts, StepId step, CandidateScore score, std::stop_token stop) {
    NameFamilies families(capture);
    auto comparison = compare_with_references(capture, layers, families, steps, verdicts, step, std::move(stop));
    if (!comparison) return tl::unexpected<Error>(comparison.error());
    return find_candidates(*comparison, families, score);
}

}  // namespace faultline
