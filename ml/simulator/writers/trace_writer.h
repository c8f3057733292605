// Writes events as the trace files of a profiler: Kineto JSON (one file a process that launches, FORMATS §2) or Nsight Systems SQLite (one a
// node, FORMATS §1). Streams: what it holds does not grow with the run. Ranges without a name are left out; `suspect` is never looked at.
// The capture's metadata says that it is simulated. Errors come out of finish(): after the first one nothing more is written. One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "ml/simulator/base/event.h"
#include "ml/simulator/base/names.h"
#include "ml/simulator/base/run_options.h"
#include "ml/simulator/base/topology.h"

namespace faultline::simulator {

struct TraceWriterOptions {
    std::string folder;
    TraceFormat format = TraceFormat::kineto;
    bool gzip = true;
    TimeNs start = 0;  ///< true time at which the capture begins; events that start before are left out
};

class TraceWriter : public Sink {
public:
    static Result<std::unique_ptr<TraceWriter>> open(const TraceWriterOptions& writer, const RunOptions& options, const Topology& topology,
                                                     const Names& names);
    /// The file (relative to the folder) that holds the events of a process; empty where it has none.
    [[nodiscard]] virtual std::string file_of(ProcessIndex process) const = 0;
    /// Ends the files; `end` is the true time at which the capture ends. Their names.
    [[nodiscard]] virtual Result<std::vector<std::string>> finish(TimeNs end) = 0;
    [[nodiscard]] virtual std::uint64_t written() const = 0;  ///< event records so far
};

}  // namespace faultline::simulator
