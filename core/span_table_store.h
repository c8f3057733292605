// What all SQL scans of one connection share: decoded chunks, the facts of tracks, and indexes made when they are first needed.
//
// Knows nothing of SQLite. One thread; the reader must outlive everything here.
#pragma once

#include <array>
#include <cstdint>
#include <list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/capture_reader.h"
#include "core/columns.h"
#include "core/families.h"
#include "core/model.h"
#include "core/result.h"
#include "core/types.h"

namespace faultline {

/// The columns of one chunk, each decoded when first asked for.
struct DecodedChunk {
    TrackId track{};
    std::size_t chunk = 0;
    std::array<std::unique_ptr<std::vector<std::int64_t>>, kColumnCount> columns;
};

/// Decoded chunks, the latest used first; bounded, since a join comes back to the same chunks for thousands of rows.
class ChunkCache {
public:
    static constexpr std::size_t kMaxColumns = 2048;  ///< decoded columns of 32 KiB: 64 MiB

    explicit ChunkCache(const CaptureReader& capture) : capture_(capture) {}

    [[nodiscard]] std::shared_ptr<DecodedChunk> chunk(TrackId track, std::size_t chunk);
    /// One column of it; the vector lives as long as the chunk.
    [[nodiscard]] Result<const std::vector<std::int64_t>*> column(DecodedChunk& chunk, Column column);

private:
    const CaptureReader& capture_;
    std::list<std::shared_ptr<DecodedChunk>> chunks_;
    std::unordered_map<std::uint64_t, std::list<std::shared_ptr<DecodedChunk>>::iterator> by_key_;
    std::size_t columns_ = 0;
};

/// All values of one column with the spans that have them, sorted by value, then by span.
class ColumnIndex {
public:
    struct Entry {
        std::int64_t key = 0;
        SpanId span;
        std::uint32_t kind = 0;  ///< bit (1 << SpanKind)
    };
    [[nodiscard]] static Result<ColumnIndex> build(const CaptureReader& capture, Column column);
    [[nodiscard]] std::pair<const Entry*, const Entry*> find(std::int64_t key) const noexcept;

private:
    std::vector<Entry> entries_;
};

/// What every row of a track shares, resolved once.
struct TrackFacts {
    std::int64_t source = 0, lane = 0;
    std::optional<std::int64_t> process_id, thread_id, pid, tid, rank, device, stream;
    std::string process, thread;  ///< display names; empty where there is none
};

/// A name for a person: `name` where it already holds the number, else both; the number alone where there is no name.
[[nodiscard]] std::string numbered_name(std::string_view name, std::string_view number);
[[nodiscard]] std::string display_name(const Process& process);
[[nodiscard]] std::string display_name(const Thread& thread);

/// The chunk of a track that holds an ordinal; the number of chunks where none does.
[[nodiscard]] std::size_t chunk_of(const std::vector<Chunk>& chunks, std::uint64_t ordinal) noexcept;

/// What all scans of one connection share.
class SpanStore {
public:
    explicit SpanStore(const CaptureReader& capture);

    [[nodiscard]] const CaptureReader& capture() const noexcept { return capture_; }
    [[nodiscard]] ChunkCache& chunks() noexcept { return chunks_; }
    [[nodiscard]] const TrackFacts& facts(TrackId track) const noexcept;
    [[nodiscard]] std::uint64_t span_count() const noexcept { return spans_; }
    /// Made when first asked for.
    [[nodiscard]] Result<const ColumnIndex*> index(Column column);
    [[nodiscard]] std::optional<NameId> find_name(std::string_view text);
    /// Made when first asked for.
    [[nodiscard]] NameFamilies& families();
    /// One value of a span that is known to exist.
    [[nodiscard]] Result<std::int64_t> value(SpanId span, Column column);

private:
    const CaptureReader& capture_;
    ChunkCache chunks_;
    std::uint64_t spans_ = 0;
    std::unordered_map<std::uint32_t, TrackFacts> facts_;
    std::unordered_map<int, ColumnIndex> indexes_;
    std::unordered_map<std::string_view, NameId> names_;
    std::optional<NameFamilies> families_;
};

/// A number that all rows of a track share and that a filter or an order may name.
enum class TrackFact : std::uint8_t { track, source, rank, device, stream, lane };
[[nodiscard]] std::optional<std::int64_t> fact_of(const Track& track, const TrackFacts& facts, TrackFact which) noexcept;

}  // namespace faultline
