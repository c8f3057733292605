#include "ml/simulator/writers/name_facts.h"

#include <algorithm>
#include <array>
#include <charconv>

#include "ml/simulator/writers/output_file.h"

namespace faultline::simulator {

namespace {

struct Call {
    std::string_view name;
    std::uint32_t callback;
    std::string_view version;  ///< the version of CUDA since which the call has this form
    Waits waits = Waits::nothing;
};
constexpr std::array kCalls{
    Call{"cudaLaunchKernel", 211, "_v7000"},
    Call{"cudaLaunchKernelExC", 430, "_v11060"},
    Call{"cudaGraphLaunch", 311, "_v10000"},
    Call{"cudaMemcpyAsync", 41, "_v3020"},
    Call{"cudaMemcpy", 31, "_v3020"},
    Call{"cudaMemsetAsync", 51, "_v3020"},
    Call{"cudaMalloc", 20, "_v3020"},
    Call{"cudaFree", 22, "_v3020"},
    Call{"cudaStreamSynchronize", 131, "_v3020", Waits::stream},
    Call{"cudaEventRecord", 135, "_v3020"},
    Call{"cudaEventQuery", 136, "_v3020", Waits::event},
    Call{"cudaEventSynchronize", 137, "_v3020", Waits::event},
    Call{"cudaStreamWaitEvent", 147, "_v3020", Waits::stream_for_event},
    Call{"cudaDeviceSynchronize", 165, "_v3020", Waits::context},
    Call{"cudaStreamIsCapturing", 317, "_v10000"},
    Call{"cudaEventRecordWithFlags", 0, "_v11010"},
    Call{"cudaGraphInstantiate", 0, "_v12000"},
    Call{"cuLaunchKernel", 307, ""},
    Call{"cuLaunchKernelEx", 652, ""},
};

const Call* call_named(std::string_view name) {
    const auto* const found = std::find_if(kCalls.begin(), kCalls.end(), [&](const Call& call) { return call.name == name; });
    return found == kCalls.end() ? nullptr : found;
}

/// What kernels take of a multiprocessor, as traces of an H100 show it (k01, k12); the first word that is found.
struct Footprint {
    std::string_view word;
    std::uint32_t registers, shared;
};
constexpr std::array kFootprints{
    Footprint{"FlashAttnFwdCombine", 42, 17'536}, Footprint{"FlashAttnFwdSm90", 168, 166'912}, Footprint{"prepare_varlen", 16, 4},
    Footprint{"flash_fwd", 255, 49'152},          Footprint{"BatchPrefill", 255, 49'152},
    Footprint{"BatchDecode", 255, 49'152},        Footprint{"cutlass::Kernel2", 154, 65'536},
    Footprint{"s16816gemm", 150, 147'456},        Footprint{"nvjet", 168, 231'424},
    Footprint{"gemm", 168, 231'424},              Footprint{"flash::", 168, 166'912},
    Footprint{"nccl", 96, 103'072},               Footprint{"triton_red", 29, 64},
};

std::uint32_t registers_of(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    constexpr std::uint64_t kSteps = 8;  // registers are given out by eight
    return static_cast<std::uint32_t>(16 + 8 * ((hash >> 20) % kSteps));
}

/// nn.Module: LlamaDecoderLayer_3 is called with the number 3.
std::int64_t module_of(std::string_view text) {
    if (!text.starts_with("nn.Module: ")) return -1;
    std::int64_t number = -1;
    const std::string_view digits = text.substr(text.rfind('_') + 1);
    std::from_chars(digits.data(), digits.data() + digits.size(), number);
    return number;
}

std::string_view collective_of(std::string_view text) {
    constexpr std::array<std::pair<std::string_view, std::string_view>, 5> kWords{{{"AllReduce", "allreduce"},
                                                                                   {"AllGather", "_allgather_base"},
                                                                                   {"ReduceScatter", "_reduce_scatter_base"},
                                                                                   {"SendRecv", "send"},
                                                                                   {"Broadcast", "broadcast"}}};
    for (const auto& [word, name] : kWords)
        if (text.find(word) != std::string_view::npos) return name;
    return "unknown";
}

}  // namespace

NameFacts name_facts(std::string_view text) {
    NameFacts facts;
    facts.json = escaped(text);
    if (const Call* const call = call_named(text)) {
        facts.callback = call->callback;
        facts.waits = call->waits;
    }
    const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
    facts.launches = text.starts_with("cu") && (has("Launch") || has("Memcpy") || has("Memset"));
    facts.collective = text.starts_with("nccl");
    if (facts.collective) facts.collective_name = collective_of(text);
    const auto* const known = std::find_if(kFootprints.begin(), kFootprints.end(), [&](const Footprint& f) { return has(f.word); });
    facts.registers = known == kFootprints.end() ? registers_of(text) : known->registers;
    facts.shared = known == kFootprints.end() ? 0 : known->shared;
    facts.module = module_of(text);
    return facts;
}

std::string versioned_call(std::string_view call) {
    const Call* const known = call_named(call);
    const std::string_view version = known != nullptr ? known->version : call.starts_with("cuda") ? "_v3020" : "";
    return std::string(call) + std::string(version);
}

std::string short_kernel_name(std::string_view name) {
    constexpr std::string_view kVoid = "void ";
    if (name.starts_with(kVoid)) name.remove_prefix(kVoid.size());
    std::size_t end = name.find_first_of("<(");
    // "(anonymous namespace)::" stands before the name, not behind it.
    constexpr std::string_view kAnonymous = "(anonymous namespace)::";
    while (end != std::string_view::npos && name.substr(end).starts_with(kAnonymous)) {
        name.remove_prefix(end + kAnonymous.size());
        end = name.find_first_of("<(");
    }
    name = name.substr(0, end);
    const std::size_t scope = name.rfind("::");
    return std::string(scope == std::string_view::npos ? name : name.substr(scope + 2));
}

}  // namespace faultline::simulator
