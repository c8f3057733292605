#include "importers/kineto/kineto_event.h"

#include <simdjson.h>

#include <bit>
#include <cstring>

#include "importers/kineto/event_repair.h"
#include "importers/kineto/number_text.h"
#include "importers/source_file.h"

namespace faultline::kineto {

namespace ondemand = simdjson::ondemand;
using simdjson::error_code;

static_assert(SourceFile::kPadding > simdjson::SIMDJSON_PADDING);

namespace {

/// Whether the raw key at `key` (after its opening quote) is `literal`, which ends in the closing quote. Words of eight bytes, the last
/// one overlapping, compile to a few comparisons where memcmp would be called.
template <std::size_t N>
bool is(const char* key, const char (&literal)[N]) noexcept {
    constexpr std::size_t kLength = N - 1, kWord = 8;
    if constexpr (kLength < kWord) {
        return std::memcmp(key, literal, kLength) == 0;
    } else {
        bool same = true;
        for (std::size_t at = 0; at < kLength; at += kWord) {
            const std::size_t from = at + kWord <= kLength ? at : kLength - kWord;
            same &= std::memcmp(key + from, literal + from, kWord) == 0;
        }
        return same;
    }
}

std::string_view trimmed(std::string_view token) noexcept {
    while (!token.empty() && is_json_space(token.back())) token.remove_suffix(1);
    return token;
}

/// Whether a value may begin with this byte. On Demand does not look, and skips to the end of what encloses a stray comma.
constexpr bool begins_value(char c) noexcept { return c != ',' && c != ':' && c != '}' && c != ']'; }

/// Collects the text of members that become no column: neighbours stay one piece.
class RestPieces {
public:
    explicit RestPieces(KinetoEvent& event) noexcept : event_(event) {}

