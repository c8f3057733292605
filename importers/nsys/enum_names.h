// The words behind the numbers of an export, as other profilers write them, so that rules and searches need one form (FORMATS §1.4).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace faultline::nsys {

/// "Memcpy HtoD (Pinned -> Device)". Kinds of memory are kNull where the schema does not have them.
[[nodiscard]] std::string copy_name(std::int64_t copy_kind, std::int64_t source_kind, std::int64_t destination_kind);
/// "Memset (Device)".
[[nodiscard]] std::string set_name(std::int64_t memory_kind);
/// "Stream Sync", "Event Sync"…
[[nodiscard]] std::string_view sync_name(std::int64_t sync_type) noexcept;
[[nodiscard]] std::string_view memory_kind_name(std::int64_t memory_kind) noexcept;  ///< in the numbering of the export, not of CUPTI
[[nodiscard]] std::string_view thread_state_name(std::int64_t state) noexcept;

}  // namespace faultline::nsys
