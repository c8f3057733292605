// Sorting the spans of a track and finding who encloses whom (TELLER §3.3: push/pop by stack; DESIGN §5 and §6).
//
// Order: by start, longer first; equal intervals nest as range, Python frame, operator, everything else. A span that starts where
// another ends is its sibling. Host spans that cross a neighbour by at most 1 us are clipped and counted; what crosses by more, and
// device work that overlaps on a stream, goes to a sub-lane: a track of its own with the next `lane`. Nothing is dropped.
#pragma once

#include "core/import_ledger.h"
#include "core/progress.h"
#include "core/source_builder.h"

namespace faultline {

inline constexpr TimeNs kClipNs = 1000;  ///< host spans crossing by at most this are clipped
inline constexpr int kMaxLanes = 4096;   ///< past it a crossing span is kept with length 0 and counted

/// Sorts every track and sets `parent` and `depth`; adds the sub-lanes. Linear in spans, times the lanes in use.
void sort_and_nest(SourceBuilder& source, ImportLedger& ledger, const Progress& progress);

/// Position of the innermost span of a sorted, nested host track that holds `t`; -1 where there is none.
[[nodiscard]] std::int64_t innermost_at(const TrackBuffer& track, TimeNs t);

}  // namespace faultline
