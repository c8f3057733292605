// Is it like the real thing? Two captures side by side, row by row, the worst first: what is to be mended in the simulator.
//
// Only steps of the same phase are compared, and of those of the simulated capture the ones nearest in size. A distance is 0 for the same
// and grows without unit, so that rows can be ranked: |ln(a / b)| of counts and times, the difference of shares, 1 - overlap of sets of
// names.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/capture_reader.h"
#include "core/result.h"

namespace faultline::simulator {

enum class CheckUnit : std::uint8_t { count, nanoseconds, share };

struct CheckRow {
    std::string phase;    ///< prefill, decode, mixed, other; empty: of the capture as a whole
    std::string measure;  ///< kernels per step
    CheckUnit unit = CheckUnit::count;
    std::optional<double> real, simulated;  ///< absent where only the distance says something
    double distance = 0;
};

struct CheckTable {
    std::vector<CheckRow> rows;      ///< the worst first
    std::vector<std::string> notes;  ///< what could not be compared, and why
    double mean_distance = 0;
};

[[nodiscard]] Result<CheckTable> check_likeness(const CaptureReader& real, const CaptureReader& simulated);

}  // namespace faultline::simulator
