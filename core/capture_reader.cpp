#include "core/capture_reader.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <deque>
#include <filesystem>
#include <map>

#include "core/capture_reader_state.h"
#include "core/capture_schema.h"
#include "core/interned_texts.h"
#include "core/packed_column.h"
#include "core/span_table.h"
#include "core/sql.h"

namespace faultline {

namespace {

Error damaged(const std::string& path) {
    return {ErrorCode::unusable_input, fmt::format("{} is damaged", path), "Import its sources again"};
}

/// Wraps instead of overflowing, whatever a damaged file says.
TimeNs shift(TimeNs time, std::int64_t by) noexcept {
    return static_cast<TimeNs>(static_cast<std::uint64_t>(time) + static_cast<std::uint64_t>(by));
}

}  // namespace

namespace {

/// A capture at rest opens read-only; one that still has a WAL in a folder that cannot be written only as immutable.
Result<sql::Connection> open_database(const std::string& path) {
    std::error_code why;
    if (!std::filesystem::exists(path, why))
        return fail(ErrorCode::unusable_input, fmt::format("{} does not exist", path), "Check the name");
    if (std::filesystem::is_directory(path, why))
        return fail(ErrorCode::unusable_input, fmt::format("{} is a folder, not a capture", path), "Give the name of a .faultline file");
    // Opening a pipe would wait for a writer, and a device may never end.
    if (!std::filesystem::is_regular_file(path, why))
        return fail(ErrorCode::unusable_input, fmt::format("{} is no ordinary file", path), "Give the name of a .faultline file");
    Result<sql::Connection> db = sql::Connection::open(path, sql::OpenMode::read_only);
    if (db && db->integer("SELECT count(*) FROM sqlite_schema")) return db;
    Result<sql::Connection> immutable = sql::Connection::open(path, sql::OpenMode::read_only_immutable);
    if (immutable && immutable->integer("SELECT count(*) FROM sqlite_schema")) return immutable;
    return fail(ErrorCode::unusable_input, fmt::format("{} is not a Faultline capture", path),
                "Import a trace with: faultline import -o NAME.faultline TRACE");
}

/// Takes away what an import that was cut off left behind, where the file can be written; else the rows are only not shown.
void tidy(const std::string& path) {
    Result<sql::Connection> writable = sql::Connection::open(path, sql::OpenMode::read_write);
    if (writable) (void)remove_incomplete_sources(*writable);
}

/// Adds what captures of older versions lack.
Result<void> modernise(const std::string& path) {
    Result<sql::Connection> writable = sql::Connection::open(path, sql::OpenMode::read_write);
    if (writable) {
        const Result<void> done = bring_forward(*writable, path);
        if (done) return {};
    }
    return fail(ErrorCode::unusable_input, fmt::format("{} was written by an older Faultline and cannot be brought up to date here", path),
                "Copy it to a folder that can be written, and open the copy");
}

}  // namespace

Result<std::unique_ptr<CaptureReader>> CaptureReader::open(const std::string& path) {
    Result<sql::Connection> db = open_database(path);
    if (!db) return tl::unexpected<Error>(db.error());
    if (Result<void> ok = check_capture(*db, path); !ok) return tl::unexpected<Error>(ok.error());
    if (db->integer("PRAGMA user_version").value_or(0) < kSchemaVersion)
        if (Result<void> ok = modernise(path); !ok) return tl::unexpected<Error>(ok.error());
    if (db->integer("SELECT count(*) FROM source WHERE complete = 0").value_or(0) > 0) tidy(path);
    if (Result<void> ok = db->execute("PRAGMA temp_store=MEMORY; PRAGMA cache_size=-32768"); !ok) return tl::unexpected<Error>(ok.error());
    auto state = std::make_unique<State>(std::move(*db), path);
    if (Result<void> ok = state->load(); !ok) return tl::unexpected<Error>(ok.error());
    std::unique_ptr<CaptureReader> reader(new CaptureReader(std::move(state)));
    if (Result<void> ok = register_span_table(reader->connection(), *reader); !ok) return tl::unexpected<Error>(ok.error());
    return reader;
}

CaptureReader::CaptureReader(std::unique_ptr<State> state) : state_(std::move(state)) {}
CaptureReader::~CaptureReader() = default;

Result<void> CaptureReader::State::load() {
    if (Result<void> ok = load_objects(); !ok) return ok;
    if (Result<void> ok = load_tracks(); !ok) return ok;
    bool in_order = true;
    Result<void> read = sql::for_rows(db, "SELECT id, text FROM main.name ORDER BY id", [&](const sql::Statement& row) {
        in_order = in_order && row.integer(0) == static_cast<std::int64_t>(names.size());
        names.emplace_back(row.text(1));
    });
    if (!read) return read;
    if (!in_order) return tl::unexpected<Error>(damaged(path));
    const bool traced = std::any_of(tracks.begin(), tracks.end(),
                                    [](const Track& t) { return t.kind == TrackKind::host || t.kind == TrackKind::device; });
    if (!traced) {  // a log: its messages are what there is to cover
        read = sql::for_rows(db,
                             "SELECT min(l.time_ns + s.clock_offset_ns), max(l.time_ns + l.resolution_ns + s.clock_offset_ns) FROM main.log l"
                             " JOIN main.source s ON s.id = l.source AND s.complete = 1",
                             [&](const sql::Statement& row) {
                                 if (row.is_null(0)) return;
                                 const TimeRange here{row.integer(0), row.integer(1)};
                                 extent = tracks.empty() ? here : TimeRange{std::min(extent.start, here.start), std::max(extent.end, here.end)};
                             });
        if (!read) return read;
    }
    read = sql::for_rows(db, "SELECT zero_wall_ns FROM main.capture", [&](const sql::Statement& row) { zero_wall = row.optional_integer(0); });
    if (!read) return read;
    Result<sql::Statement> statement = db.prepare("SELECT data FROM main.span_column WHERE chunk = ? AND column = ?");
    if (!statement) return tl::unexpected<Error>(statement.error());
    column_data = std::move(*statement);
    return {};
}

Result<void> CaptureReader::State::load_objects() {
    Result<void> read = sql::for_rows(db,
                                 "SELECT id, path, format, producer, host, rank, rank_rule, world_size, bytes, events, metadata, clock_offset_ns, "
                                 "clock_uncertainty_ns, clock_rule FROM "
                                 "main.source WHERE complete = 1 ORDER BY id",
                                 [&](const sql::Statement& row) {
                                     Source s;
                                     s.id = id_of<SourceId>(row, 0);
                                     s.path = row.text(1);
                                     s.format = row.text(2);
                                     s.producer = row.text(3);
                                     s.host = row.text(4);
                                     s.rank = row.optional_integer(5);
                                     s.rank_rule = row.text(6);
                                     s.world_size = row.optional_integer(7);
                                     s.bytes = static_cast<std::uint64_t>(row.integer(8));
                                     s.events = static_cast<std::uint64_t>(row.integer(9));
                                     s.metadata = row.text(10);
                                     s.clock_offset_ns = row.integer(11);
                                     s.clock_uncertainty_ns = row.integer(12);
                                     s.clock_rule = row.text(13);
                                     s.complete = true;
                                     sources.push_back(std::move(s));
                                 });
    if (!read) return read;
    read = sql::for_rows(db,
                    "SELECT p.id, p.source, p.pid, p.pid_text, p.name, p.labels, p.rank, p.sort_index FROM main.process p JOIN main.source "
                    "s ON s.id = p.source AND s.complete = 1 ORDER BY p.id",
                    [&](const sql::Statement& row) {
                        processes.push_back({id_of<ProcessId>(row, 0), id_of<SourceId>(row, 1), row.integer(2), std::string(row.text(3)),
                                             std::string(row.text(4)), std::string(row.text(5)), row.optional_integer(6), row.integer(7)});
                    });
    if (!read) return read;
    read = sql::for_rows(db, "SELECT id, process, tid, tid_text, name, sort_index FROM main.thread ORDER BY id", [&](const sql::Statement& row) {
        threads.push_back({id_of<ThreadId>(row, 0), id_of<ProcessId>(row, 1), row.integer(2), std::string(row.text(3)),
                           std::string(row.text(4)), row.integer(5)});
    });
    if (!read) return read;
    return sql::for_rows(db, "SELECT id, source, ordinal, name, properties FROM main.device ORDER BY id", [&](const sql::Statement& row) {
        devices.push_back(
            {id_of<DeviceId>(row, 0), id_of<SourceId>(row, 1), row.integer(2), std::string(row.text(3)), std::string(row.text(4))});
    });
}

Result<void> CaptureReader::State::load_tracks() {
    Result<void> read = sql::for_rows(db,
                                 "SELECT t.id, t.source, t.kind, t.process, t.thread, t.device, t.stream, t.lane, t.part, t.max_depth, "
                                 "t.name, t.spans, t.first_start, t.last_end,"
                                 " t.clock_offset_ns, t.clock_uncertainty_ns FROM main.track t JOIN main.source s ON s.id = t.source AND "
                                 "s.complete = 1 ORDER BY t.id",
                                 [&](const sql::Statement& row) {
                                     Track t;
                                     t.id = id_of<TrackId>(row, 0);
                                     t.source = id_of<SourceId>(row, 1);
                                     t.kind = static_cast<TrackKind>(std::clamp<std::int64_t>(row.integer(2), 0, 4));
                                     t.process = optional_id<ProcessId>(row, 3);
                                     t.thread = optional_id<ThreadId>(row, 4);
                                     t.device = optional_id<DeviceId>(row, 5);
                                     t.stream = row.optional_integer(6);
                                     t.lane = static_cast<int>(row.integer(7));
                                     t.part = static_cast<int>(row.integer(8));
                                     t.max_depth = static_cast<int>(row.integer(9));
                                     t.name = row.text(10);
                                     t.spans = static_cast<std::uint64_t>(row.integer(11));
                                     t.first_start = row.integer(12);
                                     t.last_end = row.integer(13);
                                     t.clock_offset_ns = row.integer(14);
                                     t.clock_uncertainty_ns = row.integer(15);
                                     const TimeRange here{shift(t.first_start, t.clock_offset_ns), shift(t.last_end, t.clock_offset_ns)};
                                     if (tracks.empty())
                                         extent = here;
                                     else
                                         extent = {std::min(extent.start, here.start), std::max(extent.end, here.end)};
                                     tracks.push_back(std::move(t));
                                 });
    if (!read) return read;
    chunks.resize(tracks.size());
    bool sound = true;
    read = sql::for_rows(db,
                    "SELECT id, track, first_ordinal, count, min_start, max_start, max_end, kind_mask FROM main.span_chunk ORDER BY track, "
                    "first_ordinal",
                    [&](const sql::Statement& row) {
                        const std::size_t at = position(id_of<TrackId>(row, 1));
                        if (at == tracks.size()) return;  // of a source that never became complete
                        std::vector<Chunk>& list = chunks[at];
                        const std::int64_t first = row.integer(2);
                        const std::int64_t count = row.integer(3);
                        sound = sound && count > 0 && count <= static_cast<std::int64_t>(kChunkSpans) &&
                                first == static_cast<std::int64_t>(list.size() * kChunkSpans);
                        if (!sound) return;
                        list.push_back({row.integer(0), static_cast<std::uint64_t>(first), static_cast<std::uint32_t>(count),
                                        row.integer(4), row.integer(5), row.integer(6), static_cast<std::uint32_t>(row.integer(7))});
                    });
    if (!read) return read;
    for (std::size_t i = 0; i < tracks.size(); ++i) {
        std::uint64_t n = 0;
        for (const Chunk& c : chunks[i]) n += c.count;
        sound = sound && n == tracks[i].spans;
    }
    if (!sound) return tl::unexpected<Error>(damaged(path));
    return {};
}

const std::string& CaptureReader::path() const noexcept { return state_->path; }
const std::vector<Source>& CaptureReader::sources() const noexcept { return state_->sources; }
const std::vector<Process>& CaptureReader::processes() const noexcept { return state_->processes; }
const std::vector<Thread>& CaptureReader::threads() const noexcept { return state_->threads; }
const std::vector<Device>& CaptureReader::devices() const noexcept { return state_->devices; }
const std::vector<Track>& CaptureReader::tracks() const noexcept { return state_->tracks; }
const Source* CaptureReader::source(SourceId id) const noexcept { return find_row(state_->sources, id); }
const Process* CaptureReader::process(ProcessId id) const noexcept { return find_row(state_->processes, id); }
const Thread* CaptureReader::thread(ThreadId id) const noexcept { return find_row(state_->threads, id); }
const Device* CaptureReader::device(DeviceId id) const noexcept { return find_row(state_->devices, id); }
const Track* CaptureReader::track(TrackId id) const noexcept { return find_row(state_->tracks, id); }
std::uint32_t CaptureReader::name_count() const noexcept { return static_cast<std::uint32_t>(state_->names.size()); }
std::optional<std::int64_t> CaptureReader::zero_wall_ns() const noexcept { return state_->zero_wall; }
TimeRange CaptureReader::extent() const noexcept { return state_->extent; }
sqlite3* CaptureReader::connection() const noexcept { return state_->db.handle(); }

std::string_view CaptureReader::name(NameId id) const noexcept {
    return index_of(id) < state_->names.size() ? std::string_view(state_->names[index_of(id)]) : std::string_view();
}

const std::vector<Chunk>& CaptureReader::chunks(TrackId track) const noexcept {
    static const std::vector<Chunk> none;
    const std::size_t at = state_->position(track);
    return at < state_->chunks.size() ? state_->chunks[at] : none;
}

Result<void> CaptureReader::State::unpack(const Chunk& chunk, Column column, std::int64_t offset, std::span<std::int64_t> out) const {
    column_data.bind(1, chunk.id).bind(2, std::int64_t{static_cast<std::uint8_t>(column)});
    const Result<bool> row = column_data.step();
    if (!row) {
        column_data.reset();
        return tl::unexpected<Error>(row.error());
    }
    const bool sound = *row ? unpack_column(column_data.blob(0), out) : true;
    if (!*row) std::fill(out.begin(), out.end(), kNull);
    column_data.reset();
    const bool required = column == Column::start || column == Column::duration || column == Column::name || column == Column::kind;
    if (!sound || (required && (!*row || std::find(out.begin(), out.end(), kNull) != out.end())))
        return tl::unexpected<Error>(damaged(path));
    if (column == Column::start)
        for (std::int64_t& t : out) t = shift(t, offset);
    return {};
}

Result<void> CaptureReader::read_chunk(TrackId track, std::size_t chunk, Column column, std::vector<std::int64_t>& out) const {
    const std::size_t at = state_->position(track);
    if (at == state_->tracks.size() || chunk >= state_->chunks[at].size())
        return fail(ErrorCode::wrong_usage, fmt::format("there is no chunk {} of track {}", chunk, index_of(track)));
    const Chunk& c = state_->chunks[at][chunk];
    out.resize(c.count);
    return state_->unpack(c, column, state_->tracks[at].clock_offset_ns, out);
}

Result<std::vector<std::int64_t>> CaptureReader::read_column(TrackId track, Column column) const {
    const std::size_t at = state_->position(track);
    if (at == state_->tracks.size()) return fail(ErrorCode::wrong_usage, fmt::format("there is no track {}", index_of(track)));
    std::vector<std::int64_t> out(state_->tracks[at].spans);
    for (const Chunk& c : state_->chunks[at])
        if (Result<void> ok =
                state_->unpack(c, column, state_->tracks[at].clock_offset_ns, std::span(out).subspan(c.first_ordinal, c.count));
            !ok)
            return tl::unexpected<Error>(ok.error());
    return out;
}

Result<std::int64_t> CaptureReader::value(SpanId span, Column column) const {
    const std::size_t at = span.valid() ? state_->position(span.track()) : state_->tracks.size();
    if (at == state_->tracks.size() || span.ordinal() >= state_->tracks[at].spans)
        return fail(ErrorCode::wrong_usage, fmt::format("there is no span {}", span.value));
    const Chunk& c = state_->chunks[at][span.ordinal() / kChunkSpans];
    state_->scratch.resize(c.count);
    if (Result<void> ok = state_->unpack(c, column, state_->tracks[at].clock_offset_ns, state_->scratch); !ok)
        return tl::unexpected<Error>(ok.error());
    return state_->scratch[span.ordinal() % kChunkSpans];
}

Result<std::string> CaptureReader::args(TextId text) const {
    if (index_of(text) == 0) return std::string();
    Result<sql::Statement> row = state_->db.prepare(
        "SELECT first_id, count, raw_bytes, data FROM main.text_block WHERE first_id <= ? ORDER BY first_id DESC LIMIT 1");
    if (!row) return tl::unexpected<Error>(row.error());
    const Result<bool> there = row->bind(1, std::int64_t{index_of(text)}).step();
    if (!there) return tl::unexpected<Error>(there.error());
    if (!*there || row->integer(1) <= 0 || index_of(text) - row->integer(0) >= row->integer(1))
        return tl::unexpected<Error>(damaged(state_->path));
    const auto first = static_cast<std::uint32_t>(row->integer(0));
    auto known = state_->texts.find(first);
    if (known == state_->texts.end()) {
        TextBlock block{first, static_cast<std::uint32_t>(row->integer(1)), static_cast<std::uint32_t>(row->integer(2)), {}};
        block.compressed.assign(row->blob(3).begin(), row->blob(3).end());
        Result<std::vector<std::string>> texts = unpack_texts(block);
        if (!texts) return tl::unexpected<Error>(texts.error());
        constexpr std::size_t kKept = 256;  // about 16 MiB of texts
        if (state_->texts.size() >= kKept) state_->texts.clear();
        known = state_->texts.emplace(first, std::move(*texts)).first;
    }
    return known->second[index_of(text) - first];
}

}  // namespace faultline
