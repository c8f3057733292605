#include "ml/simulator/logs/stack_sampler.h"

namespace faultline::simulator {}
