#include "core/operator_features.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <string>
#include <unordered_map>

namespace faultline {

namespace {

constexpr TimeNs kClockSkew = 1'000'000;  ///< device clocks may put a kernel a little before its launch

bool is_host_instance(SpanKind kind) {
    return kind == SpanKind::range || kind == SpanKind::op || is_api_call(kind) || kind == SpanKind::os_call || kind == SpanKind::async ||
           kind == SpanKind::other;
}

class Reading {
public:
    Reading(const CaptureReader& capture, std::span<const Step> steps) : capture_(capture), steps_(steps) {
        for (std::size_t i = 0; i < steps.size(); ++i) position_[index_of(steps[i].id)] = static_cast<std::uint32_t>(i);
    }

    Result<std::vector<OperatorInstance>> run(const std::stop_token& stop) {
        for (const TrackKind kind : {TrackKind::host, TrackKind::device}) {
            for (const Track& track : capture_.tracks()) {
                if (track.kind != kind) continue;
                if (stop.stop_requested()) return fail(ErrorCode::cancelled, "cancelled");
                if (Result<void> read = read_track(track); !read) return tl::unexpected<Error>(read.error());
            }
        }
        add_overlaps();
        return by_step();
    }

private:
    struct Columns {
        std::vector<std::int64_t> step, start, duration, name, kind, place, flags, bytes, comm_bytes;
    };
    struct Open {
        std::int64_t depth;
        TimeNs end;
        std::int64_t instance;  ///< the span itself or, where it is none, the one around it
    };

    [[nodiscard]] bool touches(const Track& track, const Chunk& chunk) const {
        const TimeNs first = chunk.min_start + track.clock_offset_ns, last = chunk.max_start + track.clock_offset_ns;
        return std::any_of(steps_.begin(), steps_.end(),
                           [&](const Step& s) { return last >= s.start - kClockSkew && first <= s.end + kClockSkew; });
    }

    Result<void> read_track(const Track& track) {
        const bool device = track.kind == TrackKind::device;
        const std::optional<std::int64_t> rank = rank_of(track);
        const std::vector<Chunk>& chunks = capture_.chunks(track.id);
        open_.clear();
        Columns c;
        for (std::size_t i = 0; i < chunks.size(); ++i) {
            if (!touches(track, chunks[i])) continue;
            if (Result<void> read = capture_.read_chunk(track.id, i, Column::step, c.step); !read) return read;
            if (std::none_of(c.step.begin(), c.step.end(), [this](std::int64_t s) { return s != kNull && position_.contains(s); }))
                continue;
            for (const auto& [column, out] : {std::pair{Column::start, &c.start},
                                              {Column::duration, &c.duration},
                                              {Column::name, &c.name},
                                              {Column::kind, &c.kind},
                                              {device ? Column::launch : Column::depth, &c.place},
                                              {Column::flags, &c.flags},
                                              {Column::bytes, &c.bytes},
                                              {Column::comm_bytes, &c.comm_bytes}})
                if (Result<void> read = capture_.read_chunk(track.id, i, column, *out); !read) return read;
            for (std::size_t s = 0; s < c.step.size(); ++s) {
                const auto step = c.step[s] == kNull ? position_.end() : position_.find(c.step[s]);
                if (step == position_.end()) continue;
                const SpanId span = SpanId::make(track.id, chunks[i].first_ordinal + s);
                device ? add_device(track, span, step->second, rank, c, s) : add_host(span, step->second, rank, c, s);
            }
        }
        return {};
    }

    [[nodiscard]] std::optional<std::int64_t> rank_of(const Track& track) const {
        if (const Process* process = track.process ? capture_.process(*track.process) : nullptr; process && process->rank)
            return process->rank;
        const Source* source = capture_.source(track.source);
        return source ? source->rank : std::nullopt;
    }

    OperatorInstance& add(SpanId span, std::uint32_t step, std::optional<std::int64_t> rank, const Columns& c, std::size_t s) {
        OperatorInstance x;
        x.span = span;
        x.step = step;
        x.kind = static_cast<SpanKind>(c.kind[s]);
        x.name = NameId{static_cast<std::uint32_t>(c.name[s])};
        x.group = group_of(x.kind, x.name);
        x.rank = rank;
        x.collective = c.flags[s] != kNull && (c.flags[s] & flag_collective) != 0;
        x.start = c.start[s];
        x.duration = c.duration[s];
        x.self_ns = x.duration;
        x.comm_bytes = c.comm_bytes[s] == kNull ? 0 : std::max<std::int64_t>(0, c.comm_bytes[s]);
        out_.push_back(x);
        return out_.back();
    }

