#include <algorithm>
#include <cmath>
#include <limits>

#include "core/span_index.h"

namespace faultline {

std::pair<std::size_t, std::size_t> Lane::find(TimeRange range) const noexcept {
    // A span that ends where the range starts does not touch it; an instant there does.
    std::size_t low = 0;
    std::size_t high = ends.size();
    while (low < high) {
        const std::size_t mid = low + (high - low) / 2;
        const bool before = ends[mid] < range.start || (ends[mid] == range.start && starts[mid] < range.start);
        if (before)
            low = mid + 1;
        else
            high = mid;
    }
    const auto last = std::lower_bound(starts.begin() + static_cast<std::ptrdiff_t>(low), starts.end(), range.end) - starts.begin();
    return {low, std::max(low, static_cast<std::size_t>(last))};
}

std::size_t Lane::span_at(TimeNs t) const noexcept {
    // The last span that starts at or before t; an instant at t hides nothing, so an earlier span cannot hold t when it does not.
    const auto after = std::upper_bound(starts.begin(), starts.end(), t) - starts.begin();
    if (after == 0) return npos;
    const auto at = static_cast<std::size_t>(after - 1);
    return t < ends[at] || t == starts[at] ? at : npos;
}

TimeNs Lane::busy_in(TimeRange range) const noexcept {
    if (range.empty() || busy.size() != size() + 1) return 0;
    const auto [first, last] = find(range);
    if (first == last) return 0;
    TimeNs sum = busy[last] - busy[first];
    if (busy[first + 1] != busy[first]) sum -= std::max<TimeNs>(0, range.start - starts[first]);
    if (busy[last] != busy[last - 1]) sum -= std::max<TimeNs>(0, ends[last - 1] - range.end);
    return sum;
}

void Lane::append(TimeNs start, TimeNs end, NameId name, SpanKind kind, std::uint32_t ordinal) {
    starts.push_back(start);
    ends.push_back(end);
    names.push_back(name);
    kinds.push_back(kind);
    ordinals.push_back(ordinal);
}

void Lane::reserve(std::size_t spans) {
    starts.reserve(spans);
    ends.reserve(spans);
    names.reserve(spans);
    kinds.reserve(spans);
    ordinals.reserve(spans);
}

void Lane::seal_busy() {
    busy.resize(size() + 1);
    TimeNs sum = 0;
    for (std::size_t i = 0; i < size(); ++i) {
        busy[i] = sum;
        if (is_device_work(kinds[i])) sum += ends[i] - starts[i];
    }
    busy[size()] = sum;
}

namespace {

/// Runs for a larger `narrow` from those of a smaller one. Exact: inside a run every span ends less than the smaller `narrow` after the
/// one before, so a larger one never parts it.
std::vector<FoldRun> merged_runs(const std::vector<FoldRun>& runs, TimeNs narrow) {
    std::vector<FoldRun> out;
    out.reserve(runs.size() / 2);
    bool open = false;
    for (const FoldRun& run : runs) {
        if (open && run.first_end - out.back().end < narrow) {
            out.back().end = run.end;
            out.back().count += run.count;
            continue;
        }
        out.push_back(run);
        open = run.count > 1 || run.first_end - run.start < narrow;
    }
    out.shrink_to_fit();
    return out;
}

}  // namespace

void Lane::seal_levels() {
    constexpr std::size_t kShort = 4096;  // a search through fewer spans costs nothing
    constexpr std::size_t kFewRuns = 512;
    levels.clear();
    marks.clear();
    for (std::size_t i = 0; i < size(); i += kMarkSpans) marks.push_back(starts[i]);
    if (size() < kShort) return;
    // Differences of times at the ends of 64 bits have no room: such a lane is searched span by span.
    TimeNs length = 0;
    if (__builtin_sub_overflow(ends.back(), starts.front(), &length) || length > std::numeric_limits<TimeNs>::max() / 8) return;
    TimeNs narrow = 1;
    while (narrow < length / static_cast<TimeNs>(size()) * 8) narrow *= 4;
    std::vector<FoldRun> runs;
    bool open = false;
    for (std::size_t i = 0; i < size(); ++i) {
        if (open && ends[i] - runs.back().end < narrow) {
            runs.back().end = ends[i];
            ++runs.back().count;
            continue;
        }
        runs.push_back({starts[i], ends[i], ends[i], static_cast<std::uint32_t>(i), 1});
        open = ends[i] - starts[i] < narrow;
    }
    while (runs.size() >= kFewRuns && narrow < length) {
        std::vector<FoldRun> coarser = merged_runs(runs, narrow * 4);
        if (runs.size() <= size() / 16) levels.push_back({narrow, std::move(runs)});
        runs = std::move(coarser);
        narrow *= 4;
    }
    if (runs.size() <= size() / 16) levels.push_back({narrow, std::move(runs)});
}

void Lane::seal_values() {
    values.resize(size(), 0.0);
    peaks.assign((size() + kPeakSpans - 1) / kPeakSpans, -std::numeric_limits<double>::infinity());
    for (std::size_t i = 0; i < size(); ++i) {
        if (!std::isfinite(values[i])) values[i] = 0.0;
        peaks[i / kPeakSpans] = std::max(peaks[i / kPeakSpans], values[i]);
    }
}

double Lane::peak(std::size_t first, std::size_t last) const noexcept {
    double best = values[first];
    for (std::size_t i = first; i < last;) {
        if (i % kPeakSpans == 0 && i + kPeakSpans <= last) {
            best = std::max(best, peaks[i / kPeakSpans]);
            i += kPeakSpans;
        } else {
            best = std::max(best, values[i]);
            ++i;
        }
    }
    return best;
}

}  // namespace faultline
