// A GPU that is slower than its peers: shared with another process (B2), or at a lower clock (B3).
#include <algorithm>
#include <utility>
#include <vector>

#include "ml/simulator/faults/mechanism.h"

namespace faultline::simulator {
namespace {

constexpr double kSecond = 1e9;

class DeviceSlowdown final : public Mechanism {
public:
    DeviceSlowdown(FaultSettings settings, const Noise& noise) : Mechanism(std::move(settings), noise, {.scope = Scope::rank}) {}

    void begin(FaultReach& reach) override {
        Mechanism::begin(reach);
        devices_.clear();
        for (const int rank : settings_.ranks) {
            if (const int d = device(reach, rank); d >= 0) devices_.push_back(d);
        }
        next_ = settings_.start;
        plan_until(settings_.start + kAhead, reach);
    }
    void before_schedule(SchedulerKnobs&, InstanceIndex, TimeNs now, FaultReach& reach) override {
        std::erase_if(times_, [&](const std::pair<TimeNs, TimeNs>& t) { return t.second < now - kAhead; });
        plan_until(now + kAhead, reach);
    }
    /// Everything on the device is slower; what an engineer would name are its products (FAULTS B2, B3) and, shared, attention.
    bool change_kernels(StepKernels& kernels, const StepPlan& plan, int rank, FaultReach&) override {
        if (!at_kernels(plan, rank)) return false;
        const auto now = [&](const std::pair<TimeNs, TimeNs>& t) { return t.first <= plan.scheduled && plan.scheduled < t.second; };
        if (std::none_of(times_.begin(), times_.end(), now)) return false;
        for (auto* part : {&kernels.forward, &kernels.logits}) {
            for (Op& op : *part) {
                if (is_device_work(op) && (is_gemm(op.role) || (id() == "B2" && op.role == Role::attention))) op.suspect = true;
            }
        }
        return true;
    }
    [[nodiscard]] std::vector<SlowClock> slow_clocks() const override { return slow_; }

private:
    /// What befalls the device is planned a little ahead, so that a long fault holds no more than a short one.
    static constexpr TimeNs kAhead = 20'000'000'000;

    void plan_until(TimeNs until, FaultReach& reach) {
        const bool clock = id() == "B3";
        for (; next_ < std::min(until, settings_.end); ++bursts_) {
            // A clock stays low; another process comes in bursts of a tenth of a second to seconds.
            const TimeNs length = clock ? settings_.end - next_ : static_cast<TimeNs>(between(0.1, 3, 5, bursts_) * kSecond);
            const TimeNs end = std::min(next_ + length, settings_.end);
            reach.machine.disturb({.what = clock ? Disturbance::What::slow_compute : Disturbance::What::slow_all, .start = next_, .end = end, .factor = size(),
                                   .devices = devices_, .suspect = false});
            times_.push_back({next_, end});
            if (clock) {
                for (const int d : devices_) slow_.push_back({next_, end, d, size()});
            }
            next_ = end + static_cast<TimeNs>(between(0.1, 1, 6, bursts_) * kSecond);
        }
    }

    std::vector<int> devices_;
    TimeNs next_ = 0;
    std::uint64_t bursts_ = 0;
    std::vector<SlowClock> slow_;
    std::vector<std::pair<TimeNs, TimeNs>> times_;
};

}  // namespace

std::unique_ptr<Fault> make_device_slowdowns(const FaultSettings& settings, const Noise& noise) {
    const std::string_view id = settings.info->id;
    if (id == "B2" || id == "B3") return std::make_unique<DeviceSlowdown>(settings, noise);
    return nullptr;
}

}  // namespace faultline::simulator
