// The sentences of an answer by numbers: what it explains, what it rules out, what to try next, what was missing.
//
// Values in, values out; any thread.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/diagnosis.h"
#include "core/fault_reading.h"

namespace faultline {

/// "memory or other resources" for a person.
[[nodiscard]] std::string_view fault_words(FaultType type);
/// "memory or other resources (memory_resource)": how command and window write a class.
[[nodiscard]] std::string fault_class_text(FaultType type);
/// The first line of an answer: "not judged: too few steps like it", "normal, confidence 90%", or the class with its confidence.
[[nodiscard]] std::string headline_of(const Diagnosis& diagnosis);

/// What the capture could have held beside what it holds.
struct CaptureLacks {
    bool logs = false, stacks = false, host_calls = false;
    std::optional<std::int64_t> ranks_of_group;  ///< where it holds fewer ranks than took part
    std::size_t ranks = 0;                       ///< those it holds
};

/// A few sentences made of evidence alone; `evidence` is biggest first.
[[nodiscard]] std::string explanation_of(const FaultReading& reading, const ReadingInput& input, const std::vector<Evidence>& evidence);
/// One clause that says why the signs of the step belong to the class of the answer: "the host allocates and fills …".
[[nodiscard]] std::string class_reason(const FaultReading& reading, const ReadingInput& input);
[[nodiscard]] std::vector<std::string> ruled_out_by(const FaultReading& reading, const ReadingInput& input);
[[nodiscard]] std::vector<std::string> next_steps(const FaultReading& reading, const ReadingInput& input);
[[nodiscard]] std::vector<std::string> missing_words(const StepComparison& comparison, const CaptureLacks& lacks);

}  // namespace faultline
