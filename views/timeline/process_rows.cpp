#include "views/timeline/process_rows.h"

#include <algorithm>
#include <tuple>

namespace faultline {

namespace {

/// The process under which a track is shown: its own; for a device track without one, the only process with threads of its source.
class ProcessOfTrack {
public:
    explicit ProcessOfTrack(const LoadedCapture& capture) {
        for (const TrackLanes& t : capture.index->tracks()) {
            if (t.track.kind != TrackKind::host || !t.track.process) continue;
            auto [at, fresh] = only_.try_emplace(index_of(t.track.source), index_of(*t.track.process));
            if (!fresh && at->second != index_of(*t.track.process)) at->second = kNoId;
        }
    }
    [[nodiscard]] std::uint32_t of(const Track& track) const {
        if (track.process) return index_of(*track.process);
        const auto at = only_.find(index_of(track.source));
        return at != only_.end() ? at->second : kNoId;
    }

private:
    std::map<std::uint32_t, std::uint32_t> only_;
};

}  // namespace

std::vector<ProcessRows> sorted_processes(const LoadedCapture& capture) {
    std::map<std::pair<std::uint32_t, std::uint32_t>, ProcessRows> found;  // source, process
    const ProcessOfTrack place(capture);
    for (const TrackLanes& t : capture.index->tracks()) {
        if (t.lanes.empty()) continue;
        const Track& track = t.track;
        const std::uint32_t process = place.of(track);
        ProcessRows& rows = found[{index_of(track.source), process}];
        if (capture.reader) {
            rows.source = capture.reader->source(track.source);
            if (process != kNoId) rows.process = capture.reader->process(ProcessId{process});
        }
        for (const Lane& lane : t.lanes) rows.spans += lane.size();
        const std::uint32_t device = track.device ? index_of(*track.device) : kNoId;
        switch (track.kind) {
            case TrackKind::host: rows.threads[track.thread ? index_of(*track.thread) : kNoId].add(t); break;
            case TrackKind::device: rows.devices[device].streams[track.stream.value_or(-1)].add(t); break;
            case TrackKind::device_ranges: rows.devices[device].ranges[track.stream.value_or(-1)].add(t); break;
            case TrackKind::counter: rows.counters.push_back(&t); break;
            case TrackKind::marks: rows.marks.push_back(&t); break;
        }
    }
    std::vector<ProcessRows> out;
    for (auto& [key, rows] : found) out.push_back(std::move(rows));
    const auto key = [](const ProcessRows& r) {
        const bool work = !r.threads.empty() || !r.devices.empty();
        const bool nobody = r.process == nullptr;  // what belongs to no process of its source comes after those that do
        return std::tuple(!work,
                          r.process && r.process->rank ? *r.process->rank
                          : r.source && r.source->rank ? *r.source->rank
                                                       : 0,
                          nobody, r.process ? r.process->sort_index : 0, r.process ? r.process->pid : 0);
    };
    std::stable_sort(out.begin(), out.end(), [&](const ProcessRows& x, const ProcessRows& y) { return key(x) < key(y); });
    return out;
}

}  // namespace faultline
