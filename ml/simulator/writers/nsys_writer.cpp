#include <fmt/format.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "ml/simulator/writers/nsys_file.h"
#include "ml/simulator/writers/trace_writers.h"

namespace faultline::simulator {

namespace {

class NsysWriter final : public TraceWriter {
public:
    NsysWriter(TraceWriterOptions writer, const Topology& topology, const Names& names)
        : writer_(std::move(writer)), topology_(topology), names_(names) {}

    Result<void> open_files(const RunOptions& options) {
        for (std::size_t i = 0; i < topology_.nodes.size(); ++i) {
            const auto node = static_cast<NodeIndex>(i);
            auto file = NsysFile::open(writer_.folder + "/" + name_of(node), writer_.format == TraceFormat::nsys_older, node, options,
                                       topology_, names_, writer_.start);
            if (!file) return tl::unexpected<Error>(file.error());
            files_.push_back(std::move(*file));
        }
        return {};
    }

    void event(const Event& event) override {
        if (error_ || left_out(event, writer_.start)) return;
        take(files_[static_cast<std::size_t>(topology_.process(event.process).node)]->event(event));
    }
    void counter(const CounterEvent& counter) override {
        if (error_ || counter.time < writer_.start) return;
        take(files_[static_cast<std::size_t>(counter.node)]->counter(counter));
    }
    void log(const LogEntry& /*entry*/) override {}
    void sample(const StackSampleEvent& /*sample*/) override {}
    void gap(const IdleGap& /*gap*/) override {}

    [[nodiscard]] std::string file_of(ProcessIndex process) const override {
        if (static_cast<std::size_t>(process) >= topology_.processes.size()) return {};
        return name_of(topology_.process(process).node);
    }
    [[nodiscard]] Result<std::vector<std::string>> finish(TimeNs end) override {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < files_.size() && !error_; ++i) {
            all.push_back(name_of(static_cast<NodeIndex>(i)));
            if (auto done = files_[i]->finish(end); !done) error_ = done.error();
        }
        if (error_) return tl::unexpected<Error>(*error_);
        return all;
    }
    [[nodiscard]] std::uint64_t written() const override { return written_; }

private:
    [[nodiscard]] std::string name_of(NodeIndex node) const {
        return fmt::format("{}.sqlite", topology_.nodes[static_cast<std::size_t>(node)].host);
    }
    void take(const Result<bool>& done) {
        if (!done)
            error_ = done.error();
        else if (*done)
            ++written_;
    }

    TraceWriterOptions writer_;
    const Topology& topology_;
    KnownNames names_;
    std::vector<std::unique_ptr<NsysFile>> files_;  ///< by node
    std::optional<Error> error_;
    std::uint64_t written_ = 0;
};

}  // namespace

Result<std::unique_ptr<TraceWriter>> open_nsys(const TraceWriterOptions& writer, const RunOptions& options, const Topology& topology,
                                               const Names& names) {
    auto made = std::make_unique<NsysWriter>(writer, topology, names);
    if (auto opened = made->open_files(options); !opened) return tl::unexpected<Error>(opened.error());
    return made;
}

}  // namespace faultline::simulator
