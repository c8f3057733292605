// Can a thing be told from names, numbers and places alone? Nearest neighbours and a naive Bayes, each leaving the run out that it judges,
// against the same on shuffled labels.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "ml/simulator/base/noise.h"

namespace faultline::test {

struct Labelled {
    std::vector<double> features;
    int label = 0;
};

/// What a text gives away: its length, its characters' sum, how many digits, its last characters.
inline void add_text(std::vector<double>& features, const std::string& text) {
    double sum = 0, digits = 0;
    for (const char c : text) {
        sum += static_cast<unsigned char>(c);
        digits += c >= '0' && c <= '9' ? 1 : 0;
    }
    features.push_back(static_cast<double>(text.size()));
    features.push_back(sum);
    features.push_back(digits);
    for (std::size_t i = 0; i < 2; ++i) features.push_back(text.size() > i ? static_cast<unsigned char>(text[text.size() - 1 - i]) : 0);
}

/// A number as a whole, and what low bits, digits and parity give away.
inline void add_number(std::vector<double>& features, std::uint64_t number) {
    features.push_back(static_cast<double>(number));
    for (const std::uint64_t base : {2U, 3U, 5U, 10U, 16U, 256U}) features.push_back(static_cast<double>(number % base));
}

/// Each feature by rank, so that none outweighs the others.
inline void rank_features(std::vector<Labelled>& runs) {
    if (runs.empty()) return;
    for (std::size_t f = 0; f < runs.front().features.size(); ++f) {
        std::vector<double> values;
        for (const Labelled& run : runs) values.push_back(run.features[f]);
        std::sort(values.begin(), values.end());
        for (Labelled& run : runs) {
            const auto at = std::lower_bound(values.begin(), values.end(), run.features[f]) - values.begin();
            run.features[f] = static_cast<double>(at) / static_cast<double>(values.size());
        }
    }
}

/// Mean over the labels of the share that is told right.
inline double balanced(const std::vector<Labelled>& runs, const std::vector<int>& guesses) {
    std::map<int, std::pair<double, double>> right;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        right[runs[i].label].first += guesses[i] == runs[i].label ? 1 : 0;
        right[runs[i].label].second += 1;
    }
    double sum = 0;
    for (const auto& [label, counts] : right) sum += counts.first / counts.second;
    return sum / static_cast<double>(right.size());
}

inline double nearest_neighbours(const std::vector<Labelled>& runs, std::size_t k) {
    std::vector<int> guesses;
    for (std::size_t i = 0; i < runs.size(); ++i) {
        std::vector<std::pair<double, int>> others;
        for (std::size_t j = 0; j < runs.size(); ++j) {
            if (i == j) continue;
            double distance = 0;
            for (std::size_t f = 0; f < runs[i].features.size(); ++f) {
                distance += (runs[i].features[f] - runs[j].features[f]) * (runs[i].features[f] - runs[j].features[f]);
            }
            others.emplace_back(distance, runs[j].label);
        }
        std::sort(others.begin(), others.end());
        std::map<int, int> votes;
        for (std::size_t n = 0; n < std::min(k, others.size()); ++n) ++votes[others[n].second];
        guesses.push_back(
            std::max_element(votes.begin(), votes.end(), [](const auto& a, const auto& b) { return a.second < b.second; })->first);
    }
    return balanced(runs, guesses);
}

/// Features in eight bins of their rank; labels count the same whatever their number.
inline double naive_bayes(const std::vector<Labelled>& runs) {
    constexpr int kBins = 8;
    const auto bin = [](double value) { return std::min(kBins - 1, static_cast<int>(value * kBins)); };
    std::map<int, std::vector<std::array<double, kBins>>> counts;
    std::map<int, double> sizes;
    for (const Labelled& run : runs) {
        auto& table = counts[run.label];
        table.resize(run.features.size());
        for (std::size_t f = 0; f < run.features.size(); ++f) ++table[f][static_cast<std::size_t>(bin(run.features[f]))];
        ++sizes[run.label];
    }
    std::vector<int> guesses;
    for (const Labelled& run : runs) {
        int best = 0;
        double best_score = -1e300;
        for (const auto& [label, table] : counts) {
            const double own = label == run.label ? 1 : 0;
            double score = 0;
            for (std::size_t f = 0; f < run.features.size(); ++f) {
                score += std::log((table[f][static_cast<std::size_t>(bin(run.features[f]))] - own + 1) / (sizes[label] - own + kBins));
            }
            if (score > best_score) {
                best = label;
                best_score = score;
            }
        }
        guesses.push_back(best);
    }
    return balanced(runs, guesses);
}

/// The best of the classifiers; and the share of shuffles of the labels on which the best of them is at least as good. Small where labels
/// can be told.
struct Told {
    double accuracy = 0, by_luck = 1;
};
inline Told tell(std::vector<Labelled> runs, int shuffles = 60) {
    rank_features(runs);
    const auto best = [](const std::vector<Labelled>& labelled) {
        return std::max({nearest_neighbours(labelled, 1), nearest_neighbours(labelled, 5), naive_bayes(labelled)});
    };
    Told told{best(runs), 0};
    const simulator::Noise noise(99);
    for (int s = 0; s < shuffles; ++s) {
        for (std::size_t i = runs.size(); i > 1; --i) {
            std::swap(runs[i - 1].label, runs[noise.below(i, simulator::Draw::other, static_cast<std::uint64_t>(s), i)].label);
        }
        told.by_luck += best(runs) >= told.accuracy ? 1.0 / shuffles : 0;
    }
    return told;
}

}  // namespace faultline::test
