// The rows of `span` that match what a query narrows its scan to, chunk by chunk, decoding only the columns that are asked for.
//
// Knows nothing of SQLite. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "core/span_table_order.h"
#include "core/span_table_store.h"

namespace faultline {

/// What a scan is narrowed to. All bounds are inclusive; times are capture times.
struct SpanFilter {
    static constexpr std::uint32_t kAllKinds = ~std::uint32_t{0};
    TimeNs start_min = std::numeric_limits<TimeNs>::min(), start_max = std::numeric_limits<TimeNs>::max();
    TimeNs end_min = std::numeric_limits<TimeNs>::min(), end_max = std::numeric_limits<TimeNs>::max();
    std::uint32_t kinds = kAllKinds;  ///< bit (1 << SpanKind)
    std::optional<TrackId> track;
    std::optional<SpanId> span;               ///< this one alone
    std::optional<std::int64_t> correlation;  ///< by a sorted index
    std::optional<SpanId> launch;             ///< by a sorted index
    std::optional<SpanId> parent;
    std::vector<std::pair<Column, std::int64_t>> equal;           ///< stored values
    std::vector<std::pair<TrackFact, std::int64_t>> track_equal;  ///< what all rows of a track share
    std::uint32_t flags = 0;                                      ///< all of these SpanFlag bits are set
    bool nothing = false;                                         ///< no span can match
    RowOrder order;

    [[nodiscard]] bool has_times() const noexcept {
        return start_min != std::numeric_limits<TimeNs>::min() || start_max != std::numeric_limits<TimeNs>::max() ||
               end_min != std::numeric_limits<TimeNs>::min() || end_max != std::numeric_limits<TimeNs>::max();
    }
};

/// The spans that match a filter, in ascending order of their ids unless the filter wants another.
class SpanScan {
public:
    explicit SpanScan(SpanStore& store) : store_(store) {}

    [[nodiscard]] Result<void> begin(SpanFilter filter);
    [[nodiscard]] Result<void> next();
    [[nodiscard]] bool at_end() const noexcept { return at_end_; }

    [[nodiscard]] TrackId track() const noexcept { return track_; }
    [[nodiscard]] SpanId span() const noexcept {
        return rearranged_ ? rearranged_->spans()[row_] : SpanId::make(track_, first_ordinal_ + row_);
    }
    /// A stored value of the current span; kNull where it has none.
    [[nodiscard]] Result<std::int64_t> value(Column column) {
        if (const std::vector<std::int64_t>* values = ready_[static_cast<std::size_t>(column)]) return (*values)[row_];
        return load(column);
    }
    /// The idle time of the device lane before the current span: since the device work before it ended. kNull on other tracks and for
    /// the first work of a lane.
    [[nodiscard]] Result<std::int64_t> gap();
    [[nodiscard]] SpanStore& store() noexcept { return store_; }

private:
    [[nodiscard]] Result<std::int64_t> load(Column column);
    void enter(TrackId track, std::size_t chunk);
    [[nodiscard]] bool track_may_match(const Track& track) const noexcept;
    [[nodiscard]] bool chunk_may_match(const Track& track, const Chunk& chunk) const noexcept;
    [[nodiscard]] Result<void> narrow_to_children();
    [[nodiscard]] Result<void> list_indexed(Column column, std::int64_t key);
    [[nodiscard]] Result<void> select_rows();
    [[nodiscard]] Result<void> next_chunk();
    [[nodiscard]] Result<void> next_listed();
    [[nodiscard]] Result<void> rearrange();
    void next_rearranged();

    SpanStore& store_;
    SpanFilter filter_;
    bool at_end_ = true;
    bool listed_ = false;  ///< walks list_ instead of chunks
    std::vector<SpanId> list_;
    std::size_t list_at_ = 0;
    std::size_t track_at_ = 0, chunk_at_ = 0;  ///< the next chunk to look at
    TrackId track_{};
    std::uint64_t first_ordinal_ = 0;
    std::size_t row_ = 0;
    std::shared_ptr<DecodedChunk> chunk_;
    std::array<const std::vector<std::int64_t>*, kColumnCount> ready_{};
    std::vector<std::uint16_t> selected_;  ///< rows of the chunk that match
    std::size_t selected_at_ = 0;
    std::unique_ptr<RearrangedRows> rearranged_;  ///< walks these instead of chunks
};

}  // namespace faultline
