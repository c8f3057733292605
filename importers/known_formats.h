// Formats that are recognised but not read: one sentence each that says what the input is and what to do with it.
#pragma once

#include <optional>
#include <string_view>

#include "core/result.h"

namespace faultline {

/// The sentence for an input that is certainly something else, or nothing.
[[nodiscard]] std::optional<Error> other_format(std::string_view head, std::string_view name, std::string_view path);

/// The sentence for an input that no importer knows.
[[nodiscard]] Error unknown_format(std::string_view head, std::string_view path);

}  // namespace faultline
