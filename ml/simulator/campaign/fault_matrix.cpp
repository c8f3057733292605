#include <algorithm>
#include <numeric>

#include "ml/simulator/campaign/apportion.h"
#include "ml/simulator/campaign/campaign.h"

namespace faultline::simulator {

std::vector<int> apportion(int total, const std::vector<double>& weights) {
    std::vector<int> parts(weights.size(), 0);
    const double all = std::accumulate(weights.begin(), weights.end(), 0.0);
    if (all <= 0 || total <= 0) return parts;
    std::vector<std::pair<double, std::size_t>> rests;
    int given = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) {
        const double exact = total * weights[i] / all;
        parts[i] = static_cast<int>(exact);
        given += parts[i];
        rests.emplace_back(exact - parts[i], i);
    }
    std::stable_sort(rests.begin(), rests.end(), [](const auto& a, const auto& b) { return a.first > b.first; });
    for (std::size_t i = 0; given < total; i = (i + 1) % rests.size()) {
        if (weights[rests[i].second] <= 0) continue;
        ++parts[rests[i].second];
        ++given;
    }
    return parts;
}

FaultMatrix fault_matrix(int factor, const std::array<std::array<bool, 5>, kEngineCount>& possible) {
    int faults = 0;
    for (const EngineShare& share : kPaperShares) faults += factor * share.faulty;
    const std::vector<int> wanted = apportion(faults, std::vector<double>(kClassShares.begin(), kClassShares.end()));
    std::array<int, 5> left{};
    std::copy(wanted.begin(), wanted.end(), left.begin());
    // Engines that know fewer classes first: the others can make up for them.
    std::array<std::size_t, kEngineCount> order{};
    std::iota(order.begin(), order.end(), 0);
    const auto classes = [&](std::size_t engine) {
        return std::count(possible[static_cast<std::size_t>(kPaperShares[engine].engine)].begin(),
                          possible[static_cast<std::size_t>(kPaperShares[engine].engine)].end(), true);
    };
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return classes(a) < classes(b); });
    FaultMatrix matrix{};
    for (const std::size_t row : order) {
        const EngineShare& share = kPaperShares[row];
        const auto engine = static_cast<std::size_t>(share.engine);
        std::vector<double> weights(5);
        for (std::size_t c = 0; c < 5; ++c) weights[c] = possible[engine][c] ? std::max(0, left[c]) : 0;
        if (std::accumulate(weights.begin(), weights.end(), 0.0) <= 0) {  // its classes are used up: their shares give way
            for (std::size_t c = 0; c < 5; ++c) weights[c] = possible[engine][c] ? 1 : 0;
        }
        const std::vector<int> parts = apportion(factor * share.faulty, weights);
        for (std::size_t c = 0; c < 5; ++c) {
            matrix[engine][c] = parts[c];
            left[c] -= parts[c];
        }
    }
    return matrix;
}

}  // namespace faultline::simulator
