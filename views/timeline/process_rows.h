// The tracks of a capture as the timeline groups them: under their process, by thread, device and stream.
//
// Values made from the index; the capture outlives them.
#pragma once

#include <cstdint>
#include <map>
#include <vector>

#include "core/span_index.h"
#include "views/session.h"

namespace faultline {

/// The tracks of one thread or device stream, sub-lanes and parts together.
struct TrackSet {
    std::vector<const TrackLanes*> tracks;
    std::uint64_t spans = 0;
    void add(const TrackLanes& track) {
        tracks.push_back(&track);
        for (const Lane& lane : track.lanes) spans += lane.size();
    }
};

struct DeviceRows {
    std::map<std::int64_t, TrackSet> streams;  ///< work
    std::map<std::int64_t, TrackSet> ranges;
};

struct ProcessRows {
    const Process* process = nullptr;
    const Source* source = nullptr;
    std::map<std::uint32_t, TrackSet> threads;    ///< by ThreadId
    std::map<std::uint32_t, DeviceRows> devices;  ///< by DeviceId; the highest number for "no device"
    std::vector<const TrackLanes*> counters;
    std::vector<const TrackLanes*> marks;
    std::uint64_t spans = 0;
};

/// Stands for an id that a track does not have.
inline constexpr std::uint32_t kNoId = 0xffffffffU;

/// One entry for each process with spans, and one for each source with tracks that belong to none: those with work first, by rank.
[[nodiscard]] std::vector<ProcessRows> sorted_processes(const LoadedCapture& capture);

}  // namespace faultline
