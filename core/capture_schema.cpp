#include "core/capture_schema.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/embedded.h"

namespace faultline {

Result<void> create_schema(sql::Connection& connection) {
    if (Result<void> made = connection.execute(std::string(embedded::kSchemaSql)); !made) return made;
    return connection.execute(fmt::format("PRAGMA application_id={}; PRAGMA user_version={};", kApplicationId, kSchemaVersion));
}

Result<void> check_capture(const sql::Connection& connection, const std::string& path) {
    const Result<std::int64_t> id = connection.integer("PRAGMA application_id");
    if (!id || *id != kApplicationId)
        return fail(ErrorCode::unusable_input, fmt::format("{} is not a Faultline capture", path),
                    "Import a trace with: faultline import -o NAME.faultline TRACE");
    const Result<std::int64_t> version = connection.integer("PRAGMA user_version");
    if (!version) return tl::unexpected<Error>(version.error());
    if (*version > kSchemaVersion)
        return fail(ErrorCode::unusable_input,
                    fmt::format("{} was written by a newer Faultline (format {}, this one reads up to {})", path, *version, kSchemaVersion),
                    "Update Faultline, or import the sources again with this version");
    if (*version < 1) return fail(ErrorCode::unusable_input, fmt::format("{} has no format version", path), "Import its sources again");
    return {};
}

namespace {

/// The statement of schema.sql that makes a table.
std::string table_statement(std::string_view table) {
    const std::string_view schema = embedded::kSchemaSql;
    const std::size_t begin = schema.find(fmt::format("CREATE TABLE {} (", table));
    const std::size_t end = schema.find(';', schema.find("STRICT", begin));
    return std::string(schema.substr(begin, end + 1 - begin));
}

}  // namespace

Result<void> bring_forward(sql::Connection& connection, const std::string& path) {
    const Result<std::int64_t> version = connection.integer("PRAGMA user_version");
    if (!version) return tl::unexpected<Error>(version.error());
    if (*version >= kSchemaVersion) return {};
    // Format 2 added requests' mentions, verdicts and rooflines, and the columns below at the ends of their tables.
    std::string changes = R"(BEGIN IMMEDIATE;
        ALTER TABLE capture ADD COLUMN analysed INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE capture ADD COLUMN analysis TEXT NOT NULL DEFAULT '';
        ALTER TABLE source ADD COLUMN clock_offset_ns INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE source ADD COLUMN clock_uncertainty_ns INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE source ADD COLUMN clock_rule TEXT NOT NULL DEFAULT '';
        ALTER TABLE source ADD COLUMN utc_offset_seconds INTEGER;
        ALTER TABLE step ADD COLUMN kind INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE request ADD COLUMN prompt_tokens INTEGER;
        ALTER TABLE request ADD COLUMN output_tokens INTEGER;
        ALTER TABLE request ADD COLUMN aborted INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE request ADD COLUMN timing_rule TEXT NOT NULL DEFAULT '';
        ALTER TABLE log ADD COLUMN resolution_ns INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE log ADD COLUMN offset INTEGER NOT NULL DEFAULT 0;
        ALTER TABLE bubble ADD COLUMN stack INTEGER;
        UPDATE source SET clock_offset_ns = coalesce((SELECT min(clock_offset_ns) FROM track WHERE track.source = source.id), 0);)";
    for (const std::string_view table : {"request_mention", "step_verdict", "roofline"}) changes += table_statement(table);
    changes += fmt::format("PRAGMA user_version={}; COMMIT;", kSchemaVersion);
    if (Result<void> ok = connection.execute(changes); !ok) {
        (void)connection.execute("ROLLBACK");
        return fail(ErrorCode::unwritable_output, fmt::format("{} cannot be brought up to date ({})", path, ok.error().sentence),
                    "Copy it to a folder that can be written");
    }
    return {};
}

