// Which track an event lies on: threads by (pid, tid), streams by (device, stream). One thread.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <limits>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>

#include "core/source_builder.h"
#include "importers/kineto/kineto_event.h"

namespace faultline::kineto {

/// Text that tells one pid or tid from another: numbers and words never meet.
[[nodiscard]] std::string row_key(const RowId& id);

/// A thread of the host.
struct HostRow {
    std::string pid_key, tid_key;
    ProcessId process{};
    ThreadId thread{};
    TrackBuffer* track = nullptr;
    TimeNs last_end = std::numeric_limits<TimeNs>::min();  ///< of all its spans so far
    bool has_calls = false;
    bool has_frames = false;  ///< Python
};

/// A stream of a device.
struct DeviceRow {
    std::string pid_key, tid_key;  ///< of the first event on it: what names the row
    DeviceId device{};
    std::int64_t stream = 0;
    TrackBuffer* work = nullptr;  ///< null until something lies on it
    TrackBuffer* ranges = nullptr;
};

class TraceRows {
public:
    explicit TraceRows(SourceBuilder& source) : source_(source) {}

    [[nodiscard]] HostRow& host(const RowId& pid, const RowId& tid) {
        if (last_host_ != nullptr && pid.kind == RowId::Kind::number && tid.kind == RowId::Kind::number &&
            pid.number == last_host_ids_.first && tid.number == last_host_ids_.second)
            return *last_host_;
        return find_host(pid, tid);
    }
    /// The stream that an event of a device lies on: by args, else by its pid and tid.
    [[nodiscard]] DeviceRow& device(const KinetoEvent& event);
    [[nodiscard]] TrackBuffer& work(DeviceRow& row);
    [[nodiscard]] TrackBuffer& ranges(DeviceRow& row);
    [[nodiscard]] ProcessId process(const RowId& pid);

    [[nodiscard]] std::deque<HostRow>& hosts() noexcept { return hosts_; }
    [[nodiscard]] std::deque<DeviceRow>& devices() noexcept { return devices_; }

private:
    HostRow& find_host(const RowId& pid, const RowId& tid);

    using Ids = std::pair<std::int64_t, std::int64_t>;
    struct IdsHash {
        std::size_t operator()(const Ids& ids) const noexcept {
            return std::hash<std::uint64_t>{}(static_cast<std::uint64_t>(ids.first) * 0x9E3779B97F4A7C15ULL ^
                                              static_cast<std::uint64_t>(ids.second));
        }
    };

    SourceBuilder& source_;
    std::deque<HostRow> hosts_;
    std::deque<DeviceRow> devices_;
    std::unordered_map<Ids, HostRow*, IdsHash> host_by_number_;
    std::unordered_map<std::string, HostRow*> host_by_text_;
    std::unordered_map<Ids, DeviceRow*, IdsHash> device_by_stream_;
    HostRow* last_host_ = nullptr;
    Ids last_host_ids_;
    DeviceRow* last_device_ = nullptr;
    Ids last_device_ids_;
};

}  // namespace faultline::kineto
