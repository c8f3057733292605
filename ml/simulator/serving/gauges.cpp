#include "ml/simulator/serving/gauges.h"

#include <algorithm>

namespace faultline::simulator {
namespace {

constexpr TimeNs kTick = 100'000'000;
constexpr std::size_t kFarthest = 1200;  ///< ticks ahead that are kept: two minutes
constexpr double kIdlePower = 0.12;      ///< share of the full power
constexpr double kCpuMhz = 2900;

}  // namespace

Gauges::Gauges(const Topology& topology, const GpuCard& gpu, const Noise& noise, Sink& next, TimeNs start)
    : PassingSink(next), topology_(topology), gpu_(gpu), noise_(noise), next_tick_(start + kTick), devices_(topology.devices.size()) {}

void Gauges::event(const Event& event) {
    next_.event(event);
    if (event.kind != EventKind::kernel || event.stream == StreamIndex::none) return;
    std::vector<TimeNs>& busy = devices_[static_cast<std::size_t>(topology_.stream(event.stream).device)].busy;
    TimeNs from = std::max(event.start, next_tick_ - kTick);
    const TimeNs end = event.start + event.duration;
    while (from < end) {
        const auto place = static_cast<std::size_t>((from - (next_tick_ - kTick)) / kTick);
        if (place >= kFarthest) break;
        if (busy.size() <= place) busy.resize(place + 1);
        const TimeNs border = next_tick_ + static_cast<TimeNs>(place) * kTick;
        busy[place] += std::min(end, border) - from;
        from = border;
    }
}

void Gauges::write(TimeNs time, std::size_t device, double share) {
    const DeviceInfo& info = topology_.devices[device];
    double clock = share > 0.02 ? gpu_.clock_mhz : gpu_.clock_mhz * 0.98;
    for (const SlowClock& w : clocks_) {
        if (w.device == static_cast<int>(device) && time >= w.start && time < w.end) clock /= w.factor;
    }
    clock *= 1 + 0.004 * noise_.normal(Draw::counter, number_, device, 1);
    const double power = gpu_.power_w * (kIdlePower + 0.75 * share * clock / gpu_.clock_mhz) * (1 + 0.02 * noise_.normal(Draw::counter, number_, device, 2));
    double& temperature = devices_[device].temperature;
    temperature += (32 + 48 * power / gpu_.power_w - temperature) * 0.01;
    const auto tell = [&](std::string_view name, std::string_view unit, double value) { next_.counter({time, info.node, info.ordinal, name, unit, value}); };
    tell("GPU clock", "MHz", clock);
    tell("GPU power", "W", power);
    tell("GPU temperature", "C", temperature);
    tell("SM active", "%", 100 * std::min(share, 1.0));
}

void Gauges::tick(TimeNs until) {
    for (; next_tick_ <= until; next_tick_ += kTick, ++number_) {
        for (std::size_t d = 0; d < devices_.size(); ++d) {
            std::vector<TimeNs>& busy = devices_[d].busy;
            const TimeNs ran = busy.empty() ? 0 : busy.front();
            if (!busy.empty()) busy.erase(busy.begin());
            write(next_tick_, d, static_cast<double>(ran) / static_cast<double>(kTick));
        }
        for (std::size_t n = 0; n < topology_.nodes.size(); ++n) {
            double clock = kCpuMhz * (1 + 0.01 * noise_.normal(Draw::counter, number_, n, 3));
            for (const SlowClock& w : clocks_) {
                if (w.device < 0 && next_tick_ >= w.start && next_tick_ < w.end) clock /= w.factor;
            }
            next_.counter({next_tick_, static_cast<NodeIndex>(n), -1, "CPU clock", "MHz", clock});
        }
    }
}

}  // namespace faultline::simulator
