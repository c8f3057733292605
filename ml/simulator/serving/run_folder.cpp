#include "ml/simulator/serving/run_folder.h"

#include <algorithm>
#include <utility>

namespace faultline::simulator {

Result<RunFolder> RunFolder::open(const Setup& setup) {
    RunFolder run;
    auto traces = TraceWriter::open({setup.folder, setup.format, setup.gzip, setup.start}, setup.options, setup.topology, setup.names);
    if (!traces) return tl::unexpected<Error>(traces.error());
    run.traces_ = std::move(*traces);
    if (setup.options.recording.logs) {
        auto logs = LogWriter::open(setup.folder, setup.options, setup.topology);
        if (!logs) return tl::unexpected<Error>(logs.error());
        run.logs_ = std::move(*logs);
    }
    if (setup.options.recording.samples) {
        auto samples = SampleWriter::open(setup.folder, setup.topology);
        if (!samples) return tl::unexpected<Error>(samples.error());
        run.samples_ = std::move(*samples);
    }
    auto truth = TruthFile::open(setup.folder + "/truth.json", setup.options, setup.topology, setup.fault, setup.injected);
    if (!truth) return tl::unexpected<Error>(truth.error());
    run.truth_ = std::move(*truth);
    run.counters_ = setup.options.recording.counters;
    return run;
}

void RunFolder::event(const Event& event) {
    latest_step_ = std::max(latest_step_, event.step);
    // Events without a step (the API server, idling) belong to the capture as soon as it runs.
    if (event.step < first_step_ && (event.step > 0 || latest_step_ < first_step_)) return;
    traces_->event(event);
}

void RunFolder::log(const LogEntry& entry) {
    if (logs_) logs_->log(entry);
}

void RunFolder::sample(const StackSampleEvent& sample) {
    if (!samples_ || latest_step_ < first_step_) return;
    samples_->sample(sample);
    ++samples_written_;
}

void RunFolder::counter(const CounterEvent& counter) {
    if (counters_ && latest_step_ >= first_step_) traces_->counter(counter);
}

void RunFolder::gap(const IdleGap& gap) {
    if (gap.step >= first_step_) truth_->bubble(gap);
}

void RunFolder::step(const StepRecord& record, FaultClass label, const Fault* fault) {
    if (record.plan.step >= first_step_) truth_->step(record, label, fault);
}

Result<std::vector<std::string>> RunFolder::finish(TimeNs start, TimeNs end, bool stuck) {
    std::vector<std::string> files;
    const auto take = [&](Result<std::vector<std::string>> more) -> Result<void> {
        if (!more) return tl::unexpected<Error>(more.error());
        files.insert(files.end(), more->begin(), more->end());
        return {};
    };
    if (auto done = take(traces_->finish(end)); !done) return tl::unexpected<Error>(done.error());
    if (logs_) {
        if (auto done = take(logs_->finish()); !done) return tl::unexpected<Error>(done.error());
    }
    if (samples_) {
        if (auto done = take(samples_->finish()); !done) return tl::unexpected<Error>(done.error());
    }
    if (auto done = truth_->finish(start, end, stuck, files); !done) return tl::unexpected<Error>(done.error());
    files.emplace_back("truth.json");
    return files;
}

}  // namespace faultline::simulator
