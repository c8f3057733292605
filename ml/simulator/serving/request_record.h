// What the truth knows of one request beside the request itself: what held it outside of the steps, and how long that usually takes. Plain values.
#pragma once

#include <string>
#include <vector>

#include "ml/simulator/serving/step_record.h"
#include "ml/simulator/workload/request.h"

namespace faultline::simulator {

/// Where a request waits while no step has it.
enum class Waiting : std::uint8_t { nowhere, front_end, transfer };

struct RequestRecord {
    Waiting where = Waiting::nowhere;
    std::vector<SuspectOperator> suspects;  ///< operators that held it there
    std::vector<std::string> logs;          ///< lines written because of that
    TimeNs waited = kNull;                  ///< there, up to the end of the capture
    TimeNs usual = kNull;                   ///< P99 of the requests before it that nothing held; kNull where there were too few
    std::string id;
    RequestEnd end = RequestEnd::running;
};

}  // namespace faultline::simulator
