#include "importers/nsys/places.h"

#include <fmt/format.h>

namespace faultline::nsys {

std::optional<ProcessId> Places::process(std::int64_t global) {
    if (global == kNull) return std::nullopt;
    const std::int64_t key = process_key(global);
    const auto known = processes_.find(key);
    if (known != processes_.end()) return known->second;
    const std::int64_t pid = pid_of(global);
    const bool first = pids_.try_emplace(pid, key).first->second == key;
    constexpr unsigned kMachineShift = 48;
    // A second process with the same pid lives on another (virtual) machine.
    const ProcessId id = source_.process(
        pid, first ? std::string() : fmt::format("{} on machine {:x}", pid, static_cast<std::uint64_t>(key) >> kMachineShift));
    processes_.emplace(key, id);
    return id;
}

const Places::HostPlace& Places::host(std::int64_t global_tid) {
    if (last_host_place_ != nullptr && global_tid == last_host_) return *last_host_place_;
    const auto [at, added] = hosts_.try_emplace(global_tid);
    HostPlace& place = at->second;
    if (added) {
        place.process = global_tid == kNull ? source_.process(0, "unknown") : *process(global_tid);
        place.thread =
            global_tid == kNull ? source_.thread(place.process, 0, "unknown") : source_.thread(place.process, tid_of(global_tid));
        place.track = &source_.host_track(place.thread);
    }
    last_host_ = global_tid;
    last_host_place_ = &place;
    return place;
}

void Places::map_device(std::int64_t pid, std::int64_t cuda_ordinal, std::int64_t adapter) {
    ordinals_differ_ = ordinals_differ_ || first_adapter_.try_emplace(cuda_ordinal, adapter).first->second != adapter;
    adapter_of_.try_emplace({pid, cuda_ordinal}, adapter);
}

DeviceId Places::device(std::int64_t cuda_ordinal, std::int64_t global_pid) {
    std::optional<std::int64_t> found;
    if (ordinals_differ_ && global_pid != kNull) {
        if (const auto own = adapter_of_.find({pid_of(global_pid), cuda_ordinal}); own != adapter_of_.end()) found = own->second;
    } else if (const auto first = first_adapter_.find(cuda_ordinal); first != first_adapter_.end()) {
        found = first->second;
    }
    const DeviceId id = source_.device(ordinals_differ_ && found ? *found : cuda_ordinal);
    if (found) adapters_.try_emplace(index_of(id), *found);
    return id;
}

std::optional<std::int64_t> Places::adapter(DeviceId device) const {
    const auto found = adapters_.find(index_of(device));
    return found == adapters_.end() ? std::nullopt : std::optional(found->second);
}

Places::DevicePlace& Places::stream_place(std::int64_t device, std::int64_t stream, std::int64_t global_pid) {
    const StreamKey key{device, stream, global_pid == kNull ? kNull : process_key(global_pid)};
    if (last_stream_place_ != nullptr && key == last_stream_) return *last_stream_place_;
    const auto [at, added] = streams_.try_emplace(key);
    DevicePlace& place = at->second;
    if (added) {
        place.device = this->device(device, global_pid);
        place.process = process(global_pid);
        place.stream = stream;
    }
    last_stream_ = key;
    last_stream_place_ = &place;
    return place;
}

TrackBuffer& Places::work(std::int64_t device, std::int64_t stream, std::int64_t global_pid) {
    DevicePlace& place = stream_place(device, stream, global_pid);
    if (place.work == nullptr) place.work = &source_.device_track(place.device, place.stream, place.process);
    return *place.work;
}

TrackBuffer& Places::device_ranges(std::int64_t device, std::int64_t stream, std::int64_t global_pid) {
    DevicePlace& place = stream_place(device, stream, global_pid);
    if (place.ranges == nullptr) place.ranges = &source_.device_range_track(place.device, place.stream, place.process);
    return *place.ranges;
}

}  // namespace faultline::nsys
