#include "core/capture_writer.h"

#include <fcntl.h>
#include <fmt/format.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>

#include "core/capture_schema.h"
#include "core/capture_writer_state.h"
#include "core/derived_rows.h"

namespace faultline {

namespace {

/// Makes what was written durable; `what` names it in the error.
Result<void> sync_path(const std::string& path, int flags) {
    const int fd = ::open(path.c_str(), flags | O_CLOEXEC);
    if (fd < 0)
        return fail(ErrorCode::unwritable_output, fmt::format("{} cannot be opened to sync it ({})", path, std::strerror(errno)),
                    "Check the disk");
    const int code = ::fsync(fd);
    const int why = errno;
    ::close(fd);
    // Folders of some file systems cannot be synced; that is no reason to fail the import.
    if (code != 0 && why != EINVAL && why != EROFS)
        return fail(ErrorCode::unwritable_output, fmt::format("writing {} to the disk failed ({})", path, std::strerror(why)),
                    "Check the disk");
    return {};
}

Result<WriterStatements> prepare_all(const sql::Connection& db) {
    WriterStatements s;
    const auto prepare = [&](sql::Statement& into, std::string_view text) -> Result<void> {
        Result<sql::Statement> made = db.prepare(text);
        if (!made) return tl::unexpected<Error>(made.error());
        into = std::move(*made);
        return {};
    };
    const std::pair<sql::Statement*, std::string_view> all[] = {
        {&s.chunk,
         "INSERT INTO span_chunk(track, first_ordinal, count, min_start, max_start, max_end, kind_mask) VALUES(?,?,?,?,?,?,?) RETURNING "
         "id"},
        {&s.column, "INSERT INTO span_column(chunk, column, data) VALUES(?,?,?)"},
        {&s.track, "INSERT INTO track VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
        {&s.name, "INSERT INTO name(id, text) VALUES(?,?)"},
        {&s.text, "INSERT INTO text_block(first_id, count, raw_bytes, data) VALUES(?,?,?,?)"},
        {&s.step, "INSERT OR REPLACE INTO step VALUES(?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?,?)"},
        {&s.step_rank, "INSERT OR IGNORE INTO step_rank(step, rank) VALUES(?,?)"},
        {&s.step_span, "INSERT OR IGNORE INTO step_span(step, span, source) VALUES(?,?,?)"},
    };
    for (const auto& [into, text] : all)
        if (Result<void> ok = prepare(*into, text); !ok) return tl::unexpected<Error>(ok.error());
    return s;
}

}  // namespace

Result<void> CaptureWriter::State::begin() {
    Result<sql::Transaction> begun = sql::Transaction::begin(db);
    if (!begun) return tl::unexpected<Error>(begun.error());
    transaction.emplace(std::move(*begun));
    return {};
}

Result<void> CaptureWriter::State::prepare() {
    Result<WriterStatements> prepared = prepare_all(db);
    if (!prepared) return tl::unexpected<Error>(prepared.error());
    statements = std::move(*prepared);
    texts->sink = [this](TextBlock&& block) {
        statements.text.bind(1, std::int64_t{block.first_id})
            .bind(2, std::int64_t{block.count})
            .bind(3, std::int64_t{block.raw_bytes})
            .bind(4, std::span<const std::byte>(block.compressed));
        if (Result<void> ok = statements.text.run(); !ok && !text_error) text_error = ok.error();
    };
    return {};
}

namespace {

/// Whether a file is empty or a capture: nothing else is replaced, least of all the trace that is being imported.
bool may_be_replaced(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    char header[72] = {};
    file.read(header, sizeof header);
    if (file.gcount() == 0) return true;
    constexpr std::string_view kMagic = "SQLite format 3";
    constexpr std::string_view kId = "FLTL";  // application id, big endian, at byte 68
    return file.gcount() == sizeof header && std::string_view(header, kMagic.size()) == kMagic && std::string_view(header + 68, 4) == kId;
}

/// Takes the unfinished file for this program alone and empties it; a file that another import holds is refused.
Result<LockFile> lock_partial(const std::string& partial, const std::string& path) {
    LockFile lock(::open(partial.c_str(), O_RDWR | O_CREAT | O_CLOEXEC, 0644));
    if (lock.fd() < 0)
        return fail(ErrorCode::unwritable_output, fmt::format("{} cannot be written", path),
                    "Choose a folder that exists and can be written");
    struct stat held {
    }, named{};
    const bool mine = ::flock(lock.fd(), LOCK_EX | LOCK_NB) == 0 && ::fstat(lock.fd(), &held) == 0 &&
                      ::stat(partial.c_str(), &named) == 0 && held.st_ino == named.st_ino && held.st_dev == named.st_dev;
    if (!mine || ::ftruncate(lock.fd(), 0) != 0)
        return fail(ErrorCode::unwritable_output, fmt::format("another import is writing {}", path),
                    "Wait until it is done, or choose another name");
    return lock;
}

}  // namespace

namespace {

/// Where a symbolic link leads, so that the file is replaced and not the link.
std::string behind_links(std::string path) {
    std::error_code why;
    for (int hops = 0; hops < 40 && std::filesystem::is_symlink(path, why); ++hops) {
        const std::filesystem::path target = std::filesystem::read_symlink(path, why);
        if (why) break;
        path = target.is_absolute() ? target.string() : (std::filesystem::path(path).parent_path() / target).string();
    }
    return path;
}

}  // namespace

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::create(const std::string& given) {
    const std::string path = behind_links(given);
    const std::string partial = path + ".partial";
    std::error_code ignored;
    if (std::filesystem::is_directory(path, ignored))
        return fail(ErrorCode::unwritable_output, fmt::format("{} is a folder", path), "Give the name of a file that ends in .faultline");
    // The rename at the end would put a file in the place of a device or a pipe.
    if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
        return fail(ErrorCode::unwritable_output, fmt::format("{} is no ordinary file", path),
                    "Give the name of a file that ends in .faultline");
    if (std::filesystem::exists(path, ignored) && !may_be_replaced(path))
        return fail(ErrorCode::unwritable_output, fmt::format("{} exists and is no capture", path),
                    "Choose another name, or remove it first");
    Result<LockFile> lock = lock_partial(partial, path);
    if (!lock) return tl::unexpected<Error>(lock.error());
    std::filesystem::remove(partial + "-journal", ignored);
    Result<sql::Connection> db = sql::Connection::open(partial, sql::OpenMode::create);
    if (!db)
        return fail(ErrorCode::unwritable_output, fmt::format("{} cannot be written", path),
                    "Choose a folder that exists and can be written");
    auto made = std::make_unique<State>(std::move(*db), path);
    made->partial = partial;
    made->lock = std::move(*lock);
    // From here on whatever fails removes the unfinished file.
    std::unique_ptr<CaptureWriter> writer(new CaptureWriter(std::move(made)));
    State& state = *writer->state_;
    // Nothing of this file counts before it is renamed, so it needs no journal and no syncing on the way.
    if (Result<void> ok = state.db.execute("PRAGMA page_size=4096; PRAGMA journal_mode=OFF; PRAGMA synchronous=OFF; PRAGMA "
                                           "locking_mode=EXCLUSIVE; PRAGMA cache_size=-16384");
        !ok)
        return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = create_schema(state.db); !ok) return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = state.db.execute("INSERT INTO capture(id, created_by, zero_wall_ns) VALUES(1, 'faultline 0.1.0', NULL)"); !ok)
        return tl::unexpected<Error>(ok.error());
    state.texts = std::make_unique<InternedTexts>();
    if (Result<void> ok = state.begin(); !ok) return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = state.prepare(); !ok) return tl::unexpected<Error>(ok.error());
    return writer;
}