Result<void> remove_incomplete_sources(sql::Connection& connection) {
    const Result<std::int64_t> left = connection.integer("SELECT count(*) FROM source WHERE complete = 0");
    if (!left) return tl::unexpected<Error>(left.error());
    if (*left == 0) return {};
    Result<sql::Transaction> transaction = sql::Transaction::begin(connection);
    if (!transaction) return tl::unexpected<Error>(transaction.error());
    const Result<void> removed = connection.execute(R"(
        CREATE TEMP TABLE gone AS SELECT id FROM main.source WHERE complete = 0;
        DELETE FROM span_column WHERE chunk IN (SELECT c.id FROM span_chunk c JOIN track t ON t.id = c.track WHERE t.source IN gone);
        DELETE FROM span_chunk WHERE track IN (SELECT id FROM track WHERE source IN gone);
        DELETE FROM track WHERE source IN gone;
        DELETE FROM thread WHERE process IN (SELECT id FROM process WHERE source IN gone);
        DELETE FROM process WHERE source IN gone;
        DELETE FROM device WHERE source IN gone;
        DELETE FROM step_span WHERE source IN gone;
        DELETE FROM step WHERE kind = 0 AND id NOT IN (SELECT step FROM step_span);
        DELETE FROM step_rank WHERE step NOT IN (SELECT id FROM step);
        DELETE FROM log WHERE source IN gone;
        DELETE FROM request_mention WHERE source IN gone;
        DELETE FROM stack_sample WHERE source IN gone;
        DELETE FROM ledger_entry WHERE source IN gone;
        DELETE FROM ledger_total WHERE source IN gone;
        DELETE FROM health WHERE source IN gone;
        DELETE FROM source WHERE complete = 0;
        DROP TABLE temp.gone;)");
    if (!removed) return removed;
    return transaction->commit();
}

namespace {

Step step_of(const sql::Statement& row) {
    Step s;
    s.id = StepId{row.integer(0)};
    s.name = row.text(1);
    s.dialect = row.text(2);
    s.phase = static_cast<StepPhase>(std::clamp<std::int64_t>(row.integer(3), 0, 3));
    s.start = row.integer(4);
    s.end = row.integer(5);
    s.host_ns = row.integer(6);
    s.inferred = row.integer(7) != 0;
    s.number = row.optional_integer(8);
    s.tokens = row.optional_integer(9);
    s.batch = row.optional_integer(10);
    s.context_requests = row.optional_integer(11);
    s.context_tokens = row.optional_integer(12);
    s.generation_requests = row.optional_integer(13);
    s.generation_tokens = row.optional_integer(14);
    s.instance = row.text(15);
    s.kernels = row.integer(16);
    s.kernel_busy_ns = row.integer(17);
    s.kind = row.integer(18) == 1 ? StepKind::stall : StepKind::step;
    return s;
}

/// Runs a query of (step, value) rows, sorted by step, into the steps.
template <class Put>
Result<void> read_parts(const sql::Connection& connection, std::string_view query, std::vector<Step>& steps, Put put) {
    std::size_t at = 0;
    return sql::for_rows(connection, query, [&](const sql::Statement& row) {
        while (at < steps.size() && index_of(steps[at].id) < row.integer(0)) ++at;
        if (at < steps.size() && index_of(steps[at].id) == row.integer(0)) put(steps[at], row.integer(1));
    });
}

}  // namespace

Result<std::vector<Step>> read_steps(const sql::Connection& connection) {
    std::vector<Step> steps;
    const Result<void> read = sql::for_rows(
        connection,
        "SELECT id, name, dialect, phase, start_ns, end_ns, host_ns, inferred, number, tokens, batch, context_requests, context_tokens,"
        " generation_requests, generation_tokens, instance, kernels, kernel_busy_ns, kind FROM main.step ORDER BY id",
        [&](const sql::Statement& row) { steps.push_back(step_of(row)); });
    if (!read) return tl::unexpected<Error>(read.error());
    if (Result<void> ok = read_parts(connection, "SELECT step, rank FROM main.step_rank ORDER BY step, rank", steps,
                                     [](Step& s, std::int64_t rank) { s.ranks.push_back(rank); });
        !ok)
        return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = read_parts(connection, "SELECT step, span FROM main.step_span ORDER BY step, span", steps,
                                     [](Step& s, std::int64_t span) { s.spans.push_back(SpanId{span}); });
        !ok)
        return tl::unexpected<Error>(ok.error());
    return steps;
}

}  // namespace faultline
