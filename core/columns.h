// The columns a span can have. Start, end, name and kind exist for every span; every other column only where it holds something.
//
// The numbers stand in capture files (`span_column.column`) and never change meaning. Every value is an int64; kNull is absence,
// real numbers are stored by their bits (see is_real).
#pragma once

#include <cstdint>
#include <string_view>

namespace faultline {

enum class Column : std::uint8_t {
    start = 0,         ///< source clock, ns
    duration = 1,      ///< ns
    name = 2,          ///< NameId
    kind = 3,          ///< SpanKind
    flags = 4,         ///< SpanFlag bits
    parent = 5,        ///< ordinal of the enclosing span of the same track
    depth = 6,         ///< nesting depth in the track
    correlation = 7,   ///< correlation id, scoped to (source, process)
    launch = 8,        ///< SpanId of the API call that launched this device span
    step = 9,          ///< StepId
    args = 10,         ///< TextId of the rest of the arguments, as JSON
    external_id = 11,  ///< Kineto "External id"
    record_function = 12,
    sequence = 13,  ///< autograd sequence number
    forward_thread = 14,
    event_index = 15,  ///< Kineto "Ev Idx"
    python_id = 16,
    python_parent = 17,
    python_module = 18,
    bytes = 19,      ///< bytes moved, set or allocated (negative: freed)
    link = 20,       ///< SpanId of the forward operator of a backward one (fwdbwd)
    value = 21,      ///< counter sample (real)
    bandwidth = 22,  ///< GB/s as the source says (real)
    address = 23,
    total_allocated = 24,
    total_reserved = 25,
    graph_id = 26,
    graph_node = 27,
    context = 28,
    group_size = 29,     ///< ranks in the collective
    comm_bytes = 30,     ///< message size of the collective, larger of in and out
    comm_sequence = 31,  ///< "Seq" of the collective
    result = 32,         ///< return code of an API call
    callback_id = 33,    ///< cbid
    queued = 34,         ///< kernel queue time, ns
    priority = 35,       ///< stream priority
    graph_launch = 36,   ///< number of device spans that an API call launched, where it is not 1
    device_delay = 37,     ///< a range projected on the devices: from its start to that of the first work launched inside it, ns
    device_duration = 38,  ///< … from there to the end of the last
    device_busy = 39,      ///< … and the sum of their lengths, ns
    device_count = 40,   ///< … and how many there were
    mangled_name = 41,   ///< NameId of a kernel's mangled name
    event_id = 42,       ///< CUDA event, where a synchronization names one
    sync_type = 43,      ///< 1 event, 2 stream waits for event, 3 stream, 4 context (FORMATS §1.4)
    category = 44,       ///< NVTX category
    domain = 45,         ///< NameId of the NVTX domain
    payload = 46,        ///< NVTX payload, as an integer
    cpu = 47,            ///< processor that a sample or a scheduling event was on
};
inline constexpr int kColumnCount = 48;

[[nodiscard]] std::string_view column_name(Column column) noexcept;
[[nodiscard]] constexpr bool is_real(Column c) noexcept { return c == Column::value || c == Column::bandwidth; }

}  // namespace faultline
