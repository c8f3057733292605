#include "ml/simulator/host/host_model.h"

namespace faultline::simulator {}
