// Finding the steps of one source in its sorted, nested and bound tracks (DESIGN §6).
//
// 1. Ranges whose text the grammar knows; where step texts nest, the outermost with counts is the step; two frames of one call are one.
// 2. Where nothing matches: by repetition (Python frames such as `execute_model`, graph launches, sampling kernels), marked inferred.
// A step's interval starts with its first host span and ends with its last bound device span (or with the copy of its tokens to the
// host where that is seen). Sets the `step` column of every span that belongs to a step: host spans inside its host range on the same
// thread and, by launch, the device spans (asynchronous: they may lie outside). One thread; linear in spans after the names are matched.
#pragma once

#include <vector>

#include "core/import_ledger.h"
#include "core/model.h"
#include "core/result.h"
#include "core/source_builder.h"
#include "core/step_grammar.h"

namespace faultline {

struct FoundSteps {
    std::vector<Step> steps;  ///< in capture time, ids given (known steps keep theirs)
    bool inferred = false;
};

/// `known` are the steps already in the capture from other sources: the same step of another rank (engine's number, else order among
/// equal texts) grows instead of being made again. `next_id` is the first free step id. `offset_ns` takes source to capture time.
/// Tracks have ids, are sorted by (start, longer first), have parent, depth, correlation and launch columns.
[[nodiscard]] FoundSteps find_steps(SourceBuilder& source, const StepGrammar& grammar, const std::vector<Step>& known, std::int64_t next_id,
                                    std::int64_t offset_ns, ImportLedger& ledger);

}  // namespace faultline
