#include "ml/simulator/faults/fault.h"

namespace faultline::simulator {}