Result<void> CaptureWriter::State::load() {
    const auto number = [&](std::string_view text) { return db.integer(text).value_or(0); };
    next_source = static_cast<std::uint32_t>(number("SELECT coalesce(max(id), 0) + 1 FROM source"));
    next_log = number("SELECT coalesce(max(id), 0) + 1 FROM log");
    next.process = static_cast<std::uint32_t>(number("SELECT coalesce(max(id), 0) + 1 FROM process"));
    next.thread = static_cast<std::uint32_t>(number("SELECT coalesce(max(id), 0) + 1 FROM thread"));
    next.device = static_cast<std::uint32_t>(number("SELECT coalesce(max(id), 0) + 1 FROM device"));
    next.track = static_cast<std::uint32_t>(number("SELECT coalesce(max(id), 0) + 1 FROM track"));
    texts =
        std::make_unique<InternedTexts>(static_cast<std::uint32_t>(number("SELECT coalesce(max(first_id + count), 1) FROM text_block")));
    bool in_order = true;
    Result<void> read = sql::for_rows(db, "SELECT id, text FROM name ORDER BY id", [&](const sql::Statement& row) {
        in_order = in_order && index_of(names.intern(row.text(1))) == row.integer(0);
    });
    if (!read) return read;
    if (!in_order)
        return fail(ErrorCode::unusable_input, fmt::format("{} is damaged: its names are not in order", path), "Import its sources again");
    names.stored = names.size();
    read = sql::for_rows(db, "SELECT zero_wall_ns FROM capture", [&](const sql::Statement& row) { zero_wall = row.optional_integer(0); });
    if (!read) return read;
    Result<std::vector<Step>> known = read_steps(db);
    if (!known) return tl::unexpected<Error>(known.error());
    for (Step& s : *known) {
        next_step = std::max(next_step, index_of(s.id) + 1);
        if (s.kind == StepKind::step) steps.push_back(std::move(s));
    }
    return sql::for_rows(db,
                         "SELECT min(first_start + clock_offset_ns), max(last_end + clock_offset_ns),"
                         " (SELECT max(utc_offset_seconds) FROM source) FROM track",
                         [&](const sql::Statement& row) {
                             if (!row.is_null(0)) extent = TimeRange{row.integer(0), row.integer(1)};
                             utc_offset_seconds = row.optional_integer(2);
                         });
}

