// What a profiler's header says of a device (FORMATS §2.1). The times of a GPU are the device model's.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace faultline::simulator {

struct GpuFacts {
    std::string_view gpu, title, chip;
    std::int64_t memory = 0;
    int major = 0, minor = 0, processors = 0, threads_per_processor = 0, shared_opt_in = 0, shared_per_processor = 0;
};

[[nodiscard]] constexpr GpuFacts gpu_facts(std::string_view gpu) {
    constexpr std::array kKnown{
        GpuFacts{"h100", "NVIDIA H100 80GB HBM3", "GH100", 85'028'372'480, 9, 0, 132, 2048, 232'448, 233'472},
        GpuFacts{"h200", "NVIDIA H200", "GH100", 150'121'545'728, 9, 0, 132, 2048, 232'448, 233'472},
        GpuFacts{"a100", "NVIDIA A100-SXM4-80GB", "GA100", 85'094'825'984, 8, 0, 108, 2048, 166'912, 167'936},
        GpuFacts{"a40", "NVIDIA A40", "GA102", 47'697'362'944, 8, 6, 84, 1536, 101'376, 102'400},
        GpuFacts{"h20", "NVIDIA H20", "GH100", 102'003'900'416, 9, 0, 78, 2048, 232'448, 233'472},
    };
    for (const GpuFacts& facts : kKnown)
        if (facts.gpu == gpu) return facts;
    return kKnown.front();
}

}  // namespace faultline::simulator
