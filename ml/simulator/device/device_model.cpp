#include "ml/simulator/device/device_model.h"

namespace faultline::simulator {}
