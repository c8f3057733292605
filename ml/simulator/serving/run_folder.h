// The files of a run: traces, logs, stack samples, truth.json. A sink for all of it. One thread.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "ml/simulator/logs/log_writer.h"
#include "ml/simulator/serving/truth_file.h"
#include "ml/simulator/writers/sample_writer.h"
#include "ml/simulator/writers/trace_writer.h"

namespace faultline::simulator {

class RunFolder final : public Sink {
public:
    struct Setup {
        const std::string& folder;
        const RunOptions& options;
        const Topology& topology;
        const Names& names;
        TraceFormat format = TraceFormat::kineto;
        bool gzip = true;
        TimeNs start = 0;
        const Fault* fault = nullptr;
        bool injected = false;
    };
    [[nodiscard]] static Result<RunFolder> open(const Setup& setup);

    void event(const Event& event) override;
    void log(const LogEntry& entry) override;
    void sample(const StackSampleEvent& sample) override;
    void counter(const CounterEvent& counter) override;
    void gap(const IdleGap& gap) override;

    /// What was served before this step is not in the capture.
    void begin_at(StepNumber step) { first_step_ = step; }
    void step(const StepRecord& record, FaultClass label, const Fault* fault);
    void request(const Request& request, FaultClass label, const RequestRecord& record, const Fault* fault) { truth_->request(request, label, record, fault); }
    [[nodiscard]] std::string file_of(ProcessIndex process) const { return traces_->file_of(process); }

    /// Names of the files, relative to the folder; truth.json last.
    [[nodiscard]] Result<std::vector<std::string>> finish(TimeNs start, TimeNs end, bool stuck);
    [[nodiscard]] std::uint64_t written() const { return traces_->written(); }
    [[nodiscard]] std::uint64_t samples() const { return samples_written_; }

private:
    RunFolder() = default;

    std::unique_ptr<TraceWriter> traces_;
    std::unique_ptr<LogWriter> logs_;
    std::unique_ptr<SampleWriter> samples_;
    std::optional<TruthFile> truth_;
    bool counters_ = true;
    StepNumber first_step_ = 0, latest_step_ = 0;
    std::uint64_t samples_written_ = 0;
};

}  // namespace faultline::simulator
