#include "importers/service_log/clean_text.h"

#include <re2/re2.h>

#include <algorithm>
#include <cstdint>

#include "importers/service_log/text_scan.h"

namespace faultline::service_log {

namespace {

constexpr char kEscape = '\x1b';

unsigned byte_at(std::string_view text, std::size_t at) noexcept { return static_cast<unsigned char>(text[at]); }

/// Length of the UTF-8 character at `at` (Unicode table 3-7), 0 where there is none.
std::size_t character_size(std::string_view text, std::size_t at) noexcept {
    const unsigned first = byte_at(text, at);
    if (first < 0x80) return 1;
    std::size_t size = 0;
    if (first >= 0xC2 && first <= 0xDF) size = 2;
    if (first >= 0xE0 && first <= 0xEF) size = 3;
    if (first >= 0xF0 && first <= 0xF4) size = 4;
    if (size == 0 || at + size > text.size()) return 0;
    for (std::size_t i = 1; i < size; ++i)
        if ((byte_at(text, at + i) & 0xC0u) != 0x80u) return 0;
    const unsigned second = byte_at(text, at + 1);
    if ((first == 0xE0 && second < 0xA0) || (first == 0xED && second > 0x9F)) return 0;
    if ((first == 0xF0 && second < 0x90) || (first == 0xF4 && second > 0x8F)) return 0;
    return size;
}

/// Length of "[36m", "[0;0m", "[1;36m" at `at`, else 0. "[m" alone is too short to be sure of.
std::size_t colour_size(std::string_view text, std::size_t at) noexcept {
    if (at >= text.size() || text[at] != '[') return 0;
    std::size_t to = at + 1;
    while (to < text.size() && to - at < 16 && (is_digit(text[to]) || text[to] == ';')) ++to;
    return to > at + 1 && to < text.size() && text[to] == 'm' ? to + 1 - at : 0;
}

/// Length of the escape sequence at `at` (ECMA-48 §5.4; OSC ends with BEL or ESC \).
std::size_t sequence_size(std::string_view text, std::size_t at) noexcept {
    if (at + 1 >= text.size()) return 1;
    std::size_t to = at + 2;
    if (text[at + 1] == '[') {
        while (to < text.size() && byte_at(text, to) >= 0x20 && byte_at(text, to) <= 0x3F) ++to;
        return to < text.size() && byte_at(text, to) >= 0x40 && byte_at(text, to) <= 0x7E ? to + 1 - at : to - at;
    }
    if (text[at + 1] == ']') {
        const std::size_t end = std::min(text.find_first_of("\x07\x1b\r\n", to), text.size());
        if (end < text.size() && text[end] == '\x07') return end + 1 - at;
        if (text.substr(end).starts_with("\x1b\\")) return end + 2 - at;
        // It never ends: what follows its number is text.
        while (to < text.size() && (is_digit(text[to]) || text[to] == ';')) ++to;
        return to - at;
    }
    while (to < text.size() && byte_at(text, to - 1) >= 0x20 && byte_at(text, to - 1) <= 0x2F) ++to;
    return to - at;
}

/// Whether a reset stands there without its escape byte.
bool has_bare_reset(std::string_view text, std::string_view reset) noexcept {
    for (std::size_t at = text.find(reset); at != std::string_view::npos; at = text.find(reset, at + 1))
        if (at == 0 || text[at - 1] != kEscape) return true;
    return false;
}

/// Length of what a tool left of a colour at `at`: a blank in place of the escape byte, "^[" or "#033" in front.
std::size_t residue_size(std::string_view text, std::size_t at) noexcept {
    for (const std::string_view mark :
         {std::string_view(" "), std::string_view("^["), std::string_view("#033"), std::string_view("\xEF\xBF\xBD")})
        if (text.substr(at).starts_with(mark)) {
            const std::size_t size = colour_size(text, at + mark.size());
            if (size > 0) return mark.size() + size;
        }
    return at == 0 ? colour_size(text, 0) : 0;
}

}  // namespace

bool repair_utf8(std::string& text) {
    if (std::all_of(text.begin(), text.end(), [](char c) { return static_cast<signed char>(c) > 0; })) return false;
    std::string out;
    bool changed = false;
    for (std::size_t at = 0; at < text.size();) {
        const std::size_t size = character_size(text, at);
        if (size == 0)
            out += "\xEF\xBF\xBD";
        else if (text[at] != '\0')
            out.append(text, at, size);
        changed |= size == 0 || text[at] == '\0';
        at += std::max<std::size_t>(size, 1);
    }
    if (changed) text = std::move(out);
    return changed;
}

void remove_ansi(std::string& text) {
    const bool escapes = text.find(kEscape) != std::string::npos;
    // A residue is taken out only where a reset shows that the line was coloured: "a [2m]" in a message stays.
    const bool residues = has_bare_reset(text, "[0m") || has_bare_reset(text, "[0;0m");
    if (!escapes && !residues) return;
    std::string out;
    out.reserve(text.size());
    for (std::size_t at = 0; at < text.size();) {
        std::size_t skip = 0;
        if (text[at] == kEscape)
            skip = sequence_size(text, at);
        else if (residues)
            skip = residue_size(text, at);
        if (skip == 0) out += text[at];
        at += std::max<std::size_t>(skip, 1);
    }
    text = std::move(out);
}

std::optional<std::size_t> progress_end(std::string_view text) {
    const std::size_t bracket = text.find(" [");
    if (bracket == std::string_view::npos) return std::nullopt;
    static const RE2 bar(R"((?:\d+/\d+|\d+(?:it|B|s)?) \[(?:\d+:)?\d+:\d+(?:<[\d:?]+)?, [^\]]{1,40}\])");
    const re2::StringPiece input(text.data(), text.size());
    re2::StringPiece found;
    if (!bar.Match(input, 0, input.size(), RE2::UNANCHORED, &found, 1)) return std::nullopt;
    return static_cast<std::size_t>(found.data() - text.data()) + found.size();
}

std::string progress_label(std::string_view text) {
    std::string label;
    const std::size_t percent = text.find('%');
    for (const char c : text.substr(0, percent == std::string_view::npos ? text.find(" [") : percent))
        if (!is_digit(c) && !is_blank(c) && c != '.') label += c;
    return label;
}

}  // namespace faultline::service_log
