#include "ml/simulator/check/obstacles.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string_view>
#include <utility>

namespace faultline::simulator {
namespace {

struct Side {
    std::string_view word;  ///< the real capture
    const CaptureReader& capture;
    const StepShape& shape;

    [[nodiscard]] bool records(SpanKind kind) const {
        const auto found = shape.recorded.find(kind);
        return found != shape.recorded.end() && found->second > 0;
    }
    [[nodiscard]] std::string gpu() const {
        for (const Device& device : capture.devices())
            if (!gpu_model(device.name).empty()) return gpu_model(device.name);
        return {};
    }
    /// cuda, hip: how the name of the most frequent runtime call begins.
    [[nodiscard]] std::string api() const {
        const auto names = shape.host_names.find(SpanKind::runtime_call);
        if (names == shape.host_names.end() || names->second.empty()) return {};
        const auto most = std::max_element(names->second.begin(), names->second.end(), [](const auto& a, const auto& b) { return a.second < b.second; });
        const auto end = std::find_if(most->first.begin(), most->first.end(), [](char c) { return c < 'a' || c > 'z'; });
        return {most->first.begin(), end};
    }
    /// Kernels run in its steps, and no step holds the call that launched one.
    [[nodiscard]] bool launches_elsewhere() const {
        return shape.per_step(SpanKind::kernel) > 0 && shape.launches + shape.graph_launches < 0.5 && records(SpanKind::runtime_call);
    }
};

/// What one side lacks altogether that the other has.
std::string lacking(const Side& real, const Side& simulated, SpanKind kind, std::string_view what) {
    if (real.records(kind) == simulated.records(kind)) return {};
    return fmt::format("{} records no {}", (real.records(kind) ? simulated : real).word, what);
}

void find_in_host(const Side& real, const Side& simulated, Obstacles& found) {
    static constexpr std::array<std::pair<SpanKind, std::string_view>, 5> kKinds{{{SpanKind::range, "ranges"},
                                                                                  {SpanKind::op, "operators"},
                                                                                  {SpanKind::python, "Python frames"},
                                                                                  {SpanKind::runtime_call, "runtime calls"},
                                                                                  {SpanKind::driver_call, "driver calls"}}};
    std::string outside;
    for (const Side* side : {&real, &simulated})
        if (side->launches_elsewhere()) outside = fmt::format("steps of {} hold the kernels, not the calls that launch them", side->word);
    for (const auto& [kind, what] : kKinds) {
        const std::string why = outside.empty() ? lacking(real, simulated, kind, what) : outside;
        if (why.empty()) continue;
        found.host[kind] = why;
        if (kind != SpanKind::python && kind != SpanKind::driver_call && found.nesting.empty()) found.nesting = why;
        if (kind == SpanKind::runtime_call) found.launches = why;
    }
}

void find_in_device(const Side& real, const Side& simulated, Obstacles& found) {
    constexpr double kNoGap = 1, kGap = 100;  // ns: the finest clock, and less than any device needs between two kernels
    const std::string api = real.api(), simulated_api = simulated.api();
    if (!api.empty() && !simulated_api.empty() && api != simulated_api) found.names = fmt::format("the APIs are {} and {}", api, simulated_api);
    const std::string gpu = real.gpu(), simulated_gpu = simulated.gpu();
    if (gpu != simulated_gpu) {
        if (gpu.empty() || simulated_gpu.empty())
            found.times = fmt::format("{} does not name its GPU", gpu.empty() ? real.word : simulated.word);
        else
            found.times = fmt::format("the GPUs are {} and {}", gpu, simulated_gpu);
    }
    const double a = real.shape.gap(0.5), b = simulated.shape.gap(0.5);
    if (std::min(a, b) <= kNoGap && std::max(a, b) > kGap)
        found.gaps = fmt::format("kernels of {} follow one another without a gap that its clock shows", a < b ? real.word : simulated.word);
    if ((real.shape.layers == 0) != (simulated.shape.layers == 0))
        found.layers = fmt::format("nothing repeats inside steps of {}", real.shape.layers == 0 ? real.word : simulated.word);
}

}  // namespace

std::string gpu_model(const std::string& title) {
    std::string word;
    for (const char c : title + " ") {
        if (std::isalnum(static_cast<unsigned char>(c)) != 0) {
            word += c;
            continue;
        }
        if (std::any_of(word.begin(), word.end(), [](char x) { return std::isdigit(static_cast<unsigned char>(x)) != 0; })) return word;
        word.clear();
    }
    return {};
}

Obstacles obstacles(const CaptureReader& real, const StepShape& real_shape, const CaptureReader& simulated, const StepShape& simulated_shape) {
    const Side a{"the real capture", real, real_shape}, b{"the simulated capture", simulated, simulated_shape};
    Obstacles found;
    find_in_host(a, b, found);
    find_in_device(a, b, found);
    return found;
}

}  // namespace faultline::simulator
