#include "core/gaussian_mixture.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace faultline {

namespace {

constexpr double kLogTwoPi = 1.8378770664093453;

/// splitmix64: the standard library's distributions differ from one library to the next.
class Random {
public:
    explicit Random(std::uint64_t seed) : state_(seed) {}
    double uniform() {  // [0, 1)
        state_ += 0x9e3779b97f4a7c15u;
        std::uint64_t z = state_;
        z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
        z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
        return static_cast<double>((z ^ (z >> 31)) >> 11) * 0x1.0p-53;
    }

private:
    std::uint64_t state_;
};

double squared_distance(const double* a, const double* b, std::size_t d) {
    double sum = 0;
    for (std::size_t i = 0; i < d; ++i) sum += (a[i] - b[i]) * (a[i] - b[i]);
    return sum;
}

/// k-means++: positions of rows that lie far from each other; fewer than `k` where rows are equal.
std::vector<std::size_t> seeds(std::span<const double> rows, std::size_t d, std::size_t k, Random& random) {
    const std::size_t n = rows.size() / d;
    std::vector<std::size_t> chosen{std::min(n - 1, static_cast<std::size_t>(random.uniform() * static_cast<double>(n)))};
    std::vector<double> nearest(n, std::numeric_limits<double>::max());
    while (chosen.size() < k) {
        double total = 0;
        for (std::size_t i = 0; i < n; ++i) {
            nearest[i] = std::min(nearest[i], squared_distance(&rows[i * d], &rows[chosen.back() * d], d));
            total += nearest[i];
        }
        if (!(total > 0)) break;
        double left = random.uniform() * total;
        std::size_t at = 0;
        while (at + 1 < n && (nearest[at] == 0 || left >= nearest[at])) left -= nearest[at++];
        chosen.push_back(at);
    }
    return chosen;
}

/// Lower Cholesky factor in place; false where the matrix is not positive definite.
bool factorize(std::vector<double>& m, std::size_t d) {
    for (std::size_t i = 0; i < d; ++i) {
        for (std::size_t j = 0; j <= i; ++j) {
            double sum = m[i * d + j];
            for (std::size_t k = 0; k < j; ++k) sum -= m[i * d + k] * m[j * d + k];
            if (i == j) {
                if (!(sum > 0)) return false;
                m[i * d + i] = std::sqrt(sum);
            } else {
                m[i * d + j] = sum / m[j * d + j];
            }
        }
    }
    return true;
}

}  // namespace

/// One run of EM with a fixed number of components.
struct GaussianMixture::Fitting {
    std::span<const double> rows;
    std::size_t n, d;
    const MixtureOptions& options;
    GaussianMixture mixture;
    std::vector<double> posteriors;  ///< n × K
    double log_likelihood = 0;

    Fitting(std::span<const double> r, std::size_t dimensions, const MixtureOptions& o)
        : rows(r), n(r.size() / dimensions), d(dimensions), options(o), mixture(dimensions, o.full_covariance) {}

    void start(std::size_t k) {
        Random random(options.seed + k);
        const std::vector<std::size_t> centres = seeds(rows, d, k, random);
        mixture.weights_.assign(centres.size(), 0.0);
        posteriors.assign(n * centres.size(), 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            std::size_t best = 0;
            double distance = std::numeric_limits<double>::max();
            for (std::size_t c = 0; c < centres.size(); ++c) {
                const double to = squared_distance(&rows[i * d], &rows[centres[c] * d], d);
                if (to < distance) distance = to, best = c;
            }
            posteriors[i * centres.size() + best] = 1;
        }
    }

