#include "ml/simulator/logs/log_writer.h"

namespace faultline::simulator {}
