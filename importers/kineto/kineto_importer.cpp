#include "importers/kineto/kineto_importer.h"

#include <fmt/format.h>

#include <span>

#include "importers/kineto/event_cutter.h"
#include "importers/kineto/json_window.h"
#include "importers/kineto/kineto_event.h"
#include "importers/kineto/trace_builder.h"
#include "importers/kineto/trace_header.h"

namespace faultline {

namespace kineto {

namespace {

/// Reads one file: cutter, parser and builder, and the ledger of what was lost on the way.
class TraceReader {
public:
    TraceReader(SourceFile& file, SourceBuilder& source, ImportLedger& ledger, const Progress& progress)
        : file_(file),
          source_(source),
          ledger_(ledger),
          progress_(progress),
          window_(file, progress.stop),
          parser_(json_),
          builder_(source, json_, ledger),
          header_(source, json_, ledger) {}

    Result<void> read() {
        for (bool more = true; more;) {
            const std::uint64_t offset = window_.window().offset;
            switch (cutter_.next(window_.window())) {
                case EventCutter::Piece::more:
                    report();
                    if (Result<void> ok = window_.refill(); !ok) return ok;
                    break;
                case EventCutter::Piece::run: take_run(cutter_.events()); break;
                case EventCutter::Piece::member: header_.take(cutter_.member_key(), cutter_.member_value(), offset); break;
                case EventCutter::Piece::trouble: take_trouble(cutter_.trouble()); break;
                case EventCutter::Piece::end: more = false; break;
            }
        }
        if (progress_.stopped()) return fail(ErrorCode::cancelled, "the import was cancelled");
        return finish();
    }

private:
    void report() const { progress_({ImportPhase::reading, file_.bytes_read(), file_.bytes_total(), ledger_.totals().read}); }

    [[nodiscard]] std::uint64_t offset_of(const char* byte) noexcept {
        return window_.window().offset + static_cast<std::uint64_t>(byte - window_.window().begin);
    }

    /// Parses cut events. False where the cutter was set back, so that what is left of the run will come again.
    bool take_run(std::span<const CutEvent> run) {
        while (!run.empty()) {
            if (run.front().flagged) return take_one(run.front());
            const std::size_t good = parser_.parse_run(run, offset_of(run.front().begin), builder_);
            for (const CutEvent& event : run.first(good)) cutter_.learn(event);
            run = run.subspan(good);
            if (run.empty()) break;
            if (good == 0 && run.size() > 1) {
                // Nothing was accepted: the run as a whole may be no text. Halves tell good from bad.
                const std::size_t half = run.size() / 2;
                if (!take_run(run.first(half))) return false;
                run = run.subspan(half);
                continue;
            }
            if (!take_one(run.front())) return false;
            run = run.subspan(1);
        }
        return true;
    }

    bool take_one(const CutEvent& event) {
        const std::uint64_t offset = offset_of(event.begin);
        if (parser_.parse_one(event, offset, builder_)) {
            cutter_.learn(event);
            return true;
        }
        ledger_.dropped("kineto.bad-event", "An event is damaged and was left out", fmt::format("byte {} ({})", offset, parser_.why()));
        cutter_.expect_damage();
        const char* const inside = cutter_.event_inside(event);
        if (inside == nullptr) return true;
        cutter_.go_back(window_.window(), inside);
        return false;
    }

    void take_trouble(const CutTrouble& trouble) {
        const std::string place = fmt::format("byte {} ({} bytes)", trouble.offset, trouble.bytes);
        switch (trouble.kind) {
            case CutTrouble::Kind::lost_event:
                ledger_.dropped("kineto.lost-event", "The end of an event could not be found; reading went on at the next one", place,
                                trouble.records);
                break;
            case CutTrouble::Kind::huge_event:
                ledger_.dropped("kineto.huge-event", "An event is longer than any real one and was left out", place, trouble.records);
                break;
            case CutTrouble::Kind::cut_event:
                ledger_.dropped("kineto.cut-event", "The input ends inside an event", place, trouble.records);
                cut_ = true;
                break;
            case CutTrouble::Kind::stray_bytes:
                ledger_.note("kineto.stray-bytes", "Bytes between the events belong to none of them", place);
                if (trouble.records > 0)
                    ledger_.dropped("kineto.lost-event", "The end of an event could not be found; reading went on at the next one", place,
                                    trouble.records);
                break;
            case CutTrouble::Kind::no_object:
                ledger_.dropped("kineto.no-object", "A value among the events is no event: a null, a number, a text or a list", place);
                break;
            case CutTrouble::Kind::no_comma: ledger_.note("kineto.no-comma", "Two events have no comma between them", place); break;
            case CutTrouble::Kind::no_list_end:
                ledger_.note("kineto.no-list-end", "The list of events has no closing bracket", place);
                cut_ |= trouble.bytes == 0 && window_.window().last && window_.window().begin == window_.window().end;
                break;
            case CutTrouble::Kind::broken_header:
                ledger_.note("kineto.broken-header", "What stands before the events is damaged and was skipped in part", place);
                break;
            case CutTrouble::Kind::broken_footer:
                ledger_.note("kineto.broken-footer", "What stands after the events is damaged or cut and was skipped in part", place);
                break;
            case CutTrouble::Kind::trailing_bytes: ledger_.note("kineto.trailing-bytes", "Bytes follow the end of the trace", place); break;
        }
    }

