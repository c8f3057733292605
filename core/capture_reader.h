// Reading a `.faultline` file. One reader per thread; read-only; opens from a read-only folder.
//
// Metadata (sources, processes, threads, devices, tracks, names) is loaded on opening; spans come by column, decoded from their
// chunks, in capture time.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/columns.h"
#include "core/import_ledger.h"
#include "core/log_line.h"
#include "core/model.h"
#include "core/request.h"
#include "core/result.h"
#include "core/stack_sample.h"
#include "core/step_verdict.h"

struct sqlite3;

namespace faultline {

/// A chunk of a track: kChunkSpans consecutive spans in start order. Times in the source clock.
struct Chunk {
    std::int64_t id = 0;
    std::uint64_t first_ordinal = 0;
    std::uint32_t count = 0;
    TimeNs min_start = 0;
    TimeNs max_start = 0;
    TimeNs max_end = 0;
    std::uint32_t kind_mask = 0;  ///< bit (1 << SpanKind) for every kind in it
};

struct SourceLedger {
    SourceId source{};
    LedgerTotals totals;
    std::vector<LedgerEntry> entries;
};

class CaptureReader {
public:
    [[nodiscard]] static Result<std::unique_ptr<CaptureReader>> open(const std::string& path);
    ~CaptureReader();
    CaptureReader(const CaptureReader&) = delete;
    CaptureReader& operator=(const CaptureReader&) = delete;

    [[nodiscard]] const std::string& path() const noexcept;
    [[nodiscard]] const std::vector<Source>& sources() const noexcept;
    [[nodiscard]] const std::vector<Process>& processes() const noexcept;  ///< ascending ids; look up by process()
    [[nodiscard]] const std::vector<Thread>& threads() const noexcept;
    [[nodiscard]] const std::vector<Device>& devices() const noexcept;
    [[nodiscard]] const std::vector<Track>& tracks() const noexcept;  ///< ascending ids
    [[nodiscard]] const Source* source(SourceId id) const noexcept;   ///< null where there is none
    [[nodiscard]] const Process* process(ProcessId id) const noexcept;
    [[nodiscard]] const Thread* thread(ThreadId id) const noexcept;
    [[nodiscard]] const Device* device(DeviceId id) const noexcept;
    [[nodiscard]] const Track* track(TrackId id) const noexcept;
    [[nodiscard]] std::string_view name(NameId id) const noexcept;  ///< empty for unknown ids
    [[nodiscard]] std::uint32_t name_count() const noexcept;
    [[nodiscard]] std::optional<std::int64_t> zero_wall_ns() const noexcept;
    [[nodiscard]] TimeRange extent() const noexcept;  ///< of all tracks, capture time; of the log messages too where no trace is in the capture

    [[nodiscard]] const std::vector<Chunk>& chunks(TrackId track) const noexcept;
    /// One column of one chunk; every value kNull where the chunk has no such column. Start comes in capture time.
    [[nodiscard]] Result<void> read_chunk(TrackId track, std::size_t chunk, Column column, std::vector<std::int64_t>& out) const;
    /// One column of the whole track.
    [[nodiscard]] Result<std::vector<std::int64_t>> read_column(TrackId track, Column column) const;
    /// One value of one span; kNull where it has none.
    [[nodiscard]] Result<std::int64_t> value(SpanId span, Column column) const;
    /// The rest of a span's arguments as JSON text; empty where it has none.
    [[nodiscard]] Result<std::string> args(TextId text) const;

    [[nodiscard]] Result<std::vector<Step>> steps() const;   ///< by id, without stalls
    [[nodiscard]] Result<std::vector<Step>> stalls() const;  ///< by id
    /// Whether requests, alignments, verdicts and bubbles belong to the sources that are in the file.
    [[nodiscard]] bool analysed() const;
    [[nodiscard]] Result<std::vector<LogLine>> logs() const;  ///< by time, those without a time first
    /// Messages by level, the worst first; an empty level is "none".
    [[nodiscard]] Result<std::vector<std::pair<std::string, std::uint64_t>>> log_levels() const;
    [[nodiscard]] Result<std::vector<RequestMention>> mentions() const;
    [[nodiscard]] Result<std::vector<StackSample>> stack_samples() const;  ///< by time, those without a time first
    [[nodiscard]] Result<std::vector<Request>> requests() const;           ///< by id
    [[nodiscard]] Result<CaptureAnalysis> analysis() const;  ///< as stored: rooflines, verdicts, stalls, bubbles
    [[nodiscard]] Result<std::vector<SourceLedger>> ledger() const;
    [[nodiscard]] Result<std::vector<HealthFinding>> health() const;

    /// The connection, for read-only SQL; has the `span` table and the views of CONTRACT.md (see span_table.h).
    [[nodiscard]] sqlite3* connection() const noexcept;

private:
    struct State;
    explicit CaptureReader(std::unique_ptr<State> state);
    std::unique_ptr<State> state_;
};

}  // namespace faultline
