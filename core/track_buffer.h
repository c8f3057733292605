// The spans of one track while they are imported: a structure of arrays that grows in the order of the file and is sorted once.
//
// Memory: 29 bytes a span (start, duration, name, kind, arrival) plus 8 for each optional column in use. One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/columns.h"
#include "core/model.h"
#include "core/types.h"

namespace faultline {

class TrackBuffer {
public:
    /// Appends a span; `duration` is not negative. Returns its position, which holds until the track is sorted.
    std::uint32_t append(TimeNs start, TimeNs duration, NameId name, SpanKind kind) {
        starts.push_back(start);
        durations.push_back(duration);
        names.push_back(name);
        kinds.push_back(kind);
        return static_cast<std::uint32_t>(starts.size() - 1);
    }
    /// Sets an optional column of a span (not start, duration, name or kind).
    void set(std::uint32_t at, Column column, std::int64_t value) {
        auto& v = optional_[static_cast<std::size_t>(column)];
        if (v.size() <= at) v.resize(at + 1, kNull);
        v[at] = value;
    }
    void add_flag(std::uint32_t at, SpanFlag flag) {
        const std::int64_t old = get(at, Column::flags);
        set(at, Column::flags, (old == kNull ? 0 : old) | static_cast<std::int64_t>(flag));
    }
    [[nodiscard]] std::int64_t get(std::uint32_t at, Column column) const noexcept {
        const auto& v = optional_[static_cast<std::size_t>(column)];
        return at < v.size() ? v[at] : kNull;
    }
    [[nodiscard]] bool has(Column column) const noexcept { return !optional_[static_cast<std::size_t>(column)].empty(); }
    /// Values of an optional column; shorter than size() where the last spans have none.
    [[nodiscard]] std::vector<std::int64_t>& column(Column column) noexcept { return optional_[static_cast<std::size_t>(column)]; }
    [[nodiscard]] const std::vector<std::int64_t>& column(Column column) const noexcept {
        return optional_[static_cast<std::size_t>(column)];
    }

    [[nodiscard]] std::uint32_t size() const noexcept { return static_cast<std::uint32_t>(starts.size()); }
    [[nodiscard]] bool empty() const noexcept { return starts.empty(); }
    [[nodiscard]] TimeNs end(std::uint32_t at) const noexcept { return starts[at] + durations[at]; }

    /// Rearranges every column: position i afterwards is position order[i] before. Positions left out are removed.
    void rearrange(std::span<const std::uint32_t> order);
    /// Appends copies of the spans at `positions` of another buffer, with all their columns.
    void append_from(const TrackBuffer& other, std::span<const std::uint32_t> positions);
    void clear();

    std::vector<TimeNs> starts;
    std::vector<TimeNs> durations;
    std::vector<NameId> names;
    std::vector<SpanKind> kinds;

    Track track;  ///< identity; id, spans, first_start and last_end are filled when the source is built

private:
    std::array<std::vector<std::int64_t>, kColumnCount> optional_;
};

}  // namespace faultline
