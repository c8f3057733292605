#include "ml/simulator/logs/stack_frames.h"

#include <array>

namespace faultline::simulator {
namespace {

using V = std::string_view;

// ---- what stacks begin with ----

constexpr std::array<V, 6> kEngineCore{"spawn_main (multiprocessing/spawn.py:122)",    "_main (multiprocessing/spawn.py:135)",
                                       "_bootstrap (multiprocessing/process.py:314)",  "run (multiprocessing/process.py:108)",
                                       "run_engine_core (vllm/v1/engine/core.py:846)", "run_busy_loop (vllm/v1/engine/core.py:873)"};
constexpr std::array<V, 6> kWorker{"spawn_main (multiprocessing/spawn.py:122)",
                                   "_main (multiprocessing/spawn.py:135)",
                                   "_bootstrap (multiprocessing/process.py:314)",
                                   "run (multiprocessing/process.py:108)",
                                   "worker_main (vllm/v1/executor/multiproc_executor.py:539)",
                                   "worker_busy_loop (vllm/v1/executor/multiproc_executor.py:563)"};
constexpr std::array<V, 5> kApiServer{"<module> (vllm:8)", "main (vllm/entrypoints/cli/main.py:73)",
                                      "cmd (vllm/entrypoints/cli/serve.py:60)", "run (uvloop/__init__.py:109)",
                                      "wrapper (uvloop/__init__.py:61)"};
constexpr std::array<V, 3> kOffline{"<module> (generate.py:61)", "generate (vllm/entrypoints/llm.py:417)",
                                    "_run_engine (vllm/entrypoints/llm.py:1587)"};
constexpr std::array<V, 6> kV0Engine{
    "spawn_main (multiprocessing/spawn.py:122)",         "_main (multiprocessing/spawn.py:135)",
    "_bootstrap (multiprocessing/process.py:314)",       "run_mp_engine (vllm/engine/multiprocessing/engine.py:391)",
    "start (vllm/engine/multiprocessing/engine.py:139)", "run_engine_loop (vllm/engine/multiprocessing/engine.py:199)"};
constexpr std::array<V, 5> kV0Worker{"spawn_main (multiprocessing/spawn.py:122)", "_main (multiprocessing/spawn.py:135)",
                                     "_bootstrap (multiprocessing/process.py:314)", "run (multiprocessing/process.py:108)",
                                     "_run_worker_process (vllm/executor/multiproc_worker_utils.py:236)"};
constexpr std::array<V, 7> kScheduler{"spawn_main (multiprocessing/spawn.py:122)",
                                      "_main (multiprocessing/spawn.py:135)",
                                      "_bootstrap (multiprocessing/process.py:314)",
                                      "run (multiprocessing/process.py:108)",
                                      "run_scheduler_process (sglang/srt/managers/scheduler.py:2873)",
                                      "decorate_context (torch/utils/_contextlib.py:120)",
                                      "event_loop_normal (sglang/srt/managers/scheduler.py:987)"};
constexpr std::array<V, 7> kOverlap{"spawn_main (multiprocessing/spawn.py:122)",
                                    "_main (multiprocessing/spawn.py:135)",
                                    "_bootstrap (multiprocessing/process.py:314)",
                                    "run (multiprocessing/process.py:108)",
                                    "run_scheduler_process (sglang/srt/managers/scheduler.py:2871)",
                                    "decorate_context (torch/utils/_contextlib.py:120)",
                                    "event_loop_overlap (sglang/srt/managers/scheduler.py:1013)"};
constexpr std::array<V, 4> kSglangServer{"<module> (sglang/launch_server.py:29)",
                                         "launch_server (sglang/srt/entrypoints/http_server.py:1506)", "run (uvicorn/main.py:593)",
                                         "run (asyncio/runners.py:195)"};
constexpr std::array<V, 5> kDetokenizer{"spawn_main (multiprocessing/spawn.py:122)", "_main (multiprocessing/spawn.py:135)",
                                        "_bootstrap (multiprocessing/process.py:314)",
                                        "run_detokenizer_process (sglang/srt/managers/detokenizer_manager.py:291)",
                                        "event_loop (sglang/srt/managers/detokenizer_manager.py:113)"};
constexpr std::array<V, 4> kFsdp{"<module> (generate.py:241)", "main (generate.py:222)", "run_batches (generate.py:156)",
                                 "decorate_context (torch/utils/_contextlib.py:120)"};
constexpr std::array<V, 3> kThread{"_bootstrap (threading.py:1032)", "_bootstrap_inner (threading.py:1075)", "run (threading.py:1012)"};
constexpr std::array<V, 1> kModule{"<module> (<string>:1)"};

struct Entry {
    Role role{};
    std::array<V, 4> frames{};
    std::size_t count = 0;

