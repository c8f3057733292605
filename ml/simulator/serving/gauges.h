// Counters beside the events: GPU clock, power, temperature and SM activity, and the host's CPU clock, ten times a second. They follow the work that ran and
// what befell the devices, so that a clock fault can be confirmed and not only guessed. A tee. One thread.
#pragma once

#include <utility>
#include <vector>

#include "ml/simulator/base/noise.h"
#include "ml/simulator/base/passing_sink.h"
#include "ml/simulator/base/topology.h"
#include "ml/simulator/device/cards.h"
#include "ml/simulator/faults/fault.h"

namespace faultline::simulator {

class Gauges final : public PassingSink {
public:
    Gauges(const Topology& topology, const GpuCard& gpu, const Noise& noise, Sink& next, TimeNs start);
    void follow(std::vector<SlowClock> clocks) { clocks_ = std::move(clocks); }

    void event(const Event& event) override;

    /// Writes the ticks before `until`: nothing that ran earlier may come afterwards.
    void tick(TimeNs until);

private:
    struct Device {
        std::vector<TimeNs> busy;  ///< of the ticks from next_tick_ on
        double temperature = 45;
    };
    void write(TimeNs time, std::size_t device, double share);

    const Topology& topology_;
    const GpuCard& gpu_;
    Noise noise_;
    TimeNs next_tick_;
    std::uint64_t number_ = 0;
    std::vector<Device> devices_;
    std::vector<SlowClock> clocks_;
};

}  // namespace faultline::simulator
