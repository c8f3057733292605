// Whether the beginning of a text is a service log. Function of values; any thread.
#pragma once

#include <string_view>

namespace faultline::service_log {

/// 60 to 90 where enough lines have a header that only logs have, else 0. Never for JSON documents, tables, collapsed stacks, or stacks
/// alone.
[[nodiscard]] int sniff_log(std::string_view head);

}  // namespace faultline::service_log
