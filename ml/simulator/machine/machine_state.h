// What a Machine holds, and how it works inside: threads.cpp executes programs, streams.cpp resolves device work and collectives,
// disturbances.cpp says what pauses and slow-downs make of a duration. Values, so that a rehearsal is a copy.
//
// Every thread's times follow from its own operations and from what it waits for, never from the order in which threads are executed; that
// order only decides who queues first on a stream that two threads share, and it follows the clocks to within a quantum.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <string_view>
#include <vector>

#include "ml/simulator/machine/machine.h"

namespace faultline::simulator {

inline constexpr TimeNs kNever = std::numeric_limits<TimeNs>::max();
inline constexpr std::uint32_t kNobody = 0xFFFFFFFF;

/// A disturbance as one thread or device sees it.
struct Window {
    TimeNs start = 0, end = 0;
    double factor = 1;
    Disturbance::What what{};
    bool suspect = false;
    std::uint32_t id = 0;
};

/// Windows by start; those at the front that are over are let go.
struct Windows {
    std::vector<Window> all;
    std::size_t first = 0;
    TimeNs next = kNever;  ///< nothing before it is disturbed

    void add(const Window& window);
    void pass(TimeNs time);  ///< nobody will ask about times before `time` again
    void clear();
};

struct OpenRange {
    TimeNs start = 0;
    Name name = Name::none;
    Role role = Role::none;
    EventKind kind{};
    bool suspect = false;
    std::int16_t layer = -1;
    StepNumber step = 0;
    std::uint32_t external = 0, outer = 0;  ///< of the same kind
    std::uint32_t text = 0;
    std::shared_ptr<const Program> program;  ///< holds the text, where there is one

    [[nodiscard]] std::string_view words() const { return text == 0 ? std::string_view{} : std::string_view(program->texts[text - 1]); }
    [[nodiscard]] bool named() const { return name != Name::none || text != 0; }
};

/// A stretch in which a thread waited, for the causes of gaps.
struct HostWait {
    TimeNs start = 0, end = 0;
    IdleCause cause{};
};

struct QueuedProgram {
    std::shared_ptr<const Program> program;
    TimeNs not_before = 0;
    std::size_t at = 0;
    bool begun = false;
};

struct ThreadState {
    enum class Waiting : std::uint8_t { nothing, signal, stream, forever };

    ProcessIndex process{};
    ThreadIndex index{};
    Waiting waiting = Waiting::nothing;
    bool has_ticket = false;
    bool mark_next = false;  ///< the next call or range is the first after a hole
    TimeNs now = 0;
    std::vector<QueuedProgram> queue;
    std::size_t first = 0;  ///< in `queue`: what it is at
    std::vector<OpenRange> open;
    std::uint32_t current_op = 0, current_range = 0, current_frame = 0;  ///< ids of the innermost operator, range, Python frame
    std::uint64_t ticket = 0;      ///< sync_stream: so many items of the stream must be done
    TimeNs drained = 0;            ///< when they were
    // of the graph launched last
    StreamIndex graph_stream = StreamIndex::none;
    std::uint32_t graph_correlation = 0, graph_external = 0, graph_around = 0, graph_node = 0;
    TimeNs graph_called = 0, graph_ready = 0;
    Windows windows;
    std::array<HostWait, 32> waits{};
    std::uint32_t waited = 0;  ///< waits so far; the last 32 are kept

    [[nodiscard]] bool runnable() const { return waiting == Waiting::nothing && !idle(); }
    [[nodiscard]] bool idle() const { return first == queue.size(); }
    [[nodiscard]] std::uint32_t& innermost(EventKind kind) {
        return kind == EventKind::op ? current_op : kind == EventKind::python ? current_frame : current_range;
    }
    void end_program();
    void note_wait(TimeNs start, TimeNs end, IdleCause cause) {
        if (end > start) waits[waited++ % waits.size()] = {start, end, cause};
    }
};

struct StreamItem {
    enum class Kind : std::uint8_t { work, record, wait };

    Kind kind{};
    EventKind event{};
    CopyKind copy{};
    Role role{};
    Bound bound{};
    bool suspect = false;
    std::int16_t layer = -1;
    std::uint16_t group = kNoGroup;
    ThreadIndex thread{};
    Name name = Name::none;
    StepNumber step = 0;
    std::uint32_t key = 0, signal = kNoSignal;
    std::uint32_t correlation = 0, external = 0, around = 0, graph_node = 0, grid = 0, block = 0;
    TimeNs cost = 0, called = 0, ready = 0;
    std::int64_t bytes = -1;
};

/// When a piece of work starts, and the gap before it.
struct WorkStart {
    TimeNs start = 0;
    TimeNs idle_since = kNever;
    IdleCause cause{};
};

struct StreamState {
    enum class Waiting : std::uint8_t { nothing, signal, group, forever };

    int device = 0;
    Waiting waiting = Waiting::nothing;
    bool used = false, draining = false;
    bool after_collective = false;    ///< the last work was one
    bool wait_communication = false;  ///< `wait_until` is the end of a collective elsewhere
    ThreadIndex last_thread = ThreadIndex::none;
    TimeNs last_end = 0, wait_until = 0;
    std::vector<StreamItem> queue;
    std::size_t first = 0;
    std::uint64_t queued = 0, done = 0;
    WorkStart joined;  ///< of the collective at the front
    std::vector<std::uint32_t> waiting_threads;

