#include "core/kernel_repetition.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace faultline {

namespace {

constexpr std::size_t kMinRun = 16;         ///< kernels in a run; shorter ones are parts of a layer
constexpr std::size_t kMaxCandidates = 48;  ///< kernels tried as the start of a run
constexpr double kAlike = 0.9;              ///< share of kernels that two runs have in common

/// The kernels of a stream with dense numbers for their names.
struct Sequence {
    std::vector<std::uint32_t> at;                   ///< position in the track
    std::vector<std::uint32_t> name;                 ///< dense number of the name
    std::vector<std::vector<std::uint32_t>> places;  ///< for each name its places in the sequence
};

Sequence kernels_of(const TrackBuffer& track) {
    Sequence s;
    std::unordered_map<std::uint32_t, std::uint32_t> numbers;
    for (std::uint32_t i = 0; i < track.size(); ++i) {
        if (track.kinds[i] != SpanKind::kernel) continue;
        const auto [found, made] = numbers.try_emplace(index_of(track.names[i]), static_cast<std::uint32_t>(numbers.size()));
        if (made) s.places.emplace_back();
        s.places[found->second].push_back(static_cast<std::uint32_t>(s.at.size()));
        s.at.push_back(i);
        s.name.push_back(found->second);
    }
    return s;
}

/// Whether most runs between the places hold nearly the same kernels as the run before.
bool runs_alike(const Sequence& s, const std::vector<std::uint32_t>& places) {
    std::vector<std::int32_t> before(s.places.size(), 0), now(s.places.size(), 0);
    std::size_t alike = 0;
    for (std::size_t r = 0; r + 1 < places.size(); ++r) {
        std::size_t common = 0;
        for (std::uint32_t i = places[r]; i < places[r + 1]; ++i)
            if (now[s.name[i]]++ < before[s.name[i]]) ++common;
        if (r > 0) {
            const std::size_t all = std::size_t{places[r + 1] - places[r - 1]} - common;
            if (static_cast<double>(common) >= kAlike * static_cast<double>(all)) ++alike;
            for (std::uint32_t i = places[r - 1]; i < places[r]; ++i) before[s.name[i]] = 0;
        }
        now.swap(before);
    }
    return 10 * alike >= 8 * (places.size() - 2);
}

/// Median gap before the kernels at the places: a step starts after a pause.
TimeNs median_gap_before(const TrackBuffer& track, const Sequence& s, const std::vector<std::uint32_t>& places) {
    std::vector<TimeNs> gaps;
    for (const std::uint32_t p : places)
        if (p > 0) gaps.push_back(track.starts[s.at[p]] - track.end(s.at[p - 1]));
    const auto middle = gaps.begin() + static_cast<std::ptrdiff_t>(gaps.size() / 2);
    std::nth_element(gaps.begin(), middle, gaps.end());
    return *middle;
}

std::vector<std::uint32_t> find_starts(const TrackBuffer& track) {
    const Sequence s = kernels_of(track);
    std::vector<std::uint32_t> candidates;
    for (std::uint32_t n = 0; n < s.places.size(); ++n) {
        const auto& p = s.places[n];
        if (p.size() < 3 || p.size() > s.at.size() / kMinRun) continue;
        if (2 * std::size_t{p.back() - p.front()} < s.at.size()) continue;  // does not fill the stream
        bool apart = true;
        for (std::size_t i = 0; apart && i + 1 < p.size(); ++i) apart = p[i + 1] - p[i] >= kMinRun;
        if (apart) candidates.push_back(n);
    }
    std::stable_sort(candidates.begin(), candidates.end(), [&](auto a, auto b) { return s.places[a].size() < s.places[b].size(); });
    if (candidates.size() > kMaxCandidates) candidates.resize(kMaxCandidates);
    const std::vector<std::uint32_t>* best = nullptr;
    TimeNs best_gap = 0;
    for (const std::uint32_t c : candidates) {
        const auto& places = s.places[c];
        if (best && places.size() != best->size()) break;  // only kernels as rare as the first that fits
        if (!runs_alike(s, places)) continue;
        const TimeNs gap = median_gap_before(track, s, places);
        if (best && gap <= best_gap) continue;
        best = &places;
        best_gap = gap;
    }
    std::vector<std::uint32_t> starts;
    if (!best) return starts;
    for (const std::uint32_t p : *best) starts.push_back(s.at[p]);
    // The run after the last start counts when it is about as long as the others; what is left over then belongs to it.
    std::uint32_t longest = 0;
    for (std::size_t i = 0; i + 1 < best->size(); ++i) longest = std::max(longest, (*best)[i + 1] - (*best)[i]);
    const std::size_t usual = (best->back() - best->front()) / (best->size() - 1), rest = s.at.size() - best->back();
    if (10 * rest >= 9 * usual) starts.push_back(s.at[std::min(s.at.size(), best->back() + std::size_t{longest}) - 1] + 1);
    return starts;
}

}  // namespace

std::vector<KernelRepetition> repeated_kernels(const SourceBuilder& source) {
    std::map<std::int64_t, std::uint32_t> busiest;  // device → position of its longest track
    std::uint32_t position = 0;
    for (const TrackBuffer& t : source.tracks()) {
        const std::uint32_t here = position++;
        if (t.track.kind != TrackKind::device || t.empty()) continue;
        const std::int64_t device = t.track.device ? static_cast<std::int64_t>(index_of(*t.track.device)) : -1;
        const auto [found, made] = busiest.try_emplace(device, here);
        if (!made && source.tracks()[found->second].size() < t.size()) found->second = here;
    }
    std::vector<KernelRepetition> repetitions;
    for (const auto& [device, track] : busiest)
        if (auto starts = find_starts(source.tracks()[track]); starts.size() >= 3) repetitions.push_back({track, std::move(starts)});
    return repetitions;
}

}  // namespace faultline
