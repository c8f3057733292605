#include "importers/kineto/trace_text.h"

#include <cstring>

#include "importers/kineto/json_scan.h"

namespace faultline::kineto {

std::string_view key_at(const char* quote, const char* end) noexcept {
    const char* const after = scan_string(quote, end);
    return after == nullptr ? std::string_view{} : std::string_view(quote + 1, static_cast<std::size_t>(after - quote - 2));
}

const char* find_event_list(const char* from, const char* end) noexcept {
    constexpr std::string_view kKey = "\"traceEvents\"";
    while (from != end) {
        const void* const found = memmem(from, static_cast<std::size_t>(end - from), kKey.data(), kKey.size());
        if (found == nullptr) return nullptr;
        from = static_cast<const char*>(found) + kKey.size();
        const char* p = skip_json_space(from, end);
        if (p == end || *p != ':') continue;
        p = skip_json_space(p + 1, end);
        if (p != end && *p == '[') return p + 1;
    }
    return nullptr;
}

std::uint64_t count_phases(const char* from, const char* end) noexcept {
    constexpr std::string_view kPhase = "\"ph\"";
    std::uint64_t n = 0;
    while (const void* found = memmem(from, static_cast<std::size_t>(end - from), kPhase.data(), kPhase.size())) {
        ++n;
        from = static_cast<const char*>(found) + kPhase.size();
    }
    return n;
}

}  // namespace faultline::kineto
