// What ran on the devices: kernels, copies, sets, whole graphs, and the waits and events of streams (FORMATS §1.3).
//
// Streams belong to a process: two processes on one device have tracks of their own. Waits (SYNCHRONIZATION) and CUDA events are no work;
// they lie on the stream's track of device ranges, as in the other format.
#pragma once

#include "importers/nsys/api_calls.h"
#include "importers/nsys/session.h"

namespace faultline::nsys {

void read_device_work(Session& session);
/// Asks for the calls whose time the rows of CUDA_EVENT take, before the calls are read (the table has no time of its own until 2026).
void ask_for_event_times(Session& session, CallTimes& times);
void read_cuda_events(Session& session, const CallTimes& times);

}  // namespace faultline::nsys
