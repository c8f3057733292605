#include "ml/simulator/workload/arrivals.h"

namespace faultline::simulator {}
