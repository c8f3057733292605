#include "ml/simulator/device/cards.h"

namespace faultline::simulator {
namespace {

template <class Card>
const Card* named(const std::vector<Card>& cards, std::string_view name) {
    for (const Card& card : cards) {
        if (card.name == name) return &card;
    }
    return nullptr;
}

}  // namespace

int ModelCard::attention_layers() const { return mamba_every > 0 ? layers / mamba_every : layers; }

std::int64_t ModelCard::weight_bytes() const {
    const std::int64_t h = hidden, q = static_cast<std::int64_t>(heads) * head_dim, kv = static_cast<std::int64_t>(kv_heads) * head_dim;
    const std::int64_t attention = h * (q + 2 * kv) + q * h;
    const std::int64_t mamba = h * 2 * (2 * h) + 2 * h * h;
    const std::int64_t mlp = experts > 0 ? h * experts : 3 * h * intermediate;
    const std::int64_t all = attention * attention_layers() + mamba * (layers - attention_layers()) + mlp * layers + 2 * h * vocabulary;
    const std::int64_t expert_weights = experts > 0 ? 3 * h * expert_intermediate * experts * layers : 0;
    return all * dtype_bytes + static_cast<std::int64_t>(static_cast<double>(expert_weights) * expert_bytes());
}

std::int64_t ModelCard::kv_bytes_per_token() const {
    return 2LL * kv_heads * head_dim * dtype_bytes * attention_layers();
}

bool fits(const ModelCard& model, const GpuCard& gpu, int ranks) {
    return model.weight_bytes() / ranks <= (static_cast<std::int64_t>(gpu.memory_gib) << 30) * 9 / 10;
}

const std::vector<ModelCard>& model_cards() {
    // Sizes from the models' own configuration files; Qwen3-8B and Qwen3-30B-A3B: ENGINES §4.1, §4.2.
    static const std::vector<ModelCard> cards{
        {"qwen3-8b", "Qwen/Qwen3-8B", 36, 4096, 12288, 32, 8, 128, 151936, true},
        {"qwen3-4b", "Qwen/Qwen3-4B", 36, 2560, 9728, 32, 8, 128, 151936, true},
        {"qwen3-14b", "Qwen/Qwen3-14B", 40, 5120, 17408, 40, 8, 128, 151936, true},
        {"qwen3-32b", "Qwen/Qwen3-32B", 64, 5120, 25600, 64, 8, 128, 151936, true},
        {"llama-3.1-8b", "meta-llama/Llama-3.1-8B-Instruct", 32, 4096, 14336, 32, 8, 128, 128256, false},
        {"llama-3.3-70b", "meta-llama/Llama-3.3-70B-Instruct", 80, 8192, 28672, 64, 8, 128, 128256, false},
        {"gpt-oss-20b", "openai/gpt-oss-20b", 24, 2880, 2880, 64, 8, 64, 201088, false, 32, 4, 2880, 0, 2, true},
        {"qwen1.5-0.5b", "Qwen/Qwen1.5-0.5B-Chat", 24, 1024, 2816, 16, 16, 64, 151936, false},
        {"qwen3-30b-a3b", "Qwen/Qwen3-30B-A3B", 48, 2048, 6144, 32, 4, 128, 151936, true, 128, 8, 768},
        {"bamba-9b", "ibm-ai-platform/Bamba-9B", 32, 4096, 14336, 32, 8, 128, 128256, false, 0, 0, 0, 10},
    };
    return cards;
}

const std::vector<GpuCard>& gpu_cards() {
    // Bandwidths: ENGINES §4.3. Small kernels are about 1.5 times as long on an A40. Links: NVLink where there is one, else PCIe 4.
    static const std::vector<GpuCard> cards{
        {"a40", "NVIDIA A40", 696, 149.7, 45, 84, 8, 6, 1.5, 22, 30'000, 1740, 300},
        {"a100", "NVIDIA A100-SXM4-80GB", 2039, 312, 80, 108, 8, 0, 1.15, 240, 8'500, 1410, 400},
        {"h100", "NVIDIA H100 80GB HBM3", 3350, 989, 80, 132, 9, 0, 1.0, 360, 6'500, 1980, 700},
        {"h200", "NVIDIA H200", 4800, 989, 141, 132, 9, 0, 1.0, 360, 6'500, 1980, 700},
        {"h20", "NVIDIA H20", 4000, 148, 96, 78, 9, 0, 1.1, 360, 7'000, 1980, 500},
    };
    return cards;
}

const ModelCard* model_named(std::string_view name) { return named(model_cards(), name); }
const GpuCard* gpu_named(std::string_view name) { return named(gpu_cards(), name); }

}  // namespace faultline::simulator
