#include "ml/simulator/device/cards.h"

namespace faultline::simulator {}