    template <class... Text>
    constexpr explicit Entry(Role of, Text... texts) : role(of), frames{V(texts)...}, count(sizeof...(texts)) {}
};

// ---- what is the same everywhere: threads beside, PyTorch ----

constexpr std::array kCommon{
    Entry(Role::stream_sync, "synchronize (torch/cuda/streams.py:105)"),
    Entry(Role::event_wait, "synchronize (torch/cuda/streams.py:231)"),
    Entry(Role::background, "run (opentelemetry/sdk/_shared_internal/__init__.py:146)",
          "_export (opentelemetry/sdk/_shared_internal/__init__.py:179)", "export (opentelemetry/exporter/otlp/proto/grpc/exporter.py:324)",
          "SerializeToString (opentelemetry/exporter/otlp/proto/common/_internal/trace_encoder.py:41)"),
};

// ---- vLLM v1 (ENGINES §2.1, §2.2) ----

constexpr std::array kCore{
    Entry(Role::idle, "_process_input_queue (vllm/v1/engine/core.py:884)", "get (queue.py:171)", "wait (threading.py:355)"),
    Entry(Role::step, "_process_engine_step (vllm/v1/engine/core.py:911)", "step (vllm/v1/engine/core.py:332)"),
    Entry(Role::schedule, "schedule (vllm/v1/core/sched/scheduler.py:318)"),
    Entry(Role::prefix_lookup, "get_computed_blocks (vllm/v1/core/kv_cache_manager.py:189)",
          "find_longest_cache_hit (vllm/v1/core/kv_cache_coordinator.py:262)"),
    Entry(Role::allocate_slots, "allocate_slots (vllm/v1/core/kv_cache_manager.py:329)",
          "allocate_new_blocks (vllm/v1/core/kv_cache_coordinator.py:117)"),
    Entry(Role::rpc, "execute_model (vllm/v1/executor/multiproc_executor.py:263)",
          "collective_rpc (vllm/v1/executor/multiproc_executor.py:327)",
          "enqueue (vllm/distributed/device_communicators/shm_broadcast.py:541)"),
    Entry(Role::wait_output, "result (vllm/v1/executor/multiproc_executor.py:79)",
          "get_response (vllm/v1/executor/multiproc_executor.py:338)",
          "dequeue (vllm/distributed/device_communicators/shm_broadcast.py:571)",
          "acquire_read (vllm/distributed/device_communicators/shm_broadcast.py:497)"),
    Entry(Role::grammar, "get_grammar_bitmask (vllm/v1/core/sched/scheduler.py:1093)",
          "grammar_bitmask (vllm/v1/structured_output/__init__.py:232)",
          "fill_bitmask (vllm/v1/structured_output/backend_xgrammar.py:184)"),
    Entry(Role::update_from_output, "update_from_output (vllm/v1/core/sched/scheduler.py:1131)"),
    Entry(Role::send_output, "put_nowait (queue.py:145)"),
    Entry(Role::gc, "handle (vllm/utils/gc_utils.py:63)"),
};
constexpr std::array kCoreInProcess{
    Entry(Role::rpc, "execute_model (vllm/v1/executor/uniproc_executor.py:106)",
          "collective_rpc (vllm/v1/executor/uniproc_executor.py:79)"),
    Entry(Role::wait_output, "get_output (vllm/v1/worker/gpu_model_runner.py:239)", "synchronize (torch/cuda/streams.py:231)"),
};
constexpr std::array kCoreOverlap{
    Entry(Role::step, "_process_engine_step (vllm/v1/engine/core.py:911)", "step_with_batch_queue (vllm/v1/engine/core.py:391)"),
};
constexpr std::array kRunner{
    Entry(Role::rpc_wait, "dequeue (vllm/distributed/device_communicators/shm_broadcast.py:571)",
          "acquire_read (vllm/distributed/device_communicators/shm_broadcast.py:497)"),
    Entry(Role::step, "execute_model (vllm/v1/worker/worker_base.py:336)", "execute_model (vllm/v1/worker/gpu_worker.py:629)",
          "execute_model (vllm/v1/worker/gpu_model_runner.py:3127)"),
    Entry(Role::update_states, "_update_states (vllm/v1/worker/gpu_model_runner.py:893)"),
    Entry(Role::prepare_inputs, "_prepare_inputs (vllm/v1/worker/gpu_model_runner.py:1412)"),
    Entry(Role::attn_metadata, "_build_attention_metadata (vllm/v1/worker/gpu_model_runner.py:1655)",
          "build (vllm/v1/attention/backends/flash_attn.py:381)"),
    Entry(Role::model_forward, "_model_forward (vllm/v1/worker/gpu_model_runner.py:2960)",
          "forward (vllm/model_executor/models/qwen3.py:322)", "__call__ (vllm/compilation/decorators.py:526)"),
    Entry(Role::graph, "__call__ (vllm/compilation/cuda_graph.py:287)", "replay (torch/cuda/graphs.py:144)"),
    Entry(Role::compute_logits, "compute_logits (vllm/model_executor/models/qwen3.py:331)",
          "_get_logits (vllm/model_executor/layers/logits_processor.py:101)"),
    Entry(Role::sampler, "_sample (vllm/v1/worker/gpu_model_runner.py:2731)", "forward (vllm/v1/sample/sampler.py:96)"),
    Entry(Role::sampling_metadata, "refresh_metadata (vllm/v1/worker/gpu_input_batch.py:769)",
          "_make_sampling_metadata (vllm/v1/worker/gpu_input_batch.py:798)", "make_tensor_with_pad (vllm/utils/torch_utils.py:248)",
          "make_ndarray_with_pad (vllm/utils/torch_utils.py:226)"),
    Entry(Role::penalties, "apply_penalties (vllm/v1/sample/sampler.py:314)", "_convert_to_tensors (vllm/v1/sample/ops/penalties.py:51)",
          "make_tensor_with_pad (vllm/utils/torch_utils.py:248)", "make_ndarray_with_pad (vllm/utils/torch_utils.py:226)"),
    Entry(Role::grammar, "apply_grammar_bitmask (vllm/v1/structured_output/utils.py:103)",
          "apply_token_bitmask_inplace (xgrammar/matcher.py:91)"),
    Entry(Role::bookkeeping, "_bookkeeping_sync (vllm/v1/worker/gpu_model_runner.py:2806)"),
    Entry(Role::draft_propose, "propose_draft_token_ids (vllm/v1/worker/gpu_model_runner.py:3391)",
          "propose (vllm/v1/spec_decode/eagle.py:287)"),
    Entry(Role::send_output, "handle_output (vllm/v1/executor/multiproc_executor.py:548)",
          "enqueue (vllm/distributed/device_communicators/shm_broadcast.py:541)"),
    Entry(Role::kv_transfer, "start_load_kv (vllm/distributed/kv_transfer/kv_connector/v1/nixl_connector.py:287)"),
    Entry(Role::warm_up, "compile_or_warm_up_model (vllm/v1/worker/gpu_worker.py:463)",
          "_dummy_run (vllm/v1/worker/gpu_model_runner.py:4380)"),
    Entry(Role::capture, "capture_model (vllm/v1/worker/gpu_model_runner.py:4655)",
          "_capture_cudagraphs (vllm/v1/worker/gpu_model_runner.py:4731)"),
    Entry(Role::compile, "profile_run (vllm/v1/worker/gpu_model_runner.py:4569)", "__call__ (vllm/compilation/backends.py:905)"),
    Entry(Role::module_load, "_load_module (triton/compiler/compiler.py:426)"),
    Entry(Role::gc, "handle (vllm/utils/gc_utils.py:63)"),
};
constexpr std::array kVllmFront{
    Entry(Role::idle, "run_until_complete (uvloop/loop.pyx:1512)", "poll (uvloop/loop.pyx:557)"),
    Entry(Role::http, "create_chat_completion (vllm/entrypoints/openai/api_server.py:701)",
          "create_chat_completion (vllm/entrypoints/openai/serving_chat.py:198)"),
    Entry(Role::tokenize, "_tokenize_prompt_input_async (vllm/entrypoints/openai/serving_engine.py:612)",
          "_batch_encode_plus (transformers/tokenization_utils_fast.py:553)"),
    Entry(Role::detokenize, "output_handler (vllm/v1/engine/async_llm.py:497)", "process_outputs (vllm/v1/engine/output_processor.py:471)",
          "update (vllm/v1/engine/detokenizer.py:117)"),
    Entry(Role::send_output, "chat_completion_stream_generator (vllm/entrypoints/openai/serving_chat.py:721)"),
    Entry(Role::rpc, "add_request_async (vllm/v1/engine/core_client.py:948)", "send_multipart (zmq/_future.py:341)"),
    Entry(Role::gc, "handle (vllm/utils/gc_utils.py:63)"),
};

// ---- vLLM v0 (ENGINES §2.4) ----

constexpr std::array kV0Core{
    Entry(Role::idle, "poll (zmq/sugar/socket.py:1107)", "poll (zmq/sugar/poll.py:106)"),
    Entry(Role::step, "engine_step (vllm/engine/multiprocessing/engine.py:217)", "step (vllm/engine/llm_engine.py:1390)"),
    Entry(Role::schedule, "schedule (vllm/core/scheduler.py:1338)", "_schedule_default (vllm/core/scheduler.py:1193)"),
    Entry(Role::prefix_lookup, "get_computed_blocks (vllm/core/block/block_table.py:118)"),
    Entry(Role::allocate_slots, "_append_slots (vllm/core/scheduler.py:1571)", "append_slots (vllm/core/block_manager.py:222)"),
    Entry(Role::rpc, "execute_model (vllm/executor/executor_base.py:278)",
          "broadcast_tensor_dict (vllm/distributed/parallel_state.py:623)"),
    Entry(Role::wait_output, "_driver_execute_model (vllm/executor/mp_distributed_executor.py:144)",
          "synchronize (torch/cuda/streams.py:231)"),
    Entry(Role::update_from_output, "_process_model_outputs (vllm/engine/llm_engine.py:1188)"),
    Entry(Role::send_output, "_send_outputs (vllm/engine/multiprocessing/engine.py:350)"),
    Entry(Role::gc, "_on_gc (vllm/engine/multiprocessing/engine.py:73)"),
};
constexpr std::array kV0Runner{
    Entry(Role::rpc_wait, "start_worker_execution_loop (vllm/worker/worker_base.py:93)",
          "broadcast_tensor_dict (vllm/distributed/parallel_state.py:641)", "recv_object (vllm/distributed/parallel_state.py:522)",
          "poll (zmq/sugar/poll.py:106)"),
    Entry(Role::step, "execute_model (vllm/worker/worker_base.py:413)", "execute_model (vllm/worker/model_runner.py:1719)"),
    Entry(Role::prepare_inputs, "prepare_model_input (vllm/worker/model_runner.py:1644)",
          "_prepare_model_input_tensors (vllm/worker/model_runner.py:1263)"),
    Entry(Role::attn_metadata, "build (vllm/attention/backends/flash_attn.py:531)"),
    Entry(Role::model_forward, "forward (vllm/model_executor/models/qwen2.py:486)", "_call_impl (torch/nn/modules/module.py:1750)"),
    Entry(Role::graph, "forward (vllm/worker/model_runner.py:1966)", "replay (torch/cuda/graphs.py:88)"),
    Entry(Role::compute_logits, "compute_logits (vllm/model_executor/models/qwen2.py:497)"),
    Entry(Role::sampler, "sample (vllm/model_executor/models/qwen2.py:506)", "forward (vllm/model_executor/layers/sampler.py:288)"),
    Entry(Role::sampling_metadata, "prepare (vllm/model_executor/sampling_metadata.py:159)",
          "from_lists (vllm/model_executor/sampling_metadata.py:556)", "make_tensor_with_pad (vllm/utils/__init__.py:921)",
          "make_ndarray_with_pad (vllm/utils/__init__.py:899)"),
    Entry(Role::penalties, "from_sampling_metadata (vllm/model_executor/sampling_metadata.py:441)",
          "make_tensor_with_pad (vllm/utils/__init__.py:921)", "make_ndarray_with_pad (vllm/utils/__init__.py:899)"),
    Entry(Role::bookkeeping, "_build_sampler_output (vllm/model_executor/layers/sampler.py:1188)"),
    Entry(Role::warm_up, "profile_run (vllm/worker/model_runner.py:1239)", "_dummy_run (vllm/worker/model_runner.py:1350)"),
    Entry(Role::capture, "capture_model (vllm/worker/model_runner.py:1553)", "capture (vllm/worker/model_runner.py:1915)"),
    Entry(Role::gc, "_on_gc (vllm/worker/worker_base.py:58)"),
};

// ---- SGLang (ENGINES §1.3, §2.5) ----

constexpr std::array kSglang{
    Entry(Role::idle, "on_idle (sglang/srt/managers/scheduler.py:1058)", "maybe_sleep (sglang/srt/managers/scheduler.py:2711)",
          "poll (zmq/sugar/poll.py:106)"),
    Entry(Role::step, "run_batch (sglang/srt/managers/scheduler.py:2083)"),
    Entry(Role::schedule, "get_next_batch_to_run (sglang/srt/managers/scheduler.py:1741)"),
    Entry(Role::prefix_lookup, "init_next_round_input (sglang/srt/managers/schedule_batch.py:742)",
          "match_prefix (sglang/srt/mem_cache/radix_cache.py:297)"),
    Entry(Role::allocate_slots, "prepare_for_decode (sglang/srt/managers/schedule_batch.py:1652)",
          "alloc_for_decode (sglang/srt/mem_cache/common.py:374)"),
    Entry(Role::rpc_wait, "recv_requests (sglang/srt/managers/scheduler.py:1112)", "broadcast_pyobj (sglang/srt/utils/common.py:1239)"),
    Entry(Role::rpc, "forward_batch_generation (sglang/srt/managers/tp_worker.py:371)"),
    Entry(Role::wait_output, "process_batch_result (sglang/srt/managers/scheduler.py:2201)", "synchronize (torch/cuda/streams.py:231)"),
    Entry(Role::prepare_inputs, "get_model_worker_batch (sglang/srt/managers/schedule_batch.py:1786)",
          "init_new (sglang/srt/model_executor/forward_batch_info.py:361)"),
    Entry(Role::attn_metadata, "init_forward_metadata (sglang/srt/layers/attention/flashattention_backend.py:368)"),
    Entry(Role::model_forward, "forward (sglang/srt/model_executor/model_runner.py:2141)", "forward (sglang/srt/models/qwen3.py:414)"),
    Entry(Role::graph, "replay (sglang/srt/model_executor/cuda_graph_runner.py:792)", "replay (torch/cuda/graphs.py:144)"),
    Entry(Role::compute_logits, "forward (sglang/srt/layers/logits_processor.py:391)",
          "_get_logits (sglang/srt/layers/logits_processor.py:612)"),
    Entry(Role::sampler, "sample (sglang/srt/model_executor/model_runner.py:2263)", "forward (sglang/srt/layers/sampler.py:97)"),
    Entry(Role::sampling_metadata, "from_schedule_batch (sglang/srt/sampling/sampling_batch_info.py:88)"),
    Entry(Role::penalties, "cumulate_output_tokens (sglang/srt/sampling/penaltylib/orchestrator.py:58)"),
    Entry(Role::grammar, "update_regex_vocab_mask (sglang/srt/sampling/sampling_batch_info.py:201)",
          "fill_vocab_mask (sglang/srt/constrained/xgrammar_backend.py:104)"),
    Entry(Role::bookkeeping, "copy_to_cpu (sglang/srt/managers/utils.py:58)"),
    Entry(Role::draft_propose, "draft (sglang/srt/speculative/eagle_worker.py:472)"),
    Entry(Role::update_from_output, "process_batch_result_decode (sglang/srt/managers/scheduler_output_processor_mixin.py:291)"),
    Entry(Role::send_output, "stream_output_generation (sglang/srt/managers/scheduler_output_processor_mixin.py:905)",
          "send_pyobj (zmq/sugar/socket.py:990)"),
    Entry(Role::warm_up, "init_device_graphs (sglang/srt/model_executor/model_runner.py:1936)"),
    Entry(Role::capture, "capture (sglang/srt/model_executor/cuda_graph_runner.py:498)",
          "capture_one_batch_size (sglang/srt/model_executor/cuda_graph_runner.py:669)"),
    Entry(Role::kv_transfer, "send_kv_chunk (sglang/srt/disaggregation/prefill.py:612)"),
    Entry(Role::gc, "gc_callback (sglang/srt/utils/common.py:2871)"),
};
constexpr std::array kSglangFront{
    Entry(Role::idle, "run_forever (asyncio/base_events.py:645)", "_run_once (asyncio/base_events.py:1961)", "poll (selectors.py:468)"),
    Entry(Role::http, "generate_request (sglang/srt/entrypoints/http_server.py:573)"),
    Entry(Role::tokenize, "generate_request (sglang/srt/managers/tokenizer_manager.py:426)",
          "_tokenize_one_request (sglang/srt/managers/tokenizer_manager.py:558)",
          "_encode_plus (transformers/tokenization_utils_fast.py:627)"),
    Entry(Role::detokenize, "handle_batch_token_id_out (sglang/srt/managers/detokenizer_manager.py:164)",
          "batch_decode (transformers/tokenization_utils_base.py:3858)"),
    Entry(Role::send_output, "_handle_batch_output (sglang/srt/managers/tokenizer_manager.py:1389)"),
    Entry(Role::gc, "gc_callback (sglang/srt/utils/common.py:2871)"),
};
constexpr std::array kDetokenizerIdle{
    Entry(Role::idle, "recv_pyobj (zmq/sugar/socket.py:989)", "poll (zmq/sugar/poll.py:106)"),
};

// ---- FSDP (ENGINES §1.4) ----

constexpr std::array kFsdpRank{
    Entry(Role::idle, "wait_for_batch (generate.py:141)", "poll (zmq/sugar/poll.py:106)"),
    Entry(Role::step, "generate (transformers/generation/utils.py:2564)", "_sample (transformers/generation/utils.py:2784)"),
    Entry(Role::schedule, "next_batch (generate.py:137)"),
    Entry(Role::prepare_inputs, "prepare_inputs_for_generation (transformers/generation/utils.py:573)"),
    Entry(Role::model_forward, "_call_impl (torch/nn/modules/module.py:1857)", "forward (transformers/models/qwen3/modeling_qwen3.py:480)",
          "_pre_forward (torch/distributed/fsdp/_fully_shard/_fsdp_state.py:240)"),
    Entry(Role::all_gather, "unshard (torch/distributed/fsdp/_fully_shard/_fsdp_param_group.py:302)",
          "foreach_all_gather (torch/distributed/fsdp/_fully_shard/_fsdp_collectives.py:176)"),
    Entry(Role::compute_logits, "forward (torch/nn/modules/linear.py:134)"),
    Entry(Role::sampler, "multinomial_sample (generate.py:112)"),
    Entry(Role::sampling_metadata, "__call__ (transformers/generation/logits_process.py:91)"),
    Entry(Role::penalties, "__call__ (transformers/generation/logits_process.py:358)"),
    Entry(Role::bookkeeping, "_has_unfinished_sequences (transformers/generation/utils.py:2396)"),
    Entry(Role::update_from_output, "_update_model_kwargs_for_generation (transformers/generation/utils.py:901)"),
    Entry(Role::detokenize, "batch_decode (transformers/tokenization_utils_base.py:3858)"),
    Entry(Role::tokenize, "_batch_encode_plus (transformers/tokenization_utils_fast.py:553)"),
    Entry(Role::warm_up, "warm_up (generate.py:104)"),
    Entry(Role::gc, "run_gc (generate.py:198)"),
};

template <std::size_t N>
Frames find(const std::array<Entry, N>& table, Role role) {
    for (const Entry& entry : table)
        if (entry.role == role) return Frames(entry.frames.data(), entry.count);
    return {};
}

Frames vllm_v1(Role role, const FramePlace& place) {
    if (place.side == FrameSide::runner) return find(kRunner, role);
    if (place.in_process)
        if (const Frames frames = find(kCoreInProcess, role); !frames.empty()) return frames;
    if (place.overlap)
        if (const Frames frames = find(kCoreOverlap, role); !frames.empty()) return frames;
    const Frames frames = find(kCore, role);
    return frames.empty() ? find(kRunner, role) : frames;
}

}  // namespace

Frames base_frames(Engine engine, ProcessRole role, bool overlap) {
    switch (role) {
        case ProcessRole::engine_core: return engine == Engine::vllm_v0 ? Frames(kV0Engine) : Frames(kEngineCore);
        case ProcessRole::worker: return engine == Engine::vllm_v0 ? Frames(kV0Worker) : Frames(kWorker);
        case ProcessRole::scheduler: return overlap ? Frames(kOverlap) : Frames(kScheduler);
        case ProcessRole::detokenizer: return kDetokenizer;
        case ProcessRole::api_server: return engine == Engine::sglang ? Frames(kSglangServer) : Frames(kApiServer);
        case ProcessRole::fsdp_rank: return kFsdp;
        case ProcessRole::client: return kOffline;
        case ProcessRole::controller:
        case ProcessRole::other: break;
    }
    return kModule;
}

Frames thread_frames() { return kThread; }

Frames role_frames(Role role, const FramePlace& place) {
    if (const Frames frames = find(kCommon, role); !frames.empty()) return frames;
    const bool front = place.side == FrameSide::front, detokenizer = place.side == FrameSide::detokenizer;
    switch (place.engine) {
        case Engine::vllm_v1_offline:
        case Engine::vllm_v1_online: return front ? find(kVllmFront, role) : vllm_v1(role, place);
        case Engine::vllm_v0:
            if (front) return find(kVllmFront, role);
            if (place.side == FrameSide::core)
                if (const Frames frames = find(kV0Core, role); !frames.empty()) return frames;
            return find(kV0Runner, role);
        case Engine::sglang:
            if (detokenizer)
                if (const Frames frames = find(kDetokenizerIdle, role); !frames.empty()) return frames;
            return front || detokenizer ? find(kSglangFront, role) : find(kSglang, role);
        case Engine::fsdp: return find(kFsdpRank, role);
    }
    return {};
}

}  // namespace faultline::simulator
