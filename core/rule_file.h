// Lines of a rule file (step grammar, layer rules): blank lines and comments taken off, a place for every complaint.
//
// A comment starts with `#` at the start of a line or after a blank; in a pattern write \x23 where a `#` follows a blank.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/model.h"
#include "core/result.h"

namespace faultline {

struct RuleLine {
    int number = 0;          ///< from 1
    std::string_view key;    ///< first word
    std::string_view value;  ///< the rest without blanks around it; may be empty
};

/// The lines that say something; views into `text`.
[[nodiscard]] std::vector<RuleLine> rule_lines(std::string_view text);

/// `where` line N: `complaint`, with what to do next.
[[nodiscard]] tl::unexpected<Error> rule_error(std::string_view where, int line, std::string_view complaint);

/// A set of span kinds as bits (1 << SpanKind).
using KindMask = std::uint32_t;
[[nodiscard]] constexpr KindMask kind_bit(SpanKind kind) noexcept { return KindMask{1} << static_cast<unsigned>(kind); }

/// `range,op` or `*`; nothing and the unknown word in `unknown` otherwise.
[[nodiscard]] std::optional<KindMask> parse_kinds(std::string_view list, std::string_view& unknown);

/// Where a word stands in a list of words.
template <std::size_t N>
[[nodiscard]] std::optional<std::size_t> rule_word(const std::array<std::string_view, N>& words, std::string_view word) {
    for (std::size_t i = 0; i < N; ++i)
        if (words[i] == word) return i;
    return std::nullopt;
}

/// Fields of a rule are numbers of groups of its pattern; 0: the pattern has none. `words` are the keys of the fields; sets the one that the line
/// names, or says what is wrong with the line.
[[nodiscard]] std::optional<std::string> set_rule_group(std::span<const std::string_view> words, std::span<int> groups, int most, const RuleLine& line);
/// Whether the pattern has these groups; else the sentence that says which it lacks.
[[nodiscard]] std::optional<std::string> check_rule_groups(std::span<const std::string_view> words, std::span<const int> groups, int has, std::string_view rule);

/// A whole number that fills the text.
[[nodiscard]] std::optional<std::int64_t> rule_integer(std::string_view digits);

}  // namespace faultline
