#include "ml/simulator/workload/scheduler.h"

namespace faultline::simulator {}
