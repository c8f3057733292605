#include "core/step_profile.h"

#include <algorithm>
#include <map>
#include <unordered_map>

namespace faultline {

namespace {

/// Consecutive spans of a track, column by column.
struct TrackPiece {
    std::uint64_t first_ordinal = 0;
    std::vector<std::int64_t> start, duration, name, kind, parent, step;

    [[nodiscard]] std::size_t size() const noexcept { return start.size(); }
    [[nodiscard]] SpanKind kind_of(std::size_t i) const noexcept { return static_cast<SpanKind>(kind[i]); }
    [[nodiscard]] TimeNs end(std::size_t i) const noexcept { return start[i] + duration[i]; }
};

constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

/// Busy stretches of a device, disjoint and by start, with the length of all before each.
class BusyTime {
public:
    void add(TimeRange range) { ranges_.push_back(range); }
    void seal() {
        std::sort(ranges_.begin(), ranges_.end(), [](TimeRange a, TimeRange b) { return a.start < b.start; });
        std::vector<TimeRange> merged;
        for (const TimeRange r : ranges_) {
            if (!merged.empty() && r.start <= merged.back().end)
                merged.back().end = std::max(merged.back().end, r.end);
            else
                merged.push_back(r);
        }
        ranges_ = std::move(merged);
        before_.assign(1, 0);
        for (const TimeRange r : ranges_) before_.push_back(before_.back() + r.duration());
    }
    [[nodiscard]] TimeNs busy_in(TimeRange range) const { return until(range.end) - until(range.start); }

private:
    [[nodiscard]] TimeNs until(TimeNs t) const {
        const auto after = std::partition_point(ranges_.begin(), ranges_.end(), [t](TimeRange r) { return r.start < t; });
        const auto n = static_cast<std::size_t>(after - ranges_.begin());
        return n == 0 ? 0 : before_[n - 1] + std::min(t, ranges_[n - 1].end) - ranges_[n - 1].start;
    }
    std::vector<TimeRange> ranges_;
    std::vector<TimeNs> before_;
};

std::uint64_t mixed(std::uint64_t hash, std::uint64_t value) {
    hash ^= value + 0x9e3779b97f4a7c15u + (hash << 6) + (hash >> 2);
    hash *= 0xff51afd7ed558ccdu;
    return hash ^ (hash >> 33);
}

class Profiling {
public:
    Profiling(const CaptureReader& capture, const LayerRules& layers, std::span<const Step> steps)
        : capture_(capture), layers_(layers), steps_(steps), profiles_(steps.size()), known_(steps.size()), devices_of_(steps.size()) {
        for (std::size_t i = 0; i < steps.size(); ++i) {
            profiles_[i].step = steps[i].id;
            profiles_[i].device_busy_ns = steps[i].kernel_busy_ns;
            position_[index_of(steps[i].id)] = i;
            window_.push_back({steps[i].start, steps[i].end});
            for (const SpanId span : steps[i].spans) step_spans_[span.value] = i;
        }
        std::sort(window_.begin(), window_.end(), [](TimeRange a, TimeRange b) { return a.start < b.start; });
        std::vector<TimeRange> joined;
        for (const TimeRange w : window_) {
            if (!joined.empty() && w.start <= joined.back().end)
                joined.back().end = std::max(joined.back().end, w.end);
            else
                joined.push_back(w);
        }
        window_ = std::move(joined);
    }

    Result<std::vector<StepProfile>> run(std::stop_token stop) {
        if (steps_.empty()) return std::move(profiles_);
        for (const Track& track : capture_.tracks()) {
            if (stop.stop_requested()) return fail(ErrorCode::cancelled, "the profile of the steps was cancelled");
            if (track.kind != TrackKind::host && track.kind != TrackKind::device) continue;
            if (Result<void> ok = add_track(track); !ok) return tl::unexpected<Error>(ok.error());
        }
        finish();
        return std::move(profiles_);
    }

private:
    /// Whether a chunk can hold spans of the steps, or device work that reaches into them.
    [[nodiscard]] bool wanted(const Track& track, const Chunk& chunk) const {
        const TimeNs first = chunk.min_start + track.clock_offset_ns, last = chunk.max_end + track.clock_offset_ns;
        const auto after = std::partition_point(window_.begin(), window_.end(), [&](TimeRange w) { return w.end < first; });
        return after != window_.end() && after->start <= last;
    }

