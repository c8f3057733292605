// The words of headers: levels and parallel ranks.
#include <algorithm>
#include <array>
#include <utility>

#include "importers/service_log/line_header.h"

namespace faultline::service_log {

namespace {

constexpr std::array<std::pair<std::string_view, std::string_view>, 8> kLevels{{{"DEBUG", "DEBUG"},
                                                                                {"INFO", "INFO"},
                                                                                {"WARNING", "WARNING"},
                                                                                {"WARN", "WARNING"},
                                                                                {"ERROR", "ERROR"},
                                                                                {"CRITICAL", "CRITICAL"},
                                                                                {"FATAL", "CRITICAL"},
                                                                                {"TRACE", "DEBUG"}}};

}  // namespace

std::string_view level_of(std::string_view word) noexcept {
    const auto it = std::find_if(kLevels.begin(), kLevels.end(), [&](const auto& level) { return level.first == word; });
    return it == kLevels.end() ? std::string_view() : it->second;
}

std::string_view level_of(char letter) noexcept {
    switch (letter) {
        case 'I': return "INFO";
        case 'W': return "WARNING";
        case 'E': return "ERROR";
        case 'F': return "CRITICAL";
        default: return {};
    }
}

ParallelRanks parallel_ranks(std::string_view words) noexcept {
    ParallelRanks out;
    for (std::size_t i = 0; i + 2 < words.size(); ++i) {
        if (words[i + 1] != 'P' || (words[i] != 'T' && words[i] != 'P')) continue;
        if (i > 0 && words[i - 1] != ' ' && words[i - 1] != '_') continue;
        std::int64_t value = 0;
        TextScan scan(words, i + 2);
        if (!scan.number(1, 6, value)) continue;
        auto& rank = words[i] == 'T' ? out.tp : out.pp;
        const bool attention = i >= 5 && words.substr(i - 5, 5) == "ATTN_";
        if (!attention && !rank) rank = value;
    }
    return out;
}

}  // namespace faultline::service_log
