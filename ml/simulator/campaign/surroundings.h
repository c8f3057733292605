// What a run of a campaign serves: deployment, load and recording, drawn so that runs differ in all of it. Its length follows (pilot.h).
#pragma once

#include <cstdint>

#include "ml/simulator/base/noise.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/faults/fault.h"

namespace faultline::simulator {

/// `key` tells runs apart; `scenario` is what is set up in it, with what it needs (ranks, a host that decides); may be null.
[[nodiscard]] RunOptions surroundings(Engine engine, const FaultInfo* scenario, const Noise& noise, std::uint64_t key);

}  // namespace faultline::simulator
