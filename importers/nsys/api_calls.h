// Calls of host threads: CUDA runtime and driver, operating system, cuDNN and cuBLAS, and what the profiler itself cost (FORMATS §1.3).
//
// Runtime and driver calls share a table (eventClass 1 is the driver). Library calls become operators. Overhead and the building of
// CUDA graphs lie on tracks of the process beside its threads, since they cross the calls that they belong to.
#pragma once

#include "importers/nsys/call_times.h"
#include "importers/nsys/session.h"

namespace faultline::nsys {

void read_api_calls(Session& session, CallTimes& times);
void read_library_calls(Session& session);
void read_os_calls(Session& session);
void read_overhead(Session& session);
void read_graph_building(Session& session);

}  // namespace faultline::nsys