    [[nodiscard]] bool empty() const { return first == queue.size(); }
    void pop();
    [[nodiscard]] TimeNs drained() const { return last_end > wait_until ? last_end : wait_until; }
};

/// The collectives of one group. Each member's stream stops at its k-th until all have come to theirs, so only one is under way at a time.
struct GroupState {
    std::vector<StreamIndex> members;
    std::size_t arrived = 0;
    bool forever = false;
    TimeNs cost = 0, latest = 0;
    StepNumber step = 0;  ///< of the first member's operation: with its key the coordinates of the jitter that all share
    std::uint32_t key = 0;
};

struct SignalSlot {
    TimeNs time = kNull;
    std::uint32_t waiter = kNobody;  ///< first of a list: a thread, or (after all threads) a stream
    bool after_collective = false;
};

struct ProcessState {
    std::uint32_t correlation = 0, external = 0, frame = 0;  ///< numbers given out so far
};

struct DeviceState {
    Windows windows;
    std::vector<std::uint32_t> streams;
};

class MachineState {
public:
    MachineState(const Topology& topology, const Noise& noise, TimeNs start);

    // threads.cpp
    void advance();
    void finish(TimeNs end);
    // streams.cpp
    void drain();
    void set_signal(std::uint32_t signal, TimeNs time, bool after_collective);
    [[nodiscard]] const SignalSlot* slot(std::uint32_t signal) const;  ///< null: long past
    // disturbances.cpp
    void disturb(const Disturbance& disturbance);
    void calm();
    void prune();

    const Topology* topology = nullptr;
    Noise noise;
    Sink* sink = nullptr;
    TimeNs start = 0;
    std::vector<ThreadState> threads;
    std::vector<StreamState> streams;
    std::vector<DeviceState> devices;
    std::vector<ProcessState> processes;
    std::vector<GroupState> groups;
    std::vector<MarkerPassed> markers;
    std::vector<SignalSlot> signals;
    std::uint32_t first_signal = 0, next_signal = 0;
    std::vector<TimeNs> step_ends;
    StepNumber first_step = 1;
    std::uint64_t events = 0;

private:
    // threads.cpp
    void run_thread(ThreadState& thread);
    bool execute(ThreadState& thread, const QueuedProgram& queued, const Op& op);
    void push(ThreadState& thread, const QueuedProgram& queued, const Op& op);
    void pop(ThreadState& thread, const Op& op);
    bool synchronize(ThreadState& thread, StepNumber step, const Op& op);
    bool wait_for_signal(ThreadState& thread, StepNumber step, const Op& op);
    void launch(ThreadState& thread, StepNumber step, const Op& op);
    /// The call itself, from the thread's time on; its correlation, 0 where it never returns.
    std::uint32_t call(ThreadState& thread, StepNumber step, const Op& op);
    void tell_call(const ThreadState& thread, StepNumber step, const Op& op, TimeNs begun, std::uint32_t correlation, bool suspect);
    void tell_range(const ThreadState& thread, const OpenRange& range, TimeNs end, bool cut);
    void spend(ThreadState& thread, StepNumber step, const Op& op);
    void mark_open(ThreadState& thread);
    [[nodiscard]] StreamItem item_of(const ThreadState& thread, StepNumber step, const Op& op, StreamItem::Kind kind) const;
    void wait_on(std::uint32_t waiter, std::uint32_t signal);

    // streams.cpp
    void enqueue(StreamIndex stream, const StreamItem& item);
    bool take(StreamIndex index, const StreamItem& item);
    bool join(StreamIndex index, const StreamItem& item);
    bool leave_together(GroupState& group, const StreamItem& last, StreamIndex last_stream);
    [[nodiscard]] WorkStart start_of(const StreamState& stream, StreamIndex index, const StreamItem& item) const;
    [[nodiscard]] IdleCause cause_of(const StreamItem& item, TimeNs since, TimeNs until) const;
    void tell_work(StreamState& stream, StreamIndex index, const StreamItem& item, const WorkStart& at, TimeNs end, bool suspect);
    void done(StreamState& stream);
    void wake_stream(StreamIndex stream);
    void note_end(StepNumber step, TimeNs end);
    SignalSlot& own_slot(std::uint32_t signal);

    // disturbances.cpp; where a pause or a hold has no end, the thread waits for ever from then on.
    /// When host work of `cost` that starts at the thread's time is over; `stretched`: by something suspect.
    [[nodiscard]] TimeNs host_end(ThreadState& thread, TimeNs cost, bool& stretched);
    /// When a call that would return at `end` does.
    [[nodiscard]] TimeNs call_end(ThreadState& thread, TimeNs begun, TimeNs end, bool& stretched);
    /// When a thread that could go on at `time` does.
    [[nodiscard]] TimeNs resumed(ThreadState& thread, TimeNs time, bool& stretched);
    [[nodiscard]] TimeNs device_end(StreamState& stream, const StreamItem& item, TimeNs begun, TimeNs cost, bool& stretched);
    [[nodiscard]] TimeNs link_end(const GroupState& group, TimeNs begun, TimeNs cost, bool& stretched);

    std::vector<std::uint32_t> next_waiter_;  ///< by thread, then by stream
    std::vector<std::uint32_t> draining_;
    std::vector<Window> scratch_;
    TimeNs limit_ = kNever;  ///< a thread that is further lets others go first
    std::uint32_t disturbances_ = 0;
};

}  // namespace faultline::simulator
