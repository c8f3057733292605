// From lines to messages: takes off wrappers and headers, joins continuation lines, folds progress bars (FORMATS §7.1).
//
// Which lines belong together: a line that repeats the header of the one before it from the same writer and goes on where that one ended
// with a carriage return (vLLM) or looks like its continuation; an indented line; a traceback and the exception that ends it, with or
// without header; the stacks of a py-spy or faulthandler dump. Lines of several writers may lie between. Everything else begins a message.
// Feed lines in order, then finish(). One thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "importers/service_log/line_wrapper.h"
#include "importers/service_log/log_message.h"

namespace faultline::service_log {

class LogParser {
public:
    /// One physical line without its line feed. `cut` where it was longer than its reader allows.
    void line(std::string_view raw, std::uint64_t offset, bool cut = false);
    /// What is left of lines that a runtime had cut.
    void finish();

    [[nodiscard]] std::vector<LogMessage>& messages() noexcept { return messages_; }
    [[nodiscard]] const std::vector<LogMessage>& messages() const noexcept { return messages_; }
    [[nodiscard]] std::uint64_t lines() const noexcept { return lines_; }
    [[nodiscard]] std::uint64_t blank_lines() const noexcept { return blank_lines_; }
    /// States of progress bars that a later state replaced, and where the first of those later ones are.
    [[nodiscard]] std::uint64_t folded_states() const noexcept { return folded_states_; }
    [[nodiscard]] const std::vector<std::uint64_t>& folded_at() const noexcept { return folded_at_; }

    static constexpr std::size_t kMaxMessage = 1024 * 1024;  ///< a longer one goes on as a further message
    static constexpr std::size_t kMaxFoldedAt = 20;

private:
    /// One line that has no carriage return in it.
    struct Piece {
        std::string_view text;
        const Unwrapped* from = nullptr;
        std::uint64_t offset = 0;
        bool ended_by_return = false;
        bool repaired = false, cut = false;
        bool same_record = false;  ///< a line feed inside one record (JSON) stands before it
    };
    enum class Inside : std::uint8_t { nothing, traceback, behind_exception, chained, dump };
    /// The last message of one writer.
    struct Open {
        std::size_t message = 0;
        std::uint64_t last_line = 0;
        Inside inside = Inside::nothing;
        bool ended_by_return = false;
        bool blank_before = false;
        int rules_left = 0;             ///< double rules of the block that torchrun closes its traceback with
        std::uint64_t block_until = 0;  ///< line by which that block has ended in any case
        std::string progress;           ///< label of the progress bar that the message is, else empty
        std::size_t last_state = 0;
    };
    /// A line that a container runtime cut.
    struct Partial {
        std::string text;
        Unwrapped from;
        std::string process, host;
        std::uint64_t offset = 0;
        bool repaired = false, cut = false;
    };

    void take_line(const Unwrapped& from, std::uint64_t offset, bool repaired, bool cut);
    void take_piece(const Piece& piece);
    void take_progress(const Piece& piece);
    void take_text(const Piece& piece);
    void begin(const Piece& piece, const Header& header);
    void append(Open& open, const Piece& piece, std::string_view text);
    [[nodiscard]] bool repeats(const Open& open, const Header& header, const Piece& piece) const;
    [[nodiscard]] bool goes_on(const Open& open, std::string_view text) const;
    [[nodiscard]] bool takes_traceback(const Open& open) const;
    void follow(Open& open, std::string_view text) const;
    [[nodiscard]] Open* open_of(const std::string& key);

    LineUnwrapper unwrapper_;
    std::vector<LogMessage> messages_;
    std::unordered_map<std::string, Open> open_;
    std::unordered_map<std::string, Partial> partial_;
    std::string clean_;
    std::uint64_t lines_ = 0, blank_lines_ = 0, folded_states_ = 0;
    std::vector<std::uint64_t> folded_at_;
};

}  // namespace faultline::service_log
