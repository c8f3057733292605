#include "core/kernel_roles.h"

#include <algorithm>
#include <cctype>
#include <initializer_list>

namespace faultline {

namespace {

bool has_any(std::string_view text, std::initializer_list<std::string_view> parts) {
    return std::any_of(parts.begin(), parts.end(), [&](std::string_view p) { return text.find(p) != std::string_view::npos; });
}

std::string lower(std::string_view text) {
    std::string out(text);
    for (char& c : out) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
    return out;
}

/// Kernels whose names tell whether prompts are read or tokens generated.
bool tells_phase(std::string_view plain) {
    return has_any(lower(plain), {"attn", "attention", "flash", "fmha", "mla", "prefill", "decode", "selective_s", "conv1d", "chunk_"});
}

}  // namespace

std::optional<std::uint32_t> KernelRoles::of(SpanKind kind, NameId name) {
    const std::uint64_t key = static_cast<std::uint64_t>(kind) << 32 | index_of(name);
    const auto [known, fresh] = by_name_.try_emplace(key, std::nullopt);
    if (fresh) known->second = make(kind, capture_.name(name));
    return known->second;
}

std::optional<std::uint32_t> KernelRoles::make(SpanKind kind, std::string_view name) {
    KernelRole role;
    role.kind = kind;
    if (is_api_call(kind)) {
        role.graph_launch = has_any(name, {"GraphLaunch"});
        role.kernel_launch = !role.graph_launch && has_any(name, {"LaunchKernel", "LaunchCooperative", "ModuleLaunch"});
        if (!role.graph_launch && !role.kernel_launch) return std::nullopt;
        role.text = role.graph_launch ? "graph launches" : "kernel launches";
    } else if (kind == SpanKind::op) {
        return std::nullopt;  // a graph has none; what they launch is counted
    } else {
        role.product = kind == SpanKind::kernel && is_matrix_product(name);
        role.text = role.product ? "matrix product" : plain_name(name);
        role.phase = kind == SpanKind::kernel && !role.product && tells_phase(role.text);
        role.state_scan = has_any(role.text, {"selective_scan_fwd", "chunk_scan_fwd"});
        role.state_update = has_any(role.text, {"selective_scan_update", "selective_state_update"});
    }
    const auto [known, fresh] = by_text_.try_emplace({kind, role.text}, static_cast<std::uint32_t>(roles_.size()));
    if (fresh) roles_.push_back(std::move(role));
    return known->second;
}

std::string plain_name(std::string_view name) {
    std::string out;
    const std::string_view whole = name;
    if (name.starts_with("void ")) name.remove_prefix(5);
    for (std::size_t i = 0; i < name.size(); ++i) {
        if (name.substr(i).starts_with("(anonymous namespace)")) {
            i += std::string_view("(anonymous namespace)").size() - 1;
            out += "{}";
            continue;
        }
        const char c = name[i];
        if (c == '<' || c == '(') break;
        if (std::isdigit(static_cast<unsigned char>(c)) == 0)
            out += c;
        else if (out.empty() || out.back() != '#')
            out += '#';
    }
    return out.empty() ? std::string(whole) : out;
}

bool is_matrix_product(std::string_view name) {
    const std::string text = lower(name);
    if (has_any(text, {"splitkv", "split_kv"})) return false;  // attention
    return has_any(text, {"gemm", "gemv", "nvjet", "splitk", "split_k", "cublas", "cutlass::kernel", "_mm_", "cijk_", "matmul", "wgmma"});
}

}  // namespace faultline
