#include "core/derived_rows.h"

#include <algorithm>
#include <unordered_map>

#include "core/capture_schema.h"

namespace faultline {

namespace {

Result<void> write_requests(sql::Connection& db, const std::vector<Request>& requests) {
    Result<sql::Statement> row = db.prepare("INSERT INTO request VALUES(?,?,?,?,?,?,?,?,?,?,?)");
    Result<sql::Statement> part = db.prepare("INSERT OR IGNORE INTO request_step(request, step) VALUES(?,?)");
    if (!row || !part) return tl::unexpected<Error>(db.last_error("writing the capture"));
    for (const Request& r : requests) {
        row->bind(1, r.id).bind(2, std::string_view(r.name)).bind(3, r.arrival).bind(4, r.first_token).bind(5, r.end);
        row->bind(6, r.ttft_ns).bind(7, r.tpot_ns).bind(8, r.prompt_tokens).bind(9, r.output_tokens);
        if (Result<void> ok = row->bind(10, std::int64_t{r.aborted}).bind(11, std::string_view(r.timing_rule)).run(); !ok) return ok;
        for (const StepId step : r.steps)
            if (Result<void> ok = part->bind(1, r.id).bind(2, index_of(step)).run(); !ok) return ok;
    }
    return {};
}

Result<void> write_alignments(sql::Connection& db, const std::vector<LogAlignment>& alignments) {
    Result<sql::Statement> row = db.prepare("UPDATE log SET request = ?, step = ?, method = ?, distance_ns = ? WHERE id = ?");
    if (!row) return tl::unexpected<Error>(row.error());
    // Of a long log few lines belong to a step: the others are set back in one go.
    if (Result<void> ok = db.execute("UPDATE log SET request = NULL, step = NULL, method = 'none', distance_ns = NULL"
                                     " WHERE method <> 'none' OR request IS NOT NULL");
        !ok)
        return ok;
    for (const LogAlignment& a : alignments) {
        if (a.request.empty() && a.method == AlignMethod::none) continue;
        if (a.request.empty())
            row->bind_null(1);
        else
            row->bind(1, std::string_view(a.request));
        row->bind(2, a.step ? std::optional<std::int64_t>(index_of(*a.step)) : std::nullopt);
        if (Result<void> ok = row->bind(3, align_method_name(a.method)).bind(4, a.distance_ns).bind(5, a.log).run(); !ok) return ok;
    }
    return {};
}

Result<void> write_stalls(sql::Connection& db, const std::vector<Step>& stalls) {
    Result<sql::Statement> row =
        db.prepare("INSERT INTO step(id, name, dialect, phase, start_ns, end_ns, host_ns, inferred, number, tokens, batch, instance, kernels,"
                   " kernel_busy_ns, kind) VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,1)");
    Result<sql::Statement> rank = db.prepare("INSERT OR IGNORE INTO step_rank(step, rank) VALUES(?,?)");
    if (!row || !rank) return tl::unexpected<Error>(db.last_error("writing the capture"));
    for (const Step& s : stalls) {
        row->bind(1, index_of(s.id)).bind(2, std::string_view(s.name)).bind(3, std::string_view(s.dialect));
        row->bind(4, std::int64_t{static_cast<std::uint8_t>(s.phase)}).bind(5, s.start).bind(6, s.end).bind(7, s.host_ns);
        row->bind(8, std::int64_t{s.inferred}).bind(9, s.number).bind(10, s.tokens).bind(11, s.batch);
        if (Result<void> ok = row->bind(12, std::string_view(s.instance)).bind(13, s.kernels).bind(14, s.kernel_busy_ns).run(); !ok)
            return ok;
        for (const std::int64_t r : s.ranks)
            if (Result<void> ok = rank->bind(1, index_of(s.id)).bind(2, r).run(); !ok) return ok;
    }
    return {};
}

Result<void> write_verdicts(sql::Connection& db, const CaptureAnalysis& analysis) {
    Result<sql::Statement> verdict = db.prepare("INSERT INTO step_verdict VALUES(?,?,?,?,?,?,?,?,?)");
    Result<sql::Statement> line = db.prepare(
        "INSERT INTO roofline(instance, phase, rule, intercept_ns, slope_ns, steps, buckets, r2) VALUES(?,?,?,?,?,?,?,?)");
    if (!verdict || !line) return tl::unexpected<Error>(db.last_error("writing the capture"));
    for (const StepVerdict& v : analysis.verdicts) {
        verdict->bind(1, index_of(v.step)).bind(2, v.expected_ns);
        if (v.ratio)
            verdict->bind(3, *v.ratio);
        else
            verdict->bind_null(3);
        verdict->bind(4, std::int64_t{v.outlier}).bind(5, std::int64_t{v.reasons});
        verdict->bind(6, std::int64_t{static_cast<std::uint8_t>(v.bound)}).bind(7, std::string_view(v.rule));
        if (Result<void> ok = verdict->bind(8, std::string_view(v.sentence)).bind(9, v.own_ns).run(); !ok) return ok;
    }
    for (const RooflineLine& l : analysis.rooflines) {
        line->bind(1, std::string_view(l.instance)).bind(2, std::int64_t{static_cast<std::uint8_t>(l.phase)});
        line->bind(3, std::string_view(l.rule)).bind(4, l.intercept_ns).bind(5, l.slope_ns).bind(6, l.steps).bind(7, l.buckets);
        if (Result<void> ok = line->bind(8, l.r2).run(); !ok) return ok;
    }
    return {};
}

Result<void> write_bubbles(sql::Connection& db, const std::vector<Bubble>& bubbles) {
    Result<sql::Statement> row =
        db.prepare("INSERT INTO bubble(id, device, start_ns, duration_ns, step, host_span, cause, stack) VALUES(?,?,?,?,?,?,?,?)");
    if (!row) return tl::unexpected<Error>(row.error());
    std::int64_t id = 0;
    for (const Bubble& b : bubbles) {
        row->bind(1, ++id).bind(2, std::int64_t{index_of(b.device)}).bind(3, b.start).bind(4, b.duration);
        row->bind(5, b.step ? std::optional<std::int64_t>(index_of(*b.step)) : std::nullopt);
        row->bind(6, b.host_span.valid() ? std::optional<std::int64_t>(b.host_span.value) : std::nullopt);
        if (Result<void> ok = row->bind(7, bubble_cause_name(b.cause)).bind(8, b.stack).run(); !ok) return ok;
    }
    return {};
}

BubbleCause cause_of(std::string_view word) {
    for (const BubbleCause cause : {BubbleCause::cpu, BubbleCause::sync, BubbleCause::communication})
        if (word == bubble_cause_name(cause)) return cause;
    return BubbleCause::unknown;
}

}  // namespace

Result<void> replace_derived(sql::Connection& db, const DerivedRows& rows) {
    if (Result<void> ok = db.execute("DELETE FROM request; DELETE FROM request_step; DELETE FROM step_verdict; DELETE FROM roofline;"
                                     "DELETE FROM bubble; DELETE FROM health WHERE source = 0;"
                                     "DELETE FROM step_rank WHERE step IN (SELECT id FROM step WHERE kind = 1);"
                                     "DELETE FROM step WHERE kind = 1");
        !ok)
        return ok;
    if (Result<void> ok = write_requests(db, rows.requests); !ok) return ok;
    if (Result<void> ok = write_alignments(db, rows.alignments); !ok) return ok;
    if (Result<void> ok = write_stalls(db, rows.analysis.stalls); !ok) return ok;
    if (Result<void> ok = write_verdicts(db, rows.analysis); !ok) return ok;
    if (Result<void> ok = write_bubbles(db, rows.analysis.bubbles); !ok) return ok;
    Result<sql::Statement> finding = db.prepare("INSERT INTO health(source, code, severity, sentence) VALUES(0,?,?,?)");
    if (!finding) return tl::unexpected<Error>(finding.error());
    for (const HealthFinding& h : rows.health) {
        finding->bind(1, std::string_view(h.code)).bind(2, std::int64_t{static_cast<std::uint8_t>(h.severity)});
        if (Result<void> ok = finding->bind(3, std::string_view(h.sentence)).run(); !ok) return ok;
    }
    Result<sql::Statement> done = db.prepare("UPDATE capture SET analysed = 1, analysis = ?");
    if (!done) return tl::unexpected<Error>(done.error());
    return done->bind(1, std::string_view(rows.analysis.parameters)).run();
}

Result<std::vector<Request>> read_requests(const sql::Connection& db) {
    std::vector<Request> all;
    std::unordered_map<std::int64_t, std::size_t> at;
    Result<void> read = sql::for_rows(
        db,
        "SELECT id, request, arrival_ns, first_token_ns, end_ns, ttft_ns, tpot_ns, prompt_tokens, output_tokens, aborted, timing_rule"
        " FROM main.request ORDER BY id",
        [&](const sql::Statement& row) {
            Request r;
            r.id = row.integer(0);
            r.name = row.text(1);
            r.arrival = row.optional_integer(2);
            r.first_token = row.optional_integer(3);
            r.end = row.optional_integer(4);
            r.ttft_ns = row.optional_integer(5);
            r.tpot_ns = row.optional_integer(6);
            r.prompt_tokens = row.optional_integer(7);
            r.output_tokens = row.optional_integer(8);
            r.aborted = row.integer(9) != 0;
            r.timing_rule = row.text(10);
            at.emplace(r.id, all.size());
            all.push_back(std::move(r));
        });
    if (!read) return tl::unexpected<Error>(read.error());
    read = sql::for_rows(db,
                         "SELECT rs.request, rs.step, s.instance FROM main.request_step rs JOIN main.step s ON s.id = rs.step"
                         " ORDER BY rs.request, s.start_ns, s.id",
                         [&](const sql::Statement& row) {
                             const auto found = at.find(row.integer(0));
                             if (found == at.end()) return;
                             Request& r = all[found->second];
                             r.steps.push_back(StepId{row.integer(1)});
                             const std::string_view instance = row.text(2);
                             if (!instance.empty() && std::find(r.instances.begin(), r.instances.end(), instance) == r.instances.end())
                                 r.instances.emplace_back(instance);
                         });
    if (!read) return tl::unexpected<Error>(read.error());
    return all;
}

Result<CaptureAnalysis> read_analysis(const sql::Connection& db) {
    CaptureAnalysis a;
    Result<void> read =
        sql::for_rows(db, "SELECT instance, phase, rule, intercept_ns, slope_ns, steps, buckets, r2 FROM main.roofline ORDER BY id",
                      [&](const sql::Statement& row) {
                          a.rooflines.push_back({std::string(row.text(0)), static_cast<StepPhase>(std::clamp<std::int64_t>(row.integer(1), 0, 3)),
                                                 std::string(row.text(2)), row.real(3), row.real(4), row.integer(5), row.integer(6),
                                                 row.real(7)});
                      });
    if (!read) return tl::unexpected<Error>(read.error());
    Result<std::vector<Step>> steps = read_steps(db);
    if (!steps) return tl::unexpected<Error>(steps.error());
    std::unordered_map<std::int64_t, StepVerdict> verdicts;
    read = sql::for_rows(db, "SELECT step, expected_ns, ratio, outlier, reasons, bound, rule, sentence, own_ns FROM main.step_verdict",
                         [&](const sql::Statement& row) {
                             StepVerdict v;
                             v.step = StepId{row.integer(0)};
                             v.expected_ns = row.optional_integer(1);
                             if (!row.is_null(2)) v.ratio = row.real(2);
                             v.outlier = row.integer(3) != 0;
                             v.reasons = static_cast<std::uint32_t>(row.integer(4));
                             v.bound = static_cast<StepBound>(std::clamp<std::int64_t>(row.integer(5), 0, 4));
                             v.rule = row.text(6);
                             v.sentence = row.text(7);
                             v.own_ns = row.optional_integer(8);
                             verdicts.emplace(row.integer(0), std::move(v));
                         });
    if (!read) return tl::unexpected<Error>(read.error());
    // One for each step, whatever rows are missing, since readers go by position; none at all where the capture was never judged.
    const bool judged = !verdicts.empty();
    for (const StepKind kind : {StepKind::step, StepKind::stall})
        for (const Step& s : *steps) {
            if (s.kind != kind || !judged) continue;
            StepVerdict none;
            none.step = s.id;
            const auto found = verdicts.find(index_of(s.id));
            a.verdicts.push_back(found == verdicts.end() ? std::move(none) : std::move(found->second));
        }
    read = sql::for_rows(db, "SELECT id, device, start_ns, duration_ns, step, host_span, cause, stack FROM main.bubble ORDER BY id",
                         [&](const sql::Statement& row) {
                             Bubble b;
                             b.id = row.integer(0);
                             b.device = DeviceId{static_cast<std::uint32_t>(row.integer(1))};
                             b.start = row.integer(2);
                             b.duration = row.integer(3);
                             if (!row.is_null(4)) b.step = StepId{row.integer(4)};
                             b.host_span = SpanId{row.optional_integer(5).value_or(-1)};
                             b.cause = cause_of(row.text(6));
                             b.stack = row.optional_integer(7);
                             a.bubbles.push_back(b);
                         });
    if (!read) return tl::unexpected<Error>(read.error());
    for (Step& s : *steps)
        if (s.kind == StepKind::stall) a.stalls.push_back(std::move(s));
    read = sql::for_rows(db, "SELECT analysis FROM main.capture", [&](const sql::Statement& row) { a.parameters = row.text(0); });
    if (!read) return tl::unexpected<Error>(read.error());
    return a;
}

}  // namespace faultline
