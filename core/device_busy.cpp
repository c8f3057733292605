#include "core/device_busy.h"

#include <algorithm>
#include <map>

namespace faultline {

namespace {

/// One lane of a device on its way through time.
struct Head {
    const Lane* lane = nullptr;
    std::size_t at = 0;
    [[nodiscard]] TimeNs start() const noexcept { return lane->starts[at]; }
};

struct Later {
    bool operator()(const Head& a, const Head& b) const noexcept { return a.start() > b.start(); }
};

class Union {
public:
    Union(DeviceBusy& out, TimeNs at_least, std::span<const TimeNs> times) : out_(out), at_least_(at_least), times_(times) {
        out_.busy_until.reserve(times.size());
    }

    void add(const Lane& lane, std::size_t i) {
        const TimeNs start = lane.starts[i], end = lane.ends[i];
        if (!open_) {
            begin(lane, i);
            out_.first_start = start;
            return;
        }
        if (start > end_) {
            if (start - end_ >= at_least_) out_.gaps.push_back({end_, start, last_, SpanId::make(lane.track, lane.ordinals[i])});
            close();
            begin(lane, i);
            return;
        }
        if (end <= end_) return;
        end_ = end;
        last_ = SpanId::make(lane.track, lane.ordinals[i]);
    }

    void finish() {
        if (open_) {
            close();
            out_.last_end = end_;
        }
        while (asked_ < times_.size()) answer(busy_);
    }

private:
    void begin(const Lane& lane, std::size_t i) {
        open_ = true;
        start_ = lane.starts[i];
        end_ = lane.ends[i];
        last_ = SpanId::make(lane.track, lane.ordinals[i]);
    }
    void close() {
        while (asked_ < times_.size() && times_[asked_] <= start_) answer(busy_);
        while (asked_ < times_.size() && times_[asked_] < end_) answer(busy_ + times_[asked_] - start_);
        busy_ += end_ - start_;
    }
    void answer(TimeNs busy) {
        out_.busy_until.push_back(busy);
        ++asked_;
    }

    DeviceBusy& out_;
    TimeNs at_least_;
    std::span<const TimeNs> times_;
    std::size_t asked_ = 0;
    bool open_ = false;
    TimeNs start_ = 0, end_ = 0, busy_ = 0;
    SpanId last_;
};

/// Position of the first device work from `at` on.
std::size_t next_work(const Lane& lane, std::size_t at) {
    while (at < lane.size() && !is_device_work(lane.kinds[at])) ++at;
    return at;
}

void merge(const std::vector<const Lane*>& lanes, Union& all) {
    std::vector<Head> heads;
    for (const Lane* lane : lanes)
        if (const std::size_t at = next_work(*lane, 0); at < lane->size()) heads.push_back({lane, at});
    std::make_heap(heads.begin(), heads.end(), Later{});
    while (!heads.empty()) {
        std::pop_heap(heads.begin(), heads.end(), Later{});
        Head head = heads.back();
        heads.pop_back();
        // Work comes in runs of one stream: no heap is needed while it stays first.
        do {
            all.add(*head.lane, head.at);
            head.at = next_work(*head.lane, head.at + 1);
        } while (head.at < head.lane->size() && (heads.empty() || head.start() <= heads.front().start()));
        if (head.at >= head.lane->size()) continue;
        heads.push_back(head);
        std::push_heap(heads.begin(), heads.end(), Later{});
    }
}

}  // namespace

std::vector<DeviceBusy> device_busy(const SpanIndex& index, TimeNs gap_at_least, std::span<const TimeNs> times) {
    std::map<DeviceId, std::pair<SourceId, std::vector<const Lane*>>> devices;
    for (const TrackLanes& track : index.tracks()) {
        if (track.track.kind != TrackKind::device || !track.track.device) continue;
        auto& [source, lanes] = devices[*track.track.device];
        source = track.track.source;
        for (const Lane& lane : track.lanes) lanes.push_back(&lane);
    }
    std::vector<DeviceBusy> found;
    for (const auto& [device, of] : devices) {
        DeviceBusy busy;
        busy.device = device;
        busy.source = of.first;
        Union all(busy, gap_at_least, times);
        merge(of.second, all);
        all.finish();
        if (busy.last_end > busy.first_start) found.push_back(std::move(busy));
    }
    return found;
}

}  // namespace faultline
