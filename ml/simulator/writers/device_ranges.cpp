#include "ml/simulator/writers/device_ranges.h"

#include <algorithm>
#include <utility>

namespace faultline::simulator {

DeviceRanges::Range& DeviceRanges::find_or_add(std::uint32_t id) {
    if (latest_ < ranges_.size() && ranges_[latest_].id == id) return ranges_[latest_];
    const auto found = std::find_if(ranges_.rbegin(), ranges_.rend(), [id](const Range& r) { return r.id == id; });
    if (found != ranges_.rend()) {
        latest_ = static_cast<std::size_t>(ranges_.rend() - found) - 1;
        return ranges_[latest_];
    }
    latest_ = ranges_.size();
    if (spare_.empty()) {
        ranges_.emplace_back();
    } else {
        ranges_.push_back(std::move(spare_.back()));
        spare_.pop_back();
    }
    ranges_.back().id = id;
    return ranges_.back();
}

void DeviceRanges::worked(std::uint32_t id, StreamIndex stream, TimeNs start, TimeNs end) {
    std::vector<Stretch>& stretches = find_or_add(id).stretches;
    for (Stretch& stretch : stretches) {
        if (stretch.stream != stream) continue;
        stretch.start = std::min(stretch.start, start);
        stretch.end = std::max(stretch.end, end);
        return;
    }
    stretches.push_back({stream, start, end});
}

void DeviceRanges::ended(std::uint32_t id, std::string_view json) {
    const auto found = std::find_if(ranges_.rbegin(), ranges_.rend(), [id](const Range& r) { return r.id == id; });
    if (found == ranges_.rend()) return;
    found->json = json;
    found->ended = true;
}

std::size_t DeviceRanges::oldest() const {
    const auto found = std::find_if(ranges_.begin(), ranges_.end(), [](const Range& r) { return r.ended; });
    return found == ranges_.end() ? 0 : static_cast<std::size_t>(found - ranges_.begin());
}

void DeviceRanges::forget(std::size_t at) {
    Range range = std::move(ranges_[at]);
    ranges_.erase(ranges_.begin() + static_cast<std::ptrdiff_t>(at));
    range.ended = false;
    range.json.clear();
    range.stretches.clear();
    spare_.push_back(std::move(range));
}

}  // namespace faultline::simulator
