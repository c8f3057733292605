// Whether the beginning of a text is a service log. Function of values; any thread.
#pragma once

#include <string_view>

namespace faultline::service_log {

/// Whether the first 4 KiB hold zero bytes inside of lines. At the beginning of a line they are a hole that a writer left (line_reader.h).
[[nodiscard]] bool is_binary(std::string_view text) noexcept;

/// 60 to 90 where enough lines have a header that only logs have, else 0. Never for JSON documents, tables, collapsed stacks, or stacks
/// alone.
[[nodiscard]] int sniff_log(std::string_view head);

}  // namespace faultline::service_log
