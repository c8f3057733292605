#include "core/request_parameters.h"

#include <algorithm>
#include <array>
#include <set>

namespace faultline {

namespace {

constexpr std::array<std::string_view, 2> kOpenings = {"SamplingParams(", "sampling_params={"};
constexpr std::array<std::string_view, 6> kSaysNothing = {"seed", "stop", "stop_token_ids", "custom_params", "extra_args", "output_kind"};

std::string_view trimmed(std::string_view text, std::string_view of) {
    const std::size_t first = text.find_first_not_of(of);
    if (first == std::string_view::npos) return {};
    return text.substr(first, text.find_last_not_of(of) - first + 1);
}

/// "name=value" or "'name': value".
void add(std::string_view item, std::map<std::string, std::string>& out) {
    const std::size_t split = item.find_first_of("=:");
    if (split == std::string_view::npos) return;
    const std::string_view name = trimmed(item.substr(0, split), " '\"\n"), value = trimmed(item.substr(split + 1), " \n");
    if (!name.empty() && !value.empty()) out.emplace(name, value);
}

}  // namespace

std::map<std::string, std::string> request_parameters(std::string_view text) {
    std::map<std::string, std::string> out;
    // The prompt stands before the parameters and may hold their words: the last opening counts.
    std::size_t at = std::string_view::npos;
    for (const std::string_view opening : kOpenings)
        if (const std::size_t found = text.rfind(opening); found != std::string_view::npos) {
            const std::size_t begin = found + opening.size();
            at = at == std::string_view::npos ? begin : std::max(at, begin);
        }
    if (at == std::string_view::npos) return out;
    std::size_t begin = at;
    int depth = 0;
    char quote = 0;
    for (; at < text.size(); ++at) {
        const char c = text[at];
        if (quote != 0) {
            if (c == '\\')
                ++at;
            else if (c == quote)
                quote = 0;
            continue;
        }
        if (c == '\'' || c == '"') quote = c;
        if (c == '(' || c == '[' || c == '{') ++depth;
        const bool closes = c == ')' || c == ']' || c == '}';
        if (depth == 0 && (c == ',' || closes)) {
            add(text.substr(begin, at - begin), out);
            begin = at + 1;
        }
        if (closes && --depth < 0) return out;
    }
    return out;  // the log cut the line off: the last item may be half of one
}

std::vector<OddParameter> odd_parameters(const std::vector<std::map<std::string, std::string>>& parameters) {
    std::set<std::string> names;
    std::size_t known = 0;
    for (const auto& p : parameters) {
        known += p.empty() ? 0 : 1;
        for (const auto& [name, value] : p) names.insert(name);
    }
    std::vector<OddParameter> out;
    if (known < 3) return out;
    for (const std::string& name : names) {
        if (std::find(kSaysNothing.begin(), kSaysNothing.end(), name) != kSaysNothing.end()) continue;
        std::map<std::string, std::vector<std::size_t>> by_value;
        for (std::size_t i = 0; i < parameters.size(); ++i)
            if (const auto found = parameters[i].find(name); found != parameters[i].end()) by_value[found->second].push_back(i);
        if (by_value.size() != 2) continue;
        auto odd = by_value.begin(), usual = std::next(odd);
        if (odd->second.size() > usual->second.size()) std::swap(odd, usual);
        if (odd->second.size() != 1 || usual->second.size() != known - 1) continue;
        out.push_back({odd->second.front(), name, odd->first, usual->first});
    }
    return out;
}

}  // namespace faultline
