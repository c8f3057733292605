// Processes, threads, devices and tracks by the ids of an Nsight Systems export (FORMATS §1.2).
//
// A global id is 64 bits: hardware (8), virtual machine (8), process (24), thread (24). A process is what the upper 40 bits say: pids of
// two machines or containers may be equal. Ids of correlation count inside one process.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>

#include "core/source_builder.h"

namespace faultline::nsys {

inline constexpr std::uint64_t kIdMask = 0xFFFFFF;
[[nodiscard]] constexpr std::int64_t pid_of(std::int64_t global) noexcept {
    return static_cast<std::int64_t>((static_cast<std::uint64_t>(global) >> 24) & kIdMask);
}
[[nodiscard]] constexpr std::int64_t tid_of(std::int64_t global) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(global) & kIdMask);
}
[[nodiscard]] constexpr std::int64_t process_key(std::int64_t global) noexcept {
    return static_cast<std::int64_t>(static_cast<std::uint64_t>(global) & ~kIdMask);
}

class Places {
public:
    explicit Places(SourceBuilder& source) : source_(source) {}

    struct HostPlace {
        TrackBuffer* track = nullptr;
        ThreadId thread{};
        ProcessId process{};
    };
    struct DevicePlace {
        TrackBuffer* work = nullptr;  ///< made when first asked for
        TrackBuffer* ranges = nullptr;
        DeviceId device{};
        std::optional<ProcessId> process;
        std::int64_t stream = 0;
    };

    /// The process of a global thread or process id; nothing where the export does not say (kNull).
    [[nodiscard]] std::optional<ProcessId> process(std::int64_t global);
    /// The thread of a global thread id; rows that name none share a thread without a number.
    [[nodiscard]] const HostPlace& host(std::int64_t global_tid);
    [[nodiscard]] TrackBuffer& work(std::int64_t device, std::int64_t stream, std::int64_t global_pid);
    [[nodiscard]] TrackBuffer& device_ranges(std::int64_t device, std::int64_t stream, std::int64_t global_pid);
    [[nodiscard]] DeviceId device(std::int64_t cuda_ordinal, std::int64_t global_pid);

    /// A device ordinal of a process that stands for the adapter with this id.
    void map_device(std::int64_t pid, std::int64_t cuda_ordinal, std::int64_t adapter);
    /// The adapter behind a device row, where the export maps them.
    [[nodiscard]] std::optional<std::int64_t> adapter(DeviceId device) const;
    /// Ids of processes and threads that have spans, by global id.
    [[nodiscard]] const std::unordered_map<std::int64_t, ProcessId>& processes() const noexcept { return processes_; }
    [[nodiscard]] const std::unordered_map<std::int64_t, HostPlace>& threads() const noexcept { return hosts_; }

private:
    struct StreamKey {
        std::int64_t device, stream, process;
        friend bool operator==(const StreamKey&, const StreamKey&) = default;
    };
    struct StreamHash {
        std::size_t operator()(const StreamKey& k) const noexcept {
            constexpr std::uint64_t kMix = 0x9E3779B97F4A7C15ULL;
            std::uint64_t h = static_cast<std::uint64_t>(k.device) * kMix;
            h = (h ^ static_cast<std::uint64_t>(k.stream)) * kMix;
            return static_cast<std::size_t>((h ^ static_cast<std::uint64_t>(k.process)) * kMix);
        }
    };
    [[nodiscard]] DevicePlace& stream_place(std::int64_t device, std::int64_t stream, std::int64_t global_pid);

    SourceBuilder& source_;
    std::unordered_map<std::int64_t, ProcessId> processes_;  ///< by process_key
    std::unordered_map<std::int64_t, HostPlace> hosts_;      ///< by global thread id
    std::unordered_map<StreamKey, DevicePlace, StreamHash> streams_;
    std::unordered_map<std::int64_t, std::int64_t> pids_;                       ///< pid → process_key that was met first with it
    std::map<std::pair<std::int64_t, std::int64_t>, std::int64_t> adapter_of_;  ///< adapters by pid and ordinal
    std::unordered_map<std::int64_t, std::int64_t> first_adapter_;              ///< adapters by ordinal, as the first process has them
    bool ordinals_differ_ = false;  ///< the same ordinal means different adapters in two processes
    std::unordered_map<std::uint32_t, std::int64_t> adapters_;
    std::int64_t last_host_ = kNull;
    const HostPlace* last_host_place_ = nullptr;
    StreamKey last_stream_{kNull, kNull, kNull};
    DevicePlace* last_stream_place_ = nullptr;
};

}  // namespace faultline::nsys
