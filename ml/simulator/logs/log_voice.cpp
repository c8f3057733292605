#include "ml/simulator/logs/log_voice.h"

namespace faultline::simulator {}
