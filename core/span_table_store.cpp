#include "core/span_table_store.h"

#include <algorithm>

namespace faultline {

namespace {

std::uint64_t chunk_key(TrackId track, std::size_t chunk) {
    return (static_cast<std::uint64_t>(index_of(track)) << 32) | static_cast<std::uint64_t>(chunk);
}

}  // namespace

std::shared_ptr<DecodedChunk> ChunkCache::chunk(TrackId track, std::size_t chunk) {
    const std::uint64_t key = chunk_key(track, chunk);
    if (const auto known = by_key_.find(key); known != by_key_.end()) {
        chunks_.splice(chunks_.begin(), chunks_, known->second);
        return chunks_.front();
    }
    while (columns_ >= kMaxColumns && !chunks_.empty()) {
        const DecodedChunk& oldest = *chunks_.back();
        for (const auto& column : oldest.columns) columns_ -= column ? 1 : 0;
        by_key_.erase(chunk_key(oldest.track, oldest.chunk));
        chunks_.pop_back();
    }
    auto fresh = std::make_shared<DecodedChunk>();
    fresh->track = track;
    fresh->chunk = chunk;
    chunks_.push_front(fresh);
    by_key_.emplace(key, chunks_.begin());
    return fresh;
}

Result<const std::vector<std::int64_t>*> ChunkCache::column(DecodedChunk& chunk, Column column) {
    auto& values = chunk.columns[static_cast<std::size_t>(column)];
    if (!values) {
        auto fresh = std::make_unique<std::vector<std::int64_t>>();
        if (Result<void> read = capture_.read_chunk(chunk.track, chunk.chunk, column, *fresh); !read)
            return tl::unexpected<Error>(read.error());
        const std::size_t expected = capture_.chunks(chunk.track)[chunk.chunk].count;
        if (fresh->size() != expected) fresh->resize(expected, kNull);
        // A chunk that has left the cache meanwhile is owned by its scan alone and no longer counted.
        if (const auto known = by_key_.find(chunk_key(chunk.track, chunk.chunk)); known != by_key_.end() && known->second->get() == &chunk)
            ++columns_;
        values = std::move(fresh);
    }
    return values.get();
}

Result<ColumnIndex> ColumnIndex::build(const CaptureReader& capture, Column column) {
    ColumnIndex index;
    std::vector<std::int64_t> keys, kinds;
    for (const Track& track : capture.tracks()) {
        const std::vector<Chunk>& chunks = capture.chunks(track.id);
        for (std::size_t c = 0; c < chunks.size(); ++c) {
            if (Result<void> read = capture.read_chunk(track.id, c, column, keys); !read) return tl::unexpected<Error>(read.error());
            if (std::all_of(keys.begin(), keys.end(), [](std::int64_t key) { return key == kNull; })) continue;
            if (Result<void> read = capture.read_chunk(track.id, c, Column::kind, kinds); !read) return tl::unexpected<Error>(read.error());
            for (std::size_t i = 0; i < keys.size(); ++i) {
                if (keys[i] == kNull) continue;
                const auto kind = i < kinds.size() ? static_cast<std::uint32_t>(kinds[i] & 31) : 0u;
                index.entries_.push_back({keys[i], SpanId::make(track.id, chunks[c].first_ordinal + i), 1u << kind});
            }
        }
    }
    std::sort(index.entries_.begin(), index.entries_.end(),
              [](const Entry& a, const Entry& b) { return a.key != b.key ? a.key < b.key : a.span < b.span; });
    return index;
}

std::pair<const ColumnIndex::Entry*, const ColumnIndex::Entry*> ColumnIndex::find(std::int64_t key) const noexcept {
    const Entry* const begin = entries_.data();
    const Entry* const end = begin + entries_.size();
    const Entry* const first = std::lower_bound(begin, end, key, [](const Entry& entry, std::int64_t k) { return entry.key < k; });
    const Entry* last = first;
    while (last != end && last->key == key) ++last;
    return {first, last};
}

std::string numbered_name(std::string_view name, std::string_view number) {
    if (name.empty()) return std::string(number);
    if (number.empty() || name.find(number) != std::string_view::npos) return std::string(name);
    return std::string(name) + " (" + std::string(number) + ")";
}

std::string display_name(const Process& process) {
    return numbered_name(process.name, process.pid_text.empty() ? std::to_string(process.pid) : process.pid_text);
}

std::string display_name(const Thread& thread) {
    return numbered_name(thread.name, thread.tid_text.empty() ? std::to_string(thread.tid) : thread.tid_text);
}

SpanStore::SpanStore(const CaptureReader& capture) : capture_(capture), chunks_(capture) {
    for (const Track& track : capture.tracks()) {
        TrackFacts facts;
        facts.source = index_of(track.source);
        facts.lane = track.lane;
        if (const Source* source = capture.source(track.source)) facts.rank = source->rank;
        if (const Process* process = track.process ? capture.process(*track.process) : nullptr) {
            facts.process_id = index_of(process->id);
            if (process->pid_text.empty()) facts.pid = process->pid;
            facts.process = display_name(*process);
            if (process->rank) facts.rank = process->rank;
        }
        if (const Thread* thread = track.thread ? capture.thread(*track.thread) : nullptr) {
            facts.thread_id = index_of(thread->id);
            if (thread->tid_text.empty()) facts.tid = thread->tid;
            facts.thread = display_name(*thread);
        }
        if (const Device* device = track.device ? capture.device(*track.device) : nullptr) facts.device = device->ordinal;
        facts.stream = track.stream;
        facts_.emplace(index_of(track.id), std::move(facts));
        spans_ += track.spans;
    }
}

const TrackFacts& SpanStore::facts(TrackId track) const noexcept {
    static const TrackFacts none;
    const auto known = facts_.find(index_of(track));
    return known == facts_.end() ? none : known->second;
}

Result<const ColumnIndex*> SpanStore::index(Column column) {
    const int key = static_cast<int>(column);
    auto known = indexes_.find(key);
    if (known == indexes_.end()) {
        Result<ColumnIndex> made = ColumnIndex::build(capture_, column);
        if (!made) return tl::unexpected<Error>(made.error());
        known = indexes_.emplace(key, std::move(*made)).first;
    }
    return &known->second;
}

std::optional<NameId> SpanStore::find_name(std::string_view text) {
    if (names_.empty()) {
        for (std::uint32_t i = 0; i < capture_.name_count(); ++i) names_.emplace(capture_.name(NameId{i}), NameId{i});
    }
    const auto known = names_.find(text);
    if (known == names_.end()) return std::nullopt;
    return known->second;
}

NameFamilies& SpanStore::families() {
    if (!families_) families_.emplace(capture_);
    return *families_;
}

std::size_t chunk_of(const std::vector<Chunk>& chunks, std::uint64_t ordinal) noexcept {
    const auto after = std::upper_bound(chunks.begin(), chunks.end(), ordinal,
                                        [](std::uint64_t o, const Chunk& chunk) { return o < chunk.first_ordinal; });
    if (after == chunks.begin()) return chunks.size();
    const auto at = static_cast<std::size_t>(after - chunks.begin()) - 1;
    return ordinal < chunks[at].first_ordinal + chunks[at].count ? at : chunks.size();
}

Result<std::int64_t> SpanStore::value(SpanId span, Column column) {
    const std::vector<Chunk>& chunks = capture_.chunks(span.track());
    const std::size_t at = chunk_of(chunks, span.ordinal());
    if (at == chunks.size()) return kNull;
    const std::shared_ptr<DecodedChunk> chunk = chunks_.chunk(span.track(), at);
    const auto values = chunks_.column(*chunk, column);
    if (!values) return tl::unexpected<Error>(values.error());
    return (**values)[static_cast<std::size_t>(span.ordinal() - chunks[at].first_ordinal)];
}

std::optional<std::int64_t> fact_of(const Track& track, const TrackFacts& facts, TrackFact which) noexcept {
    switch (which) {
        case TrackFact::track: return index_of(track.id);
        case TrackFact::source: return facts.source;
        case TrackFact::rank: return facts.rank;
        case TrackFact::device: return facts.device;
        case TrackFact::stream: return facts.stream;
        case TrackFact::lane: return facts.lane;
    }
    return std::nullopt;
}

}  // namespace faultline
