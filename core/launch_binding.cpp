#include "core/launch_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
#include <optional>
#include <unordered_map>
#include <unordered_set>
#include <vector>

#include "core/nesting.h"
#include "core/span_place.h"

namespace faultline {

namespace {

struct Call {
    std::int64_t correlation;
    TimeNs start;
    SpanId span;
    std::uint32_t launched = 0;
};

/// The calls of one process, by correlation id and then by start: an id that comes again after a wrap has a run of several.
class CallTable {
public:
    void add(Call call) { calls_.push_back(call); }

    void build() {
        const auto earlier = [](const Call& a, const Call& b) {
            return a.correlation != b.correlation ? a.correlation < b.correlation : a.start < b.start;
        };
        if (!std::is_sorted(calls_.begin(), calls_.end(), earlier)) std::sort(calls_.begin(), calls_.end(), earlier);
        slots_.assign(std::bit_ceil(calls_.size() * 2 + 2), -1);
        for (std::size_t i = 0; i < calls_.size(); ++i)
            if (i == 0 || calls_[i].correlation != calls_[i - 1].correlation)
                slots_[slot_of(calls_[i].correlation)] = static_cast<std::int64_t>(i);
    }

    /// The call with this id that started last before `start`, or the first after it where none did. Null: no call has the id.
    [[nodiscard]] Call* find(std::int64_t correlation, TimeNs start) {
        const std::int64_t first = slots_[slot_of(correlation)];
        if (first < 0) return nullptr;
        // Host and device clocks differ by a few us: a call that seems to start a little later may be the one.
        constexpr TimeNs kSkewNs = 10'000;
        const auto begin = calls_.begin() + first;
        auto end = begin + 1;
        if (end != calls_.end() && end->correlation == correlation)
            end = std::partition_point(begin, calls_.end(), [&](const Call& c) { return c.correlation == correlation; });
        const auto after = std::partition_point(begin, end, [&](const Call& c) { return c.start <= start + kSkewNs; });
        return after == begin ? &*begin : &*(after - 1);
    }

    [[nodiscard]] const std::vector<Call>& calls() const noexcept { return calls_; }
    void forget(const std::unordered_set<std::int64_t>& spans) {
        for (Call& call : calls_)
            if (spans.contains(call.span.value)) call.launched = 0;
    }

private:
    /// Open addressing with the id itself as hash: ids ascend with time, so that neighbours in time are neighbours in memory.
    [[nodiscard]] std::size_t slot_of(std::int64_t correlation) const {
        const std::size_t mask = slots_.size() - 1;
        std::size_t at = static_cast<std::size_t>(correlation) & mask;
        while (slots_[at] >= 0 && calls_[static_cast<std::size_t>(slots_[at])].correlation != correlation) at = (at + 1) & mask;
        return at;
    }

    std::vector<Call> calls_;
    std::vector<std::int64_t> slots_;  ///< position of the first call with an id, -1 where free
};

using Tables = std::map<ProcessId, CallTable>;

Tables collect_calls(const SourceBuilder& source) {
    Tables tables;
    for (const TrackBuffer& t : source.tracks()) {
        if (t.track.kind != TrackKind::host || !t.track.process || !t.has(Column::correlation)) continue;
        CallTable& table = tables[*t.track.process];
        const std::vector<std::int64_t>& correlations = t.column(Column::correlation);
        for (std::uint32_t i = 0; i < t.size() && i < correlations.size(); ++i)
            if (correlations[i] != kNull && correlations[i] != 0 && is_api_call(t.kinds[i]))
                table.add({correlations[i], t.starts[i], SpanId::make(t.track.id, i)});
    }
    for (auto& [process, table] : tables) table.build();
    return tables;
}

enum class Outcome { bound, none, ambiguous };

class Binder {
public:
    Binder(SourceBuilder& source, ImportLedger& ledger) : source_(source), ledger_(ledger), tables_(collect_calls(source)) {}