    Result<void> finish() {
        const LedgerTotals& totals = ledger_.totals();
        const std::string name = file_.path() == "-" ? "standard input" : file_.path();
        if (!cutter_.found_events())
            return fail(ErrorCode::unusable_input, fmt::format("{} holds no trace events", name),
                        "Give a Chrome trace: JSON with a list \"traceEvents\", as torch.profiler exports it");
        if (totals.read == 0 && totals.metadata == 0 && totals.dropped > 0 && totals.dropped == builder_.without_phase())
            return fail(ErrorCode::unusable_input,
                        fmt::format("{} holds JSON records, but none of them is a trace event (none has \"ph\")", name),
                        "Give a Chrome trace, as torch.profiler exports it");
        if (totals.read == 0 && totals.metadata == 0 && totals.dropped > 0)
            return fail(ErrorCode::unusable_input, fmt::format("{} holds no event that can be read; {} are damaged", name, totals.dropped),
                        "Export the trace again");
        builder_.finish();
        header_.finish(file_.name(), builder_.latest());
        name_producer();
        judge();
        return {};
    }

    void name_producer() {
        if (builder_.met_accelerator_tasks())
            source_.source.producer = "Ascend PyTorch profiler";
        else if (header_.from_kineto() || builder_.met_framework_rows())
            source_.source.producer = "PyTorch profiler (Kineto)";
        else
            source_.source.producer = "another producer of Chrome traces";
    }

    void judge() {
        const std::optional<SourceTrouble> trouble = file_.trouble();
        if (trouble) {
            ledger_.note("input.gzip", trouble->sentence, fmt::format("byte {}", trouble->offset));
            if (trouble->kind != SourceTrouble::Kind::trailing)
                source_.health.push_back({"input.gzip", Severity::warning,
                                          fmt::format("{}: {}. Copy or export the file again.", file_.path(), trouble->sentence)});
        }
        if (cut_)
            source_.health.push_back({"input.cut", Severity::warning,
                                      fmt::format("{} ends before its list of events does: the end of the capture is missing. Let the "
                                                  "profiler finish writing before the file is taken.",
                                                  file_.path())});
        const LedgerTotals& totals = ledger_.totals();
        constexpr std::uint64_t kManyOf = 100;  // more than one in a hundred
        if (totals.dropped * kManyOf > totals.read + totals.dropped)
            source_.health.push_back({"input.damaged", Severity::warning,
                                      fmt::format("{} of {} records are damaged or unusable and were left out; see the ledger.",
                                                  totals.dropped, totals.read + totals.dropped)});
    }

    SourceFile& file_;
    SourceBuilder& source_;
    ImportLedger& ledger_;
    const Progress& progress_;
    JsonWindow window_;
    EventCutter cutter_;
    StrictJson json_;
    EventParser parser_;
    TraceBuilder builder_;
    TraceHeader header_;
    bool cut_ = false;
};

}  // namespace

}  // namespace kineto

ImporterInfo KinetoImporter::info() const {
    return {"kineto", "PyTorch profiler or Chrome trace", "*.json *.json.gz *.trace *.gz",
            "CLOCK_REALTIME where the producer gives a base, else since some start"};
}

Confidence KinetoImporter::sniff(std::string_view head, std::string_view /*name*/) const {
    const std::size_t first = head.find_first_not_of(" \t\r\n\xEF\xBB\xBF");
    if (first == std::string_view::npos) return 0;
    const bool phases = head.find("\"ph\"") != std::string_view::npos;
    if (head.find("\"traceEvents\"") != std::string_view::npos) return phases ? 100 : 95;
    if (head[first] == '[') {  // a list of events, or nothing yet; "[section]" is another kind of file
        const std::size_t next = head.find_first_not_of(" \t\r\n", first + 1);
        return phases ? 95 : next == std::string_view::npos || head[next] == '{' || head[next] == ']' ? 15 : 0;
    }
    if (head[first] == '{') return phases ? 80 : 20;
    return phases && head.find("\"ts\"") != std::string_view::npos ? 60 : 0;
}

Result<void> KinetoImporter::read(SourceFile& file, SourceBuilder& source, ImportLedger& ledger, const Progress& progress) const {
    return kineto::TraceReader(file, source, ledger, progress).read();
}

}  // namespace faultline
