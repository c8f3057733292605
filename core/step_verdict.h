// What the numbers say about a step: how long it should have lasted, whether it is out of line and why, and what bounds it
// (StriaTrace §5.3–5.4, DESIGN §7).
//
// Values; stored with the capture (`step_verdict`, `bubble`, `roofline`) and derived again whenever a source is added.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/model.h"
#include "core/types.h"

namespace faultline {

/// Why a step is an outlier; bits of StepVerdict::reasons and of `step_verdict.reasons`.
enum StepReason : std::uint32_t {
    reason_slow = 1u << 0,           ///< beyond the roofline of its instance and phase
    reason_structure = 1u << 1,      ///< other operators, counts, order or kernel variants than its reference steps
    reason_contradiction = 1u << 2,  ///< its text, calls and kernels say different things (TELLER §6)
    reason_stall = 1u << 3,          ///< live requests and no progress
    reason_slo = 1u << 4,            ///< a request or token over the limit
};
/// The words of CONTRACT.md for the set bits, in the order of the bits.
[[nodiscard]] std::vector<std::string_view> reason_names(std::uint32_t reasons);

/// What a step waited for most of its time.
enum class StepBound : std::uint8_t { unknown = 0, cpu = 1, gpu = 2, communication = 3, balanced = 4 };
[[nodiscard]] std::string_view bound_name(StepBound bound) noexcept;

struct StepVerdict {
    StepId step{};
    std::optional<TimeNs> expected_ns;  ///< what its roofline says for its tokens; null where there is nothing to compare with
    std::optional<double> ratio;        ///< own time / expected
    bool outlier = false;
    std::uint32_t reasons = 0;  ///< StepReason bits
    StepBound bound = StepBound::unknown;
    std::string rule;      ///< how expected_ns came about: "p99-ransac", "median of 7 steps", "idle against 54 steps", "too few steps"
    std::string sentence;  ///< the strongest reason for a person, without a full stop; empty for a normal step
    std::optional<TimeNs> own_ns;  ///< its time without the wait behind earlier steps (own_time.h); null in captures of older programs
};

/// A fitted line of one instance and phase: expected = intercept + slope · tokens.
struct RooflineLine {
    std::string instance;
    StepPhase phase = StepPhase::other;
    std::string rule;  ///< "p99-ransac" or "median"
    double intercept_ns = 0, slope_ns = 0;
    std::int64_t steps = 0;    ///< steps it was fitted on
    std::int64_t buckets = 0;  ///< distinct token counts among them
    double r2 = 0;             ///< of the fitted points; 0 for a median
};

enum class BubbleCause : std::uint8_t { unknown = 0, cpu = 1, sync = 2, communication = 3 };
[[nodiscard]] std::string_view bubble_cause_name(BubbleCause cause) noexcept;

/// A stretch in which a device lay idle inside or between steps, and what the host did under it.
struct Bubble {
    std::int64_t id = 0;
    DeviceId device{};
    TimeNs start = 0, duration = 0;
    std::optional<StepId> step;
    SpanId host_span;               ///< what explains it: the call, sync or range under it; invalid where nothing was seen
    std::optional<std::int64_t> stack;  ///< stack sample under it
    BubbleCause cause = BubbleCause::unknown;
};

/// Everything that is derived from all sources of a capture together by analysis.
struct CaptureAnalysis {
    std::vector<RooflineLine> rooflines;
    std::vector<StepVerdict> verdicts;  ///< one for each step, in the order of CaptureReader::steps(), then one for each stall
    std::vector<Step> stalls;           ///< Step::kind is stall; ids follow those of the steps
    std::vector<Bubble> bubbles;        ///< by device and start
    std::string parameters;             ///< JSON of the options used, stored with the result
};

}  // namespace faultline
