// What is said about a step, always with evidence that can be clicked (DESIGN §3, CONTRACT.md `diagnose`).
//
// Values. Times are capture times.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/types.h"

namespace faultline {

/// The classes of TELLER §4.2, and normal.
enum class FaultType : std::uint8_t {
    normal = 0,
    memory_resource = 1,
    cuda_kernel = 2,
    runtime_driver = 3,
    communication_network = 4,
    scheduling_software = 5,
};
inline constexpr int kFaultTypeCount = 6;
[[nodiscard]] std::string_view fault_type_name(FaultType type) noexcept;  ///< the word of CONTRACT.md

enum class EvidenceKind : std::uint8_t { span, log, stack, bubble, roofline, difference, counter };
[[nodiscard]] std::string_view evidence_kind_name(EvidenceKind kind) noexcept;

/// One thing that can be seen in the capture.
struct Evidence {
    EvidenceKind kind = EvidenceKind::span;
    std::int64_t id = 0;            ///< span id, log id, bubble id … by kind; the step's id for roofline and difference without a span
    std::optional<TimeNs> start;    ///< where to look
    TimeNs weight_ns = 0;           ///< time that it accounts for; what evidence is ranked by
    std::string sentence;           ///< complete, with numbers
};

struct Suspect {
    SpanId span;
    std::string name;
    std::string layer;  ///< as ChainNode's layer
    std::optional<std::int64_t> rank;
    double score = 0;   ///< 0 to 1
};

struct Diagnosis {
    StepId step{};
    bool abnormal = false;
    bool judged = true;  ///< false where too few steps are like it to say anything: then it is called normal, and nobody knows
    FaultType fault_type = FaultType::normal;
    double confidence = 0;
    struct Alternative {
        FaultType fault_type = FaultType::normal;
        double confidence = 0;
    };
    std::vector<Alternative> alternatives;
    std::vector<Suspect> suspects;
    std::string explanation;
    std::vector<Evidence> evidence;      ///< biggest first
    std::vector<std::string> ruled_out;  ///< sentences
    std::vector<std::string> next;       ///< what to try or measure next
    std::vector<std::string> missing;    ///< what would have made the answer surer
    std::string model;                   ///< what answered: "numbers" where no learned model did
    double localize_ms = 0, slice_ms = 0, encode_ms = 0, infer_ms = 0;
};

}  // namespace faultline
