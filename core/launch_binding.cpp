#include "core/launch_binding.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <limits>
#include <map>
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
        for (TrackBuffer& t : source_.tracks())
            if (t.track.kind == TrackKind::device) bind_track(t);
        mark_graph_launches();
        return counts_;
    }

private:
    void bind_track(TrackBuffer& t) {
        for (std::uint32_t i = 0; i < t.size(); ++i) {
            const Outcome outcome = bind(t, i);
            if (t.kinds[i] != SpanKind::kernel) continue;
            outcome == Outcome::bound ? ++counts_.bound_kernels : ++counts_.unbound_kernels;
            if (outcome == Outcome::bound) continue;
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
        if (t.track.process) {
            if (const auto table = tables_.find(*t.track.process); table != tables_.end())
                found = table->second.find(correlation, t.starts[i]);
        } else {
            for (auto& [process, table] : tables_) {
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
