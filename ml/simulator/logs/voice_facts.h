// What a start-up log says of model, GPU and memory; apart from the device model, so that voices can be tried with plain numbers.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "ml/simulator/logs/log_voice.h"

namespace faultline::simulator {

struct VoiceFacts {
    std::string model_title;   ///< Qwen/Qwen3-8B
    std::string architecture;  ///< Qwen3ForCausalLM
    std::string gpu_title;
    std::int64_t weight_bytes = 0;        ///< of all ranks together
    std::int64_t kv_bytes_per_token = 0;  ///< of all ranks together
    std::int64_t kv_blocks = 0;           ///< of each rank
    int layers = 0, experts = 0, expert_intermediate = 0;
    int gpu_memory_gib = 0;
    std::vector<int> capture_sizes;
};

[[nodiscard]] VoiceFacts voice_facts(const DeviceModel& device);

/// LogVoice::make with the numbers given. `topology` must outlive the voice.
[[nodiscard]] std::unique_ptr<LogVoice> make_voice(const RunOptions& options, const Topology& topology, VoiceFacts facts,
                                                   const Noise& noise);

}  // namespace faultline::simulator
