// Streams run what is queued on them in order; collectives hold each member's stream until the last has come.
#include <algorithm>
#include <cassert>
#include <utility>

#include "ml/simulator/machine/machine_state.h"

namespace faultline::simulator {
namespace {

constexpr double kKernelSpread = 0.015, kCollectiveSpread = 0.04;
constexpr TimeNs kLeastGap = 2'000;  ///< what counts as idle

/// A duration with the spread of device work: no tail of its own. Tails of collectives are those of the ranks (ENGINES §4.4).
TimeNs spread_out(const Noise& noise, TimeNs cost, double spread, Draw what, StepNumber step, std::uint64_t place, std::uint32_t key) {
    if (cost <= 0) return 0;
    const double factor = 1 + spread * noise.normal(what, step, place, key);
    return std::max<TimeNs>(1, static_cast<TimeNs>(static_cast<double>(cost) * factor));
}

}  // namespace

void StreamState::pop() {
    if (++first == queue.size()) {
        queue.clear();
        first = 0;
    } else if (first >= 1024 && first * 2 > queue.size()) {
        queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(first));
        first = 0;
    }
}

const SignalSlot* MachineState::slot(std::uint32_t signal) const {
    static constexpr SignalSlot kUnset{};
    if (signal < first_signal) return nullptr;
    const std::size_t place = signal - first_signal;
    return place < signals.size() ? &signals[place] : &kUnset;
}

SignalSlot& MachineState::own_slot(std::uint32_t signal) {
    assert(signal >= first_signal && signal != kNoSignal);
    const std::size_t place = signal - first_signal;
    if (place >= signals.size()) signals.resize(place + 1);
    return signals[place];
}

void MachineState::set_signal(std::uint32_t signal, TimeNs time, bool after_collective) {
    if (signal == kNoSignal || signal < first_signal) return;
    SignalSlot& own = own_slot(signal);
    if (own.time != kNull) return;
    own.time = time;
    own.after_collective = after_collective;
    std::uint32_t waiter = std::exchange(own.waiter, kNobody);
    while (waiter != kNobody) {
        const std::uint32_t next = std::exchange(next_waiter_[waiter], kNobody);
        if (waiter < threads.size()) {
            threads[waiter].waiting = ThreadState::Waiting::nothing;
            limit_ = std::min(limit_, std::max(time, threads[waiter].now));
        } else {
            wake_stream(static_cast<StreamIndex>(waiter - threads.size()));
        }
        waiter = next;
    }
}

void MachineState::wake_stream(StreamIndex index) {
    StreamState& stream = streams[static_cast<std::size_t>(index)];
    stream.waiting = StreamState::Waiting::nothing;
    if (!std::exchange(stream.draining, true)) draining_.push_back(static_cast<std::uint32_t>(index));
}

void MachineState::drain() {
    while (!draining_.empty()) {
        const std::uint32_t index = draining_.back();
        draining_.pop_back();
        StreamState& stream = streams[index];
        stream.draining = false;
        while (stream.waiting == StreamState::Waiting::nothing && !stream.empty()) {
            if (!take(static_cast<StreamIndex>(index), stream.queue[stream.first])) break;
            stream.pop();
            done(stream);
        }
    }
}

void MachineState::enqueue(StreamIndex index, const StreamItem& item) {
    assert(static_cast<std::size_t>(index) < streams.size());
    if (static_cast<std::size_t>(index) >= streams.size()) return;
    StreamState& stream = streams[static_cast<std::size_t>(index)];
    ++stream.queued;
    stream.last_thread = item.thread;
    if (stream.waiting == StreamState::Waiting::nothing && stream.empty() && take(index, item)) {
        done(stream);
    } else {
        stream.queue.push_back(item);
    }
}

