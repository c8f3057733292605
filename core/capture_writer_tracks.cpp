#include <algorithm>

#include "core/capture_writer_state.h"
#include "core/packed_column.h"

namespace faultline {

Result<void> CaptureWriter::State::write_column(std::int64_t chunk, Column column) {
    packed.clear();
    if (!pack_column(scratch, packed)) return {};
    statements.column.bind(1, chunk).bind(2, std::int64_t{static_cast<std::uint8_t>(column)}).bind(3, std::span<const std::byte>(packed));
    return statements.column.run();
}

Result<void> CaptureWriter::State::write_chunk(const TrackBuffer& track, std::size_t first, std::size_t count) {
    TimeNs max_end = track.starts[first];
    std::uint32_t kinds = 0;
    for (std::size_t i = first; i < first + count; ++i) {
        max_end = std::max(max_end, track.starts[i] + track.durations[i]);
        kinds |= 1u << static_cast<unsigned>(track.kinds[i]);
    }
    sql::Statement& chunk = statements.chunk;
    chunk.bind(1, std::int64_t{index_of(track.track.id)})
        .bind(2, static_cast<std::int64_t>(first))
        .bind(3, static_cast<std::int64_t>(count));
    chunk.bind(4, track.starts[first]).bind(5, track.starts[first + count - 1]).bind(6, max_end).bind(7, std::int64_t{kinds});
    const Result<bool> row = chunk.step();
    if (!row) return tl::unexpected<Error>(row.error());
    const std::int64_t id = chunk.integer(0);
    if (const Result<bool> done = chunk.step(); !done) return tl::unexpected<Error>(done.error());
    chunk.reset();

    scratch.resize(count);
    const auto put = [&](Column column, auto&& each) -> Result<void> {
        for (std::size_t i = 0; i < count; ++i) scratch[i] = each(first + i);
        return write_column(id, column);
    };
    if (Result<void> ok = put(Column::start, [&](std::size_t i) { return track.starts[i]; }); !ok) return ok;
    if (Result<void> ok = put(Column::duration, [&](std::size_t i) { return track.durations[i]; }); !ok) return ok;
    if (Result<void> ok = put(Column::name, [&](std::size_t i) { return std::int64_t{index_of(track.names[i])}; }); !ok) return ok;
    if (Result<void> ok = put(Column::kind, [&](std::size_t i) { return std::int64_t{static_cast<std::uint8_t>(track.kinds[i])}; }); !ok)
        return ok;
    for (int c = static_cast<int>(Column::flags); c < kColumnCount; ++c) {
        const auto column = static_cast<Column>(c);
        const std::vector<std::int64_t>& values = track.column(column);
        if (values.size() <= first) continue;
        if (Result<void> ok = put(column, [&](std::size_t i) { return i < values.size() ? values[i] : kNull; }); !ok) return ok;
    }
    return {};
}

Result<void> CaptureWriter::write_track(const TrackBuffer& track, std::stop_token stop) {
    if (track.empty()) return {};
    const Track& t = track.track;
    sql::Statement& row = state_->statements.track;
    const auto id_or_null = [](const auto& id) { return id ? std::optional<std::int64_t>(index_of(*id)) : std::nullopt; };
    row.bind(1, std::int64_t{index_of(t.id)})
        .bind(2, std::int64_t{index_of(t.source)})
        .bind(3, std::int64_t{static_cast<std::uint8_t>(t.kind)});
    row.bind(4, id_or_null(t.process)).bind(5, id_or_null(t.thread)).bind(6, id_or_null(t.device)).bind(7, t.stream);
    row.bind(8, std::int64_t{t.lane}).bind(9, std::int64_t{t.part}).bind(10, std::int64_t{t.max_depth}).bind(11, std::string_view(t.name));
    row.bind(12, static_cast<std::int64_t>(t.spans))
        .bind(13, t.first_start)
        .bind(14, t.last_end)
        .bind(15, t.clock_offset_ns)
        .bind(16, t.clock_uncertainty_ns);
    if (Result<void> ok = row.run(); !ok) return ok;
    const TimeRange here{t.first_start + t.clock_offset_ns, t.last_end + t.clock_offset_ns};
    std::optional<TimeRange>& all = state_->extent;
    all = all ? TimeRange{std::min(all->start, here.start), std::max(all->end, here.end)} : here;
    for (std::size_t first = 0; first < track.size(); first += kChunkSpans) {
        if (stop.stop_requested()) return fail(ErrorCode::cancelled, "the import was cancelled", "Nothing was written");
        if (Result<void> ok = state_->write_chunk(track, first, std::min(kChunkSpans, track.size() - first)); !ok) return ok;
    }
    return {};
}

}  // namespace faultline
