// What a run leaves behind, before any file format: spans, log entries, stack samples, counters, idle gaps. Times are true nanoseconds since
// the epoch; each writer turns them into the clock of the node (NodeClock). Texts live until the call that passes them returns.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "core/types.h"
#include "ml/simulator/base/names.h"
#include "ml/simulator/base/role.h"

namespace faultline::simulator {

enum class NodeIndex : std::uint16_t {};
enum class ProcessIndex : std::uint16_t {};
enum class ThreadIndex : std::uint16_t { none = 0xFFFF };
enum class StreamIndex : std::uint16_t { none = 0xFFFF };  ///< of the run; Topology has its device and its number
enum class InstanceIndex : std::uint16_t {};

/// Steps are numbered from 1 over the whole run, in the order in which they were scheduled; 0 is outside of any step.
using StepNumber = std::uint32_t;

enum class EventKind : std::uint8_t { range, op, python, runtime_call, driver_call, kernel, memory_copy, memory_set };
enum class CopyKind : std::uint8_t { none, host_to_device, device_to_host, device_to_device, pageable_to_device, device_to_pageable };

/// Events of one thread or stream come in no promised order, but each comes once and whole.
struct Event {
    EventKind kind{};
    CopyKind copy = CopyKind::none;
    Role role = Role::none;
    bool suspect = false;         ///< what was injected acts here: for the truth alone, no writer of traces may look at it
    bool cut = false;             ///< a host range that was still open when the capture ended
    std::int16_t layer = -1;      ///< of the model
    Name name = Name::none;
    std::string_view text;        ///< the name where it is not interned (step annotations)
    ProcessIndex process{};       ///< for device work: the process that launched it
    ThreadIndex thread = ThreadIndex::none;  ///< of host events, and the launching thread of device work
    StreamIndex stream = StreamIndex::none;  ///< of device work, and of calls: the one they act on
    StepNumber step = 0;
    TimeNs start = 0, duration = 0;
    std::uint32_t correlation = 0;  ///< of calls and device work, unique in the process; the nodes of a graph share that of its launch
    std::uint32_t external = 0;     ///< ranges, operators, frames: their own id; calls and device work: that of the innermost operator around the launch
    std::uint32_t around = 0;       ///< Python frames: the id of the frame around it; calls and device work: that of the innermost range around the launch
    std::uint32_t graph_node = 0;   ///< of kernels and copies inside a graph
    std::int64_t bytes = -1;        ///< of copies, sets and collectives
    std::uint32_t grid = 0, block = 0;
    std::uint16_t group_size = 0;   ///< of collectives
};

enum class LogLevel : std::uint8_t { debug, info, warning, error, critical };
/// Who formats a line: the engine's logger, or something that writes in a layout of its own (FORMATS §7.1).
enum class LogLayout : std::uint8_t { engine, access, bare, torch_cpp, nccl_info, nccl_warn, kernel };

struct LogEntry {
    TimeNs time = 0;
    ProcessIndex process{};
    LogLevel level = LogLevel::info;
    LogLayout layout = LogLayout::engine;
    std::string_view file;  ///< core.py
    int line = 0;
    std::string_view text;  ///< may hold line feeds
    bool suspect = false;   ///< written because of the fault: for the truth alone
};

/// One look at one thread, as py-spy takes it.
struct StackSampleEvent {
    TimeNs time = 0;
    ThreadIndex thread{};
    bool active = true, owns_gil = false;
    std::span<const std::string_view> frames;  ///< innermost first, `function (file.py:line)`
};

struct CounterEvent {
    TimeNs time = 0;
    NodeIndex node{};
    int device = -1;  ///< ordinal on the node; -1: the host
    std::string_view name, unit;
    double value = 0;
};

/// Why a stream lay idle before a piece of work; the words of CONTRACT.md (bubbles).
enum class IdleCause : std::uint8_t { cpu, sync, communication, unknown };
struct IdleGap {
    StreamIndex stream{};
    TimeNs start = 0, duration = 0;
    IdleCause cause{};
    StepNumber step = 0;  ///< of the work after it
};

/// What takes what a run leaves: a file writer, the truth, a test. One thread.
class Sink {
public:
    virtual ~Sink() = default;
    virtual void event(const Event& event) = 0;
    virtual void log(const LogEntry& entry) = 0;
    virtual void sample(const StackSampleEvent& sample) = 0;
    virtual void counter(const CounterEvent& counter) = 0;
    virtual void gap(const IdleGap& gap) = 0;

protected:
    Sink() = default;
    Sink(const Sink&) = default;
    Sink& operator=(const Sink&) = default;
};

}  // namespace faultline::simulator
