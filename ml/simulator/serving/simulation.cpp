#include "ml/simulator/serving/simulation.h"

namespace faultline::simulator {}
