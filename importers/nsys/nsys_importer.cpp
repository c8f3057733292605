#include "importers/nsys/nsys_importer.h"

#include <fmt/format.h>
#include <sqlite3.h>

#include <algorithm>

#include "importers/database_kind.h"
#include "importers/nsys/api_calls.h"
#include "importers/nsys/counters.h"
#include "importers/nsys/cpu_activity.h"
#include "importers/nsys/device_work.h"
#include "importers/nsys/export_database.h"
#include "importers/nsys/nvtx_ranges.h"
#include "importers/nsys/process_streams.h"
#include "importers/nsys/session_info.h"
#include "importers/nsys/spooled_file.h"

namespace faultline {

namespace nsys {

namespace {

/// Names of enumerations: the built-in ones are the same.
bool is_word_list(std::string_view table) noexcept { return table.starts_with("ENUM_") || table == "UnwindMethodType"; }

void name_unread_tables(Session& s) {
    for (const std::string& table : s.db.tables()) {
        if (s.tables_read.contains(table) || is_word_list(table)) continue;
        const std::int64_t rows = s.db.row_count(table);
        if (rows > 0)
            s.ledger.note("nsys.unread-table", "A table is not read; it counts with its rows", fmt::format("{}: {} rows", table, rows),
                          static_cast<std::uint64_t>(rows));
        else if (rows < 0)
            s.ledger.note("nsys.unread-table", "A table is not read; it counts with its rows", fmt::format("{}: damaged", table));
    }
}

/// Views could run anything: one in the place of a table is passed over, and said.
void name_views(Session& s, const SourceFile& file) {
    std::string all;
    for (const std::string& name : s.db.passed_over()) {
        if (!s.tables_read.contains(name) && name != "StringIds") continue;
        s.ledger.note("nsys.view", "A view or virtual table stands where a table should; what it shows is not read", name);
        all += (all.empty() ? "" : ", ") + name;
    }
    if (!all.empty())
        s.source.health.push_back({"input.view", Severity::warning,
                                   fmt::format("{} has views or virtual tables in the place of tables ({}); they were passed over, so what "
                                               "they show is missing. Export the report again.",
                                               file.path(), all)});
}

/// The strings name things; they are no events.
void count_strings(Session& s) {
    s.tables_read.insert("StringIds");
    if (const std::int64_t rows = s.db.row_count("StringIds"); rows > 0) s.ledger.add_metadata(static_cast<std::uint64_t>(rows));
}

void judge(Session& s, const SessionInfo& info, const SourceFile& file) {
    const auto say = [&](std::string code, Severity severity, std::string sentence) {
        s.source.health.push_back({std::move(code), severity, std::move(sentence)});
    };
    const bool opaque = s.graph_rows > 0 || !s.graph_launches.empty();
    if (opaque && !s.graph_nodes)
        say("graphs.opaque", Severity::warning,
            "CUDA graphs were captured as a whole, so that their kernels are missing and idle time inside them cannot be told. Capture "
            "with nsys profile --cuda-graph-trace=node.");
    if (s.source.span_count() == 0)
        say("events.none", Severity::warning,
            "The export holds no events: nothing was traced, or tracing failed. Name what to trace, as in nsys profile "
            "-t cuda,nvtx,osrt, and read what the program wrote.");
    if (info.skipped_calls())
        say("calls.skipped", Severity::info,
            "The profiler left out CUDA calls that it takes for cheap (CUDA_SKIP_SOME_API_CALLS), so that host time between calls may "
            "hold some.");
    if (s.db.cut_short()) {
        s.ledger.note("nsys.cut", "The database is cut short or damaged; tables whose description is lost are missing as a whole",
                      fmt::format("{} tables are described", s.db.tables().size()));
        say("input.cut", Severity::warning,
            fmt::format("{} is cut short or damaged: what could be read was read, and the rest is missing. Export the report again.",
                        file.path()));
    }
    if (s.db.without_log())
        say("input.log", Severity::warning,
            fmt::format("{} has changes in a log file beside it that could not be taken in: the log is damaged, or there is no room for a "
                        "copy. Free some space in the folder that TMPDIR names, or export the report again.",
                        file.path()));
    const std::optional<SourceTrouble> trouble = file.trouble();
    if (!trouble || !file.gzip()) return;
    s.ledger.note("input.gzip", trouble->sentence, fmt::format("byte {}", trouble->offset));
    say("input.gzip", Severity::warning, fmt::format("{}: {}. Copy or export the file again.", file.path(), trouble->sentence));
}

/// Sorts and counts inside the database end soon after the import was stopped.
void stop_with(const ExportDatabase& db, const Progress& progress) {
    constexpr int kInstructions = 100'000;
    sqlite3_progress_handler(
        db.connection().handle(), kInstructions, [](void* asked) { return static_cast<const Progress*>(asked)->stopped() ? 1 : 0; },
        const_cast<Progress*>(&progress));
}

Result<void> read_export(const ExportDatabase& db, SourceFile& file, SourceBuilder& source, ImportLedger& ledger,
                         const Progress& progress) {
    stop_with(db, progress);
    Session session(db, source, ledger, progress);
    SessionInfo info(session);
    NvtxReader nvtx(session);
    CallTimes event_times;
    info.read();
    ask_for_event_times(session, event_times);
    read_api_calls(session, event_times);
    read_device_work(session);
    read_cuda_events(session, event_times);
    nvtx.read();
    read_library_calls(session);
    read_os_calls(session);
    read_overhead(session);
    read_graph_building(session);
    read_schedule(session);
    read_samples(session);
    read_device_metrics(session);
    read_memory_events(session);
    read_process_streams(session);
    nvtx.finish();
    info.finish(nvtx);
    if (progress.stopped()) return fail(ErrorCode::cancelled, "the import was cancelled");
    count_strings(session);
    name_unread_tables(session);
    name_views(session, file);
    judge(session, info, file);
    return {};
}

}  // namespace

}  // namespace nsys

ImporterInfo NsysImporter::info() const {
    return {"nsys", "Nsight Systems database (nsys export --type sqlite)", "*.sqlite *.sqlite3 *.db",
            "session clock, tied to UTC where the export says when it began", false};
}

Confidence NsysImporter::sniff(std::string_view head, std::string_view /*name*/) const {
    if (!is_database(head)) return 0;
    // Where the first bytes do not show the tables, read() looks and says what the database is.
    return database_kind(tables_in_head(head)) == DatabaseKind::nsight ? 100 : 40;
}

Result<void> NsysImporter::read(SourceFile& file, SourceBuilder& source, ImportLedger& ledger, const Progress& progress) const {
    const Result<nsys::SpooledFile> spooled = nsys::SpooledFile::of(file, progress);
    if (!spooled) return tl::unexpected<Error>(spooled.error());
    const std::string called = file.path() == "-" ? "standard input" : file.path();
    const Result<nsys::ExportDatabase> db = nsys::ExportDatabase::open(spooled->path(), called);
    if (!db) return tl::unexpected<Error>(db.error());
    DatabaseKind kind = database_kind(db->tables());
    if (kind == DatabaseKind::other &&
        std::all_of(db->tables().begin(), db->tables().end(), [&](const std::string& table) { return db->row_count(table) == 0; }))
        kind = DatabaseKind::empty;
    if (kind != DatabaseKind::nsight) return tl::unexpected<Error>(refused_database(kind, db->tables(), called));
    return nsys::read_export(*db, file, source, ledger, progress);
}

}  // namespace faultline
