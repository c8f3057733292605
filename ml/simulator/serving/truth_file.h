// truth.json of a run (CONTRACT.md): steps, requests and bubbles with what was injected. Streams: steps go to the file, requests and bubbles to
// temporary files that are appended when it ends. One thread.
#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include "core/result.h"
#include "ml/simulator/base/topology.h"
#include "ml/simulator/faults/fault.h"
#include "ml/simulator/serving/step_record.h"

namespace faultline::simulator {

class TruthFile {
public:
    /// `fault` may be null; what it says of itself is written with `injected`.
    [[nodiscard]] static Result<TruthFile> open(const std::string& path, const RunOptions& options, const Topology& topology, const Fault* fault, bool injected);

    void step(const StepRecord& record, FaultClass label, const Fault* fault);
    void request(const Request& request, FaultClass label, const RequestRecord& record, const Fault* fault);
    void bubble(const IdleGap& gap);
    /// Times of the capture itself, what else is known at the end; then closes.
    [[nodiscard]] Result<void> finish(TimeNs start, TimeNs end, bool stuck, const std::vector<std::string>& files);

private:
    struct Close {
        void operator()(std::FILE* file) const { std::fclose(file); }
    };
    using File = std::unique_ptr<std::FILE, Close>;

    TruthFile() = default;
    void put(File& file, bool& first, const std::string& text);

    std::string path_;
    const Topology* topology_ = nullptr;
    File steps_, requests_, bubbles_;
    bool first_step_ = true, first_request_ = true, first_bubble_ = true, failed_ = false;
};

}  // namespace faultline::simulator
