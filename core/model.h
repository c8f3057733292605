// The plain rows of a capture: what a span is, where it lies, and what a step says.
//
// Everything here is a value; the numbers of SpanKind and TrackKind stand in capture files and never change meaning.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace faultline {

/// What a span records. Stored as a number in the `kind` column; kind_name() gives the word that SQL shows.
enum class SpanKind : std::uint8_t {
    range = 0,            ///< NVTX range or user annotation on a host thread
    op = 1,               ///< framework operator (cpu_op)
    python = 2,           ///< Python frame
    runtime_call = 3,     ///< CUDA/HIP (or another vendor's) runtime call
    driver_call = 4,      ///< CUDA (or another vendor's) driver call
    os_call = 5,          ///< operating-system call
    kernel = 6,           ///< device kernel
    memory_copy = 7,      ///< device copy
    memory_set = 8,       ///< device memset
    sync = 9,             ///< device-side synchronization row (cuda_sync, cuda_event)
    device_range = 10,    ///< a range projected on a device; not busy time
    overhead = 11,        ///< profiler overhead
    instant = 12,         ///< a point in time without duration
    counter = 13,         ///< one sample of a counter (value column)
    memory_event = 14,    ///< allocator event ([memory] instants)
    accelerator = 15,     ///< device work of a vendor that names no kernels (MTIA, NPU, HPU)
    graph = 16,           ///< a whole graph launch seen as one device row
    profiler_range = 17,  ///< CUPTI range profiler row
    async = 18,           ///< asynchronous (b/e) range of another producer
    window = 19,          ///< the profiler's own window ("Trace" rows)
    other = 20,           ///< anything else, kept as it came
};
inline constexpr int kSpanKindCount = 21;
[[nodiscard]] std::string_view kind_name(SpanKind kind) noexcept;

[[nodiscard]] constexpr bool is_api_call(SpanKind k) noexcept { return k == SpanKind::runtime_call || k == SpanKind::driver_call; }
/// Work that keeps a device lane busy (ranges projected on the device do not).
[[nodiscard]] constexpr bool is_device_work(SpanKind k) noexcept {
    return k == SpanKind::kernel || k == SpanKind::memory_copy || k == SpanKind::memory_set || k == SpanKind::accelerator ||
           k == SpanKind::graph;
}

/// Bits of the `flags` column: what was done to a record, or what it is beside its kind.
enum SpanFlag : std::uint32_t {
    flag_clipped = 1u << 0,        ///< crossed its neighbour by at most 1 us and was shortened
    flag_unfinished = 1u << 1,     ///< never ended; closed at the end of its thread or parent
    flag_negative = 1u << 2,       ///< had a negative duration, kept with length 0
    flag_no_duration = 1u << 3,    ///< had no duration, kept with length 0
    flag_no_time = 1u << 4,        ///< its times were not collected; kept with length 0 at the start of its track
    flag_renamed = 1u << 5,        ///< its name held bytes that are no UTF-8 and was repaired
    flag_collective = 1u << 6,     ///< communication by name or arguments (class COMM)
    flag_margin_undone = 1u << 7,  ///< a device range whose 1 ns margins were taken off (FORMATS 2.2)
};

/// Where a track lies. Stored as a number in `track.kind`.
enum class TrackKind : std::uint8_t {
    host = 0,           ///< a thread: ranges, operators, frames and calls, nested
    device = 1,         ///< a stream of a device: work, never overlapping inside one track
    device_ranges = 2,  ///< ranges projected on a stream; nested
    counter = 3,        ///< one counter series
    marks = 4,          ///< whatever belongs to a process or to the whole trace
};

