#include "importers/kineto/python_threads.h"

#include <algorithm>
#include <unordered_map>
#include <vector>

namespace faultline::kineto {

namespace {

struct Root {
    std::uint32_t at;
    bool whole;  ///< has no parent at all; else its parent is not in the row
    std::size_t frames = 0;
    int part = 0;
};

/// The outermost frame above each Python frame of a track.
class Forest {
public:
    explicit Forest(const TrackBuffer& track) : track_(track), root_of_(track.size(), kNone) {
        for (std::uint32_t i = 0; i < track.size(); ++i)
            if (const std::int64_t id = frame_id(i); id != kNull) by_id_.emplace(id, i);
        for (std::uint32_t i = 0; i < track.size(); ++i)
            if (track.kinds[i] == SpanKind::python) ++roots_[find_root(i)].frames;
    }
    [[nodiscard]] std::vector<Root>& roots() noexcept { return roots_; }
    [[nodiscard]] int part(std::uint32_t i) const { return root_of_[i] == kNone ? 0 : roots_[root_of_[i]].part; }

private:
    static constexpr std::uint32_t kNone = 0xFFFFFFFF;

    [[nodiscard]] std::int64_t frame_id(std::uint32_t i) const {
        return track_.kinds[i] == SpanKind::python ? track_.get(i, Column::python_id) : kNull;
    }

    std::uint32_t find_root(std::uint32_t i) {
        std::vector<std::uint32_t> path;
        std::uint32_t at = i;
        // A damaged file may have frames that are their own ancestors: the walk ends where it has been.
        while (root_of_[at] == kNone) {
            path.push_back(at);
            root_of_[at] = kVisiting;
            const auto parent = by_id_.find(track_.get(at, Column::python_parent));
            if (parent == by_id_.end() || root_of_[parent->second] == kVisiting) {
                root_of_[at] = static_cast<std::uint32_t>(roots_.size());
                roots_.push_back({at, track_.get(at, Column::python_parent) == kNull});
                break;
            }
            at = parent->second;
        }
        for (const std::uint32_t p : path) root_of_[p] = root_of_[at];
        return root_of_[i];
    }

    static constexpr std::uint32_t kVisiting = 0xFFFFFFFE;
    const TrackBuffer& track_;
    std::vector<std::uint32_t> root_of_;
    std::unordered_map<std::int64_t, std::uint32_t> by_id_;
    std::vector<Root> roots_;
};

/// Gives each outermost frame the first part where it fits. Returns the number of parts.
int assign_parts(const TrackBuffer& track, std::vector<Root>& roots) {
    std::vector<std::size_t> order(roots.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
        return track.starts[roots[a].at] != track.starts[roots[b].at] ? track.starts[roots[a].at] < track.starts[roots[b].at]
                                                                      : track.durations[roots[a].at] > track.durations[roots[b].at];
    });
    constexpr std::size_t kMostParts = 256;
    std::vector<TimeNs> ends;  // of the last outermost frame of each part
    for (const std::size_t r : order) {
        const TimeNs start = track.starts[roots[r].at], end = track.end(roots[r].at);
        // A frame whose parent was cut off may well lie inside another one of its own thread.
        const auto fits =
            std::find_if(ends.begin(), ends.end(), [&](TimeNs last) { return last <= start || (!roots[r].whole && end <= last); });
        roots[r].part = static_cast<int>(fits - ends.begin());
        if (fits != ends.end())
            *fits = std::max(*fits, end);
        else if (ends.size() < kMostParts)
            ends.push_back(end);
        else
            roots[r].part = 0;
    }
    return static_cast<int>(ends.size());
}

/// The part with most frames is the thread itself, which has operators and calls too.
void put_busiest_first(std::vector<Root>& roots, int parts) {
    std::vector<std::size_t> frames(static_cast<std::size_t>(parts));
    for (const Root& r : roots) frames[static_cast<std::size_t>(r.part)] += r.frames;
    const int busiest = static_cast<int>(std::max_element(frames.begin(), frames.end()) - frames.begin());
    for (Root& r : roots) {
        if (r.part == busiest)
            r.part = 0;
        else if (r.part == 0)
            r.part = busiest;
    }
}

void split(SourceBuilder& source, HostRow& row) {
    TrackBuffer& track = *row.track;
    Forest forest(track);
    if (forest.roots().size() < 2) return;
    const int parts = assign_parts(track, forest.roots());
    if (parts < 2) return;
    put_busiest_first(forest.roots(), parts);
    std::vector<std::vector<std::uint32_t>> positions(static_cast<std::size_t>(parts));
    for (std::uint32_t i = 0; i < track.size(); ++i) positions[static_cast<std::size_t>(forest.part(i))].push_back(i);
    for (int part = 1; part < parts; ++part)
        source.host_track(row.thread, part).append_from(track, positions[static_cast<std::size_t>(part)]);
    track.rearrange(positions.front());
}

}  // namespace

void split_python_threads(SourceBuilder& source, TraceRows& rows) {
    for (HostRow& row : rows.hosts())
        if (row.has_frames) split(source, row);
}

}  // namespace faultline::kineto
