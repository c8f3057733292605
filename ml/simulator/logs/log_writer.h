// Writes log entries as files: one per node for the service (all its processes interleaved, as `docker logs` shows them), the kernel's log apart.
// Layouts: FORMATS §7.1; stamps in the node's clock, UTC, without zone or year where the engine writes none. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "ml/simulator/base/event.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/base/topology.h"

namespace faultline::simulator {

class LogWriter {
public:
    static Result<std::unique_ptr<LogWriter>> open(const std::string& folder, const RunOptions& options, const Topology& topology);
    virtual ~LogWriter() = default;
    virtual void log(const LogEntry& entry) = 0;
    [[nodiscard]] virtual Result<std::vector<std::string>> finish() = 0;  ///< names of the files, relative to the folder
};

}  // namespace faultline::simulator
