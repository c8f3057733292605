#include "ml/simulator/writers/trace_writer.h"

namespace faultline::simulator {}
