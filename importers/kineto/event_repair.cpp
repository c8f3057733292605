#include "importers/kineto/event_repair.h"

#include <array>
#include <cstdint>

#include "importers/kineto/json_scan.h"

namespace faultline::kineto {

namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";  // U+FFFD

/// Length of the well-formed UTF-8 sequence at `at` (RFC 3629 §4), or 0.
std::size_t utf8_length(std::string_view s, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) -> unsigned { return at + i < s.size() ? static_cast<unsigned char>(s[at + i]) : 0; };
    const auto follows = [&](std::size_t i, unsigned low = 0x80, unsigned high = 0xBF) { return byte(i) >= low && byte(i) <= high; };
    const unsigned first = byte(0);
    if (first < 0x80) return 1;
    if (first >= 0xC2 && first <= 0xDF) return follows(1) ? 2 : 0;
    if (first >= 0xE0 && first <= 0xEF) {
        const bool second = follows(1, first == 0xE0 ? 0xA0 : 0x80, first == 0xED ? 0x9F : 0xBF);
        return second && follows(2) ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const bool second = follows(1, first == 0xF0 ? 0x90 : 0x80, first == 0xF4 ? 0x8F : 0xBF);
        return second && follows(2) && follows(3) ? 4 : 0;
    }
    return 0;
}

constexpr bool is_hex(char c) noexcept { return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'f') || (c >= 'A' && c <= 'F'); }

/// Length of the JSON escape at the backslash `at`, or 0 where there is none.
std::size_t escape_length(std::string_view s, std::size_t at) noexcept {
    if (at + 1 >= s.size()) return 0;
    constexpr std::string_view kSimple = "\"\\/bfnrt";
    if (kSimple.find(s[at + 1]) != std::string_view::npos) return 2;
    if (s[at + 1] != 'u' || at + 6 > s.size()) return 0;
    for (std::size_t i = 2; i < 6; ++i)
        if (!is_hex(s[at + i])) return 0;
    return 6;
}

constexpr bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

class Repairer {
public:
    Repairer(std::string_view text, bool loose_quotes, std::string& out) : text_(text), loose_(loose_quotes), out_(out) {}

    TextRepairs run() {
        while (at_ < text_.size()) in_string_ ? string_byte() : outside_byte();
        return done_;
    }

private:
    void keep(std::size_t n) {
        out_.append(text_.substr(at_, n));
        at_ += n;
    }
    void replace(std::size_t n, std::string_view by, bool& mark) {
        out_.append(by);
        at_ += n;
        mark = true;
    }

    void string_byte() {
        const char c = text_[at_];
        if (c == '"') {
            if (loose_ && !ends_string()) return replace(1, "\\\"", done_.quotes);
            in_string_ = false;
            return keep(1);
        }
        if (c == '\\') {
            const std::size_t n = escape_length(text_, at_);
            return n > 0 ? keep(n) : replace(1, "\\\\", done_.escapes);
        }
        if (static_cast<unsigned char>(c) < 0x20) {
            constexpr std::string_view kHex = "0123456789abcdef";
            const char escape[] = {'\\', 'u', '0', '0', c >= 0x10 ? '1' : '0', kHex[static_cast<std::size_t>(c & 0xF)]};
            return replace(1, {escape, sizeof escape}, done_.controls);
        }
        const std::size_t n = utf8_length(text_, at_);
        return n > 0 ? keep(n) : replace(1, kReplacement, done_.encoding);
    }

    void outside_byte() {
        const char c = text_[at_];
        if (c == '"') in_string_ = true;
        if (static_cast<unsigned char>(c) < 0x20 && !is_json_space(c)) return replace(1, " ", done_.controls);
        if (is_letter(c) || ((c == '-' || c == '+') && at_ + 1 < text_.size() && is_letter(text_[at_ + 1]))) return word();
        keep(1);
    }

    /// A bare word: nan and inf are quoted, anything else stays.
    void word() {
        std::size_t n = 1;
        while (at_ + n < text_.size() && is_letter(text_[at_ + n])) ++n;
        std::string lower(text_.substr(at_, n));
        for (char& c : lower) c = static_cast<char>(c | 0x20);
        const std::string_view bare = is_letter(text_[at_]) ? std::string_view(lower) : std::string_view(lower).substr(1);
        if (bare != "nan" && bare != "inf" && bare != "infinity") return keep(n);
        out_.push_back('"');
        keep(n);
        out_.push_back('"');
        done_.numbers = true;
    }

    [[nodiscard]] bool ends_string() const noexcept {
        const char* const end = text_.data() + text_.size();
        const char* const p = skip_json_space(text_.data() + at_ + 1, end);
        return p == end || *p == ',' || *p == ':' || *p == '}' || *p == ']';
    }

    std::string_view text_;
    bool loose_;
    std::string& out_;
    TextRepairs done_;
    std::size_t at_ = 0;
    bool in_string_ = false;
};

}  // namespace

TextRepairs repair_event(std::string_view text, bool loose_quotes, std::string& out) { return Repairer(text, loose_quotes, out).run(); }

}  // namespace faultline::kineto