    void begin(const char* quote) noexcept {
        if (from_ == nullptr) from_ = quote;
    }
    /// A member that is no part of the rest begins, or the object ends, at `at`.
    void end(const char* at) noexcept {
        if (from_ == nullptr) return;
        while (at > from_ && (is_json_space(at[-1]) || at[-1] == ',')) --at;
        // Where the pieces run out, the last one grows over what lies between: a column's member in it does no harm.
        const bool full = event_.rest_count == KinetoEvent::kMostPieces;
        std::string_view& piece = event_.rest[full ? event_.rest_count - 1 : event_.rest_count++];
        const char* const from = full ? piece.data() : from_;
        piece = {from, static_cast<std::size_t>(at - from)};
        from_ = nullptr;
    }

private:
    KinetoEvent& event_;
    const char* from_ = nullptr;
};

enum class Scale { whole, real, microseconds };

bool set_column(KinetoEvent& e, Column column, std::string_view token, Scale scale = Scale::whole) noexcept {
    token = unquoted(token);
    if (token == "null") return true;
    if (e.value_count == KinetoEvent::kMostValues) return false;
    if (scale == Scale::real) {
        const std::optional<double> value = real_number(token);
        if (value) e.add(column, std::bit_cast<std::int64_t>(*value));
        return value.has_value();
    }
    const std::optional<std::int64_t> value = scale == Scale::whole ? whole_number(token) : microseconds_to_ns(token);
    if (value) e.add(column, *value);
    return value.has_value();
}

bool set_number(std::int64_t& field, std::string_view token) noexcept {
    const std::optional<std::int64_t> value = whole_number(unquoted(token));
    if (value) field = *value;
    return value.has_value();
}

/// Takes a member of "args" that has a column or a field of its own. False where it belongs to the rest.
bool take_argument(KinetoEvent& e, const char* key, std::string_view token) noexcept {
    switch (*key) {
        case 'A': return is(key, "Addr\"") && set_column(e, Column::address, token);
        case 'B': return is(key, "Bytes\"") && set_column(e, Column::bytes, token);
        case 'E':
            if (is(key, "External id\"") || is(key, "External Id\"")) return set_column(e, Column::external_id, token);
            return is(key, "Ev Idx\"") && set_column(e, Column::event_index, token);
        case 'F': return is(key, "Fwd thread id\"") && set_column(e, Column::forward_thread, token);
        case 'G': return is(key, "Group size\"") && set_column(e, Column::group_size, token);
        case 'I':
            if (is(key, "In msg nelems\"")) static_cast<void>(set_number(e.in_elements, token));
            return false;  // shown as it came too: the column holds a product of it
        case 'O':
            if (is(key, "Out msg nelems\"")) static_cast<void>(set_number(e.out_elements, token));
            return false;
        case 'P':
            if (is(key, "Python id\"")) return set_column(e, Column::python_id, token);
            if (is(key, "Python parent id\"")) return set_column(e, Column::python_parent, token);
            if (is(key, "Python module id\"")) return set_column(e, Column::python_module, token);
            if (is(key, "Physic Stream Id\"")) return e.accelerator_task = set_number(e.stream, token);
            return is(key, "Profiler Event Index\"") && set_column(e, Column::event_index, token);
        case 'R': return is(key, "Record function id\"") && set_column(e, Column::record_function, token);
        case 'S':
            if (is(key, "Seq\"")) return set_column(e, Column::comm_sequence, token);
            return is(key, "Sequence number\"") && set_column(e, Column::sequence, token);
        case 'T':
            if (is(key, "Total Allocated\"")) return set_column(e, Column::total_allocated, token);
            return is(key, "Total Reserved\"") && set_column(e, Column::total_reserved, token);
        case 'b': return is(key, "bytes\"") && set_column(e, Column::bytes, token);
        case 'c':
            if (is(key, "correlation\"")) return set_number(e.correlation, token);
            if (is(key, "context\"")) return set_column(e, Column::context, token);
            return (is(key, "cbid\"") || is(key, "cid\"")) && set_column(e, Column::callback_id, token);
        case 'd':
            if (is(key, "device\"")) return set_number(e.device, token);
            if (is(key, "dtype\"")) e.element_type = unquoted(token);
            return false;
        case 'e': return is(key, "external id\"") && set_column(e, Column::external_id, token);
        case 'g':
            if (is(key, "graph id\"")) return set_column(e, Column::graph_id, token);
            return is(key, "graph node id\"") && set_column(e, Column::graph_node, token);
        case 'm': return is(key, "memory bandwidth (GB/s)\"") && set_column(e, Column::bandwidth, token, Scale::real);
        case 'p': return is(key, "priority\"") && set_column(e, Column::priority, token);
        case 'q':
            if (!is(key, "queued\"")) return false;
            return token == "0" || set_column(e, Column::queued, token, Scale::microseconds);  // 0: not collected
        case 's': return is(key, "stream\"") && set_number(e.stream, token);
        default: return false;
    }
}

bool set_row(RowId& row, std::string_view token) noexcept {
    const std::string_view text = unquoted(token);
    if (token == "null") return true;
    const std::optional<std::int64_t> number = whole_number(text);
    if (number && (*number >= 0 || text.front() == '-')) {
        row = {RowId::Kind::number, *number, {}};
        return true;
    }
    // A number that lost its form on the way through another program ("12.0").
    const std::optional<std::int64_t> thousandfold = text.find('.') != std::string_view::npos ? microseconds_to_ns(text) : std::nullopt;
    if (thousandfold && *thousandfold % 1000 == 0) {
        row = {RowId::Kind::number, *thousandfold / 1000, {}};
        return true;
    }
    row = {RowId::Kind::text, number.value_or(0), text};
    return number.has_value() || text.size() != token.size();  // a string, or digits above 2^63
}

/// A time as text; strings are legal. False, and no value, where it is none.
bool set_time(TimeNs& field, std::string_view token) noexcept {
    const std::optional<std::int64_t> value = microseconds_to_ns(unquoted(token));
    if (value) field = *value;
    return value.has_value();
}

enum class Member { taken, args, rest, bad };

/// Takes a member of the event itself.
Member take_member(KinetoEvent& e, const char* key, std::string_view token) noexcept {
    const auto text = [&](std::string_view& field) {
        field = unquoted(token);
        return field.size() == token.size() && token != "null" ? Member::rest : Member::taken;
    };
    switch (*key) {
        case 'p':
            if (is(key, "ph\"")) {
                const std::string_view phase = unquoted(token);
                // A second phase means that two records have run into each other.
                if (e.phase != '\0' || phase.size() != 1 || token.size() != 3) return Member::bad;
                e.phase = phase.front();
                return Member::taken;
            }
            if (is(key, "pid\"")) return set_row(e.pid, token) ? Member::taken : Member::bad;
            return Member::rest;
        case 'c': return is(key, "cat\"") ? text(e.category) : Member::rest;
        case 'n': return is(key, "name\"") ? text(e.name) : Member::rest;
        case 't':
            if (is(key, "ts\"")) {
                e.has_time = set_time(e.time, token);
                e.fractional = token.find('.') != std::string_view::npos;
                return Member::taken;
            }
            if (is(key, "tid\"")) return set_row(e.tid, token) ? Member::taken : Member::bad;
            return Member::rest;
        case 'd':
            if (!is(key, "dur\"")) return Member::rest;
            e.has_duration = set_time(e.duration, token);
            return Member::taken;
        case 'i':
            if (!is(key, "id\"")) return Member::rest;
            e.id = unquoted(token);
            return Member::taken;
        case 'a': return is(key, "args\"") && token.front() == '{' ? Member::args : Member::rest;
        case 'b': return is(key, "bp\"") ? Member::taken : Member::rest;
        case 's':
            if (!is(key, "s\"") || unquoted(token).size() != 1) return Member::rest;
            e.scope = unquoted(token).front();
            return Member::taken;
        default: return Member::rest;
    }
}

/// Reads objects of the run that `document` iterates over.
class ObjectReader {
public:
    ObjectReader(ondemand::document& document, KinetoEvent& event) noexcept : document_(document), event_(event) {}