    /// Takes out components that hold too few rows; what they held goes to the others.
    void drop_light() {
        const std::size_t k = mixture.weights_.size();
        std::vector<double> held(k, 0.0);
        for (std::size_t i = 0; i < n * k; ++i) held[i % k] += posteriors[i];
        std::vector<std::size_t> kept;
        for (std::size_t c = 0; c < k; ++c)
            if (held[c] >= std::min(options.least_weight, static_cast<double>(n))) kept.push_back(c);
        if (kept.size() == k) return;
        if (kept.empty()) kept.push_back(static_cast<std::size_t>(std::max_element(held.begin(), held.end()) - held.begin()));
        std::vector<double> fewer(n * kept.size());
        for (std::size_t i = 0; i < n; ++i) {
            double sum = 0;
            for (const std::size_t c : kept) sum += posteriors[i * k + c];
            for (std::size_t j = 0; j < kept.size(); ++j)
                fewer[i * kept.size() + j] = sum > 0 ? posteriors[i * k + kept[j]] / sum : 1.0 / static_cast<double>(kept.size());
        }
        posteriors = std::move(fewer);
        mixture.weights_.resize(kept.size());
    }

    void maximize() {
        drop_light();
        const std::size_t k = mixture.weights_.size();
        mixture.means_.assign(k * d, 0.0);
        mixture.factors_.assign(mixture.full_ ? k * d * d : k * d, 0.0);
        mixture.constants_.assign(k, 0.0);
        std::vector<double> covariance;
        for (std::size_t c = 0; c < k; ++c) {
            double held = 0;
            double* const mean = &mixture.means_[c * d];
            for (std::size_t i = 0; i < n; ++i) {
                const double p = posteriors[i * k + c];
                held += p;
                for (std::size_t j = 0; j < d; ++j) mean[j] += p * rows[i * d + j];
            }
            for (std::size_t j = 0; j < d; ++j) mean[j] /= held;
            mixture.weights_[c] = held / static_cast<double>(n);
            covariance_of(c, held, covariance);
            mixture.set_covariance(c, covariance);
        }
    }

    /// Full: d × d; diagonal: the d variances. With the ridge.
    void covariance_of(std::size_t c, double held, std::vector<double>& out) const {
        const std::size_t k = mixture.weights_.size();
        const double* const mean = &mixture.means_[c * d];
        out.assign(mixture.full_ ? d * d : d, 0.0);
        for (std::size_t i = 0; i < n; ++i) {
            const double p = posteriors[i * k + c];
            if (p < 1e-12) continue;
            for (std::size_t a = 0; a < d; ++a) {
                const double pa = p * (rows[i * d + a] - mean[a]);
                if (!mixture.full_) {
                    out[a] += pa * (rows[i * d + a] - mean[a]);
                    continue;
                }
                for (std::size_t b = 0; b <= a; ++b) out[a * d + b] += pa * (rows[i * d + b] - mean[b]);
            }
        }
        for (double& v : out) v /= held;
        for (std::size_t a = 0; a < d; ++a) out[mixture.full_ ? a * d + a : a] += options.ridge;
    }

    void expect() {
        const std::size_t k = mixture.weights_.size();
        std::vector<double> scratch(d);
        log_likelihood = 0;
        for (std::size_t i = 0; i < n; ++i) {
            double* const p = &posteriors[i * k];
            const double sum = mixture.weigh(&rows[i * d], p, scratch.data());
            log_likelihood += sum;
            for (std::size_t c = 0; c < k; ++c) p[c] = std::exp(p[c] - sum);
        }
    }

    void run(std::size_t k) {
        start(k);
        double before = -std::numeric_limits<double>::infinity();
        for (std::size_t it = 0; it < options.most_iterations; ++it) {
            maximize();
            expect();
            if (log_likelihood - before < options.tolerance * static_cast<double>(n)) break;
            before = log_likelihood;
        }
        const auto parts = static_cast<double>(mixture.weights_.size()), dims = static_cast<double>(d);
        const double of_covariance = mixture.full_ ? dims * (dims + 1) / 2 : dims;
        mixture.bic_ = (parts * (1 + dims + of_covariance) - 1) * std::log(static_cast<double>(n)) - 2 * log_likelihood;
    }
};

