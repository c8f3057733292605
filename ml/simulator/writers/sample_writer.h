// Writes stack samples as JSON lines around `py-spy dump --json`: {"t0": ns, "t1": ns, "traces": [{pid, thread_id, os_thread_id, thread_name,
// active, owns_gil, frames: [{name, filename, short_filename, line, module}]}]}, one file a process (FORMATS §6, way (a)). One thread.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "ml/simulator/base/event.h"
#include "ml/simulator/base/topology.h"

namespace faultline::simulator {

class SampleWriter {
public:
    static Result<std::unique_ptr<SampleWriter>> open(const std::string& folder, const Topology& topology);
    virtual ~SampleWriter() = default;
    virtual void sample(const StackSampleEvent& sample) = 0;
    [[nodiscard]] virtual Result<std::vector<std::string>> finish() = 0;
};

}  // namespace faultline::simulator
