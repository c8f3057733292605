// What a terminal would not show: colours, cursor moves and bytes that are no text; and which parts of a line are progress bars.
// Functions of values; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace faultline::service_log {

/// Replaces every byte that is no UTF-8 by U+FFFD and takes NUL bytes out. True where it changed something.
[[nodiscard]] bool repair_utf8(std::string& text);

/// Takes out ANSI sequences, and what is left of them where a tool has already taken the escape byte (" [36m", "^[[0m", "#033[0m").
/// Carriage returns stay.
void remove_ansi(std::string& text);

/// Where a progress bar of tqdm in `text` ends ("… 12%|█▎ | 1/8 [00:00<00:03, 1.91it/s]"), or nothing.
[[nodiscard]] std::optional<std::size_t> progress_end(std::string_view text);

/// What tells one progress bar from another: its text before the percentage, without digits.
[[nodiscard]] std::string progress_label(std::string_view text);

}  // namespace faultline::service_log
