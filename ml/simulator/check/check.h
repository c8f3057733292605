// Is it like the real thing? Two captures side by side, row by row, the worst first: what is to be mended in the simulator.
//
// Rows that say nothing about the simulator (one side records no Python, another GPU, gaps that a clock does not show) are there without a
// distance, with the reason.
//
// Only steps of the same phase are compared, and of those of the simulated capture the ones nearest in size. A distance is 0 for the same
// and grows without unit, so that rows can be ranked: |ln(a / b)| of counts and times, the difference of shares, 1 - overlap of sets of
// names.
#pragma once

#include <cstddef>
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
    double distance = 0;         ///< 0 where the row cannot be compared
    std::string not_comparable;  ///< why; empty where it can
};

struct CheckTable {
    std::vector<CheckRow> rows;      ///< the worst first, then those that cannot be compared
    std::vector<std::string> notes;  ///< what could not be compared, and why
    double mean_distance = 0;  ///< of the rows that can be compared
    std::size_t compared = 0;  ///< how many they are
};

[[nodiscard]] Result<CheckTable> check_likeness(const CaptureReader& real, const CaptureReader& simulated);

}  // namespace faultline::simulator
