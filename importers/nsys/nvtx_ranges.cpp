#include "importers/nsys/nvtx_ranges.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>

#include "importers/nsys/json_text.h"

namespace faultline::nsys {

namespace {

constexpr std::string_view kTable = "NVTX_EVENTS";
constexpr std::int64_t kCategoryName = 33, kMark = 34, kThreadName = 39, kPushPop = 59, kStartEnd = 60, kDomainCreate = 75,
                       kDomainDestroy = 76;
constexpr std::int64_t kImportedPushPop = 70, kImportedStartEnd = 71;  // from text files (nvtxt)

enum { start, end, event_type, category, text, thread, end_thread, text_id, domain, integer_value, real_value, json_text, json_text_id };

/// `, key = 123` anywhere in a text: where it begins, and the number.
struct Member {
    std::size_t begin = std::string_view::npos;
    std::int64_t value = kNull;
};

Member number_member(std::string_view text, std::string_view key) noexcept {
    Member member;
    const std::size_t at = text.find(key);
    if (at == std::string_view::npos) return member;
    const std::string_view rest = text.substr(at + key.size());
    std::int64_t value = 0;
    const auto [stop, error] = std::from_chars(rest.data(), rest.data() + rest.size(), value);
    if (error != std::errc() || (stop != rest.data() + rest.size() && *stop != ',')) return member;
    return {at, value};
}

/// What stands where the type of an event should, as a part of one line.
std::string clean_type(std::string_view text) {
    constexpr std::size_t kMost = 20;
    std::string out =
        text.empty() ? std::string("none") : repaired_text(text.substr(0, kMost)).value_or(std::string(text.substr(0, kMost)));
    std::replace_if(
        out.begin(), out.end(), [](char c) { return c >= 0 && c < ' '; }, ' ');
    return out;
}

/// Lists of lists of numbers are JSON as they stand.
bool is_number_list(std::string_view text) noexcept {
    int depth = 0;
    bool number = false;
    char before = ',';
    for (const char c : text) {
        if (c == ' ') continue;
        const bool digit = c >= '0' && c <= '9';
        if (c == '[' && before != ',' && before != '[') return false;
        if ((c == ',' || c == ']') && before == ',') return false;
        if (digit && before == ']') return false;
        if (!digit && c != '[' && c != ']' && c != ',') return false;
        number = digit;
        depth += c == '[' ? 1 : c == ']' ? -1 : 0;
        if (depth < 0 || (depth == 0 && c != ']')) return false;
        before = c;
    }
    return depth == 0 && !number && !text.empty() && before == ']';
}

}  // namespace

OperatorText split_operator(std::string_view text) noexcept {
    OperatorText parts{text, kNull, kNull, {}};
    // Nearly all texts have none of it.
    if (text.find(" = ") == std::string_view::npos) return parts;
    const Member sequence = number_member(text, ", seq = ");
    const Member record = number_member(text, ", op_id = ");
    const std::size_t cut = std::min(sequence.begin, record.begin);
    if (cut == std::string_view::npos || cut == 0) return parts;
    parts.name = text.substr(0, cut);
    parts.sequence = sequence.value;
    parts.record_function = record.value;
    constexpr std::string_view kSizes = ", sizes = ";
    if (const std::size_t at = text.find(kSizes, cut); at != std::string_view::npos) {
        parts.sizes = text.substr(at + kSizes.size());
        parts.sizes = parts.sizes.substr(0, parts.sizes.find(", input_op_ids = "));
    }
    return parts;
}

/// Domains and categories first: rows need not be in the order of time, and a range's track depends on its domain.
void NvtxReader::read_names() {
    TableScan row =
        s_.rows_of(kTable, {"start", "end", "eventType", "category", "text", "globalTid", "endGlobalTid", "textId", "domainId"},
                   {"eventType IS NULL OR CAST(eventType AS INTEGER) NOT IN (34, 59, 60, 70, 71)", {}, TableScan::Losses::elsewhere});
    const auto said = [&] { return row.is_null(text) ? s_.strings.text(row.integer_or_zero(text_id)) : std::string(row.text(text)); };
    while (row.next()) {
        s_.ledger.add_metadata();
        const std::int64_t process = process_key(row.integer_or_zero(thread));
        switch (row.integer_or_zero(event_type)) {
            case kDomainCreate: {
                const std::string name = said();
                domains_[{process, row.integer_or_zero(domain)}] = {s_.strings.name_of(name), name == "GIL Trace"};
                break;
            }
            case kCategoryName:
                categories_[{process, row.integer_or_zero(domain), row.integer_or_zero(category)}] = repaired_text(said()).value_or(said());
                break;
            case kThreadName:
                if (!row.is_null(thread)) thread_names_[row.integer(thread)] = s_.strings.name_of(said());
                break;
            case kDomainDestroy: break;
            default:
                s_.ledger.note("nsys.event-type", "A row of NVTX has a type that is not known; it is left out",
                               fmt::format("{}: type {}", row.place(), clean_type(row.text(event_type))));
        }
    }
}

const NvtxReader::Domain* NvtxReader::domain_of(const TableScan& row) {
    const std::int64_t number = row.integer_or_zero(domain);
    if (number == 0 || domains_.empty()) return nullptr;
    const std::int64_t process = process_key(row.integer_or_zero(thread));
    if (process != last_domain_process_ || number != last_domain_) {
        const auto found = domains_.find({process, number});
        last_domain_found_ = found == domains_.end() ? nullptr : &found->second;
        last_domain_process_ = process;
        last_domain_ = number;
    }
    return last_domain_found_;
}

NameId NvtxReader::name_of(const TableScan& row, OperatorText& parts) {
    if (row.is_null(text)) {
        const NameId whole = s_.strings.name(row.integer(text_id));
        parts = split_operator(s_.source.names().text(whole));
        return parts.name.size() == s_.source.names().text(whole).size() ? whole : s_.source.name(std::string(parts.name));
    }
    parts = split_operator(row.text(text));
    return s_.strings.name_of(parts.name);
}

TrackBuffer& NvtxReader::range_track(std::int64_t global_tid, const Domain* of) {
    const Places::HostPlace& host = s_.places.host(global_tid);
    if (of == nullptr || !of->gil) return *host.track;
    TrackBuffer*& track = gil_tracks_[global_tid];
    if (track == nullptr) {
        track = &s_.source.marks_track(host.process, fmt::format("GIL of thread {}", tid_of(global_tid)));
        track->track.thread = host.thread;
    }
    return *track;
}

void NvtxReader::set_columns(TrackBuffer& track, std::uint32_t at, const TableScan& row, const OperatorText& parts, const Domain* of) {
    set_if(track, at, Column::category, row.integer(category));
    if (of != nullptr) track.set(at, Column::domain, index_of(of->name));
    set_if(track, at, Column::payload, row.integer(integer_value));
    set_if(track, at, Column::sequence, parts.sequence);
    set_if(track, at, Column::record_function, parts.record_function);
    JsonObject arguments;
    if (!parts.sizes.empty())
        arguments.add("Input Dims", is_number_list(parts.sizes) ? std::string(parts.sizes) : quoted_json(parts.sizes));
    if (!row.is_null(real_value)) {
        // JSON has no word for what is not a number.
        const double value = row.real(real_value);
        const std::string text = fmt::format("{:.17g}", value);
        std::isfinite(value) ? arguments.add("payload", text) : arguments.add_text("payload", text);
    }
    if (!row.is_null(json_text))
        arguments.add_text("payload text", repaired_text(row.text(json_text)).value_or(std::string(row.text(json_text))));
    else if (!row.is_null(json_text_id))
        arguments.add_text("payload text", s_.strings.text(row.integer(json_text_id)));
    const std::int64_t ended_on = row.integer(end_thread);
    if (ended_on != kNull && ended_on != row.integer(thread)) arguments.add("ended on thread", fmt::format("{}", tid_of(ended_on)));
    if (!arguments.empty()) track.set(at, Column::args, index_of(s_.source.text(arguments.text())));
}

void NvtxReader::read_range(const TableScan& row, bool start_end) {
    const std::int64_t from = row.integer(start);
    std::int64_t to = row.integer(end);
    const bool endless = to == kNull;
    if (endless) to = from;
    const std::optional<TimeRange> at = from == kNull || endless ? s_.interval(row, start, start) : s_.interval(row, start, end);
    if (!at) return;
    const bool open = endless || (s_.duration && at->end >= *s_.duration);
    const Domain* const of = domain_of(row);
    const std::int64_t global_tid = row.integer(thread);
    OperatorText parts;
    const NameId name = name_of(row, parts);
    TrackBuffer& track = start_end ? held_ : range_track(global_tid, of);
    const std::uint32_t position = s_.append(track, row, *at, name, SpanKind::range);
    set_columns(track, position, row, parts, of);
    if (open) {
        track.add_flag(position, flag_unfinished);
        s_.ledger.repaired("nsys.open-range", "A range was still open when the session ended; it is closed there", row.place());
    }
    if (!start_end) {
        if (endless) open_.push_back({&track, position});
        return;
    }
    const std::int64_t other = row.integer(end_thread);
    if (other != kNull && other != global_tid) held_.kinds[position] = SpanKind::async;
    pending_.push_back({global_tid, position});
    if (endless) held_.durations[position] = -1;  // until it is placed
}

void NvtxReader::read_mark(const TableScan& row) {
    const std::optional<TimeRange> at = s_.interval(row, start, start);
    if (!at) return;
    const Domain* const of = domain_of(row);
    OperatorText parts;
    const NameId name = name_of(row, parts);
    TrackBuffer& track = *s_.places.host(row.integer(thread)).track;
    set_columns(track, s_.append(track, row, *at, name, SpanKind::instant), row, parts, of);
}

void NvtxReader::read() {
    read_names();
    TableScan row =
        s_.rows_of(kTable, {"start", "end", "eventType", "category", "text", "globalTid", "endGlobalTid", "textId", "domainId",
                            "uint64Value|int64Value|uint32Value|int32Value", "doubleValue|floatValue", "jsonText", "jsonTextId"});
    while (row.next()) {
        switch (row.integer_or_zero(event_type)) {
            case kPushPop:
            case kImportedPushPop: read_range(row, false); break;
            case kStartEnd:
            case kImportedStartEnd: read_range(row, true); break;
            case kMark: read_mark(row); break;
            default: break;  // names, which were read first
        }
    }
    place_start_end();
}

namespace {

/// The push/pop ranges of a thread, to ask whether an interval nests with them.
class RangeStack {
public:
    explicit RangeStack(const TrackBuffer& track) {
        for (std::uint32_t i = 0; i < track.size(); ++i)
            if (track.kinds[i] == SpanKind::range) ranges_.push_back({track.starts[i], track.end(i)});
        std::sort(ranges_.begin(), ranges_.end(),
                  [](const TimeRange& a, const TimeRange& b) { return a.start != b.start ? a.start < b.start : a.end > b.end; });
        std::vector<std::int64_t> open;
        for (std::size_t i = 0; i < ranges_.size(); ++i) {
            while (!open.empty() && ranges_[static_cast<std::size_t>(open.back())].end <= ranges_[i].start) open.pop_back();
            parents_.push_back(open.empty() ? -1 : open.back());
            open.push_back(static_cast<std::int64_t>(i));
        }
    }