void MachineState::done(StreamState& stream) {
    ++stream.done;
    if (stream.waiting_threads.empty()) return;
    std::erase_if(stream.waiting_threads, [&](std::uint32_t t) {
        ThreadState& thread = threads[t];
        if (stream.done < thread.ticket) return false;
        thread.waiting = ThreadState::Waiting::nothing;
        thread.drained = stream.drained();
        return true;
    });
}

/// False: the stream waits, and the item stays at its front.
bool MachineState::take(StreamIndex index, const StreamItem& item) {
    StreamState& stream = streams[static_cast<std::size_t>(index)];
    if (item.kind == StreamItem::Kind::record) {
        set_signal(item.signal, std::max(stream.drained(), item.ready), stream.after_collective);
        return true;
    }
    if (item.kind == StreamItem::Kind::wait) {
        const SignalSlot* event = slot(item.signal);
        if (event == nullptr) return true;
        if (event->time == kNull) {
            stream.waiting = StreamState::Waiting::signal;
            wait_on(static_cast<std::uint32_t>(threads.size() + static_cast<std::size_t>(index)), item.signal);
            return false;
        }
        if (event->time > stream.wait_until) {
            stream.wait_until = event->time;
            stream.wait_communication = event->after_collective;
        }
        return true;
    }
    if (item.group != kNoGroup && item.group < groups.size() && groups[item.group].members.size() > 1) return join(index, item);
    if (item.cost >= kForever) {
        stream.waiting = StreamState::Waiting::forever;
        return false;
    }
    const WorkStart at = start_of(stream, index, item);
    const TimeNs cost =
        spread_out(noise, item.cost, kKernelSpread, Draw::device_jitter, item.step, static_cast<std::uint64_t>(index), item.key);
    bool suspect = item.suspect;
    const TimeNs end = device_end(stream, item, at.start, cost, suspect);
    tell_work(stream, index, item, at, end, suspect);
    return true;
}

