#include "ml/simulator/writers/sample_writer.h"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <utility>

#include "ml/simulator/writers/output_file.h"

namespace faultline::simulator {

namespace {

constexpr TimeNs kHalfDump = 600'000;  // a dump takes about a millisecond; the look at the threads lies in its middle

/// py-spy's short names are relative to the folder of modules.
constexpr std::string_view kPackages = "/usr/local/lib/python3.12/dist-packages/";

/// `step (vllm/v1/engine/core.py:40)` taken apart.
struct Frame {
    std::string_view name, path;
    std::int64_t line = 0;
};

Frame frame_of(std::string_view text) {
    const std::size_t open = text.rfind(" (");
    if (open == std::string_view::npos || text.back() != ')') return {text, {}, 0};
    Frame frame{text.substr(0, open), text.substr(open + 2, text.size() - open - 3), 0};
    const std::size_t colon = frame.path.rfind(':');
    if (colon == std::string_view::npos) return frame;
    std::from_chars(frame.path.data() + colon + 1, frame.path.data() + frame.path.size(), frame.line);
    frame.path = frame.path.substr(0, colon);
    return frame;
}

class DumpSeriesWriter final : public SampleWriter {
public:
    DumpSeriesWriter(std::string folder, const Topology& topology)
        : folder_(std::move(folder)), topology_(topology), series_(topology.processes.size()) {}

    void sample(const StackSampleEvent& sample) override {
        if (error_) return;
        const ThreadInfo& thread = topology_.thread(sample.thread);
        Series& series = series_[static_cast<std::size_t>(thread.process)];
        if (!series.file && !open_file(series, thread.process)) return;
        if (series.traces.empty() || sample.time != series.time) {
            write_line(series, thread.process);
            series.time = sample.time;
        }
        add_trace(series.traces, sample, thread);
    }

    [[nodiscard]] Result<std::vector<std::string>> finish() override {
        std::vector<std::string> all;
        for (std::size_t i = 0; i < series_.size(); ++i) {
            if (!series_[i].file) continue;
            const auto process = static_cast<ProcessIndex>(i);
            write_line(series_[i], process);
            all.push_back(name_of(process));
            if (auto done = series_[i].file->finish(); !done && !error_) error_ = done.error();
        }
        if (error_) return tl::unexpected<Error>(*error_);
        return all;
    }

private:
    struct Series {
        std::unique_ptr<OutputFile> file;
        TimeNs time = 0;
        std::string traces;  ///< of the dump at `time`, so far
    };

    [[nodiscard]] std::string name_of(ProcessIndex process) const {
        return fmt::format("pyspy_{}_{}.jsonl", topology_.node_of(process).host, topology_.process(process).pid);
    }
    bool open_file(Series& series, ProcessIndex process) {
        auto opened = OutputFile::open(folder_ + "/" + name_of(process), false);
        if (opened)
            series.file = std::move(*opened);
        else
            error_ = opened.error();
        return opened.has_value();
    }
    void write_line(Series& series, ProcessIndex process) {
        if (series.traces.empty()) return;
        const TimeNs at = topology_.node_of(process).clock.at(series.time);
        series.file->text(fmt::format("{{\"t0\": {}, \"t1\": {}, \"traces\": [{}]}}\n", at - kHalfDump, at + kHalfDump, series.traces));
        series.traces.clear();
    }
    void add_trace(std::string& out, const StackSampleEvent& sample, const ThreadInfo& thread) const {
        // py-spy's thread_id is the address of the thread's descriptor: any number that is one thread's will do.
        constexpr std::int64_t kFirstDescriptor = 140'000'000'000'000, kDescriptorStep = 8'392'704;
        fmt::format_to(
            std::back_inserter(out),
            "{}{{\"pid\": {}, \"thread_id\": {}, \"os_thread_id\": {}, \"thread_name\": \"{}\", \"active\": {}, \"owns_gil\": {}, "
            "\"frames\": [",
            out.empty() ? "" : ", ", topology_.process(thread.process).pid, kFirstDescriptor + thread.tid * kDescriptorStep, thread.tid,
            escaped(thread.name), sample.active, sample.owns_gil);
        bool first = true;
        for (const std::string_view text : sample.frames) {
            const Frame frame = frame_of(text);
            fmt::format_to(std::back_inserter(out),
                           "{}{{\"name\": \"{}\", \"filename\": \"{}{}\", \"short_filename\": \"{}\", \"line\": {}, \"module\": null}}",
                           first ? "" : ", ", escaped(frame.name), frame.path.find(".py") == std::string_view::npos ? "" : kPackages,
                           escaped(frame.path), escaped(frame.path), frame.line);
            first = false;
        }
        out += "]}";
    }

    std::string folder_;
    const Topology& topology_;
    std::vector<Series> series_;  ///< by process
    std::optional<Error> error_;
};

}  // namespace

Result<std::unique_ptr<SampleWriter>> SampleWriter::open(const std::string& folder, const Topology& topology) {
    return std::make_unique<DumpSeriesWriter>(folder, topology);
}

}  // namespace faultline::simulator