Result<std::unique_ptr<CaptureWriter>> CaptureWriter::append(const std::string& given) {
    const std::string path = behind_links(given);
    std::error_code ignored;
    if (std::filesystem::exists(path, ignored) && !std::filesystem::is_regular_file(path, ignored))
        return fail(ErrorCode::unwritable_output, fmt::format("{} is no ordinary file", path), "Give the name of a .faultline file");
    Result<sql::Connection> db = sql::Connection::open(path, sql::OpenMode::read_write);
    if (!db)
        return fail(ErrorCode::unwritable_output, fmt::format("{} cannot be opened for writing", path),
                    "Check that it exists and can be written");
    if (Result<void> ok = check_capture(*db, path); !ok) return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = bring_forward(*db, path); !ok) return tl::unexpected<Error>(ok.error());
    Result<LockFile> lock = lock_partial(path + ".partial", path);
    if (!lock) return tl::unexpected<Error>(lock.error());
    auto made = std::make_unique<State>(std::move(*db), path);
    made->lock = std::move(*lock);
    made->append_lock = path + ".partial";
    std::unique_ptr<CaptureWriter> writer(new CaptureWriter(std::move(made)));
    const std::unique_ptr<State>& state = writer->state_;
    // WAL lets an open window read on while this writes; finish() goes back to a single file.
    if (Result<void> ok = state->db.execute("PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; PRAGMA cache_size=-16384"); !ok)
        return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = remove_incomplete_sources(state->db); !ok) return tl::unexpected<Error>(ok.error());
    // Ids are read under the write lock, or another program may give out the same.
    if (Result<void> ok = state->begin(); !ok) return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = state->load(); !ok) return tl::unexpected<Error>(ok.error());
    if (Result<void> ok = state->prepare(); !ok) return tl::unexpected<Error>(ok.error());
    return writer;
}

