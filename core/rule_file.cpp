#include "core/rule_file.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>

namespace faultline {

namespace {

constexpr std::string_view kBlanks = " \t\r";

std::string_view trimmed(std::string_view s) {
    const auto first = s.find_first_not_of(kBlanks);
    if (first == std::string_view::npos) return {};
    return s.substr(first, s.find_last_not_of(kBlanks) - first + 1);
}

std::string_view without_comment(std::string_view line) {
    for (std::size_t i = 0; i < line.size(); ++i)
        if (line[i] == '#' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '\t')) return line.substr(0, i);
    return line;
}

}  // namespace

std::vector<RuleLine> rule_lines(std::string_view text) {
    std::vector<RuleLine> lines;
    int number = 0;
    while (!text.empty()) {
        const auto end = text.find('\n');
        const std::string_view line = trimmed(without_comment(text.substr(0, end)));
        text = end == std::string_view::npos ? std::string_view{} : text.substr(end + 1);
        ++number;
        if (line.empty()) continue;
        const auto blank = line.find_first_of(kBlanks);
        lines.push_back(
            {number, line.substr(0, blank), blank == std::string_view::npos ? std::string_view{} : trimmed(line.substr(blank))});
    }
    return lines;
}

tl::unexpected<Error> rule_error(std::string_view where, int line, std::string_view complaint) {
    return fail(ErrorCode::unusable_input, fmt::format("{} line {}: {}", where, line, complaint),
                "Correct that line; the head of the rule file that comes with Faultline describes the format");
}

std::optional<KindMask> parse_kinds(std::string_view list, std::string_view& unknown) {
    if (list == "*") return ~KindMask{0};
    KindMask mask = 0;
    while (true) {
        const auto comma = list.find(',');
        const std::string_view word = list.substr(0, comma);
        KindMask bit = 0;
        for (int k = 0; k < kSpanKindCount; ++k)
            if (kind_name(static_cast<SpanKind>(k)) == word) bit = kind_bit(static_cast<SpanKind>(k));
        if (bit == 0) {
            unknown = word;
            return std::nullopt;
        }
        mask |= bit;
        if (comma == std::string_view::npos) return mask;
        list.remove_prefix(comma + 1);
    }
}

std::optional<std::int64_t> rule_integer(std::string_view digits) {
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (digits.empty() || error != std::errc{} || end != digits.data() + digits.size()) return std::nullopt;
    return value;
}

std::optional<std::string> set_rule_group(std::span<const std::string_view> words, std::span<int> groups, int most, const RuleLine& line) {
    const auto field = std::find(words.begin(), words.end(), line.key);
    if (field == words.end()) return fmt::format("unknown key \"{}\"", line.key);
    const auto group = rule_integer(line.value);
    if (!group || *group < 1 || *group > most) return fmt::format("\"{}\" needs the number of a group, not \"{}\"", line.key, line.value);
    groups[static_cast<std::size_t>(field - words.begin())] = static_cast<int>(*group);
    return std::nullopt;
}

std::optional<std::string> check_rule_groups(std::span<const std::string_view> words, std::span<const int> groups, int has, std::string_view rule) {
    for (std::size_t f = 0; f < groups.size(); ++f)
        if (groups[f] > has) return fmt::format("\"{}\" names group {}, but the pattern of rule \"{}\" has {}", words[f], groups[f], rule, has);
    return std::nullopt;
}

}  // namespace faultline
