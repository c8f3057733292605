// Stack samples of the threads that serve, as a sampler of 100 Hz sees them: made from the ranges of the run (their roles become Python
// frames of the engine's source files, ENGINES §6), with the owner of the GIL. One thread.
#pragma once

#include <memory>

#include "ml/simulator/base/event.h"
#include "ml/simulator/base/names.h"
#include "ml/simulator/base/noise.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/base/topology.h"

namespace faultline::simulator {

/// Passes everything on to `next` and adds the samples, a few seconds behind the events; the last ones when it is destroyed, so that `next`
/// must still be there then. Holds the ranges of a thread only until its outermost one has closed and two seconds are over.
[[nodiscard]] std::unique_ptr<Sink> make_stack_sampler(const RunOptions& options, const Topology& topology, const Names& names,
                                                       const Noise& noise, Sink& next);

}  // namespace faultline::simulator
