// A made-up LLM service of a given number of steps, with anomalies planted where a test asks for them: a Kineto trace for each rank, the
// service's log, and what every step is.
//
// vLLM-like: one engine process a rank, `execute_context_…` annotations, decode steps by one graph launch, prefill and mixed steps kernel
// by kernel, sampling and the copy of the tokens to the host after the annotation. Requests come and go, so the batch varies; kernel
// variants follow the batch (graph bucket sizes, split-k), durations the tokens, with seeded jitter of a few per cent. The first step is
// a slow one, as first steps are. Same options, same bytes.
//
//     PlantedService service = make_service({.planted = {{Plant::host_stall, 40}}});
//     QVERIFY(write_service(service, folder));      // service.trace_paths, service.log_path
//     service.steps[40].planted                     // what it is; position i is the i-th step by time
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "core/model.h"
#include "core/types.h"

namespace faultline::test {

enum class Plant {
    host_stall,       ///< 30 ms in the sampler's Python (make_ndarray_with_pad), the device idle under it            → slow
    slow_kernels,     ///< every kernel 2.5 times as long                                                             → slow
    long_malloc,      ///< one cudaMalloc of 25 ms among the inputs                                                   → slow
    long_free,        ///< one cudaFree of 25 ms among the inputs                                                     → slow
    long_sync,        ///< a cudaStreamSynchronize of its own in the middle of the step, the host held for 25 ms      → slow
    late_rank,        ///< rank 1 starts 20 ms late: its first collective is short, that of rank 0 long (ranks ≥ 2)   → slow
    slow_link,        ///< every collective on all ranks 3 ms longer (ranks ≥ 2)                                      → slow
    missing_kernels,  ///< the attention kernels of two layers are not there                                          → structure
    eager,            ///< a decode step launched kernel by kernel instead of by its graph                            → structure
    other_variant,    ///< the attention kernels have another template, as long as ever                               → structure
    contradiction,    ///< the text says decode, the kernels are those of a prefill, as long as a decode's            → contradiction
    stall,            ///< nothing happens for 3 s after the step, with requests live                                 → a stall item
    empty_schedule,   ///< the scheduler turns for 3 s after the step without a token, with requests live             → a stall item
    endless_kernel,   ///< the last kernel of the step runs for 30 s (a collective where ranks ≥ 2); ends the run     → a stall item
    idle,             ///< nothing happens for 3 s after the step, since no request is live                           → nothing
};

struct Planted {
    Plant what{};
    int step = 0;  ///< position of the step, from 0
};

struct ServiceOptions {
    int steps = 80;
    int ranks = 1;
    std::uint64_t seed = 1;
    int layers = 3;           ///< of the model; 11 kernels each
    bool all_slow = false;    ///< every third step is slow by slow kernels: a baseline that is itself bad
    bool graph_rows = false;  ///< kernels of graphs are not seen one by one (graph-level capture): none is written for them
    bool calls = true;        ///< false: no runtime calls, operators or ranges but the steps (device work and annotations alone)
    bool planted_in_any_phase = false;  ///< else planted steps are decode steps, so that each lies among many of its kind
    std::vector<Planted> planted;
};

struct PlannedStep {
    std::string text;                     ///< its annotation
    StepPhase phase = StepPhase::decode;  ///< as the text says
    std::int64_t tokens = 0, batch = 0;
    std::vector<std::string> requests;
    std::optional<Plant> planted;
    TimeNs start = 0, end = 0;  ///< epoch ns: from the annotation's start on rank 0 to the end of its last device work on any
};

struct PlannedRequest {
    std::string id;  ///< as the log names it
    std::int64_t prompt_tokens = 0, output_tokens = 0;
    int first_step = 0, last_step = 0;  ///< positions
    TimeNs arrival = 0, end = 0;        ///< epoch ns
};

struct PlantedService {
    std::vector<std::string> traces;  ///< Kineto JSON, one a rank
    std::string log;                  ///< vLLM v1 layout, stamps of one second in UTC
    std::vector<PlannedStep> steps;   ///< by time
    std::vector<PlannedRequest> requests;
    std::vector<std::string> trace_paths;  ///< filled by write_service()
    std::string log_path;

    /// Position of the only step with this plant; -1 where there is none.
    [[nodiscard]] int position(Plant what) const;
};

[[nodiscard]] PlantedService make_service(const ServiceOptions& options = {});
/// Writes rank0.pt.trace.json, rank1… and service.log into `folder`; false where that fails.
bool write_service(PlantedService& service, const std::string& folder);

}  // namespace faultline::test
