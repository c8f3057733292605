#include "ml/simulator/logs/log_voice.h"

#include <utility>

#include "ml/simulator/logs/voice_facts.h"

namespace faultline::simulator {
namespace {

std::string architecture_of(const ModelCard& model) {
    if (model.mamba_every > 0) return "NemotronHForCausalLM";
    const bool llama = model.title.find("lama") != std::string_view::npos;
    if (llama) return "LlamaForCausalLM";
    if (model.experts > 0) return "Qwen3MoeForCausalLM";
    return model.qk_norm ? "Qwen3ForCausalLM" : "Qwen2ForCausalLM";
}

}  // namespace

VoiceFacts voice_facts(const DeviceModel& device) {
    const ModelCard& model = device.model();
    const GpuCard& gpu = device.gpu();
    VoiceFacts facts;
    facts.model_title = model.title;
    facts.architecture = architecture_of(model);
    facts.gpu_title = gpu.title;
    facts.weight_bytes = model.weight_bytes();
    facts.kv_bytes_per_token = model.kv_bytes_per_token();
    facts.kv_blocks = device.kv_blocks();
    facts.layers = model.layers;
    facts.experts = model.experts;
    facts.expert_intermediate = model.expert_intermediate;
    facts.gpu_memory_gib = gpu.memory_gib;
    facts.capture_sizes = device.capture_sizes();
    return facts;
}

std::unique_ptr<LogVoice> LogVoice::make(const RunOptions& options, const Topology& topology, const DeviceModel& device,
                                         const Noise& noise) {
    return make_voice(options, topology, voice_facts(device), noise);
}

}  // namespace faultline::simulator