    [[nodiscard]] bool nests(TimeRange range) const {
        const TimeRange* const at_start = innermost(range.start);
        if (at_start != nullptr && at_start->end < range.end) return false;
        const TimeRange* const at_end = innermost(range.end - 1);
        return at_end == nullptr || at_end->start <= range.start || at_end->end <= range.end;
    }

private:
    [[nodiscard]] const TimeRange* innermost(TimeNs t) const {
        const auto after =
            std::upper_bound(ranges_.begin(), ranges_.end(), t, [](TimeNs time, const TimeRange& r) { return time < r.start; });
        std::int64_t at = after - ranges_.begin() - 1;
        while (at >= 0 && ranges_[static_cast<std::size_t>(at)].end <= t) at = parents_[static_cast<std::size_t>(at)];
        return at < 0 ? nullptr : &ranges_[static_cast<std::size_t>(at)];
    }

    std::vector<TimeRange> ranges_;
    std::vector<std::int64_t> parents_;
};

}  // namespace

TrackBuffer& NvtxReader::track_beside(const Places::HostPlace& host, std::int64_t global_tid) {
    TrackBuffer& track = s_.source.marks_track(host.process, fmt::format("start/end ranges of thread {}", tid_of(global_tid)));
    track.track.thread = host.thread;
    return track;
}

void NvtxReader::place_start_end() {
    std::stable_sort(pending_.begin(), pending_.end(), [](const Pending& a, const Pending& b) { return a.thread < b.thread; });
    for (std::size_t first = 0; first < pending_.size();) {
        std::size_t last = first;
        while (last < pending_.size() && pending_[last].thread == pending_[first].thread) ++last;
        const Places::HostPlace host = s_.places.host(pending_[first].thread);
        const RangeStack stack(*host.track);
        for (; first < last; ++first) {
            const std::uint32_t held = pending_[first].held;
            const bool endless = held_.durations[held] < 0;
            if (endless) held_.durations[held] = 0;
            const TimeRange at{held_.starts[held], endless ? std::numeric_limits<TimeNs>::max() : held_.end(held)};
            const bool beside = held_.kinds[held] == SpanKind::async || !stack.nests(at);
            TrackBuffer& track = beside ? track_beside(host, pending_[first].thread) : *host.track;
            if (beside) held_.kinds[held] = SpanKind::async;
            track.append_from(held_, std::span(&held, 1));
            if (endless) open_.push_back({&track, track.size() - 1});
        }
    }
    held_.clear();
    pending_.clear();
}

void NvtxReader::finish() {
    if (open_.empty()) return;
    TimeNs latest = s_.duration.value_or(std::numeric_limits<TimeNs>::min());
    for (const TrackBuffer& track : s_.source.tracks())
        for (std::uint32_t i = 0; i < track.size(); ++i) latest = std::max(latest, track.end(i));
    for (const Open& range : open_) range.track->durations[range.at] = std::max<TimeNs>(latest - range.track->starts[range.at], 0);
}

std::string NvtxReader::categories() const {
    JsonObject all;
    for (const auto& [key, name] : categories_) {
        const auto& [process, in, number] = key;
        const auto found = domains_.find({process, in});
        const std::string_view of = found == domains_.end() ? std::string_view("default") : s_.source.names().text(found->second.name);
        all.add_text(fmt::format("{}/{}", of, number), name);
    }
    return all.empty() ? std::string() : all.text();
}

}  // namespace faultline::nsys
