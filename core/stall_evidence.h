// A stall is no step: nothing of it is bound to it, so it is read by time (FAULTS §4 D1, §2 B11, §5 E5 and E15).
//
// Values in, values out; any thread with its own reader. Reads the chunks that touch the stall.
#pragma once

#include <span>
#include <vector>

#include "core/capture_reader.h"
#include "core/diagnosis.h"
#include "core/families.h"
#include "core/fault_reading.h"
#include "core/result.h"

namespace faultline {

/// A span that fills most of a stall, or host spans that come again and again in it.
struct StallSpan {
    SpanId span;  ///< the first of them
    SpanKind kind = SpanKind::other;
    NameId name{};
    std::optional<std::int64_t> rank;
    bool collective = false;
    FamilyId family = FamilyId::other;
    TimeNs start = 0;
    TimeNs inside_ns = 0;    ///< time of the stall that they cover
    std::int64_t count = 0;  ///< that start in it
};

struct StallFindings {
    std::vector<StallSpan> device;  ///< device work that covers at least half of the stall, longest first
    std::vector<StallSpan> host;    ///< host spans by name, by time covered, at most four
    std::int64_t kernels = 0;       ///< that start in it
};

[[nodiscard]] Result<StallFindings> find_in_stall(const CaptureReader& capture, NameFamilies& families, const Step& stall);
[[nodiscard]] std::vector<Evidence> stall_evidence(const CaptureReader& capture, const StallFindings& findings, const Step& stall);
[[nodiscard]] FaultReading read_stall(const StallFindings& findings, const FamilyRules& families, std::span<const StepLog> logs);

}  // namespace faultline
