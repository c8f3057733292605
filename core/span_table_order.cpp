#include "core/span_table_order.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <string_view>
#include <unordered_map>
#include <utility>

namespace faultline {

bool RowOrder::needs_work() const noexcept {
    if (value) return true;
    if (facts.empty()) return start;
    return facts.front() != TrackFact::track;  // tracks ascend with ids, and starts inside them
}

Result<std::unique_ptr<RearrangedRows>> RearrangedRows::make(SpanStore& store, FoundRows found, const RowOrder& order) {
    std::unique_ptr<RearrangedRows> made(new RearrangedRows(store, std::move(found)));
    if (Result<void> placed = order.value ? made->place_by_value(order) : made->place_by_track(order); !placed)
        return tl::unexpected<Error>(placed.error());
    made->fill_spans();
    return made;
}

Result<const std::vector<std::int64_t>*> RearrangedRows::column(Column column) {
    auto& values = columns_[static_cast<std::size_t>(column)];
    if (!values) {
        auto fresh = std::make_unique<std::vector<std::int64_t>>(spans_.size());
        for (const FoundRows::Part& part : found_.parts) {
            const std::shared_ptr<DecodedChunk> chunk = store_.chunks().chunk(part.track, part.chunk);
            const auto decoded = store_.chunks().column(*chunk, column);
            if (!decoded) return tl::unexpected<Error>(decoded.error());
            for (std::size_t i = part.first; i < part.first + part.count; ++i) (*fresh)[places_[i]] = (**decoded)[found_.rows[i]];
        }
        values = std::move(fresh);
    }
    return values.get();
}

/// Finds the place of each row by counting the rows of each value.
Result<void> RearrangedRows::place_by_value(const RowOrder& order) {
    std::unordered_map<std::int64_t, std::uint32_t> groups;
    std::vector<std::int64_t> keys;
    std::vector<std::uint32_t> sizes;
    for (const FoundRows::Part& part : found_.parts) {
        const std::shared_ptr<DecodedChunk> chunk = store_.chunks().chunk(part.track, part.chunk);
        const auto values = store_.chunks().column(*chunk, *order.value);
        if (!values) return tl::unexpected<Error>(values.error());
        for (std::size_t i = part.first; i < part.first + part.count; ++i) {
            const std::int64_t key = (**values)[found_.rows[i]];
            const auto [group, fresh] = groups.try_emplace(key, static_cast<std::uint32_t>(keys.size()));
            if (fresh) {
                keys.push_back(key);
                sizes.push_back(0);
            }
            ++sizes[group->second];
            places_[i] = group->second;
        }
    }
    place_groups(order, keys, sizes);
    for (std::uint32_t& place : places_) place = sizes[place]++;
    return {};
}

/// Turns the sizes of groups into the place of the first row of each. The groups are sorted by what SQL shows for their keys, since
/// SQLite takes grouped rows for sorted ones where a query orders by what it groups by.
void RearrangedRows::place_groups(const RowOrder& order, const std::vector<std::int64_t>& keys, std::vector<std::uint32_t>& sizes) const {
    std::vector<std::uint32_t> sorted(keys.size());
    std::iota(sorted.begin(), sorted.end(), std::uint32_t{0});
    const auto text = [&](std::uint32_t group) {
        return *order.value == Column::name ? store_.capture().name(NameId{static_cast<std::uint32_t>(keys[group])})
                                            : kind_name(static_cast<SpanKind>(keys[group]));
    };
    const bool texts = !order.numbers && (*order.value == Column::name || *order.value == Column::kind);
    // Absence is the least value, as NULL is in SQL.
    std::sort(sorted.begin(), sorted.end(),
              [&](std::uint32_t a, std::uint32_t b) { return texts ? text(a) < text(b) : keys[a] < keys[b]; });
    if (order.descending) std::reverse(sorted.begin(), sorted.end());
    std::uint32_t first = 0;
    for (const std::uint32_t group : sorted) first += std::exchange(sizes[group], first);
}

/// Rows of one track are in order of their starts already; tracks with the same facts are merged by start where that is wanted.
Result<void> RearrangedRows::place_by_track(const RowOrder& order) {
    std::map<std::vector<std::optional<std::int64_t>>, std::vector<const FoundRows::Part*>> classes;
    for (const FoundRows::Part& part : found_.parts) {
        std::vector<std::optional<std::int64_t>> key;
        for (const TrackFact fact : order.facts)
            key.push_back(fact_of(*store_.capture().track(part.track), store_.facts(part.track), fact));
        classes[std::move(key)].push_back(&part);
    }
    std::uint32_t first = 0;
    for (const auto& [key, parts] : classes) {
        const bool one_track = parts.front()->track == parts.back()->track;
        if (order.start && !one_track) {
            if (Result<void> placed = place_by_start(parts, first); !placed) return placed;
            for (const FoundRows::Part* part : parts) first += static_cast<std::uint32_t>(part->count);
            continue;
        }
        for (const FoundRows::Part* part : parts) {
            for (std::size_t i = part->first; i < part->first + part->count; ++i) places_[i] = first++;
        }
    }
    return {};
}

Result<void> RearrangedRows::place_by_start(const std::vector<const FoundRows::Part*>& parts, std::uint32_t first) {
    std::vector<std::pair<TimeNs, std::uint32_t>> rows;  // start, found row
    for (const FoundRows::Part* part : parts) {
        const std::shared_ptr<DecodedChunk> chunk = store_.chunks().chunk(part->track, part->chunk);
        const auto starts = store_.chunks().column(*chunk, Column::start);
        if (!starts) return tl::unexpected<Error>(starts.error());
        for (std::size_t i = part->first; i < part->first + part->count; ++i)
            rows.emplace_back((**starts)[found_.rows[i]], static_cast<std::uint32_t>(i));
    }
    std::sort(rows.begin(), rows.end());
    for (const auto& [start, row] : rows) places_[row] = first++;
    return {};
}

void RearrangedRows::fill_spans() {
    spans_.resize(places_.size());
    for (const FoundRows::Part& part : found_.parts) {
        const std::uint64_t first = store_.capture().chunks(part.track)[part.chunk].first_ordinal;
        for (std::size_t i = part.first; i < part.first + part.count; ++i)
            spans_[places_[i]] = SpanId::make(part.track, first + found_.rows[i]);
    }
}

}  // namespace faultline