    Result<void> add_track(const Track& track) {
        const std::vector<Chunk>& chunks = capture_.chunks(track.id);
        std::size_t at = 0;
        while (at < chunks.size()) {
            if (!wanted(track, chunks[at])) {
                ++at;
                continue;
            }
            TrackPiece piece;
            piece.first_ordinal = chunks[at].first_ordinal;
            for (; at < chunks.size() && wanted(track, chunks[at]); ++at)
                if (Result<void> ok = read(track.id, at, piece); !ok) return ok;
            add_piece(track, piece);
        }
        return {};
    }

    Result<void> read(TrackId track, std::size_t chunk, TrackPiece& piece) {
        const std::pair<Column, std::vector<std::int64_t>*> wanted[] = {
            {Column::start, &piece.start}, {Column::duration, &piece.duration}, {Column::name, &piece.name},
            {Column::kind, &piece.kind},   {Column::parent, &piece.parent},     {Column::step, &piece.step}};
        for (const auto& [column, values] : wanted) {
            if (Result<void> ok = capture_.read_chunk(track, chunk, column, buffer_); !ok) return ok;
            values->insert(values->end(), buffer_.begin(), buffer_.end());
        }
        return {};
    }

    void add_piece(const Track& track, const TrackPiece& piece) {
        const bool device = track.kind == TrackKind::device;
        std::vector<std::size_t> enclosing(piece.size(), kNowhere);  // the nearest span around it that is no Python frame
        std::vector<TimeNs> self(piece.duration);
        if (!device) {
            for (std::size_t i = 0; i < piece.size(); ++i) {
                if (piece.parent[i] == kNull || static_cast<std::uint64_t>(piece.parent[i]) < piece.first_ordinal) continue;
                const auto parent = static_cast<std::size_t>(static_cast<std::uint64_t>(piece.parent[i]) - piece.first_ordinal);
                enclosing[i] = piece.kind_of(parent) == SpanKind::python ? enclosing[parent] : parent;
                if (enclosing[i] != kNowhere && piece.kind_of(i) != SpanKind::python) self[enclosing[i]] -= piece.duration[i];
            }
        }
        std::unordered_map<std::size_t, std::uint64_t> orders;
        for (std::size_t i = 0; i < piece.size(); ++i) {
            const SpanKind kind = piece.kind_of(i);
            if (device && track.device && is_device_work(kind)) busy_[*track.device].add({piece.start[i], piece.end(i)});
            if (piece.step[i] == kNull || kind == SpanKind::python || kind == SpanKind::overhead) continue;
            const auto found = position_.find(piece.step[i]);
            if (found == position_.end()) continue;
            add_span(track, piece, i, enclosing, self[i], found->second);
            if (device && kind == SpanKind::kernel) {
                std::uint64_t& order = orders.try_emplace(found->second, 0x51ed270b).first->second;
                order = mixed(order, static_cast<std::uint64_t>(piece.name[i]));
            }
        }
        // Streams have no order among each other, so their hashes are added up.
        for (const auto& [position, order] : orders) profiles_[position].order += order;
    }

    void add_span(const Track& track, const TrackPiece& piece, std::size_t i, const std::vector<std::size_t>& enclosing, TimeNs self,
                  std::size_t position) {
        const SpanKind kind = piece.kind_of(i);
        const NameId name{static_cast<std::uint32_t>(piece.name[i])};
        StepProfile& profile = profiles_[position];
        const std::optional<std::int64_t> rank = rank_of(track);
        const Key key{rank.value_or(-1), static_cast<std::uint64_t>(kind) << 32 | index_of(name)};
        const auto [known, fresh] = known_[position].try_emplace(key, profile.operators.size());
        const SpanId span = SpanId::make(track.id, piece.first_ordinal + i);
        if (fresh) {
            OperatorTotal total;
            total.rank = rank;
            total.kind = kind;
            total.name = name;
            total.layer = layer_of(track, piece, i, enclosing);
            total.first = total.longest = span;
            total.longest_ns = piece.duration[i];
            profile.operators.push_back(total);
        }
        OperatorTotal& total = profile.operators[known->second];
        ++total.count;
        total.total_ns += piece.duration[i];
        total.self_ns += std::max<TimeNs>(0, self);
        if (piece.duration[i] > total.longest_ns) {
            total.longest_ns = piece.duration[i];
            total.longest = span;
        }
        if (piece.start[i] < start_of_first(position, known->second, fresh, piece.start[i])) total.first = span;
        if (!is_device_work(kind)) return;
        if (total.layer == LayerClass::comm) profile.collective_ns += piece.duration[i];
        if (track.device &&
            std::find(devices_of_[position].begin(), devices_of_[position].end(), *track.device) == devices_of_[position].end())
            devices_of_[position].push_back(*track.device);
    }

