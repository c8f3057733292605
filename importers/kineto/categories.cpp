#include "importers/kineto/categories.h"

#include <algorithm>

namespace faultline::kineto {

namespace {

struct Row {
    std::string_view name;
    Category category;
};

constexpr Row kRows[] = {
    {"cpu_op", {SpanKind::op, Place::host}},
    {"operator", {SpanKind::op, Place::host}},  // torch 1.8
    {"user_annotation", {SpanKind::range, Place::host}},
    {"python_function", {SpanKind::python, Place::host}},
    {"cuda_runtime", {SpanKind::runtime_call, Place::host}},
    {"runtime", {SpanKind::runtime_call, Place::host}},  // torch 1.8
    {"hip_runtime", {SpanKind::runtime_call, Place::host}},
    {"mtia_runtime", {SpanKind::runtime_call, Place::host}},
    {"glow_runtime", {SpanKind::runtime_call, Place::host}},
    {"xpu_runtime", {SpanKind::runtime_call, Place::host}},
    {"privateuse1_runtime", {SpanKind::runtime_call, Place::host}},
    {"cuda_driver", {SpanKind::driver_call, Place::host}},
    {"xpu_driver", {SpanKind::driver_call, Place::host}},
    {"privateuse1_driver", {SpanKind::driver_call, Place::host}},
    {"kernel", {SpanKind::kernel, Place::device}},
    {"gpu_memcpy", {SpanKind::memory_copy, Place::device}},
    {"memcpy", {SpanKind::memory_copy, Place::device}},  // torch 1.8
    {"gpu_memset", {SpanKind::memory_set, Place::device}},
    {"memset", {SpanKind::memory_set, Place::device}},  // torch 1.8
    {"mtia_ccp_events", {SpanKind::accelerator, Place::device}},
    {"gpu_user_annotation", {SpanKind::device_range, Place::device_ranges}},
    {"cuda_sync", {SpanKind::sync, Place::device_ranges}},
    {"xpu_sync", {SpanKind::sync, Place::device_ranges}},
    {"cuda_event", {SpanKind::sync, Place::device_ranges}},
    {"cuda_profiler_range", {SpanKind::profiler_range, Place::device_ranges}},
    {"xpu_scope_profiler", {SpanKind::profiler_range, Place::device_ranges}},
    {"hpu_op", {SpanKind::accelerator, Place::device_or_host}},
    {"collective_comm", {SpanKind::accelerator, Place::device_or_host}},
    {"overhead", {SpanKind::overhead, Place::host}},
    {"trace", {SpanKind::window, Place::window}},
    {"ac2g", {SpanKind::other, Place::host, FlowUse::launch}},
    {"async", {SpanKind::other, Place::host, FlowUse::launch}},  // torch 1.8
    {"async_gpu", {SpanKind::other, Place::host, FlowUse::launch}},
    {"async_cpu_to_gpu", {SpanKind::other, Place::host, FlowUse::launch}},
    {"cpu_to_cuda", {SpanKind::other, Place::host, FlowUse::launch}},  // before Kineto
    {"fwdbwd", {SpanKind::other, Place::host, FlowUse::backward}},
    {"forward_backward", {SpanKind::other, Place::host, FlowUse::backward}},
};

constexpr Category kGeneric{};

Category look_up(std::string_view raw) {
    std::string lower(raw);
    std::transform(lower.begin(), lower.end(), lower.begin(),
                   [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c | 0x20) : c; });
    const auto* const row = std::find_if(std::begin(kRows), std::end(kRows), [&](const Row& r) { return r.name == lower; });
    return row == std::end(kRows) ? kGeneric : row->category;
}

}  // namespace

const Category& Categories::find(std::string_view raw) {
    if (raw.empty()) return kGeneric;
    const auto byte = [](char c) { return static_cast<std::size_t>(static_cast<unsigned char>(c)); };
    Known& known = known_[(raw.size() * 31 + byte(raw.front()) + byte(raw.back()) * 7) % known_.size()];
    if (known.used && known.raw == raw) return known.category;
    known = {std::string(raw), look_up(raw), true};
    return known.category;
}

}  // namespace faultline::kineto
