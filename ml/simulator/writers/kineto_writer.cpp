#include <fmt/format.h>

#include <optional>
#include <utility>

#include "ml/simulator/writers/kineto_file.h"
#include "ml/simulator/writers/trace_writers.h"

namespace faultline::simulator {

namespace {

class KinetoWriter final : public TraceWriter {
public:
    KinetoWriter(TraceWriterOptions writer, const RunOptions& options, const Topology& topology, const Names& names)
        : writer_(std::move(writer)), options_(options), topology_(topology), names_(names), files_(topology.processes.size()) {}

    /// Files of processes with a device come at once, so that a folder that cannot be written is known before the run.
    Result<void> open_device_files() {
        for (const DeviceInfo& device : topology_.devices) {
            if (file(device.process) == nullptr) return tl::unexpected<Error>(*error_);
        }
        return {};
    }

    void event(const Event& event) override {
        if (error_ || left_out(event, writer_.start)) return;
        KinetoFile* const to = file(event.process);
        if (to == nullptr) return;
        to->event(event);
        ++written_;
    }
    void counter(const CounterEvent& counter) override {
        if (error_ || counter.time < writer_.start) return;
        for (const DeviceInfo& device : topology_.devices) {
            if (device.node != counter.node || (counter.device >= 0 && device.ordinal != counter.device)) continue;
            if (KinetoFile* const to = file(device.process)) {
                to->counter(counter);
                ++written_;
            }
            return;
        }
    }
    void log(const LogEntry& /*entry*/) override {}
    void sample(const StackSampleEvent& /*sample*/) override {}
    void gap(const IdleGap& /*gap*/) override {}

    /// `<host>_<pid>.<epoch ns>.pt.trace.json.gz`, as torch.profiler.tensorboard_trace_handler names files.
    [[nodiscard]] std::string file_of(ProcessIndex process) const override {
        if (static_cast<std::size_t>(process) >= files_.size()) return {};
        if (finished_ && !files_[static_cast<std::size_t>(process)]) return {};
        const NodeInfo& node = topology_.node_of(process);
        return fmt::format("{}_{}.{}.pt.trace.json{}", node.host, topology_.process(process).pid, node.clock.at(writer_.start),
                           writer_.gzip ? ".gz" : "");
    }

    [[nodiscard]] Result<std::vector<std::string>> finish(TimeNs end) override {
        finished_ = true;
        std::vector<std::string> all;
        for (std::size_t i = 0; i < files_.size(); ++i) {
            if (!files_[i]) continue;
            all.push_back(file_of(static_cast<ProcessIndex>(i)));
            if (auto done = files_[i]->finish(end); !done && !error_) error_ = done.error();
        }
        if (error_) return tl::unexpected<Error>(*error_);
        return all;
    }
    [[nodiscard]] std::uint64_t written() const override { return written_; }

private:
    KinetoFile* file(ProcessIndex process) {
        std::unique_ptr<KinetoFile>& known = files_[static_cast<std::size_t>(process)];
        if (known || error_) return known.get();
        auto opened = KinetoFile::open(writer_.folder, file_of(process), writer_.gzip, process, options_, topology_, names_, writer_.start);
        if (!opened) {
            error_ = opened.error();
            return nullptr;
        }
        known = std::move(*opened);
        return known.get();
    }

    TraceWriterOptions writer_;
    RunOptions options_;
    const Topology& topology_;
    KnownNames names_;
    std::vector<std::unique_ptr<KinetoFile>> files_;  ///< by process
    std::optional<Error> error_;
    std::uint64_t written_ = 0;
    bool finished_ = false;
};

}  // namespace

Result<std::unique_ptr<TraceWriter>> open_kineto(const TraceWriterOptions& writer, const RunOptions& options, const Topology& topology,
                                                 const Names& names) {
    auto made = std::make_unique<KinetoWriter>(writer, options, topology, names);
    if (auto opened = made->open_device_files(); !opened) return tl::unexpected<Error>(opened.error());
    return made;
}

}  // namespace faultline::simulator
