// What captures are compared by: what a step of one phase is made of, on average over the steps that were chosen. Per rank: sums over all
// devices, divided by the devices that ran kernels.
//
// Values; any thread with its own reader. Reads the columns chunk by chunk: memory does not grow with the capture.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "core/capture_reader.h"
#include "core/model.h"
#include "core/result.h"

namespace faultline::simulator {

struct FamilyShape {
    double share = 0;    ///< of the time of all kernels
    double mean_ns = 0;  ///< of one kernel
};

struct StepShape {
    std::size_t steps = 0;
    int ranks = 1;                         ///< devices that ran kernels in these steps
    double length_ns = 0, busy_share = 0;  ///< medians: of a step, and the part of it in which a device works
    std::map<SpanKind, double> events;     ///< median per step
    std::map<SpanKind, std::uint64_t> recorded;  ///< spans of the whole capture, in steps or not
    double launches = 0, graph_launches = 0;
    int layers = 0;                               ///< by the names that repeat; 0: nothing repeats
    std::map<std::string, FamilyShape> families;  ///< of kernels
    std::map<std::string, double> kernel_names;   ///< share of the time, by plain name
    std::map<SpanKind, std::map<std::string, double>>
        host_names;                  ///< share of the spans of the kind, by plain name: ranges, operators, calls
    std::vector<double> gaps_ns;     ///< between device work of one stream inside a step, sorted
    int depth = 0, frame_depth = 0;  ///< deepest nesting of ranges, operators and calls; of Python frames
    double mean_depth = 0;           ///< over ranges, operators and calls, 1 for what lies in nothing

    [[nodiscard]] double per_step(SpanKind kind) const;
    [[nodiscard]] double gap(double quantile) const;
};

/// Of the steps in `steps`, by id.
[[nodiscard]] Result<StepShape> shape_of(const CaptureReader& capture, const std::vector<Step>& steps);

/// What is said of a capture that has no steps to compare.
[[nodiscard]] Error without_steps(const CaptureReader& capture);

/// How often a thing repeats inside a step, by how often each of its kernels does: the number of layers.
[[nodiscard]] int repeats_of(const std::map<std::string, double>& kernels_per_step);

/// Shares of log lines by shape: level and text, with numbers, ids and addresses taken out.
[[nodiscard]] std::map<std::string, double> log_shapes(const std::vector<LogLine>& lines);
[[nodiscard]] std::string log_shape(std::string_view level, std::string_view text);

}  // namespace faultline::simulator
