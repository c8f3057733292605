#include "core/source_builder.h"

#include <fmt/format.h>

#include <cassert>

namespace faultline {

SourceBuilder::SourceBuilder(SourceId id, FirstIds first, InternedNames& names, InternedTexts& texts)
    : first_(first), names_(names), texts_(texts) {
    source.id = id;
}

ProcessId SourceBuilder::process(std::int64_t pid, std::string_view pid_text) {
    const auto [at, added] = keys_.try_emplace(fmt::format("p{}:{}", pid, pid_text), static_cast<std::uint32_t>(processes_.size()));
    if (added) {
        Process row;
        row.id = ProcessId{first_.process + at->second};
        row.source = source.id;
        row.pid = pid;
        row.pid_text = pid_text;
        processes_.push_back(std::move(row));
    }
    return processes_[at->second].id;
}

ThreadId SourceBuilder::thread(ProcessId process, std::int64_t tid, std::string_view tid_text) {
    const auto [at, added] =
        keys_.try_emplace(fmt::format("t{}:{}:{}", index_of(process), tid, tid_text), static_cast<std::uint32_t>(threads_.size()));
    if (added) {
        Thread row;
        row.id = ThreadId{first_.thread + at->second};
        row.process = process;
        row.tid = tid;
        row.tid_text = tid_text;
        threads_.push_back(std::move(row));
    }
    return threads_[at->second].id;
}

DeviceId SourceBuilder::device(std::int64_t ordinal) {
    const auto [at, added] = keys_.try_emplace(fmt::format("d{}", ordinal), static_cast<std::uint32_t>(devices_.size()));
    if (added) {
        Device row;
        row.id = DeviceId{first_.device + at->second};
        row.source = source.id;
        row.ordinal = ordinal;
        devices_.push_back(std::move(row));
    }
    return devices_[at->second].id;
}

Process& SourceBuilder::process_row(ProcessId id) {
    assert(index_of(id) >= first_.process && index_of(id) - first_.process < processes_.size());
    return processes_[index_of(id) - first_.process];
}

Thread& SourceBuilder::thread_row(ThreadId id) {
    assert(index_of(id) >= first_.thread && index_of(id) - first_.thread < threads_.size());
    return threads_[index_of(id) - first_.thread];
}

Device& SourceBuilder::device_row(DeviceId id) {
    assert(index_of(id) >= first_.device && index_of(id) - first_.device < devices_.size());
    return devices_[index_of(id) - first_.device];
}

TrackBuffer& SourceBuilder::find_track(std::string key, TrackKind kind) {
    const auto [at, added] = keys_.try_emplace(std::move(key), static_cast<std::uint32_t>(tracks_.size()));
    if (added) {
        Track& track = tracks_.emplace_back().track;
        track.id = TrackId{first_.track + at->second};
        track.source = source.id;
        track.kind = kind;
    }
    return tracks_[at->second];
}

TrackBuffer& SourceBuilder::host_track(ThreadId thread, int part) {
    TrackBuffer& buffer = find_track(fmt::format("h{}:{}", index_of(thread), part), TrackKind::host);
    buffer.track.thread = thread;
    buffer.track.process = thread_row(thread).process;
    buffer.track.part = part;
    return buffer;
}

TrackBuffer& SourceBuilder::device_track(DeviceId device, std::int64_t stream, std::optional<ProcessId> process) {
    TrackBuffer& buffer =
        find_track(fmt::format("s{}:{}:{}", index_of(device), stream, process ? static_cast<std::int64_t>(index_of(*process)) : -1),
                   TrackKind::device);
    buffer.track.device = device;
    buffer.track.stream = stream;
    buffer.track.process = process;
    return buffer;
}

TrackBuffer& SourceBuilder::device_range_track(DeviceId device, std::int64_t stream, std::optional<ProcessId> process) {
    TrackBuffer& buffer =
        find_track(fmt::format("r{}:{}:{}", index_of(device), stream, process ? static_cast<std::int64_t>(index_of(*process)) : -1),
                   TrackKind::device_ranges);
    buffer.track.device = device;
    buffer.track.stream = stream;
    buffer.track.process = process;
    return buffer;
}

TrackBuffer& SourceBuilder::counter_track(std::optional<ProcessId> process, std::string_view name) {
    TrackBuffer& buffer =
        find_track(fmt::format("c{}:{}", process ? static_cast<std::int64_t>(index_of(*process)) : -1, name), TrackKind::counter);
    buffer.track.process = process;
    buffer.track.name = name;
    return buffer;
}

TrackBuffer& SourceBuilder::marks_track(std::optional<ProcessId> process, std::string_view name) {
    TrackBuffer& buffer =
        find_track(fmt::format("m{}:{}", process ? static_cast<std::int64_t>(index_of(*process)) : -1, name), TrackKind::marks);
    buffer.track.process = process;
    buffer.track.name = name;
    return buffer;
}

TrackBuffer& SourceBuilder::sub_lane(const TrackBuffer& of, int lane) {
    const Track base = of.track;
    TrackBuffer& buffer = find_track(fmt::format("l{}:{}", index_of(base.id), lane), base.kind);
    const TrackId id = buffer.track.id;
    buffer.track = base;
    buffer.track.id = id;
    buffer.track.lane = lane;
    return buffer;
}

std::uint64_t SourceBuilder::span_count() const noexcept {
    std::uint64_t n = 0;
    for (const TrackBuffer& t : tracks_) n += t.size();
    return n;
}

}  // namespace faultline
