// Writing a `.faultline` file (DESIGN §4). One writer at a time; one thread; not movable while texts flow into it.
//
// A new capture is written as NAME.partial with the journal off, closed, synced and renamed by finish(): whatever ends the program
// before leaves no NAME. An append adds a source marked complete last; the next opening removes what is not complete.
#pragma once

#include <memory>
#include <span>
#include <stop_token>
#include <string>
#include <vector>

#include "core/import_ledger.h"
#include "core/interned_texts.h"
#include "core/model.h"
#include "core/result.h"
#include "core/source_builder.h"
#include "core/track_buffer.h"

namespace faultline {

struct DerivedRows;

class CaptureWriter {
public:
    /// Starts a new capture beside `path`; an existing file is replaced only by finish().
    [[nodiscard]] static Result<std::unique_ptr<CaptureWriter>> create(const std::string& path);
    /// Opens an existing capture to add sources. Refuses captures newer than this program and foreign databases.
    [[nodiscard]] static Result<std::unique_ptr<CaptureWriter>> append(const std::string& path);
    ~CaptureWriter();  ///< without finish(): a new capture is deleted, an unfinished source is removed
    CaptureWriter(const CaptureWriter&) = delete;
    CaptureWriter& operator=(const CaptureWriter&) = delete;

    [[nodiscard]] InternedNames& names() noexcept;
    /// A builder for the next source, with ids that follow those in the file.
    [[nodiscard]] SourceBuilder begin_source();

    /// What takes the source's clock to capture time. The first source that has a wall clock fixes the zero of the capture at its
    /// `first_start`; a source without one starts at 0. Adds what was asked for on import, and says it all in `source.source`.
    [[nodiscard]] Result<std::int64_t> clock_offset(SourceBuilder& source, TimeNs first_start);

    /// Writes one sorted track; `track.track` holds its identity, counts and clock. Empty tracks are not written.
    [[nodiscard]] Result<void> write_track(const TrackBuffer& track, std::stop_token stop = {});
    /// Steps of this source: new ones, or known ones (same id) grown by another rank.
    [[nodiscard]] Result<void> write_steps(std::span<const Step> steps);
    [[nodiscard]] std::int64_t next_step_id() const noexcept;
    [[nodiscard]] std::int64_t next_log_id() const noexcept;
    /// What the sources in the file so far say about wall clocks; `time_zone` and `modified_wall_ns` are left empty.
    [[nodiscard]] ImportContext context() const;
    [[nodiscard]] const std::vector<Step>& steps() const noexcept;  ///< those in the file so far
    /// Rows of the source, its processes, threads, devices, health and ledger; marks it complete and commits.
    [[nodiscard]] Result<void> complete_source(SourceBuilder& source, const ImportLedger& ledger);
    /// Where the capture stands until finish(): what a CaptureReader opens to derive from it after settle().
    [[nodiscard]] const std::string& file() const noexcept;
    /// After the last source: makes what was written so far readable by others, marked as not analysed.
    [[nodiscard]] Result<void> settle();
    /// Replaces what was derived before. After settle(), once no reader of file() is open any more.
    [[nodiscard]] Result<void> write_derived(const DerivedRows& rows);
    /// Closes and, for a new capture, syncs and renames. The writer is spent afterwards.
    [[nodiscard]] Result<void> finish();

private:
    struct State;
    explicit CaptureWriter(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace faultline