    /// Texts of ranges hold counts and ids ("execute_context_0(0)_generation_64(64)"); numbers in the names of kernels tell variants apart.
    NameId group_of(SpanKind kind, NameId name) {
        if (kind != SpanKind::range && kind != SpanKind::op && kind != SpanKind::async && kind != SpanKind::other) return name;
        const auto known = groups_.find(index_of(name));
        if (known != groups_.end()) return known->second;
        // Operators are numbered only by "ProfilerStep#2" and "aten::mm, op_id = 7"; other digits belong to their names.
        if (kind == SpanKind::op && capture_.name(name).find_first_of("#=") == std::string_view::npos)
            return groups_.emplace(index_of(name), name).first->second;
        std::string masked;
        for (const char c : capture_.name(name)) {
            const bool digit = c >= '0' && c <= '9';
            if (!digit) masked += c;
            if (digit && (masked.empty() || masked.back() != '\0')) masked += '\0';
        }
        return groups_.emplace(index_of(name), by_masked_.emplace(std::move(masked), name).first->second).first->second;
    }

    void add_host(SpanId span, std::uint32_t step, std::optional<std::int64_t> rank, const Columns& c, std::size_t s) {
        const std::int64_t depth = c.place[s] == kNull ? 0 : c.place[s];
        while (!open_.empty() && (open_.back().depth >= depth || open_.back().end < c.start[s])) open_.pop_back();
        std::int64_t around = open_.empty() ? -1 : open_.back().instance;
        if (around >= 0 && out_[static_cast<std::size_t>(around)].step != step) around = -1;
        const auto kind = static_cast<SpanKind>(c.kind[s]);
        if (is_host_instance(kind)) {
            OperatorInstance& x = add(span, step, rank, c, s);
            x.parent = around;
            if (around >= 0) out_[static_cast<std::size_t>(around)].self_ns -= x.duration;
            around = static_cast<std::int64_t>(out_.size()) - 1;
            if (is_api_call(kind)) {
                calls_[span.value] = around;
                for (std::int64_t at = around; at >= 0; at = out_[static_cast<std::size_t>(at)].parent) {
                    out_[static_cast<std::size_t>(at)].call_ns += x.duration;
                    ++out_[static_cast<std::size_t>(at)].calls;
                }
            }
        }
        open_.push_back({depth, c.start[s] + c.duration[s], around});
    }

    void add_device(const Track& track, SpanId span, std::uint32_t step, std::optional<std::int64_t> rank, const Columns& c,
                    std::size_t s) {
        const auto kind = static_cast<SpanKind>(c.kind[s]);
        if (!is_device_work(kind)) return;
        OperatorInstance& x = add(span, step, rank, c, s);
        const auto call = c.place[s] == kNull ? calls_.end() : calls_.find(c.place[s]);
        x.parent = call == calls_.end() ? -1 : call->second;
        x.device = track.device;
        x.device_ns = x.duration;
        x.kernels = kind == SpanKind::kernel ? 1 : 0;
        x.bytes = c.bytes[s] == kNull ? 0 : std::max<std::int64_t>(0, c.bytes[s]);
        if (x.parent >= 0 && !x.rank) x.rank = out_[static_cast<std::size_t>(x.parent)].rank;
        for (std::int64_t at = x.parent; at >= 0;) {
            OperatorInstance& around = out_[static_cast<std::size_t>(at)];
            around.device_ns += x.duration;
            around.kernels += x.kernels;
            around.bytes += x.bytes;
            at = around.parent;
        }
    }

    /// While two streams of a device work at once, both overlap.
    void add_overlaps() {
        std::map<std::pair<std::uint32_t, std::uint32_t>, std::vector<std::size_t>> lanes;  // (step, device) → instances
        for (std::size_t i = 0; i < out_.size(); ++i)
            if (out_[i].device) lanes[{out_[i].step, index_of(*out_[i].device)}].push_back(i);
        for (const auto& [key, members] : lanes) {
            const auto track_of = [this](std::size_t i) { return out_[i].span.track(); };
            const bool several =
                std::any_of(members.begin(), members.end(), [&](std::size_t i) { return track_of(i) != track_of(members.front()); });
            if (several) add_overlaps_of(members);
        }
    }