    /// False where the object is no event, or no JSON.
    bool read(ondemand::object object, const char* end) {
        RestPieces rest(event_);
        for (auto field : object) {
            ondemand::raw_json_string raw_key;
            if ((code_ = field.key().get(raw_key)) != simdjson::SUCCESS) return false;
            const char* const key = raw_key.raw();
            auto value = field.value();
            std::string_view token;
            if ((code_ = value.raw_json_token().get(token)) != simdjson::SUCCESS) return false;
            if (token.empty() || !begins_value(token.front())) return code_ = simdjson::TAPE_ERROR, false;
            switch (take_member(event_, key, trimmed(token))) {
                case Member::taken: rest.end(key - 1); break;
                case Member::rest: rest.begin(key - 1); break;
                case Member::bad: code_ = simdjson::INCORRECT_TYPE; return false;
                case Member::args: {
                    rest.end(key - 1);
                    ondemand::object arguments;
                    if ((code_ = value.get_object().get(arguments)) != simdjson::SUCCESS || !read_arguments(arguments, token.data()))
                        return false;
                    break;
                }
            }
        }
        rest.end(end - 1);
        return true;
    }
    [[nodiscard]] error_code code() const noexcept { return code_; }

private:
    bool read_arguments(ondemand::object object, const char* begin) {
        RestPieces rest(event_);
        for (auto field : object) {
            ondemand::raw_json_string raw_key;
            if ((code_ = field.key().get(raw_key)) != simdjson::SUCCESS) return false;
            const char* const key = raw_key.raw();
            std::string_view token;
            if ((code_ = field.value().raw_json_token().get(token)) != simdjson::SUCCESS) return false;
            if (token.empty() || !begins_value(token.front())) return code_ = simdjson::TAPE_ERROR, false;
            if (take_argument(event_, key, trimmed(token)))
                rest.end(key - 1);
            else
                rest.begin(key - 1);
        }
        const char* behind = nullptr;
        if ((code_ = document_.current_location().get(behind)) != simdjson::SUCCESS) return false;
        while (behind > begin && behind[-1] != '}') --behind;
        event_.args = {begin, static_cast<std::size_t>(behind - begin)};
        rest.end(behind - 1);
        return true;
    }

    ondemand::document& document_;
    KinetoEvent& event_;
    error_code code_ = simdjson::SUCCESS;
};

}  // namespace

void KinetoEvent::clear() noexcept {
    phase = scope = '\0';
    has_time = has_duration = fractional = accelerator_task = false;
    category = name = id = element_type = args = {};
    pid = tid = {};
    time = duration = 0;
    device = stream = correlation = in_elements = out_elements = kNull;
    value_count = rest_count = 0;
    repairs = {};
}

struct EventParser::State {
    explicit State(StrictJson& judge) : strict(judge) {}

