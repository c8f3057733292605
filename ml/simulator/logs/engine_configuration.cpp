// The line in which vLLM says at its start what it was configured to (ENGINES §5).
#include <fmt/format.h>

#include <algorithm>

#include "ml/simulator/logs/voice_words.h"

namespace faultline::simulator {

int max_model_len(const Workload& workload) {
    const int needed = workload.prompt_max + workload.output_max;
    return std::max(16384, (needed + 4095) / 4096 * 4096);
}

std::string engine_configuration(const RunOptions& options, std::string_view model, bool eager) {
    const Deployment& d = options.deployment;
    const std::string_view caching = d.prefix_cache ? "True" : "False";
    if (d.engine == Engine::vllm_v0) {
        return fmt::format(
            "Initializing a V0 LLM engine (v{0}) with config: model='{1}', speculative_config=None, tokenizer='{1}', "
            "skip_tokenizer_init=False, tokenizer_mode=auto, revision=None, dtype=torch.bfloat16, max_seq_len={2}, "
            "tensor_parallel_size={3}, pipeline_parallel_size=1, enforce_eager={4}, kv_cache_dtype=auto, device_config=cuda, seed=0, "
            "served_model_name={1}, num_scheduler_steps=1, enable_prefix_caching={5}, use_async_output_proc={6}",
            kVllmV0Version, model, max_model_len(options.workload), d.tp, eager ? "True" : "False", caching, eager ? "False" : "True");
    }
    return fmt::format(
        "Initializing a V1 LLM engine (v{0}) with config: model='{1}', speculative_config={2}, tokenizer='{1}', "
        "skip_tokenizer_init=False, tokenizer_mode=auto, revision=None, trust_remote_code=False, dtype=torch.bfloat16, "
        "max_seq_len={3}, load_format=auto, tensor_parallel_size={4}, pipeline_parallel_size=1, data_parallel_size={5}, "
        "quantization=None, enforce_eager={6}, kv_cache_dtype=auto, device_config=cuda, seed=0, "
        "served_model_name={1}, enable_prefix_caching={7}, enable_chunked_prefill=True",
        kVllmV1Version, model, d.spec_tokens > 0 ? fmt::format("SpeculativeConfig(method='eagle3', num_spec_tokens={})", d.spec_tokens) : "None",
        max_model_len(options.workload), d.tp, d.dp, eager ? "True" : "False", caching);
}

}  // namespace faultline::simulator
