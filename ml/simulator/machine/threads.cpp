// Threads execute their programs, one at a time and each as far as it gets.
#include <algorithm>
#include <cassert>
#include <utility>

#include "ml/simulator/machine/machine_state.h"

namespace faultline::simulator {
namespace {

constexpr double kHostSpread = 0.06, kCallSpread = 0.10;
/// So far a thread may run ahead of the others before they take their turn.
constexpr TimeNs kQuantum = 50'000;
/// A launch reaches the device this long after the call at the earliest, however short that was (ENGINES §4.5).
constexpr TimeNs kSubmission = 2'000;
constexpr TimeNs kLaunchLatency = 4'000;
constexpr std::uint64_t kLaunchLatencySpread = 2'000;

IdleCause cause_of_wait(Role role) {
    switch (role) {
        case Role::rpc:
        case Role::rpc_wait:
        case Role::wait_output:
        case Role::idle: return IdleCause::communication;  // it takes from a queue that another process fills
        default: return IdleCause::cpu;
    }
}

EventKind call_kind(EventKind kind) { return kind == EventKind::driver_call ? EventKind::driver_call : EventKind::runtime_call; }

}  // namespace

void MachineState::advance() {
    drain();
    while (true) {
        ThreadState* next = nullptr;
        limit_ = kNever;
        for (ThreadState& thread : threads) {
            if (!thread.runnable()) continue;
            if (next == nullptr || thread.now < next->now) {
                if (next != nullptr) limit_ = next->now;
                next = &thread;
            } else {
                limit_ = std::min(limit_, thread.now);
            }
        }
        if (next == nullptr) break;
        if (limit_ != kNever) limit_ += kQuantum;
        run_thread(*next);
    }
    prune();
}

void ThreadState::end_program() {
    queue[first].program.reset();
    if (++first == queue.size()) {
        queue.clear();
        first = 0;
    } else if (first >= 64 && first * 2 > queue.size()) {
        queue.erase(queue.begin(), queue.begin() + static_cast<std::ptrdiff_t>(first));
        first = 0;
    }
}

void MachineState::run_thread(ThreadState& thread) {
    while (!thread.idle()) {
        QueuedProgram& queued = thread.queue[thread.first];
        if (!queued.begun) {
            queued.begun = true;
            bool stretched = false;
            if (queued.not_before > thread.now) thread.now = resumed(thread, queued.not_before, stretched);
            if (!thread.runnable()) return;
        }
        const std::vector<Op>& ops = queued.program->ops;
        while (queued.at < ops.size()) {
            if (!execute(thread, queued, ops[queued.at])) return;
            ++queued.at;
            if (!draining_.empty()) drain();
            if (thread.now > limit_ || !thread.runnable()) return;
        }
        thread.end_program();
    }
}

bool MachineState::execute(ThreadState& thread, const QueuedProgram& queued, const Op& op) {
    const StepNumber step = queued.program->step;
    const bool waits = op.kind == OpKind::wait || op.kind == OpKind::sync_stream || op.kind == OpKind::sync_event;
    if (op.cost >= kForever && op.kind != OpKind::signal && !waits) {
        thread.waiting = ThreadState::Waiting::forever;
        return false;
    }
    switch (op.kind) {
        case OpKind::push: push(thread, queued, op); return true;
        case OpKind::pop:
            if (op.cost > 0) spend(thread, step, op);
            if (thread.runnable()) pop(thread, op);
            return true;
        case OpKind::work: spend(thread, step, op); return true;
        case OpKind::call: call(thread, step, op); return true;
        case OpKind::launch:
        case OpKind::graph_launch: launch(thread, step, op); return true;
        case OpKind::node: {
            StreamItem item = item_of(thread, step, op, StreamItem::Kind::work);
            item.correlation = thread.graph_correlation;
            item.external = thread.graph_external;
            item.around = thread.graph_around;
            item.graph_node = ++thread.graph_node;
            item.called = thread.graph_called;
            item.ready = thread.graph_ready;
            enqueue(op.stream == StreamIndex::none ? thread.graph_stream : op.stream, item);
            return true;
        }
        case OpKind::record_event:
        case OpKind::stream_wait: {
            if (call(thread, step, op) == 0 || op.signal == kNoSignal) return true;
            StreamItem item =
                item_of(thread, step, op, op.kind == OpKind::record_event ? StreamItem::Kind::record : StreamItem::Kind::wait);
            item.ready = thread.now;
            enqueue(op.stream, item);
            return true;
        }
        case OpKind::sync_stream:
        case OpKind::sync_event: return synchronize(thread, step, op);
        case OpKind::wait: return wait_for_signal(thread, step, op);
        case OpKind::signal:
            if (op.cost < kForever) {
                const auto t = static_cast<std::uint64_t>(thread.index);
                set_signal(op.signal, thread.now + noise.jitter(op.cost, kHostSpread, Draw::network_jitter, step, t, op.key), false);
            }
            return true;
        case OpKind::marker: markers.push_back({op.signal, thread.index, thread.now}); return true;
    }
    return true;
}

void MachineState::spend(ThreadState& thread, StepNumber step, const Op& op) {
    const TimeNs cost = noise.jitter(op.cost, kHostSpread, Draw::host_jitter, step, static_cast<std::uint64_t>(thread.index), op.key);
    bool stretched = false;
    thread.now = host_end(thread, cost, stretched);
    if (stretched || op.suspect) mark_open(thread);
}

void MachineState::mark_open(ThreadState& thread) {
    // The innermost range, and where the dialect does not write that, the innermost that stands in the capture.
    for (auto range = thread.open.rbegin(); range != thread.open.rend(); ++range) {
        range->suspect = true;
        if (range->named()) return;
    }
}

void MachineState::push(ThreadState& thread, const QueuedProgram& queued, const Op& op) {
    OpenRange range;
    range.start = thread.now;
    range.name = op.name;
    range.role = op.role;
    range.kind = op.event;
    range.layer = op.layer;
    range.step = queued.program->step;
    ProcessState& process = processes[static_cast<std::size_t>(thread.process)];
    range.external = op.event == EventKind::python ? ++process.frame : ++process.external;
    range.outer = thread.innermost(op.event);
    if (op.text != 0) {
        range.text = op.text;
        range.program = queued.program;
    }
    range.suspect = op.suspect || thread.mark_next;
    if (range.named()) thread.mark_next = false;
    // Ranges that the dialect does not write are around nothing.
    if (op.event == EventKind::op || range.named()) thread.innermost(op.event) = range.external;
    thread.open.push_back(std::move(range));
    if (op.cost > 0) spend(thread, queued.program->step, op);
}

void MachineState::pop(ThreadState& thread, const Op& op) {
    assert(!thread.open.empty());
    if (thread.open.empty()) return;
    OpenRange& range = thread.open.back();
    range.suspect = range.suspect || op.suspect;
    thread.innermost(range.kind) = range.outer;
    note_end(range.step, thread.now);
    tell_range(thread, range, thread.now, false);
    thread.open.pop_back();
}

void MachineState::tell_range(const ThreadState& thread, const OpenRange& range, TimeNs end, bool cut) {
    ++events;
    if (sink == nullptr) return;
    Event event;
    event.kind = range.kind;
    event.role = range.role;
    event.suspect = range.suspect;
    event.cut = cut;
    event.layer = range.layer;
    event.name = range.name;
    event.text = range.words();
    event.process = thread.process;
    event.thread = thread.index;
    event.step = range.step;
    event.start = range.start;
    event.duration = end - range.start;
    event.external = range.external;
    if (range.kind == EventKind::python) event.around = range.outer;
    sink->event(event);
}

void MachineState::tell_call(const ThreadState& thread, StepNumber step, const Op& op, TimeNs begun, std::uint32_t correlation,
                             bool suspect) {
    note_end(step, thread.now);
    ++events;
    if (sink == nullptr) return;
    Event event;
    event.kind = call_kind(op.event);
    event.role = op.role;
    event.suspect = suspect;
    event.layer = op.layer;
    event.name = op.name;
    event.process = thread.process;
    event.thread = thread.index;
    event.step = step;
    event.start = begun;
    event.duration = thread.now - begun;
    event.correlation = correlation;
    event.external = thread.current_op;
    event.around = thread.current_range;
    event.stream = op.stream;
    sink->event(event);
}

std::uint32_t MachineState::call(ThreadState& thread, StepNumber step, const Op& op) {
    const TimeNs begun = thread.now;
    bool suspect = std::exchange(thread.mark_next, false) || op.suspect;
    const TimeNs cost = noise.jitter(op.cost, kCallSpread, Draw::host_jitter, step, static_cast<std::uint64_t>(thread.index), op.key);
    const TimeNs done_at = host_end(thread, cost, suspect);
    const TimeNs returned = call_end(thread, begun, done_at, suspect);
    thread.now = returned > done_at ? resumed(thread, returned, suspect) : done_at;
    if (thread.waiting == ThreadState::Waiting::forever) return 0;
    const std::uint32_t correlation = ++processes[static_cast<std::size_t>(thread.process)].correlation;
    tell_call(thread, step, op, begun, correlation, suspect);
    return correlation;
}

StreamItem MachineState::item_of(const ThreadState& thread, StepNumber step, const Op& op, StreamItem::Kind kind) const {
    StreamItem item;
    item.kind = kind;
    item.event = op.device_event;
    item.copy = op.copy;
    item.role = op.role;
    item.bound = op.bound;
    item.suspect = op.suspect;
    item.layer = op.layer;
    item.group = op.group;
    item.thread = thread.index;
    item.name = op.device_name;
    item.step = step;
    item.key = op.key;
    item.signal = op.signal;
    item.grid = op.grid;
    item.block = op.block;
    item.cost = op.device_cost;
    item.bytes = op.bytes;
    return item;
}

void MachineState::launch(ThreadState& thread, StepNumber step, const Op& op) {
    const TimeNs begun = thread.now;
    const std::uint32_t correlation = call(thread, step, op);
    if (correlation == 0) return;
    const auto latency = kLaunchLatency + static_cast<TimeNs>(noise.below(kLaunchLatencySpread, Draw::launch_jitter, step,
                                                                          static_cast<std::uint64_t>(op.stream), op.key));
    const TimeNs ready = std::max(thread.now, begun + kSubmission) + latency;
    if (op.kind == OpKind::graph_launch) {
        thread.graph_stream = op.stream;
        thread.graph_correlation = correlation;
        thread.graph_external = thread.current_op;
        thread.graph_around = thread.current_range;
        thread.graph_node = 0;
        thread.graph_called = begun;
        thread.graph_ready = ready;
        return;
    }
    StreamItem item = item_of(thread, step, op, StreamItem::Kind::work);
    item.correlation = correlation;
    item.external = thread.current_op;
    item.around = thread.current_range;
    item.called = begun;
    item.ready = ready;
    enqueue(op.stream, item);
}

void MachineState::wait_on(std::uint32_t waiter, std::uint32_t signal) {
    SignalSlot& own = own_slot(signal);
    next_waiter_[waiter] = own.waiter;
    own.waiter = waiter;
}

bool MachineState::synchronize(ThreadState& thread, StepNumber step, const Op& op) {
    TimeNs when = thread.now;
    if (op.kind == OpKind::sync_stream && static_cast<std::size_t>(op.stream) < streams.size()) {
        StreamState& stream = streams[static_cast<std::size_t>(op.stream)];
        if (!thread.has_ticket) {
            thread.ticket = stream.queued;
            thread.has_ticket = true;
            if (stream.done < thread.ticket) {
                thread.waiting = ThreadState::Waiting::stream;
                stream.waiting_threads.push_back(static_cast<std::uint32_t>(thread.index));
                return false;
            }
            thread.drained = stream.drained();
        }
        thread.has_ticket = false;
        when = std::max(when, thread.drained);
    } else if (const SignalSlot* event = op.signal == kNoSignal ? nullptr : slot(op.signal); event != nullptr) {
        if (event->time == kNull) {
            thread.waiting = ThreadState::Waiting::signal;
            wait_on(static_cast<std::uint32_t>(thread.index), op.signal);
            return false;
        }
        when = std::max(when, event->time);
    }
    if (op.cost >= kForever) {
        thread.waiting = ThreadState::Waiting::forever;
        return false;
    }
    const TimeNs begun = thread.now;
    const TimeNs cost = noise.jitter(op.cost, kCallSpread, Draw::host_jitter, step, static_cast<std::uint64_t>(thread.index), op.key);
    bool suspect = std::exchange(thread.mark_next, false) || op.suspect;
    thread.now = resumed(thread, when, suspect);
    if (thread.waiting == ThreadState::Waiting::forever) return true;
    const TimeNs done_at = host_end(thread, cost, suspect);
    const TimeNs returned = call_end(thread, begun, done_at, suspect);
    thread.now = returned > done_at ? resumed(thread, returned, suspect) : done_at;
    if (thread.waiting == ThreadState::Waiting::forever) return true;
    thread.note_wait(begun, thread.now, IdleCause::sync);
    tell_call(thread, step, op, begun, ++processes[static_cast<std::size_t>(thread.process)].correlation, suspect);
    return true;
}

bool MachineState::wait_for_signal(ThreadState& thread, StepNumber step, const Op& op) {
    TimeNs when = thread.now;
    if (op.signal == kNoSignal) {
        thread.waiting = ThreadState::Waiting::forever;
        return false;
    }
    if (const SignalSlot* signal = slot(op.signal); signal != nullptr) {
        if (signal->time == kNull) {
            thread.waiting = ThreadState::Waiting::signal;
            wait_on(static_cast<std::uint32_t>(thread.index), op.signal);
            return false;
        }
        when = std::max(when, signal->time);
    }
    if (op.cost >= kForever) {
        thread.waiting = ThreadState::Waiting::forever;
        return false;
    }
    if (when > thread.now) {
        const Role role = op.role != Role::none || thread.open.empty() ? op.role : thread.open.back().role;
        bool stretched = false;  // it waited anyway; only what comes next is marked
        const TimeNs begun = thread.now;
        thread.now = resumed(thread, when, stretched);
        thread.note_wait(begun, thread.now, cause_of_wait(role));
    }
    if (op.suspect) mark_open(thread);
    if (op.cost > 0) spend(thread, step, op);
    return true;
}

void MachineState::finish(TimeNs end) {
    for (ThreadState& thread : threads) {
        for (auto range = thread.open.rbegin(); range != thread.open.rend(); ++range) {
            if (range->start < end) tell_range(thread, *range, end, true);
        }
        thread.open.clear();
        thread.current_op = thread.current_range = thread.current_frame = 0;
    }
}

}  // namespace faultline::simulator
