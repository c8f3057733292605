// From an importer's spans to a finished source: sort, nest, bind, recognise steps, write (TELLER §3.3, DESIGN §6).
//
// One thread. The builder is used up: its tracks are rearranged and emptied as they are written.
#pragma once

#include <cstdint>

#include "core/capture_writer.h"
#include "core/import_ledger.h"
#include "core/layer_rules.h"
#include "core/progress.h"
#include "core/request_rules.h"
#include "core/result.h"
#include "core/source_builder.h"
#include "core/step_grammar.h"

namespace faultline {

struct BuildRules {
    const StepGrammar& grammar;
    const LayerRules& layers;
    const RequestRules& requests;
};

struct BuildSummary {
    std::uint64_t spans = 0;
    std::uint64_t kernels = 0;
    std::uint64_t api_calls = 0;
    std::uint64_t ranges = 0;
    std::uint64_t ops = 0;
    std::uint64_t bound_kernels = 0;
    std::uint64_t unbound_kernels = 0;
    std::uint64_t steps = 0;
    std::uint64_t logs = 0;
};

[[nodiscard]] Result<BuildSummary> build_source(SourceBuilder& source, CaptureWriter& writer, ImportLedger& ledger, const BuildRules& rules,
                                                const Progress& progress);

}  // namespace faultline