    StrictJson& strict;
    ondemand::parser parser;
    KinetoEvent event;
    bool final = false;    ///< the events of this run are the parser's last word
    bool refused = false;  ///< the sink refused the event that stopped the run
    std::string repaired;
};

EventParser::EventParser(StrictJson& strict) : state_(std::make_unique<State>(strict)) {}
EventParser::~EventParser() = default;

std::size_t EventParser::parse_run(std::span<const CutEvent> run, std::uint64_t offset, EventSink& sink) {
    if (run.empty()) return 0;
    char* const first = run.front().begin - 1;
    char* const last = run.back().end;
    const char before = *first, behind = *last;
    *first = '[';
    *last = ']';
    const auto length = static_cast<std::size_t>(last + 1 - first);
    std::size_t done = 0;
    state_->refused = false;
    ondemand::document document;
    ondemand::array array;
    error_code code = state_->parser.iterate(first, length, length + simdjson::SIMDJSON_PADDING).get(document);
    if (code == simdjson::SUCCESS) code = document.get_array().get(array);
    if (code == simdjson::SUCCESS) {
        KinetoEvent& event = state_->event;
        ObjectReader reader(document, event);
        for (auto element : array) {
            ondemand::object object;
            std::string_view token;
            if (done == run.size() || (code = element.raw_json_token().get(token)) != simdjson::SUCCESS) break;
            const CutEvent& cut = run[done];
            // On Demand does not check what it skips: the borders must be where the cutter saw them.
            code = simdjson::TAPE_ERROR;
            if (token.data() != cut.begin || element.get_object().get(object) != simdjson::SUCCESS) break;
            event.clear();
            event.offset = offset + static_cast<std::uint64_t>(cut.begin - run.front().begin);
            if (!reader.read(object, cut.end)) {
                code = reader.code();
                break;
            }
            const char* location = nullptr;
            if (document.current_location().get(location) != simdjson::SUCCESS || location < cut.end) break;
            const char* const limit = done + 1 < run.size() ? run[done + 1].begin : last + 1;
            if (location >= limit) break;
            event.final = state_->final;
            if (!sink.accept(event)) {
                state_->refused = true;
                break;
            }
            code = simdjson::SUCCESS;
            ++done;
        }
    }
    *first = before;
    *last = behind;
    if (done < run.size()) why_ = simdjson::error_message(code == simdjson::SUCCESS ? simdjson::TAPE_ERROR : code);
    return done;
}

bool EventParser::parse_one(const CutEvent& cut, std::uint64_t offset, EventSink& sink) {
    const std::string_view text(cut.begin, static_cast<std::size_t>(cut.end - cut.begin));
    struct Final {
        explicit Final(bool& set) : flag(set) { flag = true; }
        ~Final() { flag = false; }
        bool& flag;
    };
    if (state_->strict.valid(text)) {
        const Final last_word(state_->final);
        return parse_run({&cut, 1}, offset, sink) == 1;
    }
    const std::string reason = state_->strict.why();
    for (const bool loose_quotes : {false, true}) {
        std::string& out = state_->repaired;
        out.assign(1, '[');
        const TextRepairs repairs = repair_event(text, loose_quotes, out);
        if (!repairs.any() || !state_->strict.valid(std::string_view(out).substr(1))) continue;
        struct Repaired final : EventSink {
            Repaired(EventSink& next, TextRepairs made) : to(next), repairs(made) {}
            bool accept(const KinetoEvent& event) override {
                KinetoEvent changed = event;
                changed.repairs = repairs;
                return to.accept(changed);
            }
            EventSink& to;
            TextRepairs repairs;
        } marked(sink, repairs);
        const std::size_t size = out.size() - 1;
        out.append(SourceFile::kPadding, ' ');
        const CutEvent again{out.data() + 1, out.data() + 1 + size, false};
        const Final last_word(state_->final);
        if (parse_run({&again, 1}, offset, marked) == 1) return true;
    }
    // Where only arguments are damaged, the event is worth having without them.
    const bool arguments_only = !cut.flagged && parse_run({&cut, 1}, offset, sink) == 0 && state_->refused;
    const Final last_word(state_->final);
    if (arguments_only && parse_run({&cut, 1}, offset, sink) == 1) return true;
    why_ = reason;
    return false;
}

}  // namespace faultline::kineto
