#include "importers/nsys/enum_names.h"

#include <fmt/format.h>

#include <iterator>

#include "core/types.h"

namespace faultline::nsys {

namespace {

constexpr std::string_view kCopyKinds[] = {"Unknown", "HtoD", "DtoH", "HtoA", "AtoH", "AtoA", "AtoD",
                                           "DtoA",    "DtoD", "HtoH", "PtoP", "HtoD", "DtoH", "DtoD"};
constexpr std::int64_t kFirstManagedCopy = 11;  // 11 to 13 are copies of managed memory
constexpr std::string_view kMemoryKinds[] = {"Pageable", "Pinned",        "Device",         "Array",
                                             "Managed",  "Device Static", "Managed Static", "Unknown"};
constexpr std::string_view kSyncTypes[] = {"Sync", "Event Sync", "Stream Wait Event", "Stream Sync", "Context Sync"};
constexpr std::string_view kThreadStates[] = {"unknown",     "running", "interruptible", "uninterruptible", "stopped",   "terminated",
                                              "unscheduled", "waiting", "OS runtime",    "initialized",     "transition"};

template <std::size_t N>
std::string_view of(const std::string_view (&names)[N], std::int64_t value, std::string_view otherwise) noexcept {
    return value >= 0 && value < static_cast<std::int64_t>(N) ? names[value] : otherwise;
}

/// What a kind of copy says about its ends where the schema has no columns for them.
std::string_view end_of_copy(std::string_view copy, bool source) noexcept {
    const char side = copy.size() == 4 ? copy[source ? 0 : 3] : '?';
    switch (side) {
        case 'H': return "Host";
        case 'D':
        case 'P': return "Device";
        case 'A': return "Array";
        default: return "Unknown";
    }
}

}  // namespace

std::string copy_name(std::int64_t copy_kind, std::int64_t source_kind, std::int64_t destination_kind) {
    const std::string_view copy = of(kCopyKinds, copy_kind, "Unknown");
    const bool managed = copy_kind >= kFirstManagedCopy;
    const auto end = [&](std::int64_t kind, bool source) {
        return kind == kNull ? (managed ? std::string_view("Managed") : end_of_copy(copy, source)) : memory_kind_name(kind);
    };
    return fmt::format("Memcpy {} ({} -> {})", copy, end(source_kind, true), end(destination_kind, false));
}

std::string set_name(std::int64_t memory_kind) {
    return memory_kind == kNull ? std::string("Memset (Device)") : fmt::format("Memset ({})", memory_kind_name(memory_kind));
}

std::string_view sync_name(std::int64_t sync_type) noexcept { return of(kSyncTypes, sync_type, "Sync"); }
std::string_view memory_kind_name(std::int64_t memory_kind) noexcept { return of(kMemoryKinds, memory_kind, "Unknown"); }
std::string_view thread_state_name(std::int64_t state) noexcept { return of(kThreadStates, state, "unknown"); }

}  // namespace faultline::nsys
