#include "core/evidence_texts.h"

#include <fmt/format.h>

#include <cmath>

namespace faultline {

namespace {

std::string cut(std::string_view text, std::size_t most) {
    if (text.size() <= most) return std::string(text);
    std::size_t length = most;
    while (length > 0 && (static_cast<unsigned char>(text[length]) & 0xC0u) == 0x80u) --length;  // inside a UTF-8 character
    return std::string(text.substr(0, length)) + "…";
}

std::string three_digits(double value, std::string_view unit) {
    if (value >= 99.95) return fmt::format("{:.0f} {}", value, unit);
    return value >= 9.995 ? fmt::format("{:.1f} {}", value, unit) : fmt::format("{:.2f} {}", value, unit);
}

/// Kernel names are C++ signatures: "void a::b<c>(d)".
std::string_view without_return_type(std::string_view name) {
    constexpr std::string_view kVoid = "void ";
    if (name.substr(0, kVoid.size()) == kVoid) name.remove_prefix(kVoid.size());
    return name;
}

/// A C++ signature has template arguments or ends in parameters; texts of ranges, frames and calls stay as they are.
bool is_signature(std::string_view name) {
    const std::size_t open = name.find('(');
    const bool parameters = open != std::string_view::npos && open > 0 && name[open - 1] != ' ' && name.back() == ')';
    const bool engine_text = name.find("execute_") == 0 || name.find("Iteration(") == 0 || name.find(".py(") != std::string_view::npos;
    return !engine_text && (parameters || (name.find('<') != std::string_view::npos && name.find('>') != std::string_view::npos));
}

}  // namespace

std::string time_words(TimeNs ns) {
    const double value = static_cast<double>(ns);
    const double size = std::abs(value);
    if (size >= 999.5e6) return three_digits(value / 1e9, "s");
    if (size >= 999.5e3) return three_digits(value / 1e6, "ms");
    if (size >= 999.5) return three_digits(value / 1e3, "us");
    return fmt::format("{} ns", ns);
}

std::string times_words(double ratio) {
    return ratio >= 99.95 ? fmt::format("{:.0f} times", ratio)
           : ratio >= 2   ? fmt::format("{:.1f} times", ratio)
                          : fmt::format("{:.2f} times", ratio);
}

std::string percent_words(double share) { return fmt::format("{}%", static_cast<long long>(std::floor(100 * share + 0.5 + 1e-9))); }

std::string count_words(double count) {
    if (count == 1) return "once";
    if (count == 2) return "twice";
    return count == std::floor(count) ? fmt::format("{:.0f} times", count) : fmt::format("{:.1f} times", count);
}

std::string short_name(std::string_view name) {
    constexpr std::string_view kEnableIf = "std::enable_if<", kType = ">::type ";
    if (name.substr(0, kEnableIf.size()) == kEnableIf && name.find(kType) != std::string_view::npos)
        name.remove_prefix(name.find(kType) + kType.size());
    name = without_return_type(name);
    if (!is_signature(name)) return cut(name, 80);
    std::string out;
    int depth = 0;
    for (std::size_t i = 0; i < name.size(); ++i) {
        const char c = name[i];
        constexpr std::string_view kAnonymous = "(anonymous namespace)::";
        if (depth == 0 && name.substr(i, kAnonymous.size()) == kAnonymous) {
            i += kAnonymous.size() - 1;
            continue;
        }
        if (c == '(' && depth == 0) break;
        if (c == '<' || c == '(' || c == '{') ++depth;
        if (depth == 0) out += c;
        if ((c == '>' || c == ')' || c == '}') && depth > 0) --depth;
    }
    return cut(out.empty() ? name : std::string_view(out), 80);
}

std::string variant_name(std::string_view name) {
    name = without_return_type(name);
    const std::size_t parameters = name.rfind(">(");
    if (parameters != std::string_view::npos) name = name.substr(0, parameters + 1);
    return cut(name, 120);
}

std::string on_rank(std::optional<std::int64_t> rank) { return rank ? fmt::format(" on rank {}", *rank) : std::string(); }

std::string first_line(std::string_view text, std::size_t most) {
    std::string line;
    for (const char c : text) {
        if (c == '\n' || c == '\r') break;
        line += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
    }
    return cut(line, most);
}

}  // namespace faultline
