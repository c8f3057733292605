// Cutting a Chrome trace into top-level members and events, in windows of bounded size (DESIGN §5).
//
// The cutter follows strings and braces, flags what a parser must look at twice, and starts again after damage: when an open event
// passes a limit, when the parser refuses a cut event, or at the end of the input, it goes on at the next `},{` followed by one of
// the first keys that good events had. So one stray quote or brace costs one event, and not the rest of the file.
// One thread. Bytes of a window are never changed here.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "importers/kineto/json_scan.h"

namespace faultline::kineto {

/// One event: from its opening to after its closing brace.
struct CutEvent {
    char* begin = nullptr;
    char* end = nullptr;
    bool flagged = false;  ///< holds a control byte where JSON allows none
};

/// The bytes at hand. The cutter moves `begin`; what lies before it is not needed again. The byte before `begin` may be overwritten.
struct CutWindow {
    char* begin = nullptr;
    char* end = nullptr;
    std::uint64_t offset = 0;  ///< of `begin` in the input
    bool last = false;         ///< nothing comes after `end`

    void advance(const char* to) noexcept {
        offset += static_cast<std::uint64_t>(to - begin);
        begin += to - begin;
    }
};

/// Damage that the cutter stepped over.
struct CutTrouble {
    enum class Kind {
        lost_event,      ///< an event whose end could not be found
        cut_event,       ///< the input ends inside an event
        stray_bytes,     ///< bytes outside an event, or an event without its opening brace
        no_object,       ///< a null, a number, a text or a list among the events
        no_comma,        ///< two events without a comma between them
        no_list_end,     ///< the list of events has no closing bracket
        huge_event,      ///< an event of more than kMostEventBytes
        broken_header,   ///< the members before the events are damaged; read on at "traceEvents"
        broken_footer,   ///< the members after the events are damaged
        trailing_bytes,  ///< bytes after the end of the trace
    };
    Kind kind = Kind::stray_bytes;
    std::uint64_t offset = 0;
    std::uint64_t bytes = 0;
    std::uint64_t records = 0;  ///< events that were lost with these bytes, as far as they can be told (each has one "ph")
};

class EventCutter {
public:
    static constexpr std::size_t kRunBytes = 128 * 1024;
    static constexpr std::size_t kOpenEventBytes = 256 * 1024;
    static constexpr std::size_t kMostEventBytes = 16 * 1024 * 1024;
    static constexpr std::size_t kMostMemberBytes = 1024 * 1024;  ///< longer members are skipped

    enum class Piece {
        more,     ///< call again with more bytes behind the window (never where it is the last)
        run,      ///< events(): separated by single commas, so that brackets around them make a JSON array; or one flagged event
        member,   ///< member_key(), member_value()
        trouble,  ///< trouble()
        end,
    };

    [[nodiscard]] Piece next(CutWindow& window);

    [[nodiscard]] const std::vector<CutEvent>& events() const noexcept { return events_; }
    [[nodiscard]] std::string_view member_key() const noexcept { return key_; }      ///< raw, without quotes
    [[nodiscard]] std::string_view member_value() const noexcept { return value_; }  ///< empty where it was too long to keep
    [[nodiscard]] const CutTrouble& trouble() const noexcept { return trouble_; }

    /// Where another event begins inside a cut event that does not parse, or null.
    [[nodiscard]] const char* event_inside(const CutEvent& event) const noexcept;
    /// Cuts again from `inside` an event that next() gave out last.
    void go_back(CutWindow& window, const char* inside) noexcept;
    /// The parser found this event good: what it begins with marks the beginning of events from now on.
    void learn(const CutEvent& event);
    /// The parser met damage: shorter runs, so that cutting again costs less.
    void expect_damage() noexcept;

    [[nodiscard]] bool found_events() const noexcept { return found_events_; }
    [[nodiscard]] bool bare_array() const noexcept { return bare_array_; }
    /// The list of events was closed.
    [[nodiscard]] bool list_ended() const noexcept { return list_ended_; }

private:
    enum class Where { start, members, long_member, lost_header, events, resync, after, done };

    Piece at_start(CutWindow& window);
    Piece in_members(CutWindow& window);
    Piece take_member(CutWindow& window, const char* value);
    Piece in_long_member(CutWindow& window);
    Piece broken_members(CutWindow& window);
    Piece in_lost_header(CutWindow& window);
    Piece in_events(CutWindow& window);
    Piece open_event(CutWindow& window, char* begin);
    Piece between_events(CutWindow& window);
    Piece in_resync(CutWindow& window);
    [[nodiscard]] static const char* odd_value(const CutWindow& window) noexcept;
    Piece after_trace(CutWindow& window);

    enum class Gap { next_event, good, lost, unknown };
    Gap look_behind(const CutWindow& window, const char* begin, const char* after, const char*& next) const noexcept;
    Gap look_behind_oddly(const CutWindow& window, std::string_view event, const char* at) const noexcept;
    Piece start_resync(CutWindow& window, CutTrouble::Kind kind, const char* search_from);
    Piece report(CutTrouble::Kind kind, std::uint64_t offset, std::uint64_t bytes, std::uint64_t records = 0);
    Piece give_up(CutWindow& window, CutTrouble::Kind kind, const char* next);
    Piece enter_events(CutWindow& window, const char* first);
    [[nodiscard]] const char* find_event(const char* from, const char* end) const noexcept;
    [[nodiscard]] bool starts_event(const char* brace, const char* end) const noexcept;
    [[nodiscard]] static bool holds_phase(const char* brace, const char* end) noexcept;
    [[nodiscard]] bool is_first_key(std::string_view key) const noexcept;

    Where where_ = Where::start;
    bool found_events_ = false;
    bool bare_array_ = false;
    bool list_ended_ = false;
    std::vector<CutEvent> events_;
    std::string_view key_;
    std::string_view value_;
    std::string long_key_;  ///< of a member that is skipped
    ScanState long_scan_;
    bool long_is_string_ = false;
    CutTrouble trouble_;  ///< the last, or the one that in_resync() is stepping over
    std::vector<std::string> first_keys_;
    std::size_t run_bytes_ = kRunBytes;
    std::size_t open_bytes_ = kOpenEventBytes;
    int long_losses_ = 0;
    bool comma_missing_ = false;  ///< behind the last event
};

}  // namespace faultline::kineto