    /// Start of the earliest span of an operator so far; takes the new one in.
    TimeNs start_of_first(std::size_t position, std::size_t at, bool fresh, TimeNs start) {
        std::vector<TimeNs>& starts = first_starts_[position];
        if (fresh) starts.push_back(start);
        const TimeNs before = starts[at];
        starts[at] = std::min(before, start);
        return before;
    }

    LayerClass layer_of(const Track& track, const TrackPiece& piece, std::size_t i, const std::vector<std::size_t>& enclosing) {
        for (std::size_t at = i; at != kNowhere; at = enclosing[at]) {
            if (step_spans_.contains(SpanId::make(track.id, piece.first_ordinal + at).value))
                return at == i ? LayerClass::step : LayerClass::none;
            const LayerClass layer = classify(piece.kind_of(at), NameId{static_cast<std::uint32_t>(piece.name[at])});
            if (layer != LayerClass::none) return layer;
        }
        return LayerClass::none;
    }

    LayerClass classify(SpanKind kind, NameId name) {
        const auto [known, fresh] = classes_.try_emplace(static_cast<std::uint64_t>(kind) << 32 | index_of(name), LayerClass::none);
        if (fresh) known->second = layers_.classify(kind, capture_.name(name));
        return known->second;
    }

    std::optional<std::int64_t> rank_of(const Track& track) {
        const auto [known, fresh] = ranks_.try_emplace(index_of(track.id), std::nullopt);
        if (!fresh) return known->second;
        if (track.process)
            if (const Process* process = capture_.process(*track.process)) known->second = process->rank;
        if (!known->second)
            if (const Source* source = capture_.source(track.source)) known->second = source->rank;
        return known->second;
    }

    void finish() {
        for (auto& [device, busy] : busy_) busy.seal();
        for (std::size_t i = 0; i < profiles_.size(); ++i) {
            StepProfile& profile = profiles_[i];
            std::sort(profile.operators.begin(), profile.operators.end(), [](const OperatorTotal& a, const OperatorTotal& b) {
                return std::tuple(a.rank, a.kind, a.name) < std::tuple(b.rank, b.kind, b.name);
            });
            if (devices_of_[i].empty()) continue;
            const TimeRange range{steps_[i].start, steps_[i].end};
            for (const DeviceId device : devices_of_[i]) profile.device_idle_ns += range.duration() - busy_[device].busy_in(range);
            profile.device_idle_ns /= static_cast<TimeNs>(devices_of_[i].size());
        }
    }

    using Key = std::pair<std::int64_t, std::uint64_t>;
    struct KeyHash {
        std::size_t operator()(const Key& key) const noexcept { return mixed(static_cast<std::uint64_t>(key.first), key.second); }
    };

    const CaptureReader& capture_;
    const LayerRules& layers_;
    std::span<const Step> steps_;
    std::vector<StepProfile> profiles_;
    std::vector<std::unordered_map<Key, std::size_t, KeyHash>> known_;
    std::vector<std::vector<DeviceId>> devices_of_;
    std::unordered_map<std::size_t, std::vector<TimeNs>> first_starts_;
    std::unordered_map<std::int64_t, std::size_t> position_, step_spans_;
    std::vector<TimeRange> window_;
    std::unordered_map<std::uint64_t, LayerClass> classes_;
    std::unordered_map<std::uint32_t, std::optional<std::int64_t>> ranks_;
    std::map<DeviceId, BusyTime> busy_;
    std::vector<std::int64_t> buffer_;
};

}  // namespace

Result<std::vector<StepProfile>> profile_steps(const CaptureReader& capture, const LayerRules& layers, std::span<const Step> steps,
                                               std::stop_token stop) {
    return Profiling(capture, layers, steps).run(stop);
}

}  // namespace faultline
