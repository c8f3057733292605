// The whole way from input files to a capture: sniff, read, build, write. What the command and the window both call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/build_source.h"
#include "core/model.h"
#include "core/progress.h"
#include "core/result.h"

namespace faultline {

struct ImportRequest {
    std::vector<std::string> inputs;  ///< files, folders or "-"
    std::string capture;              ///< the file to write
    bool append = false;
    std::optional<std::int64_t> assign_rank;
};

struct ImportedSource {
    std::string path, format;
    std::uint64_t events = 0, bytes = 0;
};

struct ImportSummary {
    std::string capture;
    std::vector<ImportedSource> sources;
    BuildSummary counts;  ///< summed over the sources of this import
    LedgerTotals ledger;
    std::vector<HealthFinding> health;
    double seconds = 0;
};

[[nodiscard]] Result<ImportSummary> import_capture(const ImportRequest& request, const BuildRules& rules, const Progress& progress);

}  // namespace faultline
