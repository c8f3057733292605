// A GPU that is slower than its peers: shared with another process (B2), or at a lower clock (B3).
#include <algorithm>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

constexpr double kSecond = 1e9;

class DeviceSlowdown final : public Mechanism {
public:
    DeviceSlowdown(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::rank}) {}

    void begin(FaultReach& reach) override {
        Mechanism::begin(reach);
        std::vector<int> devices;
        for (const int rank : settings_.ranks) {
            if (const int d = device(reach, rank); d >= 0) devices.push_back(d);
        }
        const bool clock = id() == "B3";
        TimeNs start = settings_.start;
        for (std::uint64_t n = 0; start < settings_.end && n < 4000; ++n) {
            // A clock stays low; another process comes in bursts of a tenth of a second to seconds.
            const TimeNs length = clock ? settings_.end - start : static_cast<TimeNs>(between(0.1, 3, 5, n) * kSecond);
            const TimeNs end = std::min(start + length, settings_.end);
            reach.machine.disturb({.what = clock ? Disturbance::What::slow_compute : Disturbance::What::slow_all, .start = start, .end = end, .factor = size(),
                                   .devices = devices});
            if (clock) {
                for (const int d : devices) slow_.push_back({start, end, d, size()});
            }
            start = end + static_cast<TimeNs>(between(0.1, 1, 6, n) * kSecond);
        }
    }
    [[nodiscard]] std::vector<SlowClock> slow_clocks() const override { return slow_; }

private:
    std::vector<SlowClock> slow_;
};

}  // namespace

std::unique_ptr<Fault> make_device_slowdowns(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "B2" || id == "B3") return std::make_unique<DeviceSlowdown>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
