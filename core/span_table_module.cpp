#include "core/span_table_module.h"

#include <bit>
#include <optional>
#include <string_view>
#include <utility>

#include "core/embedded.h"
#include "core/span_table_columns.h"
#include "core/span_table_plan.h"
#include "core/span_table_scan.h"

namespace faultline::FAULTLINE_SQLITE_FORM {

namespace {

/// What the module keeps for its connection.
struct ModuleData {
    std::shared_ptr<const CaptureReader> capture;
    std::optional<SpanStore> store;

    SpanStore& opened() {
        if (!store) store.emplace(*capture);
        return *store;
    }
};

struct Table : sqlite3_vtab {
    explicit Table(ModuleData& module_data) : sqlite3_vtab{}, data(module_data) {}
    ModuleData& data;
};

struct Cursor : sqlite3_vtab_cursor {
    explicit Cursor(SpanStore& store) : sqlite3_vtab_cursor{}, scan(store) {}
    SpanScan scan;
};

Table& table_of(sqlite3_vtab* table) { return *static_cast<Table*>(table); }
Cursor& cursor_of(sqlite3_vtab_cursor* cursor) { return *static_cast<Cursor*>(cursor); }

int report(sqlite3_vtab* table, const Error& error) {
    sqlite3_free(table->zErrMsg);
    table->zErrMsg = sqlite3_mprintf("%s", error.sentence.c_str());
    return error.code == ErrorCode::cancelled ? SQLITE_INTERRUPT : SQLITE_CORRUPT;
}

int connect(sqlite3* connection, void* data, int, const char* const*, sqlite3_vtab** table, char** words) {
    if (const int code = sqlite3_declare_vtab(connection, span_table_declaration().c_str()); code != SQLITE_OK) {
        *words = sqlite3_mprintf("%s", sqlite3_errmsg(connection));
        return code;
    }
    sqlite3_vtab_config(connection, SQLITE_VTAB_INNOCUOUS);
    *table = new Table(*static_cast<ModuleData*>(data));
    return SQLITE_OK;
}

int disconnect(sqlite3_vtab* table) {
    delete &table_of(table);
    return SQLITE_OK;
}

int best_index(sqlite3_vtab* table, sqlite3_index_info* info) { return plan_scan(info, table_of(table).data.opened().span_count()); }

int open_cursor(sqlite3_vtab* table, sqlite3_vtab_cursor** cursor) {
    *cursor = new Cursor(table_of(table).data.opened());
    return SQLITE_OK;
}

int close_cursor(sqlite3_vtab_cursor* cursor) {
    delete &cursor_of(cursor);
    return SQLITE_OK;
}

int filter(sqlite3_vtab_cursor* cursor, int, const char* plan, int, sqlite3_value** values) {
    SpanScan& scan = cursor_of(cursor).scan;
    const Result<void> begun = scan.begin(filter_of_plan(plan ? plan : "", values, scan.store()));
    return begun ? SQLITE_OK : report(cursor->pVtab, begun.error());
}

int next(sqlite3_vtab_cursor* cursor) {
    const Result<void> moved = cursor_of(cursor).scan.next();
    return moved ? SQLITE_OK : report(cursor->pVtab, moved.error());
}

int at_end(sqlite3_vtab_cursor* cursor) { return cursor_of(cursor).scan.at_end() ? 1 : 0; }

int row_id(sqlite3_vtab_cursor* cursor, sqlite3_int64* id) {
    *id = cursor_of(cursor).scan.span().value;
    return SQLITE_OK;
}

void give(sqlite3_context* context, const std::optional<std::int64_t>& value) {
    if (value)
        sqlite3_result_int64(context, *value);
    else
        sqlite3_result_null(context);
}

/// Texts that live as long as the reader are not copied.
void give_lasting(sqlite3_context* context, std::string_view text) {
    sqlite3_result_text(context, text.data(), static_cast<int>(text.size()), SQLITE_STATIC);
}

void give_name(sqlite3_context* context, const std::string& name) {
    if (name.empty())
        sqlite3_result_null(context);
    else
        give_lasting(context, name);
}

/// What the thread that a span belongs to knows: its own, or for device work that of its launch.
Result<const TrackFacts*> host_facts(SpanScan& scan) {
    const TrackFacts& own = scan.store().facts(scan.track());
    if (own.thread_id) return &own;
    const Result<std::int64_t> launch = scan.value(Column::launch);
    if (!launch) return tl::unexpected<Error>(launch.error());
    return *launch == kNull ? &own : &scan.store().facts(SpanId{*launch}.track());
}

Result<void> give_host_field(sqlite3_context* context, SpanScan& scan, SpanField field) {
    const Result<const TrackFacts*> host = host_facts(scan);
    if (!host) return tl::unexpected<Error>(host.error());
    const TrackFacts& own = scan.store().facts(scan.track());
    const TrackFacts& process = own.process_id ? own : **host;
    switch (field) {
        case SpanField::process: give_name(context, process.process); break;
        case SpanField::pid: give(context, process.pid); break;
        case SpanField::process_id: give(context, process.process_id); break;
        case SpanField::thread: give_name(context, (*host)->thread); break;
        case SpanField::tid: give(context, (*host)->tid); break;
        default: give(context, (*host)->thread_id); break;
    }
    return {};
}

/// Values that need more than one stored column or are texts.
Result<void> give_computed(sqlite3_context* context, SpanScan& scan, SpanField field, std::int64_t stored) {
    switch (field) {
        case SpanField::end: {
            const Result<std::int64_t> duration = scan.value(Column::duration);
            if (!duration) return tl::unexpected<Error>(duration.error());
            sqlite3_result_int64(context, stored + *duration);
            return {};
        }
        case SpanField::name: give_lasting(context, scan.store().capture().name(NameId{static_cast<std::uint32_t>(stored)})); return {};
        case SpanField::kind: give_lasting(context, kind_name(static_cast<SpanKind>(stored))); return {};
        case SpanField::family: {
            const Result<std::int64_t> kind = scan.value(Column::kind);
            if (!kind) return tl::unexpected<Error>(kind.error());
            const NameId name{static_cast<std::uint32_t>(stored)};
            give_lasting(context, scan.store().families().family(static_cast<SpanKind>(*kind), name));
            return {};
        }
        case SpanField::parent:
            if (stored == kNull)
                sqlite3_result_null(context);
            else
                sqlite3_result_int64(context, SpanId::make(scan.track(), static_cast<std::uint64_t>(stored)).value);
            return {};
        case SpanField::collective: sqlite3_result_int(context, stored != kNull && (stored & flag_collective) != 0 ? 1 : 0); return {};
        case SpanField::args: {
            if (stored == kNull || stored == 0) {
                sqlite3_result_null(context);
                return {};
            }
            const Result<std::string> text = scan.store().capture().args(TextId{static_cast<std::uint32_t>(stored)});
            if (!text) return tl::unexpected<Error>(text.error());
            sqlite3_result_text(context, text->data(), static_cast<int>(text->size()), SQLITE_TRANSIENT);
            return {};
        }
        default: sqlite3_result_null(context); return {};
    }
}

/// The stored column that a computed one starts from.
Column base_column(SpanField field) {
    switch (field) {
        case SpanField::name:
        case SpanField::family: return Column::name;
        case SpanField::kind: return Column::kind;
        case SpanField::parent: return Column::parent;
        case SpanField::collective: return Column::flags;
        case SpanField::args: return Column::args;
        default: return Column::start;
    }
}

Result<void> give_stored(sqlite3_context* context, SpanScan& scan, Column column) {
    const Result<std::int64_t> value = scan.value(column);
    if (!value) return tl::unexpected<Error>(value.error());
    if (*value == kNull)
        sqlite3_result_null(context);
    else if (is_real(column))
        sqlite3_result_double(context, std::bit_cast<double>(*value));
    else
        sqlite3_result_int64(context, *value);
    return {};
}

Result<void> give_column(sqlite3_context* context, SpanScan& scan, const SpanColumn& column) {
    const TrackFacts& facts = scan.store().facts(scan.track());
    switch (column.field) {
        case SpanField::stored: return give_stored(context, scan, column.stored);
        case SpanField::start: return give_stored(context, scan, Column::start);
        case SpanField::duration: return give_stored(context, scan, Column::duration);
        case SpanField::id: sqlite3_result_int64(context, scan.span().value); return {};
        case SpanField::track: sqlite3_result_int64(context, index_of(scan.track())); return {};
        case SpanField::source: sqlite3_result_int64(context, facts.source); return {};
        case SpanField::lane: sqlite3_result_int64(context, facts.lane); return {};
        case SpanField::rank: give(context, facts.rank); return {};
        case SpanField::device: give(context, facts.device); return {};
        case SpanField::stream: give(context, facts.stream); return {};
        case SpanField::process:
        case SpanField::thread:
        case SpanField::pid:
        case SpanField::tid:
        case SpanField::process_id:
        case SpanField::thread_id: return give_host_field(context, scan, column.field);
        case SpanField::gap: {
            const Result<std::int64_t> gap = scan.gap();
            if (!gap) return tl::unexpected<Error>(gap.error());
            give(context, *gap == kNull ? std::nullopt : std::optional(*gap));
            return {};
        }
        default: break;
    }
    const Result<std::int64_t> base = scan.value(base_column(column.field));
    if (!base) return tl::unexpected<Error>(base.error());
    return give_computed(context, scan, column.field, *base);
}

int column(sqlite3_vtab_cursor* cursor, sqlite3_context* context, int index) {
    const Result<void> given = give_column(context, cursor_of(cursor).scan, span_columns()[static_cast<std::size_t>(index)]);
    return given ? SQLITE_OK : report(cursor->pVtab, given.error());
}

void free_module_data(void* data) { delete static_cast<ModuleData*>(data); }

/// Eponymous only (no xCreate) and read-only (no xUpdate).
constexpr sqlite3_module make_module() {
    sqlite3_module module{};
    module.iVersion = 1;
    module.xConnect = connect;
    module.xBestIndex = best_index;
    module.xDisconnect = disconnect;
    module.xOpen = open_cursor;
    module.xClose = close_cursor;
    module.xFilter = filter;
    module.xNext = next;
    module.xEof = at_end;
    module.xColumn = column;
    module.xRowid = row_id;
    return module;
}
constexpr sqlite3_module kModule = make_module();

}  // namespace

std::string create_span_table(sqlite3* connection, std::shared_ptr<const CaptureReader> capture) {
    // SQLite frees the data itself where it refuses the module.
    if (sqlite3_create_module_v2(connection, "span", &kModule, new ModuleData{std::move(capture), std::nullopt}, free_module_data) !=
        SQLITE_OK)
        return sqlite3_errmsg(connection);
    // The first use declares the columns, which a query that may only read is not allowed to.
    const std::string views = std::string(embedded::kViewsSql) + ";SELECT 1 FROM span LIMIT 0";
    if (sqlite3_exec(connection, views.c_str(), nullptr, nullptr, nullptr) != SQLITE_OK) return sqlite3_errmsg(connection);
    return {};
}

}  // namespace faultline::FAULTLINE_SQLITE_FORM
