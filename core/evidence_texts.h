// How times, counts and names are written in sentences of evidence. Values in, values out; C locale.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "core/types.h"

namespace faultline {

/// "25.0 ms", "217 us", "3.00 s", "40 ns".
[[nodiscard]] std::string time_words(TimeNs ns);
/// "14.4 times" for 14.4; "1.05 times" below two.
[[nodiscard]] std::string times_words(double ratio);
/// "77%" for 0.765: halves go up, as everywhere in the program.
[[nodiscard]] std::string percent_words(double share);
/// "once", "twice", "3 times".
[[nodiscard]] std::string count_words(double count);
/// A name for a sentence: of a kernel without return type, template arguments and parameters; at most 80 bytes, cut between characters.
[[nodiscard]] std::string short_name(std::string_view name);
/// Where two names of one function differ: the name with the template arguments, at most 120 bytes.
[[nodiscard]] std::string variant_name(std::string_view name);
/// " on rank 3", or nothing where there is no rank.
[[nodiscard]] std::string on_rank(std::optional<std::int64_t> rank);
/// The first line of a text, without control characters, at most `most` bytes, cut between characters.
[[nodiscard]] std::string first_line(std::string_view text, std::size_t most = 160);

}  // namespace faultline
