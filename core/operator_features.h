// φ(x) of TELLER §3.4: what every operator instance of some steps cost, from its own time to the work it launched.
//
// Values in, values out; any thread with its own reader. Reads only the chunks that touch the steps, in one pass.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <stop_token>
#include <vector>

#include "core/capture_reader.h"
#include "core/model.h"
#include "core/result.h"

namespace faultline {

/// A range, operator, call or piece of device work of a step. Python frames, markers and counters are no operators.
struct OperatorInstance {
    SpanId span;
    std::uint32_t step = 0;  ///< position in the steps that were asked for
    SpanKind kind = SpanKind::other;
    NameId name{};
    NameId group{};  ///< the name by which it is compared: of ranges that differ in their numbers alone the first that was seen
    std::optional<std::int64_t> rank;
    std::optional<DeviceId> device;  ///< of device work
    bool collective = false;
    std::int64_t parent = -1;      ///< position of the instance around it; of device work that of the call that launched it
    std::uint32_t occurrence = 0;  ///< how many of the same operator_key() come before it in its step
    TimeNs start = 0, duration = 0;
    TimeNs self_ns = 0;  ///< without the instances nested in it; of device work its whole length
    TimeNs call_ns = 0;  ///< runtime and driver calls inside it, itself included
    std::int64_t calls = 0;
    TimeNs device_ns = 0;  ///< device work launched inside it; of device work its own length
    std::int64_t kernels = 0;
    std::int64_t bytes = 0;       ///< moved or set by device copies launched inside it
    TimeNs overlap_ns = 0;        ///< of device work: while other streams of its device worked
    std::int64_t comm_bytes = 0;  ///< message size of a collective
};

inline constexpr std::size_t kFeatures = 8;
using FeatureVector = std::array<double, kFeatures>;  ///< log(1 + ·) of self, call, calls, device, kernels, bytes, overlap, comm_bytes
[[nodiscard]] FeatureVector feature_vector(const OperatorInstance& instance);

/// The instances of the steps, by step and then by start within each track, host before device.
[[nodiscard]] Result<std::vector<OperatorInstance>> operator_instances(const CaptureReader& capture, std::span<const Step> steps,
                                                                       std::stop_token stop = {});

/// Equal for instances of the same rank, kind and group: what is compared across steps.
[[nodiscard]] std::uint64_t operator_key(const OperatorInstance& instance) noexcept;

/// The middle of values, which are rearranged; 0 without values.
[[nodiscard]] double median_of(std::span<double> values);
/// Median and 1.4826 · MAD of values, which are overwritten; 0 and 0 without values.
struct RobustScale {
    double median = 0, spread = 0;
};
[[nodiscard]] RobustScale robust_scale(std::span<double> values);

}  // namespace faultline
