// What a profiler's header says of a device (FORMATS §2.1). The times of a GPU are the device model's.
#pragma once

#include <algorithm>
#include <array>
#include <cstdint>
#include <string_view>

namespace faultline::simulator {

struct GpuFacts {
    std::string_view gpu, title, chip;
    std::int64_t memory = 0;
    int major = 0, minor = 0, processors = 0, threads_per_processor = 0, shared_opt_in = 0, shared_per_processor = 0;
    int blocks_per_processor = 32;
};

[[nodiscard]] constexpr GpuFacts gpu_facts(std::string_view gpu) {
    constexpr std::array kKnown{
        GpuFacts{"h100", "NVIDIA H100 80GB HBM3", "GH100", 85'028'372'480, 9, 0, 132, 2048, 232'448, 233'472},
        GpuFacts{"h200", "NVIDIA H200", "GH100", 150'121'545'728, 9, 0, 132, 2048, 232'448, 233'472},
        GpuFacts{"a100", "NVIDIA A100-SXM4-80GB", "GA100", 85'094'825'984, 8, 0, 108, 2048, 166'912, 167'936},
        GpuFacts{"a40", "NVIDIA A40", "GA102", 47'697'362'944, 8, 6, 84, 1536, 101'376, 102'400, 16},
        GpuFacts{"h20", "NVIDIA H20", "GH100", 102'003'900'416, 9, 0, 78, 2048, 232'448, 233'472},
    };
    for (const GpuFacts& facts : kKnown)
        if (facts.gpu == gpu) return facts;
    return kKnown.front();
}

/// Blocks of a kernel that fit on one multiprocessor at once, as the occupancy calculator of CUDA tells Kineto: without the shared memory
/// that a kernel has to ask for, so none of what needs it.
[[nodiscard]] constexpr std::uint64_t resident_blocks(const GpuFacts& gpu, std::uint32_t registers, std::uint32_t shared, std::uint32_t block) {
    constexpr std::uint64_t kWarp = 32, kRegisterUnit = 256, kPartitions = 4, kRegistersOfPartition = 65'536 / kPartitions;
    constexpr std::uint64_t kSharedWithoutAsking = 49'152, kSharedOfSystem = 1'024;
    if (shared > kSharedWithoutAsking) return 0;
    const std::uint64_t warps = (std::max(block, 1U) + kWarp - 1) / kWarp;
    const std::uint64_t by_threads = static_cast<std::uint64_t>(gpu.threads_per_processor) / kWarp / warps;
    const std::uint64_t of_warp = (std::max(registers, 1U) * kWarp + kRegisterUnit - 1) / kRegisterUnit * kRegisterUnit;
    const std::uint64_t by_registers = kRegistersOfPartition / of_warp * kPartitions / warps;
    const std::uint64_t by_shared = static_cast<std::uint64_t>(gpu.shared_per_processor) / (shared + kSharedOfSystem);
    return std::min({by_threads, by_registers, by_shared, static_cast<std::uint64_t>(gpu.blocks_per_processor)});
}

/// The "est. achieved occupancy %" of Kineto, in single precision as there: threads of the blocks that fit, of all that a multiprocessor holds.
[[nodiscard]] constexpr std::uint32_t occupancy_percent(const GpuFacts& gpu, std::uint32_t registers, std::uint32_t shared, std::uint32_t grid,
                                                        std::uint32_t block) {
    const float blocks = static_cast<float>(grid) / static_cast<float>(gpu.processors);
    const float fit = std::min(blocks, static_cast<float>(resident_blocks(gpu, registers, shared, block)));
    const float share = fit * static_cast<float>(block) / static_cast<float>(gpu.threads_per_processor);
    return static_cast<std::uint32_t>(0.5 + static_cast<double>(share) * 100.0);
}

}  // namespace faultline::simulator
