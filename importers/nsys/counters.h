// Metrics that the device samples, and the memory that programs hold on it (FORMATS §1.3).
#pragma once

#include "importers/nsys/session.h"

namespace faultline::nsys {

void read_device_metrics(Session& session);
void read_memory_events(Session& session);

}  // namespace faultline::nsys
