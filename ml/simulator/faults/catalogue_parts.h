// The catalogue by class (FAULTS §1 to §6), a file each. Pure data.
#pragma once

#include <vector>

#include "ml/simulator/faults/fault.h"

namespace faultline::simulator {

/// Bits of FaultInfo::engines.
inline constexpr std::uint8_t kV0 = 1 << static_cast<int>(Engine::vllm_v0), kV1Offline = 1 << static_cast<int>(Engine::vllm_v1_offline),
                              kV1Online = 1 << static_cast<int>(Engine::vllm_v1_online), kSglang = 1 << static_cast<int>(Engine::sglang),
                              kFsdp = 1 << static_cast<int>(Engine::fsdp);
inline constexpr std::uint8_t kV1 = kV1Offline | kV1Online, kVllm = kV0 | kV1, kServing = kVllm | kSglang, kOnline = kV0 | kV1Online | kSglang,
                              kAnyEngine = kServing | kFsdp;

[[nodiscard]] std::vector<FaultInfo> memory_faults();
[[nodiscard]] std::vector<FaultInfo> kernel_faults();
[[nodiscard]] std::vector<FaultInfo> driver_faults();
[[nodiscard]] std::vector<FaultInfo> network_faults();
[[nodiscard]] std::vector<FaultInfo> scheduling_faults();
[[nodiscard]] std::vector<FaultInfo> look_alikes();

}  // namespace faultline::simulator
