#include "ml/simulator/writers/sample_writer.h"

namespace faultline::simulator {}