    void add_overlaps_of(const std::vector<std::size_t>& members) {
        std::vector<std::pair<TimeNs, int>> edges;
        for (const std::size_t i : members) {
            edges.emplace_back(out_[i].start, 1);
            edges.emplace_back(out_[i].start + out_[i].duration, -1);
        }
        std::sort(edges.begin(), edges.end());
        std::vector<TimeNs> times, shared;  // shared[k]: time before times[k] with two or more at work
        int active = 0;
        for (const auto& [time, change] : edges) {
            const TimeNs before = times.empty() ? time : times.back();
            shared.push_back((shared.empty() ? 0 : shared.back()) + (active >= 2 ? time - before : 0));
            times.push_back(time);
            active += change;
        }
        const auto shared_before = [&](TimeNs t) {  // every start and end is among the times
            return shared[static_cast<std::size_t>(std::lower_bound(times.begin(), times.end(), t) - times.begin())];
        };
        for (const std::size_t i : members)
            out_[i].overlap_ns = shared_before(out_[i].start + out_[i].duration) - shared_before(out_[i].start);
    }

    /// By step: parents are set anew, occurrences counted.
    std::vector<OperatorInstance> by_step() {
        std::vector<std::size_t> order(out_.size());
        std::iota(order.begin(), order.end(), std::size_t{0});
        std::stable_sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) { return out_[a].step < out_[b].step; });
        std::vector<std::int64_t> place(out_.size());
        for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = static_cast<std::int64_t>(i);
        std::vector<OperatorInstance> sorted;
        sorted.reserve(out_.size());
        std::unordered_map<std::uint64_t, std::uint32_t> seen;
        for (const std::size_t i : order) {
            OperatorInstance x = out_[i];
            if (sorted.empty() || sorted.back().step != x.step) seen.clear();
            x.self_ns = std::max<TimeNs>(0, x.self_ns);
            if (x.parent >= 0) x.parent = place[static_cast<std::size_t>(x.parent)];
            x.occurrence = seen[operator_key(x)]++;
            sorted.push_back(x);
        }
        return sorted;
    }

    const CaptureReader& capture_;
    std::span<const Step> steps_;
    std::unordered_map<std::int64_t, std::uint32_t> position_;
    std::unordered_map<std::int64_t, std::int64_t> calls_;  ///< span of an API call → instance
    std::unordered_map<std::uint32_t, NameId> groups_;
    std::unordered_map<std::string, NameId> by_masked_;  ///< names with every number taken out
    std::vector<Open> open_;
    std::vector<OperatorInstance> out_;
};

double log_of(std::int64_t value) { return std::log1p(static_cast<double>(std::max<std::int64_t>(0, value))); }

}  // namespace

std::uint64_t operator_key(const OperatorInstance& instance) noexcept {
    const auto rank = static_cast<std::uint64_t>(instance.rank ? *instance.rank + 1 : 0) & 0xffffffu;
    return (std::uint64_t{index_of(instance.group)} << 32) | (rank << 8) | static_cast<std::uint64_t>(instance.kind);
}

FeatureVector feature_vector(const OperatorInstance& x) {
    return {log_of(x.self_ns), log_of(x.call_ns), log_of(x.calls),      log_of(x.device_ns),
            log_of(x.kernels), log_of(x.bytes),   log_of(x.overlap_ns), log_of(x.comm_bytes)};
}

Result<std::vector<OperatorInstance>> operator_instances(const CaptureReader& capture, std::span<const Step> steps, std::stop_token stop) {
    return Reading(capture, steps).run(stop);
}

double median_of(std::span<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::nth_element(values.begin(), middle, values.end());
    if (values.size() % 2 == 1) return *middle;
    return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

RobustScale robust_scale(std::span<double> values) {
    RobustScale scale;
    scale.median = median_of(values);
    for (double& v : values) v = std::abs(v - scale.median);
    scale.spread = 1.4826 * median_of(values);
    return scale;
}

}  // namespace faultline
