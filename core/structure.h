// Steps that are made of other things than their like: operators, counts, kernel variants, how they were launched; and steps whose text
// says one phase while their kernels are those of the other, or whose new requests carry on a state that they do not have yet (DESIGN §7,
// TELLER §6).
//
// A step is held against the nearest steps of its instance and phase that do the same work (the same graph bucket where it decodes, like
// tokens where it does not; at least three). Names count by what they are called without template arguments and numbers; matrix products as
// one kind, since their tiles and split-k follow the shape. What recurs in a tenth of the steps is a way of the engine, no outlier; where
// most steps differ from each other, only those that differ far more are. Inferred steps are not judged: their borders are not sure (a
// layer can look like a step), nor is one that the end of the trace cuts off. Values in, values out; any thread. Linear in steps and their
// distinct names.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "core/capture_reader.h"
#include "core/model.h"
#include "core/step_parts.h"

namespace faultline {

struct StructureFinding {
    bool structure = false;
    bool contradiction = false;
    std::string structure_sentence, contradiction_sentence;  ///< without a full stop
};

/// The size a decode batch is padded to by the graphs that engines capture: 1, 2, 4, 8, then steps of 8.
[[nodiscard]] std::int64_t graph_bucket(std::int64_t batch) noexcept;

/// By position in `steps`. Steps with `cold` set (first ones) are compared with nothing.
[[nodiscard]] std::vector<StructureFinding> judge_structure(const CaptureReader& capture, std::span<const Step> steps,
                                                            std::span<const StepParts> parts, std::span<const std::uint8_t> cold);

}  // namespace faultline
