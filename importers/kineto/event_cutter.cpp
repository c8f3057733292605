#include "importers/kineto/event_cutter.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "importers/kineto/trace_text.h"

namespace faultline::kineto {

namespace {

constexpr std::size_t kLongEvent = 16 * 1024;  // such an event may have swallowed others

/// What events of most producers begin with, whether or not one of them was read already.
constexpr std::array<std::string_view, 7> kUsualFirstKeys = {"ph", "name", "pid", "cat", "tid", "ts", "args"};

/// Members of the top level that are known to stand behind the events; needed only where the list's closing bracket is missing.
constexpr std::array<std::string_view, 14> kKnownMembers = {"traceName",
                                                            "displayTimeUnit",
                                                            "baseTimeNanoseconds",
                                                            "distributedInfo",
                                                            "schemaVersion",
                                                            "deviceProperties",
                                                            "stackFrames",
                                                            "samples",
                                                            "otherData",
                                                            "metadata",
                                                            "systemTraceEvents",
                                                            "host_name",
                                                            "trace_id",
                                                            "INFO"};

bool is_known_member(std::string_view key) noexcept {
    return std::find(kKnownMembers.begin(), kKnownMembers.end(), key) != kKnownMembers.end();
}

}  // namespace

EventCutter::Piece EventCutter::next(CutWindow& window) {
    switch (where_) {
        case Where::start: return at_start(window);
        case Where::members: return in_members(window);
        case Where::long_member: return in_long_member(window);
        case Where::lost_header: return in_lost_header(window);
        case Where::events: return in_events(window);
        case Where::resync: return in_resync(window);
        case Where::after: return after_trace(window);
        case Where::done: break;
    }
    return Piece::end;
}

EventCutter::Piece EventCutter::report(CutTrouble::Kind kind, std::uint64_t offset, std::uint64_t bytes, std::uint64_t records) {
    trouble_ = {kind, offset, bytes, records};
    return Piece::trouble;
}

/// Gives up the event that begins at window.begin; the next one begins at `next`.
EventCutter::Piece EventCutter::give_up(CutWindow& window, CutTrouble::Kind kind, const char* next) {
    const std::uint64_t offset = window.offset;
    const std::uint64_t records = std::max<std::uint64_t>(1, count_phases(window.begin, next));
    window.advance(next);
    return report(kind, offset, window.offset - offset, records);
}

void EventCutter::expect_damage() noexcept { run_bytes_ = std::max<std::size_t>(run_bytes_ / 2, 4 * 1024); }

// ---- where events begin ----

bool EventCutter::is_first_key(std::string_view key) const noexcept {
    // Many files have events of several kinds, and those that begin with "ph" may not have come yet.
    return key == "ph" || std::find(first_keys_.begin(), first_keys_.end(), key) != first_keys_.end();
}

void EventCutter::learn(const CutEvent& event) {
    const char* const quote = skip_json_space(event.begin + 1, event.end);
    if (quote == event.end || *quote != '"') return;
    const auto begins_with = [&](const std::string& key) {
        const auto left = static_cast<std::size_t>(event.end - quote - 1);
        return left > key.size() && quote[1 + key.size()] == '"' && std::memcmp(quote + 1, key.data(), key.size()) == 0;
    };
    if (std::any_of(first_keys_.begin(), first_keys_.end(), begins_with)) return;
    const std::string_view key = key_at(quote, event.end);
    constexpr std::size_t kMostKeys = 16;
    if (!key.empty() && first_keys_.size() < kMostKeys) first_keys_.emplace_back(key);
}

bool EventCutter::starts_event(const char* brace, const char* end) const noexcept {
    const char* const quote = skip_json_space(brace + 1, end);
    if (quote == end || *quote != '"') return false;
    const std::string_view key = key_at(quote, std::min(end, quote + kLookAhead));
    if (is_first_key(key)) return true;
    return std::find(kUsualFirstKeys.begin(), kUsualFirstKeys.end(), key) != kUsualFirstKeys.end() && holds_phase(brace, end);
}

/// Arguments may begin with the same keys as events, but only events have a phase.
bool EventCutter::holds_phase(const char* brace, const char* end) noexcept {
    ScanState scan;
    const char* const limit = std::min(end, brace + kLongEvent);
    const char* const after = scan_object(scan, brace, limit);
    return count_phases(brace, after == nullptr ? limit : after) > 0;
}

/// The next brace that begins an event: it stands after the closing brace of another one, with a comma or without, and is followed by a
/// known first key. Where that closing brace is missing, the bytes from `from` must at least hold an event's phase.
const char* EventCutter::find_event(const char* from, const char* end) const noexcept {
    for (const char* p = from; p != end; ++p) {
        p = static_cast<const char*>(std::memchr(p, '{', static_cast<std::size_t>(end - p)));
        if (p == nullptr) return nullptr;
        const char* before = p;
        while (before != from && static_cast<unsigned char>(before[-1]) <= ' ') --before;  // stray control bytes too
        if (before == from || (before[-1] != ',' && before[-1] != '}') || !starts_event(p, end)) continue;
        const char* closing = before - 1;
        while (closing != from && (*closing == ',' || static_cast<unsigned char>(*closing) <= ' ')) --closing;
        if (*closing == '}' || (count_phases(from, p) > 0 && holds_phase(p, end))) return p;
    }
    return nullptr;
}

const char* EventCutter::event_inside(const CutEvent& event) const noexcept { return find_event(event.begin + 1, event.end); }

void EventCutter::go_back(CutWindow& window, const char* inside) noexcept {
    window.advance(inside);  // backwards
    comma_missing_ = false;
    where_ = Where::events;
}

// ---- the events ----

/// What follows an event that ends at `after`. Where it is another event, `next` is its brace.
EventCutter::Gap EventCutter::look_behind(const CutWindow& window, const char* begin, const char* after, const char*& next) const noexcept {
    const char* p = skip_json_space(after, window.end);
    if (p != window.end && *p == ',') {
        const char* const brace = skip_json_space(p + 1, window.end);
        if (brace != window.end && *brace == '{') {
            next = brace;
            return Gap::next_event;
        }
    }
    if (static_cast<std::size_t>(window.end - p) < kLookAhead && !window.last) return Gap::unknown;
    return look_behind_oddly(window, {begin, static_cast<std::size_t>(after - begin)}, p);
}

/// Whether an event is good where something other than a comma and an event follows at `at`: `lost` where a stray closing brace cut it
/// short, so that its other members follow.
EventCutter::Gap EventCutter::look_behind_oddly(const CutWindow& window, std::string_view event, const char* at) const noexcept {
    if (at == window.end || *at == ']' || *at == '}') return Gap::good;
    if (count_phases(event.data(), event.data() + event.size()) == 0) return Gap::lost;
    if (*at == '{' && starts_event(at, window.end) && holds_phase(at, window.end)) return Gap::good;
    if (*at != ',') {
        const std::string_view ahead(at, std::min<std::size_t>(kLookAhead, static_cast<std::size_t>(window.end - at)));
        const std::string_view junk = ahead.substr(0, ahead.find('{', 1));
        return junk.find(':') == std::string_view::npos ? Gap::good : Gap::lost;
    }
    const char* const key = skip_json_space(at + 1, window.end);
    if (key == window.end || *key != '"') return Gap::good;
    const std::string_view name = key_at(key, window.end);
    if (name.empty() || is_first_key(name) || is_known_member(name)) return Gap::good;
    const char* const colon = skip_json_space(name.data() + name.size() + 1, window.end);
    return colon != window.end && *colon == ':' ? Gap::lost : Gap::good;
}

EventCutter::Piece EventCutter::in_events(CutWindow& window) {
    events_.clear();
    if (comma_missing_) {
        comma_missing_ = false;
        return report(CutTrouble::Kind::no_comma, window.offset, 0);
    }
    char* p = window.begin + (skip_json_space(window.begin, window.end) - window.begin);
    window.advance(p);
    if (p == window.end || *p != '{') return between_events(window);
    const char* const most = window.end;
    for (;;) {
        ScanState scan;
        const char* const limit = std::min<const char*>(most, p + open_bytes_);
        const char* const after = scan_object(scan, p, limit);
        const char* next = nullptr;
        const Gap gap = after == nullptr ? Gap::unknown : look_behind(window, p, after, next);
        if (after != nullptr && static_cast<std::size_t>(after - p) > kLongEvent && find_event(p + 1, after) != nullptr)
            scan.flagged = true;
        if (gap == Gap::unknown || gap == Gap::lost || (scan.flagged && !events_.empty())) {
            window.advance(p);
            if (!events_.empty()) return Piece::run;
            if (gap == Gap::lost) return start_resync(window, CutTrouble::Kind::lost_event, after);
            return after == nullptr ? open_event(window, p) : Piece::more;
        }
        events_.push_back({p, p + (after - p), scan.flagged});
        if (gap == Gap::good || scan.flagged || static_cast<std::size_t>(after - events_.front().begin) >= run_bytes_) {
            window.advance(gap == Gap::good ? after : next);
            const char* const behind = skip_json_space(after, window.end);
            comma_missing_ = gap == Gap::good && behind != window.end && *behind == '{';
            return Piece::run;
        }
        p += next - p;
    }
}

/// An event that does not end before the limit or the end of the window.
EventCutter::Piece EventCutter::open_event(CutWindow& window, char* begin) {
    const auto size = static_cast<std::size_t>(window.end - begin);
    if (size < open_bytes_ && !window.last) return Piece::more;
    const char* const within = std::min<const char*>(window.end, begin + open_bytes_);
    // At the end of the input, and past the limit, an open event that holds the beginning of another one has lost its own end.
    if (const char* const next = find_event(begin + 1, within); next != nullptr) {
        if (size >= open_bytes_ && ++long_losses_ % 8 == 0) open_bytes_ = std::max<std::size_t>(open_bytes_ / 4, 8 * 1024);
        return give_up(window, CutTrouble::Kind::lost_event, next);
    }
    if (within != window.end) {  // long, but nothing speaks against it: look further
        ScanState scan;
        const char* const after = scan_object(scan, begin, window.end);
        const char* next = nullptr;
        if (after != nullptr && look_behind(window, begin, after, next) != Gap::unknown) {
            events_.push_back({begin, begin + (after - begin), true});
            window.advance(after);
            return Piece::run;
        }
        if (const char* const other = after == nullptr ? find_event(begin + 1, window.end) : nullptr; other != nullptr)
            return give_up(window, CutTrouble::Kind::lost_event, other);
        if (size > kMostEventBytes) return start_resync(window, CutTrouble::Kind::huge_event, window.end);
    }
    if (!window.last) return Piece::more;
    where_ = Where::after;
    return give_up(window, CutTrouble::Kind::cut_event, window.end);
}

/// At a byte between events that begins none.
EventCutter::Piece EventCutter::between_events(CutWindow& window) {
    const char* const p = window.begin;
    if (static_cast<std::size_t>(window.end - p) < kLookAhead && !window.last) return Piece::more;
    const std::uint64_t offset = window.offset;
    if (p == window.end) {
        where_ = Where::done;
        return list_ended_ ? Piece::end : report(CutTrouble::Kind::no_list_end, offset, 0);
    }
    const char* const behind = skip_json_space(p + 1, window.end);
    if (*p == ',') {
        // After a run that ended with an event and a comma, or before the end of the list, one comma is as it should be.
        window.advance(behind);
        if (behind != window.end && *behind == ',') return report(CutTrouble::Kind::stray_bytes, window.offset, 1);
        return in_events(window);
    }
    if (*p == ']' || *p == '}') {
        const char* event = behind;
        if (event != window.end && *event == ',') event = skip_json_space(event + 1, window.end);
        if (event != window.end && *event == '{' && starts_event(event, window.end)) {
            window.advance(event);
            return report(CutTrouble::Kind::stray_bytes, offset, 1);
        }
        window.advance(behind);
        if (*p == '}') {  // the closing brace of the trace without the bracket of the list
            where_ = Where::after;
            return report(CutTrouble::Kind::no_list_end, offset, 1);
        }
        list_ended_ = true;
        where_ = bare_array_ ? Where::after : Where::members;
        return next(window);
    }
    if (*p == '"' && is_known_member(key_at(p, window.end))) {
        where_ = bare_array_ ? Where::after : Where::members;
        return report(CutTrouble::Kind::no_list_end, offset, 0);
    }
    if (const char* const after = odd_value(window); after != nullptr) {
        window.advance(after);
        return report(CutTrouble::Kind::no_object, offset, window.offset - offset, 1);
    }
    return start_resync(window, CutTrouble::Kind::stray_bytes, p);
}

/// The end of a value that is no object (null, a number, a text, a list) and stands where an event should; null where there is none.
const char* EventCutter::odd_value(const CutWindow& window) noexcept {
    const char* const p = window.begin;
    const char* const limit = std::min<const char*>(window.end, p + kLookAhead);
    const char* after = nullptr;
    if (*p == '"') {
        after = scan_string(p, limit);
    } else if (*p == '[') {
        ScanState scan;
        after = scan_value(scan, p, limit);
    } else {
        const auto plain = [](char c) { return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '+' || c == '.' || c == 'E'; };
        for (after = p; after != limit && plain(*after);) ++after;
        if (after == p || after == limit) return nullptr;
    }
    if (after == nullptr) return nullptr;
    const char* const behind = skip_json_space(after, window.end);
    return behind != window.end && (*behind == ',' || *behind == ']') ? after : nullptr;
}

/// Gives up the bytes from window.begin to the next event after `search_from`.
EventCutter::Piece EventCutter::start_resync(CutWindow& window, CutTrouble::Kind kind, const char* search_from) {
    trouble_ = {kind, window.offset, static_cast<std::uint64_t>(search_from - window.begin), count_phases(window.begin, search_from)};
    window.advance(search_from);
    where_ = Where::resync;
    return in_resync(window);
}

EventCutter::Piece EventCutter::in_resync(CutWindow& window) {
    const char* const next = find_event(window.begin, window.end);
    const char* to = next;
    if (to == nullptr) to = window.last ? window.end : std::max<const char*>(window.begin, window.end - kLookAhead);
    trouble_.bytes += static_cast<std::uint64_t>(to - window.begin);
    trouble_.records += count_phases(window.begin, to);
    window.advance(to);
    if (next == nullptr && !window.last) return Piece::more;
    if (trouble_.kind != CutTrouble::Kind::stray_bytes) trouble_.records = std::max<std::uint64_t>(1, trouble_.records);
    where_ = Where::events;
    return Piece::trouble;
}

}  // namespace faultline::kineto
