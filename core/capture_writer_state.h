// What a CaptureWriter keeps while it writes. Used by capture_writer*.cpp alone.
#pragma once

#include <unistd.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/capture_writer.h"
#include "core/sql.h"

namespace faultline {

/// A descriptor that holds a lock until it is closed.
class LockFile {
public:
    LockFile() = default;
    explicit LockFile(int fd) : fd_(fd) {}
    LockFile(LockFile&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
    LockFile& operator=(LockFile&& other) noexcept {
        std::swap(fd_, other.fd_);
        return *this;
    }
    ~LockFile() {
        if (fd_ >= 0) ::close(fd_);
    }
    [[nodiscard]] int fd() const noexcept { return fd_; }

private:
    int fd_ = -1;
};

struct WriterStatements {
    sql::Statement chunk, column, track, name, text, step, step_rank, step_span;
};

/// The rows of a source are written by capture_writer_rows.cpp.
struct CaptureWriter::State {
    State(sql::Connection connection, std::string target) : db(std::move(connection)), path(std::move(target)) {}

    LockFile lock;  ///< on the unfinished file, or beside the file that is appended to; closed after the database
    sql::Connection db;
    std::string path;     ///< where the capture shall be
    std::string partial;      ///< where it is written; empty when appending
    std::string append_lock;  ///< the file that keeps other imports away while appending
    std::optional<sql::Transaction> transaction;
    WriterStatements statements;
    InternedNames names;
    std::unique_ptr<InternedTexts> texts;
    std::optional<Error> text_error;  ///< the sink cannot return one
    std::optional<std::int64_t> zero_wall;
    std::vector<Step> steps;
    std::int64_t next_step = 1;
    std::uint32_t next_source = 1;
    std::int64_t next_log = 1;
    std::optional<TimeRange> extent;  ///< of the tracks so far, capture time
    std::optional<std::int64_t> utc_offset_seconds;
    SourceBuilder::FirstIds next{1, 1, 1, 1};
    std::vector<std::int64_t> scratch;
    std::vector<std::byte> packed;

    Result<void> begin();  ///< takes the write lock
    Result<void> prepare();
    Result<void> write_chunk(const TrackBuffer& track, std::size_t first, std::size_t count);
    Result<void> write_column(std::int64_t chunk, Column column);
    Result<void> write_names();
    Result<void> write_source_row(const SourceBuilder& source, const ImportLedger& ledger);
    Result<void> write_objects(const SourceBuilder& source);
    Result<void> write_findings(const SourceBuilder& source, const ImportLedger& ledger);
    Result<void> write_logs(SourceBuilder& source);
    Result<void> write_mentions(const SourceBuilder& source);
    Result<void> write_samples(const SourceBuilder& source);
    Result<std::int64_t> unshifted_offset(const SourceBuilder& source, TimeNs first_start);
    Result<void> load();
};

}  // namespace faultline