    BindingCounts run() {
        if (tables_.size() > 1) find_owners();
        for (TrackBuffer& t : source_.tracks())
            if (t.track.kind == TrackKind::device) bind_track(t);
        if (tables_.size() > 1) undo_conflicts();
        for (TrackBuffer& t : source_.tracks())
            if (t.track.kind == TrackKind::device) count_kernels(t);
        mark_graph_launches();
        return counts_;
    }

private:
    /// Device rows that name no process belong to the process that launched nearly all work of their device which only one process can
    /// have launched. Without this, a row whose own call was not recorded would go to another process that used the same number.
    void find_owners() {
        std::map<DeviceId, std::map<ProcessId, std::uint64_t>> votes;
        for (const TrackBuffer& t : source_.tracks()) {
            if (t.track.kind != TrackKind::device || t.track.process || !t.track.device) continue;
            for (std::uint32_t i = 0; i < t.size(); ++i)
                if (const auto process = only_process(t.get(i, Column::correlation), t.starts[i])) ++votes[*t.track.device][*process];
        }
        for (const auto& [device, of] : votes) {
            std::uint64_t all = 0;
            for (const auto& [process, n] : of) all += n;
            for (const auto& [process, n] : of)
                if (n >= kEnoughVotes && n * 20 >= all * 19) owners_[device] = process;
        }
    }

    static constexpr std::uint64_t kEnoughVotes = 8;

    std::optional<ProcessId> only_process(std::int64_t correlation, TimeNs start) {
        if (correlation == kNull || correlation == 0) return std::nullopt;
        std::optional<ProcessId> only;
        for (auto& [process, table] : tables_) {
            if (!table.find(correlation, start)) continue;
            if (only) return std::nullopt;
            only = process;
        }
        return only;
    }

    std::optional<ProcessId> process_of(const Track& track) const {
        if (track.process || !track.device) return track.process;
        const auto owner = owners_.find(*track.device);
        return owner == owners_.end() ? std::nullopt : std::optional(owner->second);
    }

    /// One call launches on one device: where rows of two devices without an owner claim it, none of them is believed.
    void undo_conflicts() {
        std::unordered_map<std::int64_t, DeviceId> device_of;
        std::unordered_set<std::int64_t> claimed_twice;
        const auto each = [&](auto act) {
            for (TrackBuffer& t : source_.tracks())
                if (t.track.kind == TrackKind::device && t.track.device && !process_of(t.track))
                    for (std::uint32_t i = 0; i < t.size(); ++i)
                        if (const std::int64_t launch = t.get(i, Column::launch); launch != kNull) act(t, i, launch);
        };
        each([&](TrackBuffer& t, std::uint32_t, std::int64_t launch) {
            if (!device_of.emplace(launch, *t.track.device).second && device_of[launch] != *t.track.device) claimed_twice.insert(launch);
        });
        if (claimed_twice.empty()) return;
        each([&](TrackBuffer& t, std::uint32_t i, std::int64_t launch) {
            if (!claimed_twice.contains(launch)) return;
            t.set(i, Column::launch, kNull);
            ledger_.note("kernel.two-devices",
                         "Work on two devices carries the correlation id of one call, and the file does not say which process it belongs to, so "
                         "that it was not bound",
                         span_place(source_.names().text(t.names[i]), t.starts[i]));
        });
        for (auto& [process, table] : tables_) table.forget(claimed_twice);
    }

    void count_kernels(const TrackBuffer& t) {
        for (std::uint32_t i = 0; i < t.size(); ++i)
            if (t.kinds[i] == SpanKind::kernel) t.get(i, Column::launch) == kNull ? ++counts_.unbound_kernels : ++counts_.bound_kernels;
    }

    void bind_track(TrackBuffer& t) {
        for (std::uint32_t i = 0; i < t.size(); ++i) {
            const Outcome outcome = bind(t, i);
            if (t.kinds[i] != SpanKind::kernel || outcome == Outcome::bound) continue;
            const std::string place = span_place(source_.names().text(t.names[i]), t.starts[i]);
            if (outcome == Outcome::ambiguous)
                ledger_.note("kernel.ambiguous",
                             "A kernel's correlation id occurs in several processes, so that it was not bound to a launch", place);
            else
                ledger_.note("kernel.unbound", "A kernel has no launch in the capture: its call was cut off or was not recorded", place);
        }
    }

