// The part of the cutter that reads the top level of a trace: what stands before, beside and behind the list of events.
#include <algorithm>
#include <cstring>

#include "importers/kineto/event_cutter.h"
#include "importers/kineto/trace_text.h"

namespace faultline::kineto {

EventCutter::Piece EventCutter::enter_events(CutWindow& window, const char* first) {
    window.advance(first);
    found_events_ = true;
    where_ = Where::events;
    return in_events(window);
}

EventCutter::Piece EventCutter::at_start(CutWindow& window) {
    const char* p = window.begin;
    if (window.end - p >= 3 && std::memcmp(p, "\xEF\xBB\xBF", 3) == 0) p += 3;
    p = skip_json_space(p, window.end);
    if (static_cast<std::size_t>(window.end - p) < kLookAhead && !window.last) return Piece::more;
    if (p == window.end) {
        where_ = Where::done;
        return Piece::end;
    }
    if (*p == '[') {
        bare_array_ = true;
        return enter_events(window, p + 1);
    }
    if (*p != '{') {
        where_ = Where::lost_header;
        return in_lost_header(window);
    }
    // A list of events that lost its beginning, or one event a line: the first object is an event itself.
    ScanState scan;
    const char* const after = scan_object(scan, p, std::min<const char*>(window.end, p + kOpenEventBytes));
    if (after != nullptr && find_event_list(p, after) == nullptr && count_phases(p, after) > 0) {
        bare_array_ = true;
        return enter_events(window, p);
    }
    window.advance(p + 1);
    where_ = Where::members;
    return in_members(window);
}

EventCutter::Piece EventCutter::in_members(CutWindow& window) {
    const char* p = window.begin;
    while (p != window.end && (is_json_space(*p) || *p == ',')) ++p;
    window.advance(p);
    if (p == window.end) return window.last ? broken_members(window) : Piece::more;
    if (*p == '}') {
        window.advance(p + 1);
        where_ = Where::after;
        return after_trace(window);
    }
    if (*p != '"') return broken_members(window);
    const char* const after_key = scan_string(p, window.end);
    const char* colon = after_key == nullptr ? window.end : skip_json_space(after_key, window.end);
    if (colon == window.end)
        return window.last || window.end - p > static_cast<std::ptrdiff_t>(kMostMemberBytes) ? broken_members(window) : Piece::more;
    if (*colon != ':') return broken_members(window);
    const char* const value = skip_json_space(colon + 1, window.end);
    if (value == window.end) return window.last ? broken_members(window) : Piece::more;
    key_ = std::string_view(p + 1, static_cast<std::size_t>(after_key - p - 2));
    if (key_ == "traceEvents" && *value == '[') return enter_events(window, value + 1);
    if (key_ == "traceEvents" && *value == '{' && starts_event(value, window.end)) return enter_events(window, value);
    if (key_ == "traceEvents" && !found_events_) {
        window.advance(value);
        return broken_members(window);
    }
    return take_member(window, value);
}

EventCutter::Piece EventCutter::take_member(CutWindow& window, const char* value) {
    const char* after = nullptr;
    ScanState scan;
    if (*value == '{' || *value == '[') {
        after = scan_value(scan, value, window.end);
    } else if (*value == '"') {
        after = scan_string(value, window.end);
    } else {
        after = value;
        while (after != window.end && *after != ',' && *after != '}' && !is_json_space(*after)) ++after;
        if (after == window.end && !window.last) after = nullptr;
    }
    // A stray quote or brace makes a member swallow what follows it, the events too.
    if (!found_events_ && find_event_list(value, after == nullptr ? window.end : after) != nullptr) return broken_members(window);
    if (after == nullptr) {
        if (window.last) return broken_members(window);
        if (window.end - value < static_cast<std::ptrdiff_t>(kMostMemberBytes)) return Piece::more;
        long_key_ = key_;
        long_is_string_ = *value == '"';
        long_scan_ = ScanState{};
        window.advance(value);
        if (long_is_string_) {
            long_scan_.in_string = ~std::uint64_t{0};
            window.advance(value + 1);
        }
        where_ = Where::long_member;
        return in_long_member(window);
    }
    value_ = std::string_view(value, static_cast<std::size_t>(after - value));
    window.advance(after);
    return Piece::member;
}

/// A member that is too long to keep: its end is looked for, window after window.
EventCutter::Piece EventCutter::in_long_member(CutWindow& window) {
    const char* after = nullptr;
    if (long_is_string_) {
        for (const char* p = window.begin; p != window.end && after == nullptr; ++p) {
            if (long_scan_.escaped != 0)
                long_scan_.escaped = 0;
            else if (*p == '\\')
                long_scan_.escaped = 1;
            else if (*p == '"')
                after = p + 1;
        }
    } else {
        after = scan_value(long_scan_, window.begin, window.end);
    }
    if (!found_events_ && find_event_list(window.begin, after == nullptr ? window.end : after) != nullptr) return broken_members(window);
    if (after == nullptr) {
        window.advance(window.end);
        return window.last ? broken_members(window) : Piece::more;
    }
    window.advance(after);
    where_ = Where::members;
    key_ = long_key_;
    value_ = {};
    return Piece::member;
}

EventCutter::Piece EventCutter::broken_members(CutWindow& window) {
    const std::uint64_t offset = window.offset;
    if (!found_events_) {
        where_ = Where::lost_header;
        return in_lost_header(window);
    }
    const auto bytes = static_cast<std::uint64_t>(window.end - window.begin);
    where_ = Where::after;
    // The wall clock may still stand in what is left, and is worth more than all the rest of it.
    constexpr std::string_view kBase = "\"baseTimeNanoseconds\"";
    void* const found = bytes == 0 ? nullptr : memmem(window.begin + 1, static_cast<std::size_t>(bytes - 1), kBase.data(), kBase.size());
    if (found != nullptr) {
        window.advance(static_cast<const char*>(found));
        where_ = Where::members;
    } else {
        window.advance(window.end);
    }
    return report(CutTrouble::Kind::broken_footer, offset, bytes);
}

EventCutter::Piece EventCutter::in_lost_header(CutWindow& window) {
    const std::uint64_t offset = window.offset;
    const char* first = find_event_list(window.begin, window.end);
    if (first == nullptr) first = find_event(window.begin, window.end);
    if (first != nullptr) {
        window.advance(first);
        found_events_ = true;
        where_ = Where::events;
        return report(CutTrouble::Kind::broken_header, offset, window.offset - offset);
    }
    if (window.last) {
        window.advance(window.end);
        where_ = Where::done;
        return Piece::end;
    }
    if (window.end - window.begin > static_cast<std::ptrdiff_t>(kLookAhead)) window.advance(window.end - kLookAhead);
    return Piece::more;
}

EventCutter::Piece EventCutter::after_trace(CutWindow& window) {
    const char* const rest = skip_json_space(window.begin, window.end);
    window.advance(rest);
    if (rest == window.end) {
        if (!window.last) return Piece::more;
        where_ = Where::done;
        return Piece::end;
    }
    if (!window.last) return Piece::more;
    const auto bytes = static_cast<std::uint64_t>(window.end - rest);
    const std::uint64_t offset = window.offset;
    window.advance(window.end);
    where_ = Where::done;
    return report(CutTrouble::Kind::trailing_bytes, offset, bytes);
}

}  // namespace faultline::kineto
