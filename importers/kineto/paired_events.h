// Spans that come as a beginning and an end: B/E per thread, b/e by (category, id) (FORMATS §3). One thread.
//
// A beginning is appended as a span at once; ends are matched when all events are there, in the order of time and then of the file.
#pragma once

#include <cstdint>
#include <limits>
#include <map>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/import_ledger.h"
#include "core/source_builder.h"

namespace faultline::kineto {

/// Spans whose record was counted as repaired: a second repair of the same record is not counted again.
using RepairedSpans = std::set<std::pair<const TrackBuffer*, std::uint32_t>>;

class PairedEvents {
public:
    /// Beginnings and ends that belong together lie on one track and have one key ("" for B/E).
    void begin(TrackBuffer& track, const std::string& key, std::uint32_t at, std::uint64_t offset);
    void end(TrackBuffer& track, const std::string& key, TimeNs time, NameId name, bool named, std::uint64_t offset);

    /// Matches; an end without a beginning is dropped, a beginning without an end is closed at the last time of its track.
    void resolve(ImportLedger& ledger, RepairedSpans& repaired);

private:
    struct Mark {
        TimeNs time = 0;
        std::uint64_t offset = 0;
        NameId name{};
        std::uint32_t at = 0;  ///< position of the span, of a beginning
        bool begins = false;
        bool named = false;
        bool done = false;
    };
    using Marks = std::vector<Mark>;
    class OpenSpans;
    struct Group {
        TrackBuffer* track;
        std::map<std::string, Marks> by_key;
    };
    static void resolve(TrackBuffer& track, Marks& marks, TimeNs last_time, ImportLedger& ledger, RepairedSpans& repaired);
    static Mark* twin_of(Marks& marks, std::size_t i);
    Marks& marks(TrackBuffer& track, const std::string& key);

    std::vector<Group> groups_;
    std::unordered_map<const TrackBuffer*, std::size_t> group_of_;
    TrackBuffer* last_track_ = nullptr;  ///< of the last plain B or E
    std::size_t last_group_ = 0;
};

}  // namespace faultline::kineto