WorkStart MachineState::start_of(const StreamState& stream, StreamIndex index, const StreamItem& item) const {
    // Neighbours on a stream: most below 1 us inside a graph, half a microsecond on average, about 1 us between launches that stand in line (ENGINES §4.5).
    const std::uint64_t draw = noise.bits(Draw::launch_jitter, item.step, static_cast<std::uint64_t>(index) | 0x10000U, item.key);
    const TimeNs gap = item.graph_node != 0 ? 250 + static_cast<TimeNs>(draw % 500) + (draw % 23 == 0 ? 1'100 : 0) : 800 + static_cast<TimeNs>(draw % 400);
    WorkStart at;
    at.start = item.ready;
    if (stream.used) at.start = std::max(at.start, stream.last_end + gap);
    bool held = false;
    if (stream.wait_until > 0 && stream.wait_until + gap > at.start) {
        at.start = stream.wait_until + gap;
        held = true;
    }
    if (stream.used && at.start - stream.last_end > kLeastGap) {
        at.idle_since = stream.last_end;
        if (held) {
            at.cause = stream.wait_communication ? IdleCause::communication : IdleCause::unknown;
        } else {
            at.cause = cause_of(item, stream.last_end, at.start);
        }
    }
    return at;
}

/// What the launching thread did in more than half of the gap, before it came to the launch.
IdleCause MachineState::cause_of(const StreamItem& item, TimeNs since, TimeNs until) const {
    const ThreadState& thread = threads[static_cast<std::size_t>(item.thread)];
    const TimeNs half = (until - since) / 2;
    TimeNs synchronizing = 0, communicating = 0;
    const auto kept = std::min<std::uint32_t>(thread.waited, static_cast<std::uint32_t>(thread.waits.size()));
    for (std::uint32_t back = 1; back <= kept; ++back) {
        const HostWait& wait = thread.waits[(thread.waited - back) % thread.waits.size()];
        if (wait.end <= since) break;
        const TimeNs part = std::max<TimeNs>(0, std::min(wait.end, item.called) - std::max(wait.start, since));
        if (wait.cause == IdleCause::sync) synchronizing += part;
        if (wait.cause == IdleCause::communication) communicating += part;
        // Older waits in the gap, if any, were overwritten meanwhile.
        if (back == thread.waits.size() && wait.start > since && synchronizing <= half && communicating <= half) return IdleCause::unknown;
    }
    if (synchronizing > half) return IdleCause::sync;
    return communicating > half ? IdleCause::communication : IdleCause::cpu;
}

bool MachineState::join(StreamIndex index, const StreamItem& item) {
    GroupState& group = groups[item.group];
    const auto place = std::find(group.members.begin(), group.members.end(), index);
    assert(place != group.members.end());
    if (place == group.members.end()) {
        streams[static_cast<std::size_t>(index)].waiting = StreamState::Waiting::forever;  // its peers do not know it
        return false;
    }
    StreamState& stream = streams[static_cast<std::size_t>(index)];
    stream.joined = start_of(stream, index, item);
    group.forever = group.forever || item.cost >= kForever;
    group.cost = std::max(group.cost, item.cost);
    group.latest = std::max(group.latest, stream.joined.start);
    if (place == group.members.begin()) {
        group.step = item.step;
        group.key = item.key;
    }
    ++group.arrived;
    if (group.arrived == group.members.size() && !group.forever && leave_together(group, item, index)) return true;
    stream.waiting = StreamState::Waiting::group;
    return false;
}

/// False: it never ends.
bool MachineState::leave_together(GroupState& group, const StreamItem& last, StreamIndex last_stream) {
    const TimeNs cost = spread_out(noise, group.cost, kCollectiveSpread, Draw::network_jitter, group.step, last.group, group.key);
    bool suspect = false;
    const TimeNs end = link_end(group, group.latest, cost, suspect);
    if (end - group.latest >= kForever) return false;
    group.arrived = 0;
    group.cost = group.latest = 0;
    for (const StreamIndex member : group.members) {
        StreamState& stream = streams[static_cast<std::size_t>(member)];
        const StreamItem& item = member == last_stream ? last : stream.queue[stream.first];
        tell_work(stream, member, item, stream.joined, end, suspect || item.suspect);
        if (member == last_stream) continue;
        stream.pop();
        done(stream);
        wake_stream(member);
    }
    return true;
}

void MachineState::tell_work(StreamState& stream, StreamIndex index, const StreamItem& item, const WorkStart& at, TimeNs end,
                             bool suspect) {
    const bool collective = item.group != kNoGroup && item.group < groups.size();
    stream.used = true;
    stream.last_end = end;
    stream.after_collective = collective;
    note_end(item.step, end);
    ++events;
    if (sink == nullptr) return;
    if (at.idle_since != kNever) sink->gap({index, at.idle_since, at.start - at.idle_since, at.cause, item.step});
    Event event;
    event.kind = item.event;
    event.copy = item.copy;
    event.role = item.role;
    event.suspect = suspect;
    event.layer = item.layer;
    event.name = item.name;
    event.process = threads[static_cast<std::size_t>(item.thread)].process;
    event.thread = item.thread;
    event.stream = index;
    event.step = item.step;
    event.start = at.start;
    event.duration = end - at.start;
    event.correlation = item.correlation;
    event.external = item.external;
    event.around = item.around;
    event.graph_node = item.graph_node;
    event.bytes = item.bytes;
    event.grid = item.grid;
    event.block = item.block;
    event.group_size = collective ? static_cast<std::uint16_t>(groups[item.group].members.size()) : std::uint16_t{0};
    sink->event(event);
}

void MachineState::note_end(StepNumber step, TimeNs end) {
    if (step < first_step) return;
    const std::size_t place = step - first_step;
    if (place >= step_ends.size()) step_ends.resize(place + 1, 0);
    step_ends[place] = std::max(step_ends[place], end);
}

}  // namespace faultline::simulator
