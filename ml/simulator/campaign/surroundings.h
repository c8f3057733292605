// What a run of a campaign serves: deployment, load, recording and length, drawn so that runs differ in all of it.
#pragma once

#include <cstdint>

#include "ml/simulator/base/noise.h"
#include "ml/simulator/base/run_options.h"

namespace faultline::simulator {

/// `key` tells runs apart; `ranks` is what the scenario needs. The length is such that at least 60 steps of each phase come before the
/// middle of the run, where faults begin: enough for a roofline of the instance.
[[nodiscard]] RunOptions surroundings(Engine engine, int ranks, const Noise& noise, std::uint64_t key);

}  // namespace faultline::simulator
