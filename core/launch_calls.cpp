#include "core/launch_calls.h"

#include <algorithm>
#include <limits>
#include <string_view>

namespace faultline {

namespace {

/// `Memcpy DtoH (Device -> Pinned)`, `CopyDeviceToHost` (ROCm) and the like.
bool names_copy_out(std::string_view name) {
    for (const std::string_view word : {"DtoH", "D2H", "DeviceToHost", "DEVICE_TO_HOST"})
        if (name.find(word) != std::string_view::npos) return true;
    return false;
}

}  // namespace

LaunchTable::LaunchTable(const SourceBuilder& source) : work_(source.tracks().size()) {
    std::uint32_t last = 0;
    first_id_ = std::numeric_limits<std::uint32_t>::max();
    for (const TrackBuffer& t : source.tracks()) {
        first_id_ = std::min(first_id_, index_of(t.track.id));
        last = std::max(last, index_of(t.track.id));
    }
    if (source.tracks().empty()) return;
    positions_.assign(std::size_t{last - first_id_} + 1, kNone);
    std::uint32_t at = 0;
    for (const TrackBuffer& t : source.tracks()) positions_[index_of(t.track.id) - first_id_] = at++;

    std::vector<std::int8_t> out(source.names().size(), -1);  // whether a name says so, asked once
    for (const TrackBuffer& t : source.tracks()) {
        const auto& launch = t.column(Column::launch);
        for (std::uint32_t i = 0; i < launch.size(); ++i) {
            if (launch[i] == kNull) continue;
            const SpanId call{launch[i]};
            const std::uint32_t host = position(call.track());
            if (host == kNone || call.ordinal() >= source.tracks()[host].size()) continue;
            auto& calls = work_[host];
            if (calls.empty()) calls.resize(source.tracks()[host].size());
            LaunchedWork& work = calls[call.ordinal()];
            work.any = true;
            if (t.kinds[i] == SpanKind::kernel && work.kernels < std::numeric_limits<std::uint16_t>::max()) ++work.kernels;
            if (t.kinds[i] != SpanKind::memory_copy) continue;
            std::int8_t& known = out[index_of(t.names[i])];
            if (known < 0) known = static_cast<std::int8_t>(names_copy_out(source.names().text(t.names[i])));
            work.copies_out = work.copies_out || known == 1;
        }
    }
}

std::uint32_t LaunchTable::position(TrackId id) const noexcept {
    const std::uint32_t i = index_of(id) - first_id_;
    return i < positions_.size() ? positions_[i] : kNone;
}

std::vector<LaunchCall> LaunchTable::calls(const SourceBuilder& source, const HostThread& thread) const {
    std::vector<LaunchCall> calls;
    for (const std::uint32_t track : thread.tracks) {
        const TrackBuffer& t = source.tracks()[track];
        for (std::uint32_t i = 0; i < work_[track].size(); ++i)
            if (work_[track][i].any) calls.push_back({{track, i}, t.starts[i], t.end(i), work_[track][i]});
    }
    if (thread.tracks.size() > 1)
        std::stable_sort(calls.begin(), calls.end(), [](const LaunchCall& a, const LaunchCall& b) { return a.start < b.start; });
    return calls;
}

}  // namespace faultline
