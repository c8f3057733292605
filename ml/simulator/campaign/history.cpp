#include "ml/simulator/campaign/history.h"

#include <algorithm>
#include <memory>

namespace faultline::simulator {
namespace {

constexpr double kLongest = 200;  // seconds

}  // namespace

double length_for(const RunOptions& options, const FaultInfo& scenario) {
    RunOptions needed = options;
    FaultSettings settings;
    settings.info = &scenario;
    settings.size = (scenario.smallest + scenario.largest) / 2;
    if (const std::unique_ptr<Fault> fault = Fault::make(settings, Noise(options.seed))) fault->configure(needed, false);
    const Workload &before = options.workload, &after = needed.workload;
    double length = options.duration_s;
    if (after.arrivals == Arrivals::closed_loop) {
        if (after.prompt_median > before.prompt_median) length *= 0.5 + 0.5 * after.prompt_median / before.prompt_median;
    } else if (before.arrivals == Arrivals::closed_loop || after.rate < before.rate) {
        length = std::max(length, 2 * kHistory / after.rate);
    }
    return static_cast<double>(static_cast<int>(std::min(length, std::max(kLongest, options.duration_s)) * 10)) / 10;
}

}  // namespace faultline::simulator
