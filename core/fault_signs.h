// What of a step's extra time belongs to which kind of cause, rank by rank: what the reading rules of faults are applied to (FAULTS §0).
//
// Values in, values out; any thread.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "core/families.h"
#include "core/step_comparison.h"

namespace faultline {

enum class Sign : std::uint8_t {
    communication,    ///< device work of collectives
    kernel_time,      ///< other kernels that take longer, or other kernels
    more_work,        ///< more kernels than the references
    device_copy,      ///< copies and fills on the device
    allocation,       ///< calls that allocate and free memory
    module_load,      ///< calls that load or link device code
    synchronization,  ///< calls that wait for the device, beyond what the device work of the step explains
    launching,        ///< calls that launch, beyond the same
    copy_call,        ///< calls that copy, beyond the same
    other_call,
    host_code,   ///< ranges and operators without the calls in them
    unseen,      ///< inside the step's own range and in nothing else that was recorded
    late_start,  ///< the rank began later after the others than it does in the references
};
inline constexpr std::size_t kSigns = 13;

struct RankSigns {
    std::optional<std::int64_t> rank;
    std::array<TimeNs, kSigns> excess{};                   ///< beyond the references; never negative
    std::array<TimeNs, kSigns> total{};                    ///< in the step
    std::array<TimeNs, kSigns> expected{};                 ///< in the references
    std::array<std::optional<std::size_t>, kSigns> worst;  ///< instance with the greatest excess of the sign
    std::optional<std::size_t> first;                      ///< its first instance in the step
    std::int64_t kernels = 0;
    double expected_kernels = 0;

    [[nodiscard]] TimeNs of(Sign sign) const noexcept { return excess[static_cast<std::size_t>(sign)]; }
    [[nodiscard]] bool communicates() const noexcept;  ///< it has collectives in the step or in the references
};

/// A kernel that runs under another name than in the references, as often.
struct VariantChange {
    std::size_t now = 0, before = 0;  ///< positions in StepComparison::operators
};

struct FaultSigns {
    std::vector<RankSigns> ranks;          ///< by rank
    TimeNs least_ns = 0;                   ///< less time than this is noise in this step
    bool graph_lost = false;               ///< graph launches of the references are missing, and single launches stand in their place
    std::optional<std::size_t> straggler;  ///< position in `ranks`: the others wait for it in collectives
    TimeNs waited_ns = 0;                  ///< how much longer the others were in them than it was
    std::vector<VariantChange> variants;
    std::vector<std::size_t> missing;  ///< positions in operators: device work with fewer instances than in any reference
    std::vector<std::size_t> added;    ///< … and with more

    [[nodiscard]] TimeNs most(Sign sign) const noexcept;         ///< over the ranks
    [[nodiscard]] TimeNs shared_communication() const noexcept;  ///< what all ranks with collectives were longer in them
};

/// What a span of a step counts as; nothing for what only waits for others.
[[nodiscard]] std::optional<Sign> sign_of(SpanKind kind, bool collective, std::string_view family);

[[nodiscard]] FaultSigns fault_signs(const StepComparison& comparison, const FamilyRules& families);

}  // namespace faultline
