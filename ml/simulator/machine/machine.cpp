#include "ml/simulator/machine/machine.h"

#include <algorithm>
#include <cassert>
#include <utility>

#include "ml/simulator/machine/machine_state.h"

namespace faultline::simulator {

MachineState::MachineState(const Topology& where, const Noise& with, TimeNs from) : topology(&where), noise(with), start(from) {
    threads.resize(where.threads.size());
    for (std::size_t i = 0; i < threads.size(); ++i) {
        threads[i].process = where.threads[i].process;
        threads[i].index = static_cast<ThreadIndex>(i);
        threads[i].now = from;
    }
    processes.resize(where.processes.size());
    devices.resize(where.devices.size());
    streams.resize(where.streams.size());
    for (std::size_t i = 0; i < streams.size(); ++i) {
        streams[i].device = where.streams[i].device;
        streams[i].last_end = from;
        devices[static_cast<std::size_t>(streams[i].device)].streams.push_back(static_cast<std::uint32_t>(i));
    }
    next_waiter_.assign(threads.size() + streams.size(), kNobody);
}

Machine::Machine(const Topology& topology, const Noise& noise, TimeNs start)
    : state_(std::make_unique<MachineState>(topology, noise, start)) {}
Machine::Machine(const Machine& other) : state_(std::make_unique<MachineState>(*other.state_)) {}
Machine::Machine(Machine&&) noexcept = default;
Machine& Machine::operator=(const Machine& other) {
    if (this != &other) state_ = std::make_unique<MachineState>(*other.state_);
    return *this;
}
Machine& Machine::operator=(Machine&&) noexcept = default;
Machine::~Machine() = default;

void Machine::set_sink(Sink* sink) { state_->sink = sink; }

std::uint16_t Machine::add_group(std::vector<StreamIndex> members) {
    GroupState group;
    group.members = std::move(members);
    state_->groups.push_back(std::move(group));
    return static_cast<std::uint16_t>(state_->groups.size() - 1);
}

std::uint32_t Machine::new_signal() { return state_->next_signal++; }
void Machine::disturb(Disturbance disturbance) { state_->disturb(disturbance); }
void Machine::calm() { state_->calm(); }

void Machine::run(ThreadIndex thread, Program program, TimeNs not_before) {
    assert(static_cast<std::size_t>(thread) < state_->threads.size());
    state_->threads[static_cast<std::size_t>(thread)].queue.push_back({std::make_shared<const Program>(std::move(program)), not_before});
}

void Machine::set_signal(std::uint32_t signal, TimeNs time) { state_->set_signal(signal, time, false); }
void Machine::advance() { state_->advance(); }
void Machine::finish(TimeNs end) { state_->finish(end); }

TimeNs Machine::now(ThreadIndex thread) const { return state_->threads[static_cast<std::size_t>(thread)].now; }
bool Machine::idle(ThreadIndex thread) const { return state_->threads[static_cast<std::size_t>(thread)].idle(); }
TimeNs Machine::stream_end(StreamIndex stream) const { return state_->streams[static_cast<std::size_t>(stream)].last_end; }
bool Machine::stream_stuck(StreamIndex stream) const { return !state_->streams[static_cast<std::size_t>(stream)].empty(); }

std::optional<TimeNs> Machine::signal_time(std::uint32_t signal) const {
    const SignalSlot* slot = state_->slot(signal);
    if (slot == nullptr || slot->time == kNull) return std::nullopt;
    return slot->time;
}

std::vector<MarkerPassed> Machine::take_markers() { return std::exchange(state_->markers, {}); }

TimeNs Machine::step_end(StepNumber step) const {
    if (step < state_->first_step || step - state_->first_step >= state_->step_ends.size()) return 0;
    return state_->step_ends[step - state_->first_step];
}

std::uint32_t Machine::oldest_needed_signal() const {
    std::uint32_t oldest = kNoSignal;
    for (const ThreadState& thread : state_->threads) {
        for (std::size_t at = thread.first; at < thread.queue.size(); ++at) {
            const QueuedProgram& queued = thread.queue[at];
            for (std::size_t i = queued.at; i < queued.program->ops.size(); ++i) {
                const Op& op = queued.program->ops[i];
                if (op.kind == OpKind::wait || op.kind == OpKind::sync_event || op.kind == OpKind::stream_wait)
                    oldest = std::min(oldest, op.signal);
            }
        }
    }
    for (const StreamState& stream : state_->streams) {
        for (std::size_t i = stream.first; i < stream.queue.size(); ++i) {
            if (stream.queue[i].kind == StreamItem::Kind::wait) oldest = std::min(oldest, stream.queue[i].signal);
        }
    }
    return oldest;
}

void Machine::forget_before(StepNumber step, std::uint32_t signal) {
    MachineState& state = *state_;
    signal = std::min({signal, oldest_needed_signal(), state.next_signal});
    if (signal > state.first_signal) {
        const std::size_t gone = std::min<std::size_t>(signal - state.first_signal, state.signals.size());
        state.signals.erase(state.signals.begin(), state.signals.begin() + static_cast<std::ptrdiff_t>(gone));
        state.first_signal = signal;
    }
    if (step > state.first_step) {
        const std::size_t gone = std::min<std::size_t>(step - state.first_step, state.step_ends.size());
        state.step_ends.erase(state.step_ends.begin(), state.step_ends.begin() + static_cast<std::ptrdiff_t>(gone));
        state.first_step = step;
    }
}

std::uint64_t Machine::events() const { return state_->events; }

std::size_t Machine::held() const {
    std::size_t count = state_->signals.size() + state_->step_ends.size() + state_->markers.size();
    for (const ThreadState& thread : state_->threads)
        count += thread.queue.size() - thread.first + thread.open.size() + thread.windows.all.size();
    for (const StreamState& stream : state_->streams) count += stream.queue.size() - stream.first + stream.waiting_threads.size();
    for (const DeviceState& device : state_->devices) count += device.windows.all.size();
    return count;
}

}  // namespace faultline::simulator
