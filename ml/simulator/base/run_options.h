// What a run is: engine, model, GPU, load, what is recorded, how long, which seed. Plain values with the defaults of `faultline simulate`.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/types.h"

namespace faultline::simulator {

enum class Engine : std::uint8_t { vllm_v0, vllm_v1_offline, vllm_v1_online, sglang, fsdp };
inline constexpr int kEngineCount = 5;
[[nodiscard]] std::string_view engine_name(Engine engine) noexcept;  ///< as in CONTRACT.md: vllm-v1-online
[[nodiscard]] std::optional<Engine> engine_named(std::string_view name) noexcept;

enum class GraphMode : std::uint8_t { none, piecewise, full };
[[nodiscard]] std::string_view graph_mode_name(GraphMode mode) noexcept;
[[nodiscard]] std::optional<GraphMode> graph_mode_named(std::string_view name) noexcept;

enum class TraceFormat : std::uint8_t { kineto, nsys, nsys_older };

/// What the host side writes about its steps (ENGINES §3 and §6). `semantic`: the 13 + 32 spans. The others are what an engine itself writes:
/// `engine_current` and `engine_older` in its newer and its older wording, `engine_detailed` with the sums of lengths, `engine_scopes` with
/// the phases inside a step, `none`: nothing.
enum class Dialect : std::uint8_t { semantic, engine_current, engine_older, engine_detailed, engine_scopes, none };
[[nodiscard]] std::string_view dialect_name(Dialect dialect) noexcept;
[[nodiscard]] std::optional<Dialect> dialect_named(std::string_view name) noexcept;

enum class Arrivals : std::uint8_t { poisson, bursts, closed_loop };

struct Workload {
    Arrivals arrivals = Arrivals::poisson;
    double rate = 4;            ///< requests a second, for poisson and bursts
    int clients = 16;           ///< of a closed loop, and requests of an offline batch in flight
    int prompt_median = 600, output_median = 120;  ///< tokens
    double prompt_spread = 0.7, output_spread = 0.6;  ///< deviation of the logarithm
    int prompt_max = 8192, output_max = 1024;
    double shared_prefix = 0.3;  ///< share of requests that start with one of a few common prefixes
    double random_sampling = 0.5, top_k = 0.1, penalties = 0.1, guided = 0.05, logprobs = 0.02;  ///< shares of requests
    double aborts = 0.01;        ///< share of requests whose client goes away before the end
};

struct RecordingOptions {
    Dialect dialect = Dialect::semantic;
    bool operators = true;       ///< cpu_op rows around eager launches
    bool python = false;         ///< Python frames
    bool request_ids = true;     ///< in ranges (semantic dialect) and in log lines
    bool logs = true, samples = true, counters = true;
    bool iteration_log = false;  ///< vLLM's line per step
    bool startup = false;        ///< the capture holds warm-up, compile and graph capture; else it starts in service
    int skip_steps = 0;          ///< served before the capture begins
};

struct Deployment {
    Engine engine = Engine::vllm_v1_online;
    std::string model = "qwen3-8b";
    std::string gpu = "h100";
    int tp = 1, dp = 1, nodes = 1;
    bool prefill_decode = false;   ///< one prefill and one decode instance with KV transfer between them
    bool expert_parallel = false;  ///< dispatch and combine instead of all-reduce in MoE layers (needs dp > 1)
    GraphMode graphs = GraphMode::full;
    bool async_scheduling = false;  ///< SGLang: overlap mode
    int spec_tokens = 0;            ///< drafts per request and step
    double draft_acceptance = 0.7;
    bool prefix_cache = true;
    int max_num_seqs = 128;
    int chunk_tokens = 2048;        ///< tokens of a step at most (max_num_batched_tokens, chunked_prefill_size)
    int block_size = 16;
    std::int64_t kv_blocks = 0;     ///< 0: what the GPU's memory leaves
    int max_capture_size = 512;     ///< largest batch with a graph
    bool custom_all_reduce = true;  ///< else NCCL
    bool rdma = true;               ///< between nodes; else sockets
    std::string attention_backend = "flash";  ///< flash, flashinfer, triton
    std::string build;              ///< variant of the attention build; empty is the usual one
};

struct RunOptions {
    Deployment deployment;
    Workload workload;
    RecordingOptions recording;
    std::uint64_t seed = 1;
    double duration_s = 10;
    int max_steps = 0;   ///< 0: the duration alone ends the run
    TimeNs start = 0;    ///< epoch ns; 0: drawn from the seed
};

}  // namespace faultline::simulator
