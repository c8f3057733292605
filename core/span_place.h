// How a ledger names a span: the beginning of its name, cut between characters, and its start.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>

#include "core/types.h"

namespace faultline {

/// "cudaLaunchKernel at 4711 ns"; at most 80 bytes of the name. `start` is in the source's own clock.
[[nodiscard]] inline std::string span_place(std::string_view name, TimeNs start) {
    std::size_t length = name.size();
    constexpr std::size_t kMost = 80;
    if (length > kMost) {
        length = kMost;
        while (length > 0 && (static_cast<unsigned char>(name[length]) & 0xC0u) == 0x80u) --length;  // inside a UTF-8 character
    }
    return fmt::format("{} at {} ns", name.substr(0, length), start);
}

}  // namespace faultline
