#include "core/derive_capture.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>

#include "core/derived_rows.h"
#include "core/requests.h"
#include "core/span_index.h"
#include "core/sql.h"

namespace faultline {

namespace {

/// The time that the traces cover, without what was read from logs.
std::optional<TimeRange> traced(const CaptureReader& capture) {
    std::optional<TimeRange> all;
    for (const Track& t : capture.tracks()) {
        if (t.spans == 0 || (t.kind != TrackKind::host && t.kind != TrackKind::device)) continue;
        const TimeRange here{t.first_start + t.clock_offset_ns, t.last_end + t.clock_offset_ns};
        all = all ? TimeRange{std::min(all->start, here.start), std::max(all->end, here.end)} : here;
    }
    return all;
}

/// For a person: 3 h 12 min, 4 min 2 s, 1.5 s.
std::string span_words(TimeNs length) {
    constexpr TimeNs kSecond = 1'000'000'000, kMinute = 60 * kSecond, kHour = 60 * kMinute;
    if (length >= 48 * kHour) return fmt::format("{} days", length / (24 * kHour));
    if (length >= kHour) return fmt::format("{} h {} min", length / kHour, length % kHour / kMinute);
    if (length >= kMinute) return fmt::format("{} min {} s", length / kMinute, length % kMinute / kSecond);
    return fmt::format("{:.3g} s", static_cast<double>(length) / static_cast<double>(kSecond));
}

/// Whether any line was written while the traces were; else how far the nearest is from them.
void judge_overlap(const std::vector<LogLine>& logs, TimeRange trace, const AlignmentOptions& options,
                   std::vector<HealthFinding>& findings) {
    std::optional<TimeNs> nearest;
    bool before = false;
    for (const LogLine& line : logs) {
        if (!line.time) continue;
        const auto uncertainty = options.uncertainty_ns.find(index_of(line.source));
        const TimeNs slack = options.lag_ns + (uncertainty == options.uncertainty_ns.end() ? 0 : uncertainty->second);
        const TimeNs early = trace.start - (*line.time + line.resolution_ns), late = *line.time - trace.end;
        if (early < slack && late <= slack) return;
        if (const TimeNs away = std::max(early, late); !nearest || away < *nearest) {
            nearest = away;
            before = early > late;
        }
    }
    if (!nearest) return;
    findings.push_back(
        {"logs.no-overlap", Severity::warning,
         fmt::format("No log line was written while the traces were recorded: the nearest lies {} {} them. If the log belongs to "
                     "them, its clock or zone differs: import the traces, then append the log with --time-zone ZONE or --clock-offset-ns N.",
                     span_words(*nearest), before ? "before" : "after")});
}

/// Stamps that are wider than a usual step cannot tell steps apart.
void judge_resolution(const std::vector<LogLine>& logs, const std::vector<Step>& steps, std::vector<HealthFinding>& findings) {
    std::vector<TimeNs> lengths;
    for (const Step& s : steps) lengths.push_back(s.end - s.start);
    const auto middle = lengths.begin() + static_cast<std::ptrdiff_t>(lengths.size() / 2);
    std::nth_element(lengths.begin(), middle, lengths.end());
    std::size_t coarse = 0, by_time = 0;
    TimeNs widest = 0;
    for (const LogLine& line : logs) {
        by_time += line.time.has_value();
        if (!line.time || line.resolution_ns <= *middle) continue;
        ++coarse;
        widest = std::max(widest, line.resolution_ns);
    }
    if (coarse == 0) return;
    findings.push_back(
        {"logs.coarse", Severity::info,
         fmt::format("The stamps of {} of {} log lines are up to {} wide, wider than the usual step: by time alone such a line belongs "
                     "to the first step that its stamp covers. Lines that name a request are told apart by it.",
                     coarse, by_time, span_words(widest))});
}

void judge_requests(const std::vector<Request>& requests, const std::vector<Step>& steps, const std::vector<LogLine>& logs,
                    std::vector<HealthFinding>& findings) {
    if (requests.empty() && !logs.empty() && !steps.empty())
        findings.push_back(
            {"requests.none", Severity::info,
             "No log line and no range names a request, so lines and steps are tied by time alone. vLLM writes the ids of requests "
             "with --enable-log-requests, SGLang with --log-requests."});
    const bool in_steps = std::any_of(requests.begin(), requests.end(), [](const Request& r) { return !r.steps.empty(); });
    if (!requests.empty() && !steps.empty() && !in_steps)
        findings.push_back(
            {"requests.not-in-steps", Severity::info,
             fmt::format("{} {} known from the log, but no step says which requests it serves: log lines and steps are tied by time "
                         "alone. A range named like \"step=12 decode tokens=2 batch=2 requests=a,b\" says so.",
                         requests.size(), requests.size() == 1 ? "request is" : "requests are")});
}

/// Times of a request that cannot be: the clocks of the sources they come from do not agree. A stamp that is a second wide may lie anywhere in it.
void judge_clocks(const std::vector<Request>& requests, const std::vector<LogLine>& logs, std::vector<HealthFinding>& findings) {
    TimeNs widest = 0;
    for (const LogLine& line : logs) widest = std::max(widest, line.resolution_ns);
    std::size_t wrong = 0;
    TimeNs most = 0;
    const auto check = [&](const std::optional<TimeNs>& first, const std::optional<TimeNs>& second) {
        if (!first || !second || *second + widest >= *first) return false;
        most = std::max(most, *first - *second);
        return true;
    };
    for (const Request& r : requests) wrong += check(r.arrival, r.first_token) || check(r.first_token, r.end) || check(r.arrival, r.end);
    if (wrong == 0) return;
    findings.push_back(
        {"clocks.differ", Severity::warning,
         fmt::format("{} of {} requests have their first token before their arrival or their end before their first token: the clocks of the "
                     "log and of the trace differ by {} or more, and TTFT and TPOT are off by that. Append the log again to a capture of the "
                     "traces with --clock-offset-ns N.",
                     wrong, requests.size(), span_words(most))});
}

/// The same file twice counts everything in it twice.
void judge_sources(const std::vector<Source>& sources, std::vector<HealthFinding>& findings) {
    const auto name = [](const Source& s) { return std::filesystem::path(s.path).filename().string(); };
    for (std::size_t b = 0; b < sources.size(); ++b)
        for (std::size_t a = 0; a < b; ++a) {
            const Source &x = sources[a], &y = sources[b];
            if (x.format != y.format || x.bytes != y.bytes || x.events != y.events || x.rank != y.rank || x.bytes == 0 || name(x) != name(y))
                continue;
            findings.push_back({"source.twice", Severity::warning,
                                fmt::format("{} seems to be in the capture twice (sources {} and {}): what it holds is counted and shown twice. "
                                            "Import the sources into a new capture, each once.",
                                            name(y), index_of(x.id), index_of(y.id))});
            break;
        }
}

std::vector<HealthFinding> capture_findings(const CaptureReader& capture, const std::vector<LogLine>& logs, const std::vector<Step>& steps,
                                            const std::vector<Request>& requests) {
    std::vector<HealthFinding> findings;
    const std::optional<TimeRange> trace = traced(capture);
    if (logs.empty() && trace)
        findings.push_back({"logs.none", Severity::info,
                            "The capture holds no service log, so what the engine said at the time is missing. Import the log together with "
                            "the trace, or append it."});
    if (!logs.empty() && trace) judge_overlap(logs, *trace, alignment_options(capture.sources()), findings);
    if (!logs.empty() && !steps.empty()) judge_resolution(logs, steps, findings);
    judge_requests(requests, steps, logs, findings);
    judge_clocks(requests, logs, findings);
    judge_sources(capture.sources(), findings);
    return findings;
}

}  // namespace

Result<DerivedRows> derive_capture(const CaptureReader& capture, const LayerRules& layers, const AnalysisOptions& options,
                                   const Progress& progress) {
    DerivedRows rows;
    const Result<std::vector<Step>> steps = capture.steps();
    if (!steps) return tl::unexpected<Error>(steps.error());
    const Result<std::vector<LogLine>> logs = capture.logs();
    if (!logs) return tl::unexpected<Error>(logs.error());
    const Result<std::vector<RequestMention>> mentions = capture.mentions();
    if (!mentions) return tl::unexpected<Error>(mentions.error());
    rows.requests = find_requests(*mentions, *steps, capture.sources());
    rows.alignments =
        align_logs(*logs, requests_of_lines(*logs, *mentions, rows.requests), *steps, rows.requests, alignment_options(capture.sources()));
    if (progress.stopped()) return fail(ErrorCode::cancelled, "the import was cancelled", "Nothing was written");
    const Result<std::shared_ptr<const SpanIndex>> index = SpanIndex::build(capture, progress.stop);
    if (!index) return tl::unexpected<Error>(index.error());
    Result<CaptureAnalysis> analysis = analyse_capture(capture, **index, layers, rows.requests, options, progress.stop);
    if (!analysis) return tl::unexpected<Error>(analysis.error());
    rows.analysis = std::move(*analysis);
    rows.health = capture_findings(capture, *logs, *steps, rows.requests);
    return rows;
}

Result<void> ensure_analysed(const std::string& path, const Progress& progress) {
    std::error_code ignored;
    if (!std::filesystem::is_regular_file(path, ignored)) return {};  // opening it says what is wrong
    if (const auto db = sql::Connection::open(path, sql::OpenMode::read_only);
        db && db->integer("SELECT analysed FROM capture").value_or(0) == 1)
        return {};
    DerivedRows rows;
    {
        const auto reader = CaptureReader::open(path);
        if (!reader) return tl::unexpected<Error>(reader.error());
        if ((*reader)->analysed()) return {};
        Result<DerivedRows> derived = derive_capture(**reader, LayerRules::built_in(), AnalysisOptions{}, progress);
        if (!derived) return tl::unexpected<Error>(derived.error());
        rows = std::move(*derived);
    }
    Result<sql::Connection> db = sql::Connection::open(path, sql::OpenMode::read_write);
    if (!db) return {};
    Result<sql::Transaction> transaction = sql::Transaction::begin(*db);
    if (!transaction) return {};  // read-only, or another program is writing
    if (Result<void> ok = replace_derived(*db, rows); !ok) return ok;
    return transaction->commit();
}

}  // namespace faultline
