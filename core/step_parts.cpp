#include "core/step_parts.h"

#include <algorithm>
#include <array>
#include <tuple>
#include <unordered_map>

namespace faultline {

namespace {

bool is_counted(SpanKind kind) { return is_device_work(kind) || is_api_call(kind) || kind == SpanKind::op; }

/// Positions of steps by id: ids are dense from 1 in all captures that this program writes.
class StepPositions {
public:
    explicit StepPositions(std::span<const Step> steps) {
        std::int64_t last = 0;
        for (const Step& s : steps) last = std::max(last, index_of(s.id));
        if (last <= static_cast<std::int64_t>(4 * steps.size() + 1'024)) {
            dense_.assign(static_cast<std::size_t>(last) + 1, kNone);
            for (std::size_t i = 0; i < steps.size(); ++i)
                if (index_of(steps[i].id) >= 0) dense_[static_cast<std::size_t>(index_of(steps[i].id))] = i;
        } else {
            for (std::size_t i = 0; i < steps.size(); ++i) sparse_[index_of(steps[i].id)] = i;
        }
    }
    static constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    [[nodiscard]] std::size_t of(std::int64_t id) const {
        if (dense_.empty()) {
            const auto found = sparse_.find(id);
            return found == sparse_.end() ? kNone : found->second;
        }
        return id >= 0 && static_cast<std::size_t>(id) < dense_.size() ? dense_[static_cast<std::size_t>(id)] : kNone;
    }

private:
    std::vector<std::size_t> dense_;
    std::unordered_map<std::int64_t, std::size_t> sparse_;
};

class Counting {
public:
    Counting(const CaptureReader& capture, const LayerRules& layers, std::span<const Step> steps)
        : capture_(capture), layers_(layers), positions_(steps), slots_(capture.name_count()) {
        counted_.steps.resize(steps.size());
    }

    Result<void> add_track(const TrackLanes& track) {
        Result<std::vector<std::int64_t>> column = capture_.read_column(track.track.id, Column::step);
        if (!column) return tl::unexpected<Error>(column.error());
        for (const Lane& lane : track.lanes)
            if (!lane.python) add_lane(track.track, lane, *column);
        if (track.track.kind == TrackKind::device) counted_.device_steps[track.track.id] = std::move(*column);
        return {};
    }

    CountedSteps take() {
        for (StepParts& step : counted_.steps) merge(step.parts);
        return std::move(counted_);
    }

private:
    struct Slot {
        std::uint32_t run = 0;
        std::uint32_t at = 0;
    };

    void add_lane(const Track& track, const Lane& lane, const std::vector<std::int64_t>& column) {
        std::int64_t id = kNull;
        std::size_t step = StepPositions::kNone;
        for (std::size_t i = 0; i < lane.size(); ++i) {
            const std::int64_t here = column[lane.ordinals[i]];
            if (here != id) {
                close(track, step);
                id = here;
                step = id == kNull ? StepPositions::kNone : positions_.of(id);
                ++run_;
            }
            if (step != StepPositions::kNone && is_counted(lane.kinds[i])) count(lane, i);
        }
        close(track, step);
    }

    void count(const Lane& lane, std::size_t i) {
        if (index_of(lane.names[i]) >= slots_.size()) slots_.resize(index_of(lane.names[i]) + std::size_t{1});
        Slot& slot = slots_[index_of(lane.names[i])];
        if (slot.run != run_ || open_[slot.at].kind != lane.kinds[i]) {
            slot = {run_, static_cast<std::uint32_t>(open_.size())};
            open_.push_back({lane.kinds[i], lane.names[i], 0, 0});
        }
        ++open_[slot.at].count;
        open_[slot.at].total += lane.ends[i] - lane.starts[i];
    }

    /// What one lane holds of one step goes to the step.
    void close(const Track& track, std::size_t step) {
        if (open_.empty()) return;
        StepParts& parts = counted_.steps[step];
        parts.parts.insert(parts.parts.end(), open_.begin(), open_.end());
        if (track.kind == TrackKind::device && track.device) {
            StepDevice& device = device_of(parts, *track.device);
            for (const StepPart& p : open_) {
                if (is_comm(p.kind, p.name)) device.collective_ns += p.total;
                if (p.kind == SpanKind::graph) device.graph_ns += p.total;
            }
        }
        open_.clear();
    }

    static StepDevice& device_of(StepParts& parts, DeviceId id) {
        for (StepDevice& d : parts.devices)
            if (d.device == id) return d;
        parts.devices.push_back({id, 0, 0});
        return parts.devices.back();
    }

    bool is_comm(SpanKind kind, NameId name) {
        const auto [known, fresh] = comm_.try_emplace(static_cast<std::uint64_t>(kind) << 32 | index_of(name), false);
        if (fresh) known->second = layers_.classify(kind, capture_.name(name)) == LayerClass::comm;
        return known->second;
    }

    static void merge(std::vector<StepPart>& parts) {
        std::sort(parts.begin(), parts.end(),
                  [](const StepPart& a, const StepPart& b) { return std::tuple(a.kind, a.name) < std::tuple(b.kind, b.name); });
        std::size_t kept = 0;
        for (const StepPart& p : parts) {
            if (kept > 0 && parts[kept - 1].kind == p.kind && parts[kept - 1].name == p.name) {
                parts[kept - 1].count += p.count;
                parts[kept - 1].total += p.total;
            } else {
                parts[kept++] = p;
            }
        }
        parts.resize(kept);
    }

    const CaptureReader& capture_;
    const LayerRules& layers_;
    StepPositions positions_;
    std::vector<Slot> slots_;  ///< by name: where the run of spans that is being counted has it
    std::uint32_t run_ = 0;
    std::vector<StepPart> open_;
    std::unordered_map<std::uint64_t, bool> comm_;
    CountedSteps counted_;
};

}  // namespace

Result<CountedSteps> count_parts(const CaptureReader& capture, const SpanIndex& index, const LayerRules& layers,
                                 std::span<const Step> steps, std::stop_token stop) {
    Counting counting(capture, layers, steps);
    for (const TrackLanes& track : index.tracks()) {
        if (stop.stop_requested()) return fail(ErrorCode::cancelled, "the analysis was cancelled");
        if (track.track.kind != TrackKind::host && track.track.kind != TrackKind::device) continue;
        if (Result<void> ok = counting.add_track(track); !ok) return tl::unexpected<Error>(ok.error());
    }
    return counting.take();
}

}  // namespace faultline
