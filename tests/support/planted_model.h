// The kernels that a planted service runs (planted_service.h): names by the padded batch, durations by tokens.
#pragma once

#include <string>
#include <vector>

#include "tests/support/planted_schedule.h"

namespace faultline::test {

struct PlannedKernel {
    std::string name;
    TimeNs ns = 0;
    bool collective = false;
    bool attention = false;
};

class PlantedModel {
public:
    PlantedModel(const ServiceOptions& options, Chance& chance) : options_(options), chance_(chance) {}

    /// One forward pass.
    [[nodiscard]] std::vector<PlannedKernel> forward(const ScheduledStep& step, bool decode_kernels);

private:
    const ServiceOptions& options_;
    Chance& chance_;
    int layer_ = 0;
};

}  // namespace faultline::test
