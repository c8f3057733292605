// A Gaussian mixture fitted by expectation maximization (TELLER §3.4, MODEL §3): how probable a feature vector is, and which mode it
// belongs to.
//
// In double, without any global state: the same rows, options and seed give the same mixture on every machine with the same arithmetic.
// Const after fit() and may be shared by threads.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace faultline {

struct MixtureOptions {
    std::size_t most_components = 5;  ///< K is chosen by BIC among 1…most_components
    bool full_covariance = true;      ///< else diagonal: d instead of d(d+1)/2 parameters a component
    double ridge = 1e-4;              ///< added to every variance
    std::size_t most_iterations = 60;
    double tolerance = 1e-5;         ///< of the mean log likelihood a row, where EM ends
    double least_weight = 2.0;       ///< rows that a component must hold; lighter ones are taken out
    bool stop_at_worse_bic = false;  ///< end the search for K at the first K that is no better: about half the time
    std::uint64_t seed = 1;          ///< of the k-means++ seeding
};

class GaussianMixture {
public:
    /// `rows` holds rows.size() / dimensions feature vectors one after the other. Nothing where there is no row, no dimension or a value
    /// that is not finite. O(K · rows · d²) an iteration (full), O(K · rows · d) (diagonal).
    [[nodiscard]] static std::optional<GaussianMixture> fit(std::span<const double> rows, std::size_t dimensions,
                                                            const MixtureOptions& options = {});

    [[nodiscard]] std::size_t components() const noexcept { return weights_.size(); }
    [[nodiscard]] std::size_t dimensions() const noexcept { return dimensions_; }
    [[nodiscard]] double weight(std::size_t k) const noexcept { return weights_[k]; }
    [[nodiscard]] std::span<const double> mean(std::size_t k) const noexcept { return {means_.data() + k * dimensions_, dimensions_}; }
    [[nodiscard]] double variance(std::size_t k, std::size_t d) const noexcept;
    [[nodiscard]] double bic() const noexcept { return bic_; }

    /// log p(x), x of dimensions() values.
    [[nodiscard]] double log_density(std::span<const double> x) const;
    /// The posterior of every component for x; they add up to 1.
    [[nodiscard]] std::vector<double> responsibilities(std::span<const double> x) const;
    /// The heaviest components that together hold `share` of the weight: those that TELLER calls central.
    [[nodiscard]] std::vector<bool> central_components(double share = 0.8) const;

private:
    struct Fitting;
    explicit GaussianMixture(std::size_t dimensions, bool full) : dimensions_(dimensions), full_(full) {}
    /// log(weight · density) of each component at x into `out`; returns the log of their sum.
    double weigh(const double* x, double* out, double* scratch) const;
    void set_covariance(std::size_t k, const std::vector<double>& covariance);

    std::size_t dimensions_;
    bool full_;
    std::vector<double> weights_;
    std::vector<double> means_;      ///< K × d
    std::vector<double> factors_;    ///< full: K × d × d lower Cholesky factors; diagonal: K × d standard deviations
    std::vector<double> constants_;  ///< log weight and normalization of each component
    double bic_ = 0;
};

}  // namespace faultline
