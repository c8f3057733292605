#include "ml/simulator/machine/machine.h"

namespace faultline::simulator {}
