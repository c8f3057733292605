// When threads ran on a processor, and where they were: SCHED_EVENTS and CPU samples with their stacks (FORMATS §1.3).
//
// Running spans lie on a track of the process for each thread, beside the thread's own: a thread is switched out in the middle of calls.
#pragma once

#include "importers/nsys/session.h"

namespace faultline::nsys {

void read_schedule(Session& session);
void read_samples(Session& session);

}  // namespace faultline::nsys