CaptureWriter::CaptureWriter(std::unique_ptr<State> state) : state_(std::move(state)) {}

CaptureWriter::~CaptureWriter() {
    if (!state_) return;
    const std::string partial = state_->partial;
    state_->transaction.reset();
    state_->statements = WriterStatements{};
    if (partial.empty()) {
        // A cut-off append leaves the capture as it was; failing to fold the WAL back is no loss.
        (void)state_->db.execute("PRAGMA journal_mode=DELETE");
    }
    // Removed while it is still locked: afterwards the name may be another import's.
    std::error_code ignored;
    if (!partial.empty()) std::filesystem::remove(partial, ignored);
    if (!state_->append_lock.empty()) std::filesystem::remove(state_->append_lock, ignored);
}

InternedNames& CaptureWriter::names() noexcept { return state_->names; }

SourceBuilder CaptureWriter::begin_source() {
    return SourceBuilder(SourceId{state_->next_source}, state_->next, state_->names, *state_->texts);
}

Result<std::int64_t> CaptureWriter::clock_offset(SourceBuilder& source, TimeNs first_start) {
    const Result<std::int64_t> offset = state_->unshifted_offset(source, first_start);
    if (!offset) return offset;
    source.source.clock_offset_ns = *offset + source.clock_shift_ns;
    source.source.clock_uncertainty_ns = source.clock_uncertainty_ns;
    source.source.clock_rule = source.clock_rule;
    return source.source.clock_offset_ns;
}

Result<std::int64_t> CaptureWriter::State::unshifted_offset(const SourceBuilder& source, TimeNs first_start) {
    if (!source.has_wall_clock) return -first_start;
    if (!zero_wall) {
        zero_wall = source.clock_base_ns + first_start;
        Result<sql::Statement> update = db.prepare("UPDATE capture SET zero_wall_ns = ?");
        if (!update) return tl::unexpected<Error>(update.error());
        if (Result<void> ok = update->bind(1, *zero_wall).run(); !ok) return tl::unexpected<Error>(ok.error());
    }
    return source.clock_base_ns - *zero_wall;
}

Result<void> CaptureWriter::write_steps(std::span<const Step> steps) {
    for (const Step& s : steps) {
        sql::Statement& row = state_->statements.step;
        row.bind(1, index_of(s.id))
            .bind(2, std::string_view(s.name))
            .bind(3, std::string_view(s.dialect))
            .bind(4, std::int64_t{static_cast<std::uint8_t>(s.phase)});
        row.bind(5, s.start)
            .bind(6, s.end)
            .bind(7, s.host_ns)
            .bind(8, std::int64_t{s.inferred})
            .bind(9, s.number)
            .bind(10, s.tokens)
            .bind(11, s.batch);
        row.bind(12, s.context_requests).bind(13, s.context_tokens).bind(14, s.generation_requests).bind(15, s.generation_tokens);
        row.bind(16, std::string_view(s.instance)).bind(17, s.kernels).bind(18, s.kernel_busy_ns);
        row.bind(19, std::int64_t{static_cast<std::uint8_t>(s.kind)});
        if (Result<void> ok = row.run(); !ok) return ok;
        for (const std::int64_t rank : s.ranks)
            if (Result<void> ok = state_->statements.step_rank.bind(1, index_of(s.id)).bind(2, rank).run(); !ok) return ok;
        for (const SpanId span : s.spans)
            if (Result<void> ok = state_->statements.step_span.bind(1, index_of(s.id))
                                      .bind(2, span.value)
                                      .bind(3, std::int64_t{state_->next_source})
                                      .run();
                !ok)
                return ok;
        auto& known = state_->steps;  // by id
        const auto at = std::lower_bound(known.begin(), known.end(), s.id, [](const Step& k, StepId id) { return k.id < id; });
        if (at != known.end() && at->id == s.id)
            *at = s;
        else
            known.insert(at, s);
        state_->next_step = std::max(state_->next_step, index_of(s.id) + 1);
    }
    return {};
}

