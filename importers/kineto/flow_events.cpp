#include "importers/kineto/flow_events.h"

#include <fmt/format.h>

#include <map>
#include <optional>

#include "importers/kineto/number_text.h"

namespace faultline::kineto {

void FlowEvents::take(const KinetoEvent& event, const Category& category) {
    switch (category.flow) {
        case FlowUse::launch: return take_launch(event);
        case FlowUse::backward: return take_backward(event);
        case FlowUse::unknown:
            ledger_.note("kineto.flow", "A flow of a category that is not known was read and is not shown",
                         fmt::format("byte {}", event.offset));
    }
}

void FlowEvents::take_launch(const KinetoEvent& event) {
    // Kineto writes a flow right behind its row, which nearly always has the same id as correlation.
    if (event.time == last_start_ && last_correlated_) return;
    constexpr std::size_t kMostLaunches = 4'000'000;
    const std::optional<std::int64_t> id = whole_number(event.id);
    if (!id || launches_.size() >= kMostLaunches) return;
    launches_.push_back({row_key(event.pid) + '\n' + row_key(event.tid), event.time, *id});
}

void FlowEvents::take_backward(const KinetoEvent& event) {
    if (event.phase == 't') return;
    const End here{rows_.host(event.pid, event.tid).thread, event.time, event.phase == 's'};
    const auto [at, added] = open_.try_emplace(std::string(event.id), here);
    if (added) return;
    const End there = at->second;
    if (there.begins == here.begins) {  // ids that come again: the newer one counts
        at->second = here;
        return;
    }
    const End& forward = here.begins ? here : there;
    const End& backward = here.begins ? there : here;
    source_.host_links.push_back({forward.thread, backward.thread, forward.time, backward.time});
    open_.erase(at);
}

void FlowEvents::resolve() {
    if (!open_.empty()) ledger_.note("kineto.flow-one-end", "A backward flow has only one end and links nothing", "", open_.size());
    if (!needed_ || launches_.empty()) return;
    std::map<std::pair<std::string, TimeNs>, std::int64_t> ids;
    for (const Launch& launch : launches_) ids.emplace(std::pair{launch.row, launch.time}, launch.id);
    const auto fill = [&](TrackBuffer* track, const std::string& row) {
        if (track == nullptr) return;
        for (std::uint32_t i = 0; i < track->size(); ++i) {
            if (!is_device_work(track->kinds[i]) && !is_api_call(track->kinds[i])) continue;
            if (track->get(i, Column::correlation) != kNull) continue;
            const auto found = ids.find({row, track->starts[i]});
            if (found != ids.end()) track->set(i, Column::correlation, found->second);
        }
    };
    for (HostRow& row : rows_.hosts()) fill(row.track, row.pid_key + '\n' + row.tid_key);
    for (DeviceRow& row : rows_.devices()) fill(row.work, row.pid_key + '\n' + row.tid_key);
}

}  // namespace faultline::kineto
