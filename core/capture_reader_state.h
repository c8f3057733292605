// What a CaptureReader keeps. Used by capture_reader*.cpp alone.
#pragma once

#include <algorithm>
#include <deque>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "core/capture_reader.h"
#include "core/sql.h"

namespace faultline {

template <class Row, class Id>
const Row* find_row(const std::vector<Row>& rows, Id id) noexcept {
    const auto at = std::lower_bound(rows.begin(), rows.end(), id, [](const Row& row, Id wanted) { return row.id < wanted; });
    return at != rows.end() && at->id == id ? &*at : nullptr;
}

template <class Id>
std::optional<Id> optional_id(const sql::Statement& row, int column) {
    if (row.is_null(column)) return std::nullopt;
    return Id{static_cast<std::underlying_type_t<Id>>(row.integer(column))};
}

template <class Id>
Id id_of(const sql::Statement& row, int column) {
    return Id{static_cast<std::underlying_type_t<Id>>(row.integer(column))};
}

struct CaptureReader::State {
    State(sql::Connection connection, std::string file) : db(std::move(connection)), path(std::move(file)) {}

    sql::Connection db;
    std::string path;
    std::vector<Source> sources;
    std::vector<Process> processes;
    std::vector<Thread> threads;
    std::vector<Device> devices;
    std::vector<Track> tracks;
    std::vector<std::vector<Chunk>> chunks;  ///< by position in tracks
    std::deque<std::string> names;
    std::optional<std::int64_t> zero_wall;
    TimeRange extent;
    // What reading changes is no part of what the reader says: a statement and a few inflated blocks.
    mutable sql::Statement column_data;
    mutable std::map<std::uint32_t, std::vector<std::string>> texts;
    mutable std::vector<std::int64_t> scratch;

    Result<void> load();
    Result<void> load_objects();
    Result<void> load_tracks();
    [[nodiscard]] std::size_t position(TrackId id) const noexcept {
        const Track* track = find_row(tracks, id);
        return track ? static_cast<std::size_t>(track - tracks.data()) : tracks.size();
    }
    Result<void> unpack(const Chunk& chunk, Column column, std::int64_t offset, std::span<std::int64_t> out) const;
};

}  // namespace faultline
