#include "importers/nsys/session.h"

namespace faultline::nsys {

namespace {

/// Times stay below this, so that no difference of two of them overflows.
constexpr TimeNs kMostTime = TimeNs{1} << 61;

}  // namespace

bool Session::usable_time(std::int64_t t) noexcept { return t < kMostTime && t > -kMostTime; }

void Session::drop_without_time(const TableScan& row) {
    ledger.dropped("nsys.no-time", "A row has no time, or one that no clock shows", row.place());
}

std::optional<TimeRange> Session::interval(const TableScan& row, int start, int end) {
    const std::int64_t from = row.integer(start);
    const std::int64_t to = row.integer(end);
    if (usable_time(from) && usable_time(to)) return TimeRange{from, to};
    drop_without_time(row);
    return std::nullopt;
}

std::uint32_t Session::append(TrackBuffer& track, const TableScan& row, TimeRange at, NameId name, SpanKind kind) {
    ledger.add_read();
    if (at.end >= at.start) return track.append(at.start, at.duration(), name, kind);
    const std::uint32_t position = track.append(at.start, 0, name, kind);
    track.add_flag(position, flag_negative);
    ledger.repaired("nsys.negative", "A span ends before it begins; it is kept with length 0", row.place());
    return position;
}

}  // namespace faultline::nsys
