#include "importers/pyspy/dump_series_importer.h"

#include <fmt/format.h>
#include <simdjson.h>

#include <algorithm>
#include <optional>
#include <utility>

#include "importers/service_log/line_reader.h"

namespace faultline {

namespace {

using simdjson::dom::element;
using simdjson::dom::object;

std::string at_byte(std::uint64_t offset) { return fmt::format("byte {}", offset); }

template <class Value>
std::optional<Value> member(const object& of, std::string_view key) {
    Value value{};
    if (of[key].get(value) != simdjson::SUCCESS) return std::nullopt;
    return value;
}

/// Epoch nanoseconds that can be meant: up to the year 2116, so that no difference overflows.
bool is_wall_clock(std::int64_t time) { return time >= 0 && time < std::int64_t{1} << 62; }

/// `step (core.py:40)`: as py-spy itself writes frames.
std::string frame_text(const object& frame) {
    std::string name(member<std::string_view>(frame, "name").value_or("?"));
    std::replace(name.begin(), name.end(), ';', ',');  // frames are joined by semicolons
    std::optional<std::string_view> file = member<std::string_view>(frame, "short_filename");
    if (!file || file->empty()) file = member<std::string_view>(frame, "filename");
    if (!file || file->empty()) return name;
    const std::int64_t line = member<std::int64_t>(frame, "line").value_or(0);
    return line > 0 ? fmt::format("{} ({}:{})", name, *file, line) : fmt::format("{} ({})", name, *file);
}

class SeriesReader {
public:
    SeriesReader(SourceFile& file, SourceBuilder& source, ImportLedger& ledger, const Progress& progress)
        : file_(file), source_(source), ledger_(ledger), progress_(progress) {}

    Result<void> read() {
        service_log::LineReader lines(file_);
        service_log::LineReader::Line line;
        while (true) {
            const Result<bool> more = lines.next(line, progress_.stop);
            if (!more) return tl::unexpected<Error>(more.error());
            if (!*more) break;
            if (line.text.find_first_not_of(" \t\r") == std::string_view::npos) continue;
            take_line(line);
            if (++lines_ % 1024 == 0) progress_({ImportPhase::reading, file_.bytes_read(), file_.bytes_total(), samples_});
        }
        if (const auto trouble = file_.trouble()) {
            ledger_.note("input.gzip", trouble->sentence, at_byte(trouble->offset));
            source_.health.push_back({"input.gzip", Severity::warning, trouble->sentence + ". What came before it was imported."});
        }
        if (samples_ == 0) {
            return fail(ErrorCode::unusable_input, fmt::format("{} holds no stack dump that can be read", file_.path()),
                        "Give lines of {\"t0\": …, \"t1\": …, \"traces\": […]} around what py-spy dump --json prints");
        }
        source_.source.producer = "py-spy dump";
        source_.clock_base_ns = *base_;
        source_.clock_rule = "the wall clock that stands beside every dump";
        source_.clock_uncertainty_ns = longest_ / 2;
        return {};
    }

private:
    void take_line(const service_log::LineReader::Line& line) {
        object root;
        simdjson::dom::array traces;
        text_.assign(line.text);
        const bool good = parser_.parse(text_).get(root) == simdjson::SUCCESS && root["traces"].get(traces) == simdjson::SUCCESS;
        const std::optional<std::int64_t> t0 = good ? member<std::int64_t>(root, "t0") : std::nullopt;
        if (!good || !t0 || !is_wall_clock(*t0)) {
            ledger_.dropped("pyspy.bad-line", "A line is no dump with a time (t0) and traces", at_byte(line.offset));
            return;
        }
        std::int64_t t1 = member<std::int64_t>(root, "t1").value_or(*t0);
        if (t1 < *t0 || !is_wall_clock(t1)) t1 = *t0;
        if (!base_) base_ = *t0;
        longest_ = std::max(longest_, t1 - *t0);
        for (const element trace : traces) take_trace(trace, *t0 + (t1 - *t0) / 2, line.offset);
    }

    void take_trace(const element& value, std::int64_t time, std::uint64_t offset) {
        object trace;
        std::optional<std::int64_t> pid;
        if (value.get(trace) == simdjson::SUCCESS) pid = member<std::int64_t>(trace, "pid");
        simdjson::dom::array frames;
        if (!pid || trace["frames"].get(frames) != simdjson::SUCCESS) {
            ledger_.dropped("pyspy.bad-trace", "A thread of a dump has no process or no frames", at_byte(offset));
            return;
        }
        ledger_.add_read();
        ++samples_;
        StackSample sample;
        sample.source = source_.source.id;
        sample.time = time - *base_;
        sample.process = source_.process(*pid);
        std::optional<std::int64_t> tid = member<std::int64_t>(trace, "os_thread_id");
        if (!tid) tid = member<std::int64_t>(trace, "thread_id");
        if (tid) {
            sample.thread = source_.thread(*sample.process, *tid);
            Thread& row = source_.thread_row(*sample.thread);
            if (row.name.empty()) row.name = member<std::string_view>(trace, "thread_name").value_or("");
        }
        sample.owns_gil = member<bool>(trace, "owns_gil");
        for (const element frame : frames) {
            object one;
            if (frame.get(one) != simdjson::SUCCESS) continue;
            sample.stack = sample.stack.empty() ? frame_text(one) : frame_text(one) + ';' + sample.stack;
        }
        source_.stack_samples.push_back(std::move(sample));
    }

    SourceFile& file_;
    SourceBuilder& source_;
    ImportLedger& ledger_;
    const Progress& progress_;
    simdjson::dom::parser parser_;
    std::string text_;
    std::optional<std::int64_t> base_;
    std::int64_t longest_ = 0;
    std::uint64_t lines_ = 0, samples_ = 0;
};

}  // namespace

ImporterInfo DumpSeriesImporter::info() const {
    return {"py-spy-dumps", "Series of Python stack dumps (py-spy dump --json with times)", "*.jsonl *.jsonl.gz", "wall clock beside each dump"};
}

Confidence DumpSeriesImporter::sniff(std::string_view head, std::string_view /*name*/) const {
    const std::string_view begin = head.substr(0, 512);
    const bool series = begin.starts_with("{\"t0\"") && begin.find("\"traces\"") != std::string_view::npos;
    return series ? 95 : 0;
}

Result<void> DumpSeriesImporter::read(SourceFile& file, SourceBuilder& source, ImportLedger& ledger, const Progress& progress) const {
    return SeriesReader(file, source, ledger, progress).read();
}

}  // namespace faultline
