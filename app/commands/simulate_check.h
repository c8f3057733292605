// `faultline simulate --check`: a real capture, a simulated run like it, and how far apart the two are.
#pragma once

#include <string>
#include <vector>

#include "app/commands/simulate_options.h"
#include "core/progress.h"
#include "core/result.h"
#include "ml/simulator/check/check.h"

namespace faultline {

struct CheckAnswer {
    std::string capture;
    simulator::RunOptions options;     ///< of the simulated run
    std::vector<std::string> reasons;  ///< why those
    simulator::CheckTable table;
};

/// `path` is a capture file or anything that can be imported. What is made on the way lies in a folder for temporary files and is removed.
[[nodiscard]] Result<CheckAnswer> check_capture(const std::string& path, const SimulateOptions& options, const Progress& progress);

}  // namespace faultline
