// Looking for things in the raw bytes of a trace, without following its structure. Internal to the cutter.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace faultline::kineto {

inline constexpr std::size_t kLookAhead = 256;  ///< bytes needed to judge what follows an event

/// The raw text of the string whose opening quote is at `quote`; empty where it does not end before `end`.
[[nodiscard]] std::string_view key_at(const char* quote, const char* end) noexcept;

/// The byte after `"traceEvents": [`, wherever it stands, or null.
[[nodiscard]] const char* find_event_list(const char* from, const char* end) noexcept;

/// Events in bytes that could not be cut: every event has one "ph".
[[nodiscard]] std::uint64_t count_phases(const char* from, const char* end) noexcept;

}  // namespace faultline::kineto
