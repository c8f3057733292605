// Words in names, frames and log messages that point to a fault type whatever the times say (FAULTS §1–§5).
//
// Values in, values out; any thread.
#pragma once

#include <optional>
#include <string_view>

#include "core/diagnosis.h"

namespace faultline {

/// The type that a text points to; nothing where it points to none.
[[nodiscard]] std::optional<FaultType> fault_cue(std::string_view text);

}  // namespace faultline
