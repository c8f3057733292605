#include "core/model.h"

#include <array>

#include "core/columns.h"

namespace faultline {

std::string_view kind_name(SpanKind kind) noexcept {
    static constexpr std::array<std::string_view, kSpanKindCount> names = {
        "range",        "op",          "python", "runtime_call",   "driver_call", "os_call", "kernel",
        "memory_copy",  "memory_set",  "sync",   "device_range",   "overhead",    "instant", "counter",
        "memory_event", "accelerator", "graph",  "profiler_range", "async",       "window",  "other"};
    const auto at = static_cast<std::size_t>(kind);
    return at < names.size() ? names[at] : std::string_view("other");
}

std::string_view phase_name(StepPhase phase) noexcept {
    switch (phase) {
        case StepPhase::prefill: return "prefill";
        case StepPhase::decode: return "decode";
        case StepPhase::mixed: return "mixed";
        case StepPhase::other: break;
    }
    return "other";
}

std::string_view column_name(Column column) noexcept {
    static constexpr std::array<std::string_view, kColumnCount> names = {
        "start",           "duration",       "name",           "kind",        "flags",     "parent",
        "depth",           "correlation",    "launch",         "step",        "args",      "external_id",
        "record_function", "sequence",       "forward_thread", "event_index", "python_id", "python_parent",
        "python_module",   "bytes",          "link",           "value",       "bandwidth", "address",
        "total_allocated", "total_reserved", "graph_id",       "graph_node",  "context",   "group_size",
        "comm_bytes",      "comm_sequence",  "result",         "callback_id", "queued",    "priority",
        "graph_launch",    "device_delay",   "device_duration",     "device_busy", "device_count", "mangled_name",
        "event_id",        "sync_type",      "category",       "domain",      "payload",   "cpu"};
    const auto at = static_cast<std::size_t>(column);
    return at < names.size() ? names[at] : std::string_view();
}

}  // namespace faultline
