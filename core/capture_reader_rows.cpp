// The plain rows of a capture: steps, ledger, findings, logs, requests, verdicts.
#include <algorithm>

#include "core/capture_reader_state.h"
#include "core/capture_schema.h"
#include "core/derived_rows.h"
#include "core/health.h"

namespace faultline {

namespace {

Result<std::vector<Step>> steps_of_kind(const sql::Connection& db, StepKind kind) {
    Result<std::vector<Step>> all = read_steps(db);
    if (all) std::erase_if(*all, [&](const Step& step) { return step.kind != kind; });
    return all;
}

}  // namespace

Result<std::vector<Step>> CaptureReader::steps() const { return steps_of_kind(state_->db, StepKind::step); }
Result<std::vector<Step>> CaptureReader::stalls() const { return steps_of_kind(state_->db, StepKind::stall); }

Result<std::vector<SourceLedger>> CaptureReader::ledger() const {
    std::vector<SourceLedger> all;
    for (const Source& s : state_->sources) all.push_back({s.id, {}, {}});
    const auto of = [&](std::int64_t source) {
        return std::find_if(all.begin(), all.end(), [&](const SourceLedger& l) { return index_of(l.source) == source; });
    };
    Result<void> read =
        sql::for_rows(state_->db, "SELECT source, read, repaired, dropped, metadata FROM main.ledger_total", [&](const sql::Statement& row) {
            if (const auto l = of(row.integer(0)); l != all.end())
                l->totals = {static_cast<std::uint64_t>(row.integer(1)), static_cast<std::uint64_t>(row.integer(2)),
                             static_cast<std::uint64_t>(row.integer(3)), static_cast<std::uint64_t>(row.integer(4))};
        });
    if (!read) return tl::unexpected<Error>(read.error());
    read =
        sql::for_rows(state_->db,
                 "SELECT source, outcome, code, sentence, count, samples FROM main.ledger_entry ORDER BY source, outcome, count DESC, id",
                 [&](const sql::Statement& row) {
                     const auto l = of(row.integer(0));
                     if (l == all.end()) return;
                     LedgerEntry e{static_cast<LedgerOutcome>(std::clamp<std::int64_t>(row.integer(1), 0, 2)),
                                   std::string(row.text(2)),
                                   std::string(row.text(3)),
                                   static_cast<std::uint64_t>(row.integer(4)),
                                   {}};
                     std::string_view samples = row.text(5);
                     while (!samples.empty()) {
                         const std::size_t end = std::min(samples.find('\n'), samples.size());
                         e.samples.emplace_back(samples.substr(0, end));
                         samples.remove_prefix(std::min(end + 1, samples.size()));
                     }
                     l->entries.push_back(std::move(e));
                 });
    if (!read) return tl::unexpected<Error>(read.error());
    return all;
}

Result<std::vector<HealthFinding>> CaptureReader::health() const {
    std::vector<HealthFinding> all;
    Result<void> read =
        sql::for_rows(state_->db,
                 "SELECT h.code, h.severity, h.sentence FROM main.health h LEFT JOIN main.source s ON s.id = h.source "
                 "WHERE h.source = 0 OR s.complete = 1 ORDER BY h.severity DESC, h.id",
                 [&](const sql::Statement& row) {
                     all.push_back({std::string(row.text(0)), static_cast<Severity>(std::clamp<std::int64_t>(row.integer(1), 0, 2)),
                                    std::string(row.text(2))});
                 });
    if (!read) return tl::unexpected<Error>(read.error());
    join_health(all, std::any_of(tracks().begin(), tracks().end(), [](const Track& t) { return t.kind == TrackKind::device && t.spans > 0; }));
    return all;
}

bool CaptureReader::analysed() const { return state_->db.integer("SELECT analysed FROM main.capture").value_or(0) == 1; }

Result<std::vector<LogLine>> CaptureReader::logs() const {
    std::vector<LogLine> all;
    Result<void> read = sql::for_rows(
        state_->db,
        "SELECT l.id, l.source, l.time_ns + s.clock_offset_ns, l.resolution_ns, l.process, l.rank, l.level, l.logger, l.text, l.offset,"
        " l.request, l.step, l.method, l.distance_ns FROM main.log l JOIN main.source s ON s.id = l.source AND s.complete = 1"
        " ORDER BY 3, l.id",
        [&](const sql::Statement& row) {
            LogLine line;
            line.id = row.integer(0);
            line.source = id_of<SourceId>(row, 1);
            line.time = row.optional_integer(2);
            line.resolution_ns = row.integer(3);
            line.process = optional_id<ProcessId>(row, 4);
            line.rank = row.optional_integer(5);
            line.level = row.text(6);
            line.logger = row.text(7);
            line.text = row.text(8);
            line.offset = static_cast<std::uint64_t>(row.integer(9));
            line.request = row.text(10);
            line.step = optional_id<StepId>(row, 11);
            line.method = row.text(12) == align_method_name(AlignMethod::request) ? AlignMethod::request
                          : row.text(12) == align_method_name(AlignMethod::time)  ? AlignMethod::time
                                                                                   : AlignMethod::none;
            line.distance_ns = row.optional_integer(13);
            all.push_back(std::move(line));
        });
    if (!read) return tl::unexpected<Error>(read.error());
    return all;
}

Result<std::vector<RequestMention>> CaptureReader::mentions() const {
    std::vector<RequestMention> all;
    Result<void> read = sql::for_rows(
        state_->db,
        "SELECT m.source, m.request, m.event, m.time_ns + s.clock_offset_ns, m.resolution_ns, m.end_ns + s.clock_offset_ns, m.step, m.span,"
        " m.log, m.prompt_tokens, m.output_tokens, m.ttft_ns, m.latency_ns FROM main.request_mention m JOIN main.source s"
        " ON s.id = m.source AND s.complete = 1 ORDER BY m.id",
        [&](const sql::Statement& row) {
            RequestMention m;
            m.source = id_of<SourceId>(row, 0);
            m.request = row.text(1);
            m.event = static_cast<RequestEvent>(std::clamp<std::int64_t>(row.integer(2), 0, 6));
            m.time = row.optional_integer(3);
            m.resolution_ns = row.integer(4);
            m.end = row.optional_integer(5).value_or(m.time.value_or(0));
            m.step = optional_id<StepId>(row, 6);
            m.span = SpanId{row.optional_integer(7).value_or(-1)};
            m.log = row.integer(8);
            m.prompt_tokens = row.optional_integer(9);
            m.output_tokens = row.optional_integer(10);
            m.ttft_ns = row.optional_integer(11);
            m.latency_ns = row.optional_integer(12);
            all.push_back(std::move(m));
        });
    if (!read) return tl::unexpected<Error>(read.error());
    return all;
}

Result<std::vector<StackSample>> CaptureReader::stack_samples() const {
    std::vector<StackSample> all;
    Result<void> read = sql::for_rows(
        state_->db,
        "SELECT x.id, x.source, x.time_ns + s.clock_offset_ns, x.process, x.thread, x.stack, x.weight_ns, x.owns_gil"
        " FROM main.stack_sample x JOIN main.source s ON s.id = x.source AND s.complete = 1 ORDER BY 3, x.id",
        [&](const sql::Statement& row) {
            StackSample x;
            x.id = row.integer(0);
            x.source = id_of<SourceId>(row, 1);
            x.time = row.optional_integer(2);
            x.process = optional_id<ProcessId>(row, 3);
            x.thread = optional_id<ThreadId>(row, 4);
            x.stack = row.text(5);
            x.weight_ns = row.optional_integer(6);
            if (!row.is_null(7)) x.owns_gil = row.integer(7) != 0;
            all.push_back(std::move(x));
        });
    if (!read) return tl::unexpected<Error>(read.error());
    return all;
}

Result<std::vector<Request>> CaptureReader::requests() const { return read_requests(state_->db); }
Result<CaptureAnalysis> CaptureReader::analysis() const { return read_analysis(state_->db); }

Result<std::vector<std::pair<std::string, std::uint64_t>>> CaptureReader::log_levels() const {
    std::vector<std::pair<std::string, std::uint64_t>> all;
    Result<void> read = sql::for_rows(state_->db,
                                      "SELECT l.level, count(*) FROM main.log l JOIN main.source s ON s.id = l.source AND s.complete = 1"
                                      " GROUP BY 1 ORDER BY instr('CRITICAL ERROR WARNING INFO DEBUG', l.level), 1",
                                      [&](const sql::Statement& row) {
                                          all.emplace_back(row.text(0), static_cast<std::uint64_t>(row.integer(1)));
                                      });
    if (!read) return tl::unexpected<Error>(read.error());
    return all;
}

}  // namespace faultline
