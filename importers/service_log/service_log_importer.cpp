#include "importers/service_log/service_log_importer.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>

#include "importers/service_log/line_reader.h"
#include "importers/service_log/log_clock.h"
#include "importers/service_log/log_parser.h"
#include "importers/service_log/log_rows.h"
#include "importers/service_log/sniff_log.h"

namespace faultline {

namespace service_log {

namespace {

std::string at_byte(std::uint64_t offset) { return fmt::format("byte {}", offset); }

/// Reads one file and says what became of its lines.
class LogReader {
public:
    LogReader(SourceFile& file, SourceBuilder& source, ImportLedger& ledger, const Progress& progress)
        : file_(file), source_(source), ledger_(ledger), progress_(progress) {}

    Result<void> read() {
        // Asked for as a log whatever it looks like, it must at least be text.
        const Result<std::string_view> head = file_.head(progress_.stop);
        if (!head) return tl::unexpected<Error>(head.error());
        if (is_binary(*head)) return binary();
        if (Result<void> ok = read_lines(); !ok) return ok;
        std::vector<LogMessage>& messages = parser_.messages();
        if (messages.empty())
            return fail(ErrorCode::unusable_input,
                        fmt::format("{} holds no line of text", file_.path() == "-" ? "standard input" : file_.path()),
                        "Give a service log with at least one line");
        account_messages(messages, ledger_, "");
        account_file();
        complete_ranks(messages);
        const auto now = std::chrono::system_clock::now().time_since_epoch();
        Result<LogClock> clock =
            place_messages(messages, source_.context, std::chrono::duration_cast<std::chrono::nanoseconds>(now).count());
        if (!clock) return tl::unexpected<Error>(clock.error());
        describe(messages, *clock);
        set_clock(*clock);
        source_.logs = make_lines(messages, clock->times, source_.clock_base_ns, &source_);
        return {};
    }

private:
    [[nodiscard]] tl::unexpected<Error> binary() const {
        return fail(ErrorCode::unusable_input,
                    fmt::format("{} is binary data, not a log", file_.path() == "-" ? "standard input" : file_.path()),
                    "Give a text file, or a trace without --log");
    }

    Result<void> read_lines() {
        LineReader reader(file_);
        LineReader::Line line;
        constexpr std::uint64_t kReportEvery = 4096;
        while (true) {
            const Result<bool> more = reader.next(line, progress_.stop);
            if (!more) return tl::unexpected<Error>(more.error());
            if (!*more) break;
            if (line.zeros > 0)
                ledger_.note("log.zero-bytes", "Zero bytes before a line were passed over: the file was cut while its writer went on",
                             fmt::format("byte {} ({} bytes)", line.offset - line.zeros, line.zeros));
            if (line.zeros > 0 && parser_.lines() == 0 && is_binary(line.text)) return binary();
            parser_.line(line.text, line.offset, line.lost > 0);
            if (line.lost > 0) {
                ledger_.note("log.long-line", "A line is longer than 1 MiB; the rest of it was left out",
                             fmt::format("byte {} ({} bytes left out)", line.offset, line.lost));
            }
            if (parser_.lines() % kReportEvery == 0)
                progress_({ImportPhase::reading, file_.bytes_read(), file_.bytes_total(), parser_.messages().size()});
        }
        parser_.finish();
        if (progress_.stopped()) return fail(ErrorCode::cancelled, "the import was cancelled");
        return {};
    }

    void account_file() {
        account_progress();
        if (const std::optional<SourceTrouble> trouble = file_.trouble()) {
            ledger_.note("input.gzip", trouble->sentence, at_byte(trouble->offset));
            if (trouble->kind != SourceTrouble::Kind::trailing)
                source_.health.push_back({"input.gzip", Severity::warning,
                                          fmt::format("{}: {}. Copy or compress the file again.", file_.path(), trouble->sentence)});
        }
    }

    void account_progress() {
        constexpr std::string_view kSentence = "A progress bar was drawn again; its last state is kept";
        std::uint64_t left = parser_.folded_states();
        for (const std::uint64_t offset : parser_.folded_at()) {
            const bool last = offset == parser_.folded_at().back();
            ledger_.note("log.progress", kSentence, at_byte(offset), last ? left : 1);
            if (last) break;  // several states of one line have one place
            --left;
        }
    }

    /// Who wrote the log, and what it is made of.
    void describe(const std::vector<LogMessage>& messages, const LogClock& clock) {
        std::array<std::size_t, 10> shapes{};
        bool ranks = false;
        for (const LogMessage& m : messages) {
            ++shapes[static_cast<std::size_t>(m.shape)];
            ranks |= m.shape == Shape::bracket && (m.text.starts_with("Decode batch") || m.text.starts_with("Prefill batch") ||
                                                   (m.rank.has_value() && !m.process.empty()));
            if (source_.source.host.empty()) source_.source.host = m.host;
        }
        const auto has = [&](Shape shape) { return shapes[static_cast<std::size_t>(shape)] > 0; };
        std::string producer;
        const auto name = [&](bool there, std::string_view who) {
            if (there) producer += (producer.empty() ? "" : ", ") + std::string(who);
        };
        name(has(Shape::vllm), "vLLM");
        name(ranks, "SGLang");
        name(has(Shape::rust), "SGLang router");
        name(has(Shape::nccl), "NCCL");
        name(has(Shape::kernel), "Linux kernel");
        source_.source.producer = producer;
        const auto timed =
            static_cast<std::size_t>(std::count_if(clock.times.begin(), clock.times.end(), [](const auto& t) { return t.has_value(); }));
        source_.source.metadata = fmt::format(R"({{"lines": {}, "blank_lines": {}, "messages": {}, "messages_with_time": {}}})",
                                              parser_.lines(), parser_.blank_lines(), messages.size(), timed);
    }

    void set_clock(const LogClock& clock) {
        source_.has_wall_clock = clock.wall;
        source_.clock_rule = clock.rule;
        source_.clock_uncertainty_ns = clock.uncertainty_ns;
        source_.health.insert(source_.health.end(), clock.findings.begin(), clock.findings.end());
        std::optional<std::int64_t> first;
        for (const auto& time : clock.times)
            if (time && (!first || *time < *first)) first = time;
        source_.clock_base_ns = first.value_or(0);
    }

    SourceFile& file_;
    SourceBuilder& source_;
    ImportLedger& ledger_;
    const Progress& progress_;
    LogParser parser_;
};

}  // namespace

}  // namespace service_log

ImporterInfo ServiceLogImporter::info() const {
    return {"service-log", "Log of a serving engine (vLLM, SGLang, torch, NCCL, kernel)", "*.log *.txt *.log.gz", "stamps of the lines",
            true};
}

Confidence ServiceLogImporter::sniff(std::string_view head, std::string_view /*name*/) const { return service_log::sniff_log(head); }

Result<void> ServiceLogImporter::read(SourceFile& file, SourceBuilder& source, ImportLedger& ledger, const Progress& progress) const {
    return service_log::LogReader(file, source, ledger, progress).read();
}

}  // namespace faultline
