#include "ml/simulator/writers/name_facts.h"

#include <algorithm>
#include <array>

#include "ml/simulator/writers/output_file.h"

namespace faultline::simulator {

namespace {

struct Call {
    std::string_view name;
    std::uint32_t callback;
    std::string_view version;  ///< the version of CUDA since which the call has this form
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
    Call{"cudaStreamSynchronize", 131, "_v3020"},
    Call{"cudaEventRecord", 135, "_v3020"},
    Call{"cudaEventQuery", 136, "_v3020"},
    Call{"cudaEventSynchronize", 137, "_v3020"},
    Call{"cudaStreamWaitEvent", 147, "_v3020"},
    Call{"cudaDeviceSynchronize", 165, "_v3020"},
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

std::uint32_t registers_of(std::string_view text) {
    std::uint64_t hash = 0xCBF29CE484222325ULL;
    for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3ULL;
    constexpr std::uint64_t kSteps = 16;  // registers are given out by eight
    const bool heavy = text.find("gemm") != std::string_view::npos || text.find("flash") != std::string_view::npos;
    return heavy ? 168 : static_cast<std::uint32_t>(16 + 8 * ((hash >> 20) % (kSteps - 8)));
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
    if (const Call* const call = call_named(text)) facts.callback = call->callback;
    const auto has = [&](std::string_view word) { return text.find(word) != std::string_view::npos; };
    facts.launches = text.starts_with("cu") && (has("Launch") || has("Memcpy") || has("Memset"));
    facts.collective = text.starts_with("nccl");
    if (facts.collective) facts.collective_name = collective_of(text);
    facts.registers = registers_of(text);
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
