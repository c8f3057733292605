// The instructions of the simulated machine: what a thread does in a step, in order. Host and device models write programs, faults edit them,
// the machine runs them. Durations are what the operation costs by itself; waits and jitter are the machine's.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "ml/simulator/base/event.h"
#include "ml/simulator/base/piece.h"

namespace faultline::simulator {

enum class OpKind : std::uint8_t {
    push,            ///< opens a range, operator or Python frame (`event`) on this thread
    pop,             ///< closes the innermost
    work,            ///< host time of `cost`, no event of its own
    call,            ///< an API call of `cost` without device work (allocate, record, query); an event of its own
    launch,          ///< an API call of `cost` that queues one piece of device work on `stream`
    graph_launch,    ///< an API call of `cost` that queues the `node` operations after it on `stream`
    node,            ///< a piece of device work of the graph launched last; no host time
    record_event,    ///< a call that notes the tail of `stream` as event `signal`
    stream_wait,     ///< a call: later work of `stream` waits for event `signal`
    sync_stream,     ///< a call that returns when `stream` is empty
    sync_event,      ///< a call that returns when event `signal` has happened
    wait,            ///< the thread waits for `signal`; no event of its own (push and pop around it)
    signal,          ///< sets `signal` at the thread's time plus `cost` of transport
    marker,          ///< Machine::markers(): tells the driver when this point was passed; `signal` is its number
};

/// How device work reacts to a slower device (FAULTS §7, B3).
enum class Bound : std::uint8_t { none, compute, memory, link };

inline constexpr TimeNs kForever = TimeNs{1} << 60;  ///< a cost that never ends: a hang
inline constexpr std::uint16_t kNoGroup = 0xFFFF;
inline constexpr std::uint32_t kNoSignal = 0xFFFFFFFF;

struct Op {
    OpKind kind{};
    EventKind event = EventKind::range;          ///< of push, and of calls: runtime_call or driver_call
    EventKind device_event = EventKind::kernel;  ///< of launch and node
    CopyKind copy = CopyKind::none;
    Role role = Role::none;
    Piece piece = Piece::whole;
    Bound bound = Bound::none;
    bool suspect = false;          ///< set by faults on what they touch or insert
    std::int16_t layer = -1;
    StreamIndex stream = StreamIndex::none;
    std::uint16_t group = kNoGroup;  ///< a collective of that group: waits for all members, all leave together
    Name name = Name::none;          ///< of the range or the call
    Name device_name = Name::none;   ///< of the kernel or copy
    TimeNs cost = 0;                 ///< host
    TimeNs device_cost = 0;
    std::int64_t bytes = -1;
    std::uint32_t grid = 0, block = 0;
    std::uint32_t signal = kNoSignal;  ///< signal, event or marker number
    std::uint32_t text = 0;            ///< position + 1 in Program::texts: the name where it is no interned one
    std::uint32_t key = 0;             ///< coordinate of its jitter; unique in the program, kept when others are inserted before it
};

struct Program {
    StepNumber step = 0;
    std::vector<Op> ops;
    std::vector<std::string> texts;

    /// Appends with the next free key.
    Op& add(Op op);
    /// Inserts before `position` with a key of its own that leaves all others as they are.
    Op& insert(std::size_t position, Op op);
    std::uint32_t add_text(std::string text) {
        texts.push_back(std::move(text));
        return static_cast<std::uint32_t>(texts.size());
    }

private:
    std::uint32_t next_key_ = 1, next_inserted_key_ = 0x80000001;
};

}  // namespace faultline::simulator