/// One lane of spans of one source. Spans inside a track nest properly; what crosses lies on a track with a higher `lane`.
struct Track {
    TrackId id{};
    SourceId source{};
    TrackKind kind = TrackKind::host;
    std::optional<ProcessId> process;
    std::optional<ThreadId> thread;
    std::optional<DeviceId> device;
    std::optional<std::int64_t> stream;
    int lane = 0;       ///< 0 is the track itself, 1… its sub-lanes for overlap
    int part = 0;       ///< Python thread inside an OS thread (Kineto shows several as thread 0)
    int max_depth = 0;  ///< deepest nesting, 0 for a flat track
    std::string name;   ///< display name as the source gave it, may be empty
    std::uint64_t spans = 0;
    TimeNs first_start = 0;            ///< source clock
    TimeNs last_end = 0;               ///< source clock
    std::int64_t clock_offset_ns = 0;  ///< add to a stored time to get capture time
    std::int64_t clock_uncertainty_ns = 0;
};

struct Source {
    SourceId id{};
    std::string path;      ///< as given on the command line
    std::string format;    ///< name of the importer
    std::string producer;  ///< what wrote the file where it says so
    std::string host;
    std::optional<std::int64_t> rank;
    std::string rank_rule;  ///< where the rank came from, in words
    std::optional<std::int64_t> world_size;
    std::uint64_t bytes = 0;   ///< size of the input as stored
    std::uint64_t events = 0;  ///< read + dropped
    bool complete = false;
    std::int64_t clock_offset_ns = 0;       ///< add to a time of its clock to get capture time
    std::int64_t clock_uncertainty_ns = 0;  ///< how far off the offset may be
    std::string clock_rule;                 ///< where the offset came from, in words
    std::string metadata;  ///< everything else the file said about itself, as JSON text
};

struct Process {
    ProcessId id{};
    SourceId source{};
    std::int64_t pid = 0;
    std::string pid_text;  ///< where the source used words ("Spans")
    std::string name;
    std::string labels;
    std::optional<std::int64_t> rank;
    std::int64_t sort_index = 0;
};

struct Thread {
    ThreadId id{};
    ProcessId process{};
    std::int64_t tid = 0;
    std::string tid_text;
    std::string name;
    std::int64_t sort_index = 0;
};

struct Device {
    DeviceId id{};
    SourceId source{};
    std::int64_t ordinal = 0;  ///< as the process counts its devices
    std::string name;
    std::string properties;  ///< JSON text
};

enum class StepPhase : std::uint8_t { prefill = 0, decode = 1, mixed = 2, other = 3 };
[[nodiscard]] std::string_view phase_name(StepPhase phase) noexcept;

/// A hang makes no step, so a stall is an item of its own in the step list (DESIGN §6).
enum class StepKind : std::uint8_t { step = 0, stall = 1 };

/// One iteration of an engine on one instance (DESIGN §6). Times are capture times.
struct Step {
    StepId id{};
    StepKind kind = StepKind::step;
    std::string name;     ///< the text that named it, or what it was inferred from
    std::string dialect;  ///< the grammar rule that matched ("vllm-0.14", "sglang", …) or the way it was inferred
    StepPhase phase = StepPhase::other;
    TimeNs start = 0;    ///< start of its first host span
    TimeNs end = 0;      ///< end of its last bound kernel or host span
    TimeNs host_ns = 0;  ///< length of the host side alone
    bool inferred = false;
    std::optional<std::int64_t> number;  ///< the engine's own number where the text has one
    std::optional<std::int64_t> tokens;  ///< tokens processed
    std::optional<std::int64_t> batch;   ///< requests in the step
    std::optional<std::int64_t> context_requests, context_tokens, generation_requests, generation_tokens;
    std::string instance;  ///< the engine instance (host/process) it ran on
    std::vector<std::int64_t> ranks;
    std::vector<SpanId> spans;  ///< its STEP ranges, one or more (one for each rank or frame)
    std::int64_t kernels = 0;
    TimeNs kernel_busy_ns = 0;  ///< union of its device work on each device, summed over devices
};

enum class Severity : std::uint8_t { info = 0, warning = 1, error = 2 };

/// A finding about the capture as a whole: what it means and how to capture better.
struct HealthFinding {
    std::string code;
    Severity severity = Severity::info;
    std::string sentence;
};

}  // namespace faultline
