#include "core/roofline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <random>

#include "core/own_time.h"

namespace faultline {

namespace {

constexpr std::int64_t kBucketsNeeded = 3;
constexpr std::size_t kMedianNeeded = 6;
constexpr double kInlier = 0.10;       ///< share of the line that an inlier may lie off it
constexpr std::size_t kAllPairs = 64;  ///< so many points: every pair is tried
constexpr int kRandomPairs = 1'500;
constexpr std::size_t kMedianWindow = 1'000;  ///< steps before and after that a median looks at
constexpr double kInferredRatio = 1.5;        ///< the borders of inferred steps are less sure
constexpr double kLikeTokens = 1.5;           ///< factor between token counts that can be compared by a median
constexpr double kBeyondFit = 1.5;            ///< tokens further out than this times what was fitted
constexpr double kBeyondFitRatio = 2.0;       ///< … have to be this much slower

struct Line {
    double intercept = 0, slope = 0;
    [[nodiscard]] double at(double tokens) const noexcept { return intercept + slope * tokens; }
};

double median_of(std::vector<double> values) {
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

/// 1.4826 times the median distance from `middle`: the standard deviation where values are normal.
double spread_of(std::vector<double> values, double middle) {
    for (double& v : values) v = std::abs(v - middle);
    return 1.4826 * median_of(std::move(values));
}

double weight_of(const LatencyBucket& b) { return static_cast<double>(std::min<std::int64_t>(b.steps, 10)); }

/// Total weight of the points near the line, and how far they are off in all.
std::pair<double, double> support(const Line& line, std::span<const LatencyBucket> points) {
    double weight = 0, off = 0;
    for (const LatencyBucket& p : points) {
        const double expected = line.at(p.tokens);
        const double distance = std::abs(static_cast<double>(p.p99) - expected);
        if (expected <= 0 || distance > kInlier * expected) continue;
        weight += weight_of(p);
        off += weight_of(p) * distance / expected;
    }
    return {weight, off};
}

class Ransac {
public:
    explicit Ransac(std::span<const LatencyBucket> points) : points_(points) {}

    Line run() {
        for (const LatencyBucket& p : points_) consider({static_cast<double>(p.p99), 0});
        if (points_.size() <= kAllPairs) {
            for (std::size_t a = 0; a < points_.size(); ++a)
                for (std::size_t b = a + 1; b < points_.size(); ++b) consider_pair(a, b);
        } else {
            std::mt19937_64 random(20'260'115);
            for (int i = 0; i < kRandomPairs; ++i) consider_pair(random() % points_.size(), random() % points_.size());
        }
        return refit();
    }

    [[nodiscard]] double weight() const noexcept { return weight_; }

private:
    void consider_pair(std::size_t a, std::size_t b) {
        const double run = points_[b].tokens - points_[a].tokens;
        if (run == 0) return;
        const double slope = static_cast<double>(points_[b].p99 - points_[a].p99) / run;
        if (slope < 0) return;  // more work never takes less time
        consider({static_cast<double>(points_[a].p99) - slope * points_[a].tokens, slope});
    }
    void consider(const Line& line) {
        const auto [weight, off] = support(line, points_);
        if (weight < weight_ || (weight == weight_ && off >= off_)) return;
        best_ = line;
        weight_ = weight;
        off_ = off;
    }

    /// Least squares on what lies near the best line.
    Line refit() {
        double w = 0, x = 0, y = 0, xx = 0, xy = 0;
        for (const LatencyBucket& p : points_) {
            const double expected = best_.at(p.tokens);
            if (expected <= 0 || std::abs(static_cast<double>(p.p99) - expected) > kInlier * expected) continue;
            const double weight = weight_of(p), value = static_cast<double>(p.p99);
            w += weight;
            x += weight * p.tokens;
            y += weight * value;
            xx += weight * p.tokens * p.tokens;
            xy += weight * p.tokens * value;
        }
        const double determinant = w * xx - x * x;
        if (w == 0) return best_;
        Line line{y / w, 0};
        if (determinant > 1e-9 * w * xx) {
            line.slope = (w * xy - x * y) / determinant;
            line.intercept = (y - line.slope * x) / w;
        }
        if (line.slope < 0) line = {y / w, 0};
        return support(line, points_).first >= 0.9 * weight_ ? line : best_;
    }

    std::span<const LatencyBucket> points_;
    Line best_;
    double weight_ = -1, off_ = 0;
};

double r2_of(const Line& line, std::span<const LatencyBucket> points) {
    double w = 0, mean = 0, residual = 0, total = 0;
    const auto near = [&](const LatencyBucket& p) {
        const double expected = line.at(p.tokens);
        return expected > 0 && std::abs(static_cast<double>(p.p99) - expected) <= kInlier * expected;
    };
    for (const LatencyBucket& p : points)
        if (near(p)) {
            w += weight_of(p);
            mean += weight_of(p) * static_cast<double>(p.p99);
        }
    if (w == 0) return 0;
    mean /= w;
    for (const LatencyBucket& p : points) {
        if (!near(p)) continue;
        const double value = static_cast<double>(p.p99);
        residual += weight_of(p) * (value - line.at(p.tokens)) * (value - line.at(p.tokens));
        total += weight_of(p) * (value - mean) * (value - mean);
    }
    return total <= 0 ? 0 : std::max(0.0, 1 - residual / total);
}

/// The steps of one instance and phase.
class Group {
public:
    Group(std::span<const Step> steps, std::span<const TimeRange> own, std::vector<std::size_t> members, const AnalysisOptions& options,
          Rooflines& out)
        : steps_(steps), own_(own), members_(std::move(members)), options_(options), out_(out) {
        for (const std::size_t i : members_)
            if (!out_.expectations[i].cold) learned_.push_back(i);
    }

    void run() {
        if (!fit_line()) use_medians();
    }

private:
    [[nodiscard]] TimeNs duration(std::size_t i) const { return own_[i].duration(); }

    bool fit_line() {
        if (static_cast<std::int64_t>(learned_.size()) < options_.roofline_steps) return false;
        std::vector<std::pair<std::int64_t, TimeNs>> values;
        for (const std::size_t i : learned_)
            if (steps_[i].tokens) values.emplace_back(*steps_[i].tokens, duration(i));
        if (values.size() < learned_.size()) return false;
        const std::vector<LatencyBucket> buckets = latency_buckets(values);
        if (static_cast<std::int64_t>(buckets.size()) < kBucketsNeeded) return false;
        Ransac ransac(buckets);
        const Line line = ransac.run();
        double all = 0;
        for (const LatencyBucket& b : buckets) all += weight_of(b);
        if (ransac.weight() < 0.5 * all) return false;  // nothing that most of them follow
        const Step& one = steps_[members_.front()];
        out_.lines.push_back({one.instance, one.phase, "p99-ransac", line.intercept, line.slope, static_cast<std::int64_t>(learned_.size()),
                              static_cast<std::int64_t>(buckets.size()), r2_of(line, buckets)});
        judge(line, buckets);
        return true;
    }

    void judge(const Line& line, const std::vector<LatencyBucket>& buckets) {
        const double first = buckets.front().tokens / kBeyondFit, last = buckets.back().tokens * kBeyondFit;
        // Little work costs what launching costs: nothing is expected to be shorter than the shortest of the others.
        std::vector<TimeNs> shortest;
        for (const std::size_t i : members_) shortest.push_back(duration(i));
        std::partial_sort(shortest.begin(), shortest.begin() + 2, shortest.end());
        for (const std::size_t i : members_) {
            if (!steps_[i].tokens) continue;
            const auto tokens = static_cast<double>(*steps_[i].tokens);
            const double expected = std::max(line.at(tokens), static_cast<double>(shortest[duration(i) == shortest[0] ? 1 : 0]));
            if (expected <= 0) continue;
            const bool beyond = tokens < first || tokens > last;
            set(i, expected, beyond ? std::max(kBeyondFitRatio, options_.slow_ratio) : options_.slow_ratio, 0, "p99-ransac");
        }
    }

    void use_medians() {
        std::vector<double> middles;
        for (const std::size_t i : members_) {
            const std::vector<double> others = comparable(i);
            if (others.size() < kMedianNeeded) {
                out_.expectations[i].rule = "too few steps";
                continue;
            }
            const double middle = median_of(others);
            set(i, middle, steps_[i].inferred ? std::max(kInferredRatio, options_.slow_ratio) : options_.slow_ratio,
                6 * spread_of(others, middle), fmt::format("median of {} steps", others.size()));
            middles.push_back(middle);
        }
        if (middles.empty()) return;
        const Step& one = steps_[members_.front()];
        out_.lines.push_back(
            {one.instance, one.phase, "median", median_of(std::move(middles)), 0, static_cast<std::int64_t>(learned_.size()), 1, 0});
    }

    /// Durations of the steps that the i-th can be compared with; of very many those around it.
    [[nodiscard]] std::vector<double> comparable(std::size_t i) const {
        const auto here = static_cast<std::size_t>(std::lower_bound(learned_.begin(), learned_.end(), i) - learned_.begin());
        const std::size_t first = here > kMedianWindow ? here - kMedianWindow : 0, last = std::min(learned_.size(), here + kMedianWindow);
        std::vector<double> others;
        for (std::size_t at = first; at < last; ++at)
            if (learned_[at] != i && alike(steps_[i], steps_[learned_[at]])) others.push_back(scaled(learned_[at], i));
        return others;
    }

    /// What a step would have lasted with the work of another: prompts of more tokens take longer in proportion, fewer save less.
    [[nodiscard]] double scaled(std::size_t from, std::size_t to) const {
        const auto lasted = static_cast<double>(duration(from));
        const Step &a = steps_[from], &b = steps_[to];
        if (a.phase == StepPhase::decode || !a.tokens || !b.tokens || *a.tokens <= 0) return lasted;
        return lasted * std::max(1.0, static_cast<double>(*b.tokens) / static_cast<double>(*a.tokens));
    }

    /// Steps with like work: by tokens, else by how many kernels they ran.
    static bool alike(const Step& a, const Step& b) {
        const auto near = [](std::int64_t x, std::int64_t y, double factor) {
            const auto low = static_cast<double>(std::min(x, y)) + 1, high = static_cast<double>(std::max(x, y)) + 1;
            return high <= factor * low;
        };
        if (a.tokens && b.tokens) return near(*a.tokens, *b.tokens, kLikeTokens);
        if (a.tokens || b.tokens) return false;
        return near(a.kernels, b.kernels, 1.2);
    }

    void set(std::size_t i, double expected, double ratio, double spread, std::string rule) {
        StepExpectation& e = out_.expectations[i];
        e.expected = static_cast<TimeNs>(std::llround(expected));
        const double beyond = std::max({expected * ratio, expected + static_cast<double>(options_.slow_least_ns), expected + spread});
        e.slow_beyond = static_cast<TimeNs>(std::llround(beyond));
        e.rule = std::move(rule);
    }

    std::span<const Step> steps_;
    std::span<const TimeRange> own_;
    std::vector<std::size_t> members_, learned_;
    const AnalysisOptions& options_;
    Rooflines& out_;
};

}  // namespace

std::vector<LatencyBucket> latency_buckets(std::span<const std::pair<std::int64_t, TimeNs>> tokens_and_durations) {
    std::map<std::int64_t, std::vector<double>> by_tokens;
    for (const auto& [tokens, duration] : tokens_and_durations) by_tokens[tokens].push_back(static_cast<double>(duration));
    std::vector<LatencyBucket> buckets;
    for (auto& [tokens, values] : by_tokens) {
        std::sort(values.begin(), values.end());
        const double middle = median_of(values);
        const double far = values.size() >= 4 ? middle + std::max(0.15 * middle, 6 * spread_of(values, middle)) : 1.25 * values.front();
        const auto kept = std::upper_bound(values.begin(), values.end(), std::max(far, values.front()));
        const auto count = static_cast<std::size_t>(kept - values.begin());
        const auto rank = static_cast<std::size_t>(std::ceil(0.99 * static_cast<double>(count)));
        buckets.push_back({static_cast<double>(tokens), static_cast<TimeNs>(values.front()), static_cast<TimeNs>(middle),
                           static_cast<TimeNs>(values[std::max<std::size_t>(rank, 1) - 1]), static_cast<std::int64_t>(values.size())});
    }
    return buckets;
}

Rooflines fit_rooflines(std::span<const Step> steps, const AnalysisOptions& options) {
    Rooflines out;
    out.expectations.resize(steps.size());
    std::map<std::string_view, std::vector<std::size_t>> by_instance;
    std::map<std::pair<std::string_view, StepPhase>, std::vector<std::size_t>> groups;
    for (std::size_t i = 0; i < steps.size(); ++i) {
        out.expectations[i].rule = "too few steps";
        by_instance[steps[i].instance].push_back(i);
        groups[{steps[i].instance, steps[i].phase}].push_back(i);
    }
    for (auto& [instance, members] : by_instance) {
        const auto cold = std::min(members.size(), static_cast<std::size_t>(std::max<std::int64_t>(0, options.cold_steps)));
        std::partial_sort(members.begin(), members.begin() + static_cast<std::ptrdiff_t>(cold), members.end(),
                          [&](std::size_t a, std::size_t b) { return steps[a].start < steps[b].start; });
        for (std::size_t i = 0; i < cold; ++i) out.expectations[members[i]].cold = true;
    }
    const std::vector<TimeRange> own = own_ranges(steps);
    for (auto& [key, members] : groups) Group(steps, own, std::move(members), options, out).run();
    return out;
}

}  // namespace faultline
