#include "core/fault_cues.h"

#include <re2/re2.h>

#include <array>
#include <memory>

namespace faultline {

namespace {

struct Cue {
    FaultType type;
    const char* pattern;
};

/// The first that matches wins: what is more specific stands first.
constexpr std::array kCues = {
    Cue{FaultType::communication_network,
        R"((?i)collective operation timeout|NET/IB|NET/Socket|Using network Socket|custom ?all_?reduce.*(?:disabled|error)|P2P capability|)"
        R"(KVTransfer|pulling kv_caches|Prefill bootstrap failed|got completion from peer|async event : port|NVLink|NETIR|RLW_RXPIPE|)"
        R"(NCCL (?:WARN|ERROR|error)|ncclSystemError|ncclRemoteError|ncclUnhandled|Connection (?:reset|closed) by (?:peer|remote))"},
    Cue{FaultType::runtime_driver,
        R"((?i)NVRM|\bXid\b|fallen off the bus|GPU is lost|RPC from GSP|uncorrectable ECC|row remap|shared memory broadcast block|)"
        R"(RPC call to \w+ timed out|nvidia-smi|nvml\w* error|driver (?:lock|mismatch|shutting down))"},
    Cue{FaultType::memory_resource,
        R"((?i)out ?of ?memory|Tried to allocate|not enough KV cache|KV cache pool is full|is preempted|Retract requests|memory leak|)"
        R"(cannot allocate|bad_alloc|OOM.?kill|Killed process|make_(?:nd)?array_with_pad|make_tensor_with_pad|make_ndarray_with_pad|)"
        R"(Preemptions: [1-9]|KV cache usage: (?:9[5-9]|100)|token usage: (?:0\.9[5-9]|1\.00))"},
    Cue{FaultType::cuda_kernel,
        R"((?i)CUDA error|illegal (?:memory access|instruction)|misaligned address|JIT compilation|default MoE config|cuda graph: False|)"
        R"(Truncating max_cudagraph|enforce_eager=True|device-side assert|cublas\w* (?:error|failed)|no kernel image)"},
    Cue{FaultType::scheduling_software,
        R"((?i)Scheduler watchdog|Deferred: [1-9]|Scheduler hit an exception|grammar.*(?:timeout|failed|slow)|)"
        R"(Running: 0 reqs, Waiting: [1-9]|)"
        R"(EngineCore encountered a fatal error|\bgc\.collect|garbage collect|apply_grammar_bitmask|deadlock)"},
};

class Cues {
public:
    Cues() {
        RE2::Options options;
        options.set_log_errors(false);
        for (std::size_t i = 0; i < kCues.size(); ++i) expressions_[i] = std::make_unique<RE2>(kCues[i].pattern, options);
    }
    [[nodiscard]] std::optional<FaultType> find(std::string_view text) const {
        const re2::StringPiece piece(text.data(), text.size());
        for (std::size_t i = 0; i < kCues.size(); ++i)
            if (RE2::PartialMatch(piece, *expressions_[i])) return kCues[i].type;
        return std::nullopt;
    }

private:
    std::array<std::unique_ptr<RE2>, kCues.size()> expressions_;
};

}  // namespace

std::optional<FaultType> fault_cue(std::string_view text) {
    static const Cues cues;  // const after its construction, which is thread-safe
    return cues.find(text);
}

}  // namespace faultline
