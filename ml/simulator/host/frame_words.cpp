// The Python frames of loops and of the parts of a step, as profilers write them: file(line): function.
#include <array>

#include "ml/simulator/host/span_words.h"

namespace faultline::simulator {
namespace {

constexpr std::array<std::string_view, 5> kSpawned{"<string>(1): <module>", "multiprocessing/spawn.py(122): spawn_main", "multiprocessing/spawn.py(135): _main",
                                                    "multiprocessing/process.py(314): _bootstrap", "multiprocessing/process.py(108): run"};

/// The frames of a spawned process and those after them.
template <std::size_t N>
constexpr std::array<std::string_view, kSpawned.size() + N> spawned(const std::array<std::string_view, N>& then) {
    std::array<std::string_view, kSpawned.size() + N> all{};
    for (std::size_t i = 0; i < kSpawned.size(); ++i) all[i] = kSpawned[i];
    for (std::size_t i = 0; i < N; ++i) all[kSpawned.size() + i] = then[i];
    return all;
}

constexpr auto kVllmCore = spawned(std::array<std::string_view, 2>{"vllm/v1/engine/core.py(1005): run_engine_core", "vllm/v1/engine/core.py(892): run_busy_loop"});
constexpr auto kVllmWorker = spawned(std::array<std::string_view, 3>{"vllm/v1/executor/multiproc_executor.py(698): worker_main",
                                                                     "vllm/v1/executor/multiproc_executor.py(753): worker_busy_loop",
                                                                     "torch/utils/_contextlib.py(116): decorate_context"});
constexpr auto kVllmV0Core = spawned(std::array<std::string_view, 3>{"vllm/engine/multiprocessing/engine.py(436): run_mp_engine",
                                                                     "vllm/engine/multiprocessing/engine.py(126): start", "vllm/engine/multiprocessing/engine.py(209): run_engine_loop"});
constexpr auto kVllmV0Worker = spawned(std::array<std::string_view, 2>{"vllm/executor/multiproc_worker_utils.py(227): _run_worker_process",
                                                                       "vllm/worker/worker_base.py(113): start_worker_execution_loop"});
constexpr auto kSglang = spawned(std::array<std::string_view, 3>{"sglang/srt/managers/scheduler.py(2712): run_scheduler_process",
                                                                 "torch/utils/_contextlib.py(116): decorate_context", "sglang/srt/managers/scheduler.py(998): event_loop_normal"});
constexpr auto kSglangOverlap = spawned(std::array<std::string_view, 3>{"sglang/srt/managers/scheduler.py(2712): run_scheduler_process",
                                                                        "torch/utils/_contextlib.py(116): decorate_context", "sglang/srt/managers/scheduler.py(1021): event_loop_overlap"});
constexpr std::array<std::string_view, 5> kFsdp{"generate.py(241): <module>", "generate.py(222): main", "generate.py(156): run_batches",
                                                "torch/utils/_contextlib.py(116): decorate_context", "transformers/generation/utils.py(2625): generate"};

}  // namespace

std::span<const std::string_view> SpanWords::base_frames(BaseFrames which) const {
    switch (options_.deployment.engine) {
        case Engine::sglang: return options_.deployment.async_scheduling ? std::span<const std::string_view>(kSglangOverlap) : kSglang;
        case Engine::fsdp: return kFsdp;
        case Engine::vllm_v0: return which == BaseFrames::core ? std::span<const std::string_view>(kVllmV0Core) : kVllmV0Worker;
        default: return which == BaseFrames::core ? std::span<const std::string_view>(kVllmCore) : kVllmWorker;
    }
}

std::string_view SpanWords::frame(Role role) const {
    if (options_.deployment.engine == Engine::sglang) {
        switch (role) {
            case Role::step: return {};
            case Role::schedule: return "sglang/srt/managers/scheduler.py(1510): get_next_batch_to_run";
            case Role::rpc: return "sglang/srt/managers/scheduler.py(1893): run_batch";
            case Role::model_forward: return "sglang/srt/model_executor/model_runner.py(2140): forward";
            case Role::sampler: return "sglang/srt/model_executor/model_runner.py(2283): sample";
            case Role::update_from_output: return "sglang/srt/managers/scheduler_output_processor_mixin.py(38): process_batch_result";
            default: return {};
        }
    }
    if (options_.deployment.engine == Engine::fsdp) return role == Role::model_forward ? "torch/distributed/fsdp/_fully_shard/_fsdp_state.py(221): _pre_forward" : std::string_view{};
    if (options_.deployment.engine == Engine::vllm_v0) {
        switch (role) {
            case Role::step: return "vllm/engine/llm_engine.py(1304): step";
            case Role::schedule: return "vllm/core/scheduler.py(1379): schedule";
            case Role::prepare_inputs: return "vllm/worker/model_runner.py(1223): prepare_model_input";
            case Role::model_forward: return "vllm/worker/model_runner.py(1680): execute_model";
            case Role::compute_logits: return "vllm/model_executor/models/qwen3.py(318): compute_logits";
            case Role::sampler: return "vllm/model_executor/layers/sampler.py(232): forward";
            case Role::update_from_output: return "vllm/engine/llm_engine.py(1013): _process_model_outputs";
            default: return {};
        }
    }
    switch (role) {
        case Role::step: return "vllm/v1/engine/core.py(331): step";
        case Role::schedule: return "vllm/v1/core/sched/scheduler.py(190): schedule";
        case Role::update_states: return "vllm/v1/worker/gpu_model_runner.py(637): _update_states";
        case Role::prepare_inputs: return "vllm/v1/worker/gpu_model_runner.py(1044): _prepare_inputs";
        case Role::model_forward: return "vllm/v1/worker/gpu_model_runner.py(2312): _model_forward";
        case Role::compute_logits: return "vllm/model_executor/models/qwen3.py(331): compute_logits";
        case Role::sampler: return "vllm/v1/sample/sampler.py(68): forward";
        case Role::bookkeeping: return "vllm/v1/worker/gpu_model_runner.py(2203): _bookkeeping_sync";
        case Role::update_from_output: return "vllm/v1/core/sched/scheduler.py(880): update_from_output";
        default: return {};
    }
}

}  // namespace faultline::simulator