    Outcome bind(TrackBuffer& t, std::uint32_t i) {
        const std::int64_t correlation = t.get(i, Column::correlation);
        if (correlation == kNull || correlation == 0) return Outcome::none;
        Call* found = nullptr;
        if (const std::optional<ProcessId> process = process_of(t.track)) {
            if (const auto table = tables_.find(*process); table != tables_.end())
                found = table->second.find(correlation, t.starts[i]);
        } else {
            for (auto& [id, table] : tables_) {
                Call* call = table.find(correlation, t.starts[i]);
                if (call && found) return Outcome::ambiguous;
                if (call) found = call;
            }
        }
        if (!found) return Outcome::none;
        ++found->launched;
        t.set(i, Column::launch, found->span.value);
        return Outcome::bound;
    }

    void mark_graph_launches() {
        std::map<TrackId, TrackBuffer*> by_id;
        for (TrackBuffer& t : source_.tracks()) by_id[t.track.id] = &t;
        for (const auto& [process, table] : tables_)
            for (const Call& call : table.calls())
                if (call.launched > 1)
                    by_id[call.span.track()]->set(static_cast<std::uint32_t>(call.span.ordinal()), Column::graph_launch, call.launched);
    }

    SourceBuilder& source_;
    ImportLedger& ledger_;
    Tables tables_;
    std::map<DeviceId, ProcessId> owners_;
    BindingCounts counts_;
};

using ThreadTracks = std::map<ThreadId, std::vector<TrackBuffer*>>;

/// The innermost operator of a thread at a time, over its Python parts and sub-lanes.
SpanId operator_at(const ThreadTracks& threads, ThreadId thread, TimeNs t) {
    SpanId best;
    TimeNs best_start = std::numeric_limits<TimeNs>::min();
    const auto tracks = threads.find(thread);
    if (tracks == threads.end()) return best;
    for (const TrackBuffer* track : tracks->second) {
        std::int64_t at = innermost_at(*track, t);
        while (at >= 0 && track->kinds[static_cast<std::size_t>(at)] != SpanKind::op) {
            const std::int64_t parent = track->get(static_cast<std::uint32_t>(at), Column::parent);
            at = parent == kNull ? -1 : parent;
        }
        if (at >= 0 && track->starts[static_cast<std::size_t>(at)] >= best_start) {
            best = SpanId::make(track->track.id, static_cast<std::uint64_t>(at));
            best_start = track->starts[static_cast<std::size_t>(at)];
        }
    }
    return best;
}

}  // namespace

BindingCounts bind_launches(SourceBuilder& source, ImportLedger& ledger) { return Binder(source, ledger).run(); }

void bind_host_links(SourceBuilder& source, ImportLedger& ledger) {
    if (source.host_links.empty()) return;
    ThreadTracks threads;
    std::map<TrackId, TrackBuffer*> by_id;
    for (TrackBuffer& t : source.tracks()) {
        if (t.track.kind == TrackKind::host && t.track.thread) threads[*t.track.thread].push_back(&t);
        by_id[t.track.id] = &t;
    }
    for (const HostLink& link : source.host_links) {
        const SpanId from = operator_at(threads, link.from_thread, link.from_time);
        const SpanId to = operator_at(threads, link.to_thread, link.to_time);
        if (from.valid() && to.valid()) {
            by_id[to.track()]->set(static_cast<std::uint32_t>(to.ordinal()), Column::link, from.value);
            continue;
        }
        ledger.note("link.no-operator", "A forward-backward link names a time at which its thread ran no operator",
                    fmt::format("{} ns", link.from_time));
    }
    source.host_links.clear();
}

}  // namespace faultline
