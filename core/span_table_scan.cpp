#include "core/span_table_scan.h"

#include <algorithm>
#include <numeric>

namespace faultline {

namespace {

/// Keeps of `rows` those for which `keep` is true.
template <class Keep>
void keep_rows(std::vector<std::uint16_t>& rows, Keep keep) {
    std::size_t kept = 0;
    for (const std::uint16_t row : rows) {
        rows[kept] = row;
        kept += keep(row) ? 1 : 0;
    }
    rows.resize(kept);
}

}  // namespace

Result<void> SpanScan::begin(SpanFilter filter) {
    filter_ = std::move(filter);
    at_end_ = filter_.nothing;
    listed_ = false;
    list_.clear();
    list_at_ = 0;
    track_at_ = chunk_at_ = 0;
    selected_.clear();
    selected_at_ = 0;
    rearranged_.reset();
    if (at_end_) return {};
    if (filter_.parent) {
        if (Result<void> narrowed = narrow_to_children(); !narrowed) return narrowed;
        if (at_end_) return {};
    }
    if (filter_.span) {
        listed_ = true;
        list_.push_back(*filter_.span);
    } else if (filter_.launch) {
        if (Result<void> listed = list_indexed(Column::launch, filter_.launch->value); !listed) return listed;
    } else if (filter_.correlation) {
        if (Result<void> listed = list_indexed(Column::correlation, *filter_.correlation); !listed) return listed;
    }
    if (filter_.launch) filter_.equal.emplace_back(Column::launch, filter_.launch->value);
    if (filter_.correlation) filter_.equal.emplace_back(Column::correlation, *filter_.correlation);
    if (filter_.parent) filter_.equal.emplace_back(Column::parent, static_cast<std::int64_t>(filter_.parent->ordinal()));
    if (filter_.order.needs_work() && !listed_) return rearrange();
    return listed_ ? next_listed() : next_chunk();
}

Result<void> SpanScan::next() {
    if (listed_) return next_listed();
    if (rearranged_) {
        next_rearranged();
        return {};
    }
    if (++selected_at_ < selected_.size()) {
        row_ = selected_[selected_at_];
        return {};
    }
    return next_chunk();
}

Result<std::int64_t> SpanScan::load(Column column) {
    const Result<const std::vector<std::int64_t>*> values =
        rearranged_ ? rearranged_->column(column) : store_.chunks().column(*chunk_, column);
    if (!values) return tl::unexpected<Error>(values.error());
    ready_[static_cast<std::size_t>(column)] = *values;
    return (**values)[row_];
}

Result<std::int64_t> SpanScan::gap() {
    const SpanId current = span();
    const Track* const track = store_.capture().track(current.track());
    if (!track || track->kind != TrackKind::device) return kNull;
    for (std::uint64_t ordinal = current.ordinal(); ordinal-- > 0;) {
        const SpanId before = SpanId::make(current.track(), ordinal);
        const auto kind = store_.value(before, Column::kind);
        if (!kind) return kind;
        if (!is_device_work(static_cast<SpanKind>(*kind))) continue;
        const auto start = value(Column::start), before_start = store_.value(before, Column::start),
                   before_length = store_.value(before, Column::duration);
        for (const auto* part : {&start, &before_start, &before_length}) {
            if (!*part) return *part;
        }
        return *start - *before_start - *before_length;
    }
    return kNull;
}

void SpanScan::enter(TrackId track, std::size_t chunk) {
    if (chunk_ && track_ == track && chunk_->track == track && chunk_->chunk == chunk) return;
    chunk_ = store_.chunks().chunk(track, chunk);
    track_ = track;
    first_ordinal_ = store_.capture().chunks(track)[chunk].first_ordinal;
    ready_.fill(nullptr);
}

bool SpanScan::track_may_match(const Track& track) const noexcept {
    if (filter_.track && *filter_.track != track.id) return false;
    if (filter_.track_equal.empty()) return true;
    const TrackFacts& facts = store_.facts(track.id);
    return std::all_of(filter_.track_equal.begin(), filter_.track_equal.end(),
                       [&](const auto& wanted) { return fact_of(track, facts, wanted.first) == wanted.second; });
}

bool SpanScan::chunk_may_match(const Track& track, const Chunk& chunk) const noexcept {
    if ((chunk.kind_mask & filter_.kinds) == 0 || chunk.count == 0) return false;
    if (!filter_.has_times()) return true;
    const TimeNs offset = track.clock_offset_ns;
    // Nothing bounds the ends of a chunk from below but its starts.
    return chunk.max_start + offset >= filter_.start_min && chunk.min_start + offset <= filter_.start_max &&
           chunk.max_end + offset >= filter_.end_min && chunk.min_start + offset <= filter_.end_max;
}

/// Children follow their parent in its track and start before it ends.
Result<void> SpanScan::narrow_to_children() {
    const SpanId parent = *filter_.parent;
    const CaptureReader& capture = store_.capture();
    const Track* track = parent.valid() ? capture.track(parent.track()) : nullptr;
    if (!track || parent.ordinal() >= track->spans || (filter_.track && *filter_.track != parent.track())) {
        at_end_ = true;
        return {};
    }
    const Result<std::int64_t> start = capture.value(parent, Column::start);
    if (!start) return tl::unexpected<Error>(start.error());
    const Result<std::int64_t> duration = capture.value(parent, Column::duration);
    if (!duration) return tl::unexpected<Error>(duration.error());
    filter_.track = parent.track();
    filter_.start_min = std::max(filter_.start_min, *start);
    filter_.start_max = std::min(filter_.start_max, *start + *duration);
    return {};
}

Result<void> SpanScan::list_indexed(Column column, std::int64_t key) {
    const Result<const ColumnIndex*> index = store_.index(column);
    if (!index) return tl::unexpected<Error>(index.error());
    listed_ = true;
    const auto [first, last] = (*index)->find(key);
    for (const ColumnIndex::Entry* entry = first; entry != last; ++entry) {
        if ((entry->kind & filter_.kinds) != 0) list_.push_back(entry->span);
    }
    return {};
}

/// Takes from selected_ the rows of the current chunk that do not match.
Result<void> SpanScan::select_rows() {
    const auto column = [this](Column c) -> Result<const std::vector<std::int64_t>*> { return store_.chunks().column(*chunk_, c); };
    if (filter_.kinds != SpanFilter::kAllKinds) {
        const auto kinds = column(Column::kind);
        if (!kinds) return tl::unexpected<Error>(kinds.error());
        keep_rows(selected_, [&](std::uint16_t row) { return ((filter_.kinds >> ((**kinds)[row] & 31)) & 1u) != 0; });
    }
    if (filter_.has_times() && !selected_.empty()) {
        const auto starts = column(Column::start);
        if (!starts) return tl::unexpected<Error>(starts.error());
        const auto durations = column(Column::duration);
        if (!durations) return tl::unexpected<Error>(durations.error());
        keep_rows(selected_, [&](std::uint16_t row) {
            const TimeNs start = (**starts)[row];
            const TimeNs end = start + (**durations)[row];
            return start >= filter_.start_min && start <= filter_.start_max && end >= filter_.end_min && end <= filter_.end_max;
        });
    }
    for (const auto& [which, wanted] : filter_.equal) {
        if (selected_.empty()) break;
        const auto values = column(which);
        if (!values) return tl::unexpected<Error>(values.error());
        keep_rows(selected_, [&, value = wanted](std::uint16_t row) { return (**values)[row] == value; });
    }
    if (filter_.flags != 0 && !selected_.empty()) {
        const auto flags = column(Column::flags);
        if (!flags) return tl::unexpected<Error>(flags.error());
        const auto wanted = static_cast<std::int64_t>(filter_.flags);
        keep_rows(selected_, [&](std::uint16_t row) { return (**flags)[row] != kNull && ((**flags)[row] & wanted) == wanted; });
    }
    return {};
}

Result<void> SpanScan::next_chunk() {
    const std::vector<Track>& tracks = store_.capture().tracks();
    for (; track_at_ < tracks.size(); ++track_at_, chunk_at_ = 0) {
        const Track& track = tracks[track_at_];
        if (!track_may_match(track)) continue;
        const std::vector<Chunk>& chunks = store_.capture().chunks(track.id);
        while (chunk_at_ < chunks.size()) {
            const std::size_t at = chunk_at_++;
            if (!chunk_may_match(track, chunks[at])) continue;
            enter(track.id, at);
            selected_.resize(chunks[at].count);
            std::iota(selected_.begin(), selected_.end(), std::uint16_t{0});
            if (Result<void> selected = select_rows(); !selected) return selected;
            if (selected_.empty()) continue;
            selected_at_ = 0;
            row_ = selected_[0];
            return {};
        }
    }
    at_end_ = true;
    return {};
}

/// Walks all matching rows once, then gives them in the order that is wanted.
Result<void> SpanScan::rearrange() {
    FoundRows found;
    for (;;) {
        if (Result<void> moved = next_chunk(); !moved) return moved;
        if (at_end_) break;
        found.parts.push_back({track_, chunk_->chunk, found.rows.size(), selected_.size()});
        found.rows.insert(found.rows.end(), selected_.begin(), selected_.end());
    }
    Result<std::unique_ptr<RearrangedRows>> made = RearrangedRows::make(store_, std::move(found), filter_.order);
    if (!made) return tl::unexpected<Error>(made.error());
    rearranged_ = std::move(*made);
    ready_.fill(nullptr);
    chunk_.reset();
    row_ = static_cast<std::size_t>(-1);
    next_rearranged();
    return {};
}

void SpanScan::next_rearranged() {
    at_end_ = ++row_ >= rearranged_->spans().size();
    if (!at_end_) track_ = rearranged_->spans()[row_].track();
}

Result<void> SpanScan::next_listed() {
    while (list_at_ < list_.size()) {
        const SpanId span = list_[list_at_++];
        const Track* const track = span.valid() ? store_.capture().track(span.track()) : nullptr;
        if (!track || !track_may_match(*track)) continue;
        const std::vector<Chunk>& chunks = store_.capture().chunks(span.track());
        const std::size_t at = chunk_of(chunks, span.ordinal());
        if (at == chunks.size()) continue;
        enter(span.track(), at);
        selected_.assign(1, static_cast<std::uint16_t>(span.ordinal() - first_ordinal_));
        if (Result<void> selected = select_rows(); !selected) return selected;
        if (selected_.empty()) continue;
        row_ = selected_[0];
        return {};
    }
    at_end_ = true;
    return {};
}

}  // namespace faultline
