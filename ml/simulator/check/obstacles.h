// What keeps rows of the comparison from saying anything about the simulator: found from the two captures themselves, whatever wrote them.
#pragma once

#include <map>
#include <string>

#include "core/capture_reader.h"
#include "core/model.h"
#include "ml/simulator/check/capture_shape.h"

namespace faultline::simulator {

/// Reasons, to be read behind "not comparable: "; empty where there is none.
struct Obstacles {
    std::map<SpanKind, std::string> host;  ///< to what hosts do, by kind; a kind that can be compared is not in it
    std::string launches;                  ///< to launches
    std::string nesting;
    std::string times;   ///< to lengths of kernels and steps
    std::string gaps;    ///< to gaps between kernels
    std::string layers;
    std::string names;   ///< to the names of kernels and calls

    [[nodiscard]] std::string to(SpanKind kind) const {
        const auto found = host.find(kind);
        return found == host.end() ? std::string() : found->second;
    }
};

[[nodiscard]] Obstacles obstacles(const CaptureReader& real, const StepShape& real_shape, const CaptureReader& simulated,
                                  const StepShape& simulated_shape);

/// The model in the title of a GPU: H100 of "NVIDIA H100 80GB HBM3".
[[nodiscard]] std::string gpu_model(const std::string& title);

}  // namespace faultline::simulator
