// Reading numbers and marks off the front of a text, one after the other. A value; the text must outlive it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace faultline::service_log {

[[nodiscard]] constexpr bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
[[nodiscard]] constexpr bool is_upper(char c) noexcept { return c >= 'A' && c <= 'Z'; }
[[nodiscard]] constexpr bool is_letter(char c) noexcept { return is_upper(c) || (c >= 'a' && c <= 'z'); }
[[nodiscard]] constexpr bool is_blank(char c) noexcept { return c == ' ' || c == '\t'; }

class TextScan {
public:
    explicit constexpr TextScan(std::string_view text, std::size_t at = 0) noexcept : text_(text), at_(at) {}

    [[nodiscard]] constexpr std::size_t at() const noexcept { return at_; }
    constexpr void go(std::size_t at) noexcept { at_ = at; }
    [[nodiscard]] constexpr bool done() const noexcept { return at_ >= text_.size(); }
    [[nodiscard]] constexpr char peek() const noexcept { return at_ < text_.size() ? text_[at_] : '\0'; }
    [[nodiscard]] constexpr std::string_view rest() const noexcept { return text_.substr(at_ < text_.size() ? at_ : text_.size()); }

    constexpr bool eat(char c) noexcept {
        if (done() || text_[at_] != c) return false;
        ++at_;
        return true;
    }
    constexpr bool eat(std::string_view s) noexcept {
        if (!rest().starts_with(s)) return false;
        at_ += s.size();
        return true;
    }
    /// Spaces and tabs; how many there were.
    constexpr std::size_t blanks() noexcept {
        const std::size_t from = at_;
        while (!done() && is_blank(text_[at_])) ++at_;
        return at_ - from;
    }
    /// A run of digits as long as it is, of at least `least` and at most `most` (18 fit).
    constexpr bool number(int least, int most, std::int64_t& value) noexcept {
        std::int64_t sum = 0;
        int digits = 0;
        std::size_t to = at_;
        for (; to < text_.size() && is_digit(text_[to]); ++to) {
            if (++digits > most) return false;
            sum = sum * 10 + (text_[to] - '0');
        }
        if (digits < least) return false;
        at_ = to;
        value = sum;
        return true;
    }
    /// Exactly so many digits, whatever follows.
    constexpr bool digits(int count, std::int64_t& value) noexcept {
        std::int64_t sum = 0;
        if (at_ + static_cast<std::size_t>(count) > text_.size()) return false;
        for (std::size_t i = 0; i < static_cast<std::size_t>(count); ++i) {
            if (!is_digit(text_[at_ + i])) return false;
            sum = sum * 10 + (text_[at_ + i] - '0');
        }
        at_ += static_cast<std::size_t>(count);
        value = sum;
        return true;
    }
    /// Everything up to a character that is none of `ends`.
    constexpr std::string_view until(std::string_view ends) noexcept {
        const std::size_t from = at_;
        while (!done() && ends.find(text_[at_]) == std::string_view::npos) ++at_;
        return text_.substr(from, at_ - from);
    }

private:
    std::string_view text_;
    std::size_t at_;
};

}  // namespace faultline::service_log
