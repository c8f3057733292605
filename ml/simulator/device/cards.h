// Models and GPUs by their numbers (ENGINES §4.1 to §4.3). What follows from them is arithmetic in device_costs.h.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace faultline::simulator {

struct ModelCard {
    std::string_view name, title;  ///< qwen3-8b; Qwen/Qwen3-8B
    int layers = 0, hidden = 0, intermediate = 0, heads = 0, kv_heads = 0, head_dim = 0, vocabulary = 0;
    bool qk_norm = false;
    int experts = 0, experts_per_token = 0, expert_intermediate = 0;  ///< 0 experts: dense
    int mamba_every = 0;  ///< hybrid models: of so many layers all but one are Mamba layers; 0: attention only
    int dtype_bytes = 2;
    bool triton_experts = false;  ///< gpt-oss: routed and multiplied by Triton kernels, weights in four bits

    [[nodiscard]] double expert_bytes() const { return triton_experts ? 0.53 : dtype_bytes; }  ///< of a weight of an expert, with its scales
    [[nodiscard]] std::int64_t weight_bytes() const;
    [[nodiscard]] std::int64_t kv_bytes_per_token() const;
    [[nodiscard]] int attention_layers() const;
};

struct GpuCard {
    std::string_view name, title;  ///< h100; NVIDIA H100 80GB HBM3
    double memory_gb_s = 0, bf16_tflops = 0;
    int memory_gib = 0, sms = 0, compute_major = 0, compute_minor = 0;
    double small_kernel = 1;     ///< factor on the small kernels' times of an H100
    double link_gb_s = 0;        ///< between GPUs of a node (NVLink; PCIe where there is none)
    TimeNs link_latency_ns = 0;  ///< of a small all-reduce
    double clock_mhz = 0, power_w = 0;
};

/// Whether the weights leave room for anything else on each of so many ranks.
[[nodiscard]] bool fits(const ModelCard& model, const GpuCard& gpu, int ranks);
[[nodiscard]] const std::vector<ModelCard>& model_cards();
[[nodiscard]] const std::vector<GpuCard>& gpu_cards();
[[nodiscard]] const ModelCard* model_named(std::string_view name);
[[nodiscard]] const GpuCard* gpu_named(std::string_view name);

}  // namespace faultline::simulator
