// The whole way from input files to a capture: sniff, read, build, write. What the command and the window both call.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/build_source.h"
#include "core/model.h"
#include "core/progress.h"
#include "core/analyse_capture.h"
#include "core/result.h"

namespace faultline {

struct ImportRequest {
    std::vector<std::string> inputs;  ///< files, folders or "-"
    std::vector<std::string> logs;    ///< files that are service logs, whatever they look like (--log)
    std::string capture;              ///< the file to write
    bool append = false;
    std::optional<std::int64_t> assign_rank;
    std::int64_t clock_offset_ns = 0;  ///< added to all times of these inputs; of logs alone where traces and logs come together
    std::string time_zone;             ///< of stamps without one: "+08:00", "UTC" or a name of the tz database; empty: found out
};

struct ImportedSource {
    std::string path, format;
    std::uint64_t events = 0, bytes = 0;
};

struct ImportSummary {
    std::string capture;
    std::vector<ImportedSource> sources;
    BuildSummary counts;  ///< summed over the sources of this import; steps: of the capture as a whole
    LedgerTotals ledger;
    std::uint64_t requests = 0;  ///< in the capture as a whole
    std::vector<HealthFinding> health;
    double seconds = 0;
};

[[nodiscard]] Result<ImportSummary> import_capture(const ImportRequest& request, const BuildRules& rules, const Progress& progress);

}  // namespace faultline
