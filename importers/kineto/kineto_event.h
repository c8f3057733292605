// One record of a Chrome trace as values, and the parser that makes it from cut text (FORMATS §2.3, §2.5). One thread.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "core/columns.h"
#include "core/types.h"
#include "importers/kineto/event_cutter.h"
#include "importers/kineto/strict_json.h"

namespace faultline::kineto {

/// A process or thread as the file names it.
struct RowId {
    enum class Kind : std::uint8_t { none, number, text };
    Kind kind = Kind::none;
    std::int64_t number = 0;
    std::string_view text;  ///< raw JSON text between quotes; for a number above 2^63 its digits
};

/// What had to be changed in the text of an event before it could be parsed.
struct TextRepairs {
    bool encoding = false;  ///< bytes that are no UTF-8 became U+FFFD
    bool controls = false;  ///< control bytes were escaped (in strings) or blanked (outside)
    bool escapes = false;   ///< backslashes that begin no escape were doubled
    bool numbers = false;   ///< bare nan and inf were quoted
    bool quotes = false;    ///< quotes inside strings were escaped
    [[nodiscard]] bool any() const noexcept { return encoding || controls || escapes || numbers || quotes; }
};

/// All views point into the text of the event and hold only while the sink is called.
struct KinetoEvent {
    struct Value {
        Column column;
        std::int64_t value;
    };
    static constexpr std::size_t kMostValues = 20;
    static constexpr std::size_t kMostPieces = 20;

    std::uint64_t offset = 0;       ///< byte in the (inflated) input
    char phase = '\0';              ///< "ph"; NUL where there is none
    char scope = '\0';              ///< "s" of an instant
    bool has_time = false;          ///< "ts" is there and can be read
    bool has_duration = false;      ///< "dur" is there and can be read
    bool fractional = false;        ///< "ts" has decimals
    bool accelerator_task = false;  ///< Ascend: a task of an NPU
    std::string_view category;      ///< raw JSON text between the quotes, like name and id
    std::string_view name;
    std::string_view id;
    RowId pid, tid;
    TimeNs time = 0;
    TimeNs duration = 0;
    std::int64_t device = kNull;  ///< args.device
    std::int64_t stream = kNull;  ///< args.stream
    std::int64_t correlation = kNull;
    std::int64_t in_elements = kNull, out_elements = kNull;  ///< of a collective
    std::string_view element_type;                           ///< "dtype" of a collective
    std::string_view args;                                   ///< the object with its braces; empty where there is none
    std::array<Value, kMostValues> values;
    std::size_t value_count = 0;
    std::array<std::string_view, kMostPieces> rest;  ///< pieces `"key": value, …` that became no column
    std::size_t rest_count = 0;
    TextRepairs repairs;
    bool final = false;  ///< the parser can make no more of it: it must be taken or lost

    void clear() noexcept;
    void add(Column column, std::int64_t value) noexcept { values[value_count++] = {column, value}; }
};

/// Receives events in the order of the file.
class EventSink {
public:
    virtual ~EventSink() = default;
    /// False refuses an event whose arguments are no JSON (the parser does not look at what it skips), so that it is repaired first.
    [[nodiscard]] virtual bool accept(const KinetoEvent& event) = 0;
};

class EventParser {
public:
    /// `strict` judges what is doubtful, and outlives the parser.
    explicit EventParser(StrictJson& strict);
    ~EventParser();
    EventParser(const EventParser&) = delete;
    EventParser& operator=(const EventParser&) = delete;

    /// Parses unflagged events as one array, in place: the byte before the first and the byte behind the last are overwritten and put
    /// back. Stops at the first bad one and returns how many were accepted; then the state of the sink is that of the good ones.
    [[nodiscard]] std::size_t parse_run(std::span<const CutEvent> run, std::uint64_t offset, EventSink& sink);

    /// Parses one event strictly, then with repairs. False where it is beyond repair; why() says the reason.
    [[nodiscard]] bool parse_one(const CutEvent& event, std::uint64_t offset, EventSink& sink);
    [[nodiscard]] const std::string& why() const noexcept { return why_; }

private:
    struct State;
    std::unique_ptr<State> state_;
    std::string why_;
};

}  // namespace faultline::kineto
