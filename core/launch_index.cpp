#include "core/launch_index.h"

#include <algorithm>

namespace faultline {

Result<std::shared_ptr<const LaunchIndex>> LaunchIndex::build(const CaptureReader& capture, std::stop_token stop) {
    auto index = std::make_shared<LaunchIndex>();
    std::vector<std::int64_t> launch;
    for (const Track& track : capture.tracks()) {
        if (track.kind != TrackKind::device) continue;
        const auto& chunks = capture.chunks(track.id);
        for (std::size_t c = 0; c < chunks.size(); ++c) {
            if (stop.stop_requested()) return fail(ErrorCode::cancelled, "the reading of launches was cancelled");
            if (auto ok = capture.read_chunk(track.id, c, Column::launch, launch); !ok) return tl::unexpected<Error>(ok.error());
            for (std::size_t i = 0; i < launch.size(); ++i)
                if (launch[i] != kNull) index->entries_.push_back({SpanId{launch[i]}, SpanId::make(track.id, chunks[c].first_ordinal + i)});
        }
    }
    if (!std::is_sorted(index->entries_.begin(), index->entries_.end())) std::sort(index->entries_.begin(), index->entries_.end());
    index->entries_.shrink_to_fit();
    return std::shared_ptr<const LaunchIndex>(std::move(index));
}

std::span<const LaunchIndex::Entry> LaunchIndex::launched(SpanId first, SpanId last) const noexcept {
    const auto by_call = [](const Entry& e, SpanId call) { return e.call < call; };
    const auto from = std::lower_bound(entries_.begin(), entries_.end(), first, by_call);
    const auto to = std::lower_bound(from, entries_.end(), last, by_call);
    return {from, to};
}

}  // namespace faultline