std::optional<GaussianMixture> GaussianMixture::fit(std::span<const double> rows, std::size_t dimensions, const MixtureOptions& options) {
    if (dimensions == 0 || rows.size() < dimensions || rows.size() % dimensions != 0) return std::nullopt;
    if (!std::all_of(rows.begin(), rows.end(), [](double v) { return std::isfinite(v); })) return std::nullopt;
    std::optional<GaussianMixture> best;
    for (std::size_t k = 1; k <= std::max<std::size_t>(1, options.most_components); ++k) {
        if (k > rows.size() / dimensions) break;
        Fitting fitting(rows, dimensions, options);
        fitting.run(k);
        const bool better = !best || fitting.mixture.bic_ < best->bic_;
        if (better) best = std::move(fitting.mixture);
        if (!better && options.stop_at_worse_bic) break;
    }
    return best;
}

void GaussianMixture::set_covariance(std::size_t k, const std::vector<double>& covariance) {
    const std::size_t d = dimensions_;
    double log_determinant = 0;
    if (full_) {
        std::vector<double> factor = covariance;
        // Rounding can leave a matrix of nearly dependent features indefinite: then the features count as independent.
        if (!factorize(factor, d)) {
            std::fill(factor.begin(), factor.end(), 0.0);
            for (std::size_t a = 0; a < d; ++a) factor[a * d + a] = std::sqrt(covariance[a * d + a]);
        }
        for (std::size_t a = 0; a < d; ++a) log_determinant += 2 * std::log(factor[a * d + a]);
        std::copy(factor.begin(), factor.end(), factors_.begin() + static_cast<std::ptrdiff_t>(k * d * d));
    } else {
        for (std::size_t a = 0; a < d; ++a) {
            factors_[k * d + a] = std::sqrt(covariance[a]);
            log_determinant += std::log(covariance[a]);
        }
    }
    constants_[k] = std::log(weights_[k]) - 0.5 * (static_cast<double>(d) * kLogTwoPi + log_determinant);
}

double GaussianMixture::variance(std::size_t k, std::size_t d) const noexcept {
    if (!full_) return factors_[k * dimensions_ + d] * factors_[k * dimensions_ + d];
    double sum = 0;
    const double* const row = &factors_[(k * dimensions_ + d) * dimensions_];
    for (std::size_t j = 0; j <= d; ++j) sum += row[j] * row[j];
    return sum;
}

double GaussianMixture::weigh(const double* x, double* out, double* scratch) const {
    const std::size_t d = dimensions_;
    double largest = -std::numeric_limits<double>::infinity();
    for (std::size_t k = 0; k < weights_.size(); ++k) {
        const double* const mean = &means_[k * d];
        double distance = 0;
        if (full_) {
            const double* const factor = &factors_[k * d * d];
            for (std::size_t a = 0; a < d; ++a) {  // forward substitution: the factor's inverse times x - mean
                double v = x[a] - mean[a];
                for (std::size_t b = 0; b < a; ++b) v -= factor[a * d + b] * scratch[b];
                scratch[a] = v / factor[a * d + a];
                distance += scratch[a] * scratch[a];
            }
        } else {
            for (std::size_t a = 0; a < d; ++a) {
                const double v = (x[a] - mean[a]) / factors_[k * d + a];
                distance += v * v;
            }
        }
        out[k] = constants_[k] - 0.5 * distance;
        largest = std::max(largest, out[k]);
    }
    double sum = 0;
    for (std::size_t k = 0; k < weights_.size(); ++k) sum += std::exp(out[k] - largest);
    return largest + std::log(sum);
}

double GaussianMixture::log_density(std::span<const double> x) const {
    std::vector<double> parts(weights_.size()), scratch(dimensions_);
    return weigh(x.data(), parts.data(), scratch.data());
}

std::vector<double> GaussianMixture::responsibilities(std::span<const double> x) const {
    std::vector<double> parts(weights_.size()), scratch(dimensions_);
    const double sum = weigh(x.data(), parts.data(), scratch.data());
    for (double& p : parts) p = std::exp(p - sum);
    return parts;
}

std::vector<bool> GaussianMixture::central_components(double share) const {
    std::vector<std::size_t> order(weights_.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) { return weights_[a] > weights_[b]; });
    std::vector<bool> central(weights_.size(), false);
    double held = 0;
    for (const std::size_t k : order) {
        if (held >= share) break;
        central[k] = true;
        held += weights_[k];
    }
    return central;
}

}  // namespace faultline
