// Finding the end of a JSON value in bytes that may be damaged, 64 bytes at a time (bit masks as in Langdale & Lemire, "Parsing
// Gigabytes of JSON per Second", VLDB Journal 28, 2019, §3.1). Nothing is validated: strings, escapes and braces are followed.
#pragma once

#include <cstdint>

namespace faultline::kineto {

/// Where a scan stands; a fresh one stands before the first byte of a value. May be kept while more bytes are fetched.
struct ScanState {
    std::uint64_t in_string = 0;  ///< all bits set inside a string
    std::uint64_t escaped = 0;    ///< 1 where the next byte is escaped
    std::int64_t depth = 0;       ///< open braces (and brackets, for scan_value)
    bool flagged = false;         ///< a control byte inside a string, or one that is no white space outside
};

/// Scans an object that begins at the first byte; only braces count, so that a stray bracket cannot swallow the next event.
/// Returns the byte after its closing brace, or null where `end` comes first (the state then holds for `end`).
[[nodiscard]] const char* scan_object(ScanState& state, const char* from, const char* end) noexcept;

/// Scans an object or array of any content; braces and brackets count alike.
[[nodiscard]] const char* scan_value(ScanState& state, const char* from, const char* end) noexcept;

/// The byte after the closing quote of the string that begins at `from` (its opening quote), or null.
[[nodiscard]] const char* scan_string(const char* from, const char* end) noexcept;

[[nodiscard]] constexpr bool is_json_space(char c) noexcept { return c == ' ' || c == '\n' || c == '\t' || c == '\r'; }

[[nodiscard]] constexpr const char* skip_json_space(const char* from, const char* end) noexcept {
    while (from != end && is_json_space(*from)) ++from;
    return from;
}

}  // namespace faultline::kineto