std::int64_t CaptureWriter::next_step_id() const noexcept { return state_->next_step; }
std::int64_t CaptureWriter::next_log_id() const noexcept { return state_->next_log; }

ImportContext CaptureWriter::context() const {
    ImportContext c;
    if (state_->zero_wall && state_->extent)
        c.wall = TimeRange{state_->extent->start + *state_->zero_wall, state_->extent->end + *state_->zero_wall};
    c.utc_offset_seconds = state_->utc_offset_seconds;
    return c;
}

const std::vector<Step>& CaptureWriter::steps() const noexcept { return state_->steps; }

Result<void> CaptureWriter::complete_source(SourceBuilder& source, const ImportLedger& ledger) {
    State& s = *state_;
    s.texts->flush();
    if (s.text_error) return tl::unexpected<Error>(*s.text_error);
    if (Result<void> ok = s.write_names(); !ok) return ok;
    if (Result<void> ok = s.write_objects(source); !ok) return ok;
    if (Result<void> ok = s.write_findings(source, ledger); !ok) return ok;
    if (Result<void> ok = s.write_logs(source); !ok) return ok;
    if (Result<void> ok = s.write_mentions(source); !ok) return ok;
    if (Result<void> ok = s.write_samples(source); !ok) return ok;
    source.source.events = ledger.totals().read + ledger.totals().dropped;
    if (Result<void> ok = s.write_source_row(source, ledger); !ok) return ok;
    if (source.utc_offset_seconds) s.utc_offset_seconds = source.utc_offset_seconds;
    ++s.next_source;
    return {};
}

const std::string& CaptureWriter::file() const noexcept { return state_->partial.empty() ? state_->path : state_->partial; }

Result<void> CaptureWriter::settle() {
    State& s = *state_;
    if (Result<void> ok = s.db.execute("UPDATE capture SET analysed = 0"); !ok) return ok;
    if (Result<void> ok = s.transaction->commit(); !ok) return ok;
    s.transaction.reset();
    // The lock of an exclusive connection goes with its next access.
    if (s.partial.empty()) return {};
    return s.db.execute("PRAGMA locking_mode=NORMAL; SELECT count(*) FROM capture");
}

Result<void> CaptureWriter::write_derived(const DerivedRows& rows) {
    State& s = *state_;
    Result<sql::Transaction> begun = sql::Transaction::begin(s.db);
    if (!begun) return tl::unexpected<Error>(begun.error());
    if (Result<void> ok = replace_derived(s.db, rows); !ok) return ok;
    return begun->commit();
}

Result<void> CaptureWriter::finish() {
    State& s = *state_;
    if (s.transaction) {
        if (Result<void> ok = s.transaction->commit(); !ok) return ok;
        s.transaction.reset();
    }
    s.statements = WriterStatements{};
    if (s.partial.empty()) {
        if (Result<void> ok = s.db.execute("PRAGMA wal_checkpoint(TRUNCATE)"); !ok) return ok;
        // A reader that is still open keeps the WAL mode alive; the next writer or the closing window takes it back.
        (void)s.db.execute("PRAGMA journal_mode=DELETE");
        return s.db.close();
    }
    if (Result<void> ok = s.db.close(); !ok) return ok;
    if (Result<void> ok = sync_path(s.partial, O_RDONLY); !ok) return ok;
    if (std::rename(s.partial.c_str(), s.path.c_str()) != 0)
        return fail(ErrorCode::unwritable_output, fmt::format("{} cannot be written ({})", s.path, std::strerror(errno)),
                    "Choose another name or folder");
    s.partial.clear();
    const std::string folder = std::filesystem::path(s.path).parent_path().string();
    return sync_path(folder.empty() ? "." : folder, O_RDONLY | O_DIRECTORY);
}

}  // namespace faultline
