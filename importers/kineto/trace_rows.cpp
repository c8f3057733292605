#include "importers/kineto/trace_rows.h"

#include <fmt/format.h>

#include "importers/kineto/number_text.h"

namespace faultline::kineto {

namespace {

/// The number at the end of words such as "stream 7" or "GPU 0"; 0 where there is none.
std::int64_t trailing_number(std::string_view text) noexcept {
    std::size_t from = text.size();
    while (from > 0 && text[from - 1] >= '0' && text[from - 1] <= '9') --from;
    return whole_number(text.substr(from)).value_or(0);
}

std::int64_t number_of(const RowId& id) noexcept { return id.kind == RowId::Kind::text ? trailing_number(id.text) : id.number; }

/// Ascend packs the device into the low five bits of the pid of its hardware rows.
constexpr std::int64_t kAscendDeviceMask = 31;

}  // namespace

std::string row_key(const RowId& id) { return id.kind == RowId::Kind::text ? fmt::format("\"{}", id.text) : std::to_string(id.number); }

ProcessId TraceRows::process(const RowId& pid) {
    return pid.kind == RowId::Kind::text ? source_.process(pid.number, pid.text) : source_.process(pid.number);
}

HostRow& TraceRows::find_host(const RowId& pid, const RowId& tid) {
    const bool numbers = pid.kind != RowId::Kind::text && tid.kind != RowId::Kind::text;
    HostRow*& known = numbers ? host_by_number_[{pid.number, tid.number}] : host_by_text_[row_key(pid) + '\n' + row_key(tid)];
    if (known == nullptr) {
        HostRow& row = hosts_.emplace_back();
        row.pid_key = row_key(pid);
        row.tid_key = row_key(tid);
        row.process = process(pid);
        row.thread =
            tid.kind == RowId::Kind::text ? source_.thread(row.process, tid.number, tid.text) : source_.thread(row.process, tid.number);
        row.track = &source_.host_track(row.thread);
        known = &row;
    }
    if (numbers) {
        last_host_ = known;
        last_host_ids_ = {pid.number, tid.number};
    }
    return *known;
}

DeviceRow& TraceRows::device(const KinetoEvent& event) {
    const std::int64_t by_row = event.accelerator_task ? event.pid.number & kAscendDeviceMask : number_of(event.pid);
    const Ids ids{event.device != kNull ? event.device : by_row, event.stream != kNull ? event.stream : number_of(event.tid)};
    if (last_device_ != nullptr && ids == last_device_ids_) return *last_device_;
    DeviceRow*& known = device_by_stream_[ids];
    if (known == nullptr) {
        DeviceRow& row = devices_.emplace_back();
        row.pid_key = row_key(event.pid);
        row.tid_key = row_key(event.tid);
        row.device = source_.device(ids.first);
        row.stream = ids.second;
        known = &row;
    }
    last_device_ = known;
    last_device_ids_ = ids;
    return *known;
}

TrackBuffer& TraceRows::work(DeviceRow& row) {
    if (row.work == nullptr) row.work = &source_.device_track(row.device, row.stream);
    return *row.work;
}

TrackBuffer& TraceRows::ranges(DeviceRow& row) {
    if (row.ranges == nullptr) row.ranges = &source_.device_range_track(row.device, row.stream);
    return *row.ranges;
}

}  // namespace faultline::kineto
