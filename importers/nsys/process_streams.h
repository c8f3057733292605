// What the traced processes wrote to standard output and error, kept whole by the profiler: a service log without times, but for those that
// its own lines begin with.
#pragma once

#include "importers/nsys/session.h"

namespace faultline::nsys {

void read_process_streams(Session& session);

}  // namespace faultline::nsys
