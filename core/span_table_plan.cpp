#include "core/span_table_plan.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <optional>
#include <string>

#include "core/span_table_columns.h"

namespace faultline::FAULTLINE_SQLITE_FORM {

namespace {

constexpr char kGroupBy = 'G', kGroupByDescending = 'D', kOrderBy = 'O';  // stand last, and take no value
constexpr char kEqual = '=', kIn = 'I', kLess = '<', kLessEqual = 'l', kGreater = '>', kGreaterEqual = 'g';
constexpr int kFirstColumnCharacter = '0';
constexpr int kVersionWithIn = 3038000;                   // sqlite3_vtab_in(), sqlite3_vtab_distinct()
constexpr std::uint64_t kMaxRearrangedSpans = 8'000'000;  // beyond, sorting by SQLite spills to disk instead of filling memory

char operator_character(unsigned char op) {
    switch (op) {
        case SQLITE_INDEX_CONSTRAINT_EQ: return kEqual;
        case SQLITE_INDEX_CONSTRAINT_LT: return kLess;
        case SQLITE_INDEX_CONSTRAINT_LE: return kLessEqual;
        case SQLITE_INDEX_CONSTRAINT_GT: return kGreater;
        case SQLITE_INDEX_CONSTRAINT_GE: return kGreaterEqual;
        default: return '\0';
    }
}

/// Whether a scan can be narrowed by `column op value`.
bool can_narrow(const SpanColumn& column, char op) {
    switch (column.field) {
        case SpanField::start:
        case SpanField::end: return op != '\0';
        case SpanField::stored: return op == kEqual && !is_real(column.stored);
        case SpanField::id:
        case SpanField::name:
        case SpanField::kind:
        case SpanField::source:
        case SpanField::rank:
        case SpanField::device:
        case SpanField::stream:
        case SpanField::track:
        case SpanField::lane:
        case SpanField::parent:
        case SpanField::collective: return op == kEqual;
        default: return false;
    }
}

bool is_text(const SpanColumn& column) { return column.field == SpanField::kind || column.field == SpanField::name; }

/// Texts are compared byte by byte here, so another collation must stay with SQLite.
bool has_binary_collation(sqlite3_index_info* info, int constraint) {
    const char* collation = sqlite3_vtab_collation(info, constraint);
    return collation == nullptr || sqlite3_stricmp(collation, "BINARY") == 0;
}

struct Estimate {
    double cost = 0, rows = 0;
    bool unique = false;

    void narrow(const SpanColumn& column) {
        switch (column.field) {
            case SpanField::id: unique = true; return at_most(1, 1);
            case SpanField::parent: return at_most(60, 20);
            case SpanField::kind: return share(0.3, 0.3);
            case SpanField::start:
            case SpanField::end: return share(0.2, 0.2);
            case SpanField::name: return share(0.1, 0.01);
            case SpanField::collective: return share(0.1, 0.02);
            case SpanField::stored: break;
            default: return share(0.1, 0.1);
        }
        if (column.stored == Column::correlation) return at_most(4, 3);
        if (column.stored == Column::launch) return at_most(5, 4);
        share(0.1, 0.01);
    }

private:
    void at_most(double c, double r) {
        cost = std::min(cost, c);
        rows = std::min(rows, r);
    }
    void share(double c, double r) {
        cost = std::max(cost * c, std::min(cost, 50.0));
        rows = std::max(rows * r, 1.0);
    }
};

/// The integer that a value equals under the rules of an INTEGER column; none where no integer does.
std::optional<std::int64_t> equal_integer(sqlite3_value* value) {
    switch (sqlite3_value_numeric_type(value)) {
        case SQLITE_INTEGER: return sqlite3_value_int64(value);
        case SQLITE_FLOAT: {
            const double real = sqlite3_value_double(value);
            if (std::nearbyint(real) == real && std::abs(real) < 9.2e18) return static_cast<std::int64_t>(real);
            return std::nullopt;
        }
        default: return std::nullopt;
    }
}

std::string_view text_of(sqlite3_value* value) {
    const auto* text = reinterpret_cast<const char*>(sqlite3_value_text(value));
    return text ? std::string_view(text, static_cast<std::size_t>(sqlite3_value_bytes(value))) : std::string_view();
}

std::uint32_t kind_bit(sqlite3_value* value) {
    if (sqlite3_value_type(value) == SQLITE_NULL) return 0;
    const std::string_view text = text_of(value);
    for (int kind = 0; kind < kSpanKindCount; ++kind) {
        if (kind_name(static_cast<SpanKind>(kind)) == text) return 1u << kind;
    }
    return 0;
}

std::uint32_t kind_bits(sqlite3_value* list) {
    std::uint32_t bits = 0;
    sqlite3_value* value = nullptr;
    for (int code = sqlite3_vtab_in_first(list, &value); code == SQLITE_OK && value; code = sqlite3_vtab_in_next(list, &value))
        bits |= kind_bit(value);
    return bits;
}

/// Narrows [low, high] by a comparison. What is no number is left to SQLite, which checks every row again.
void narrow_times(TimeNs& low, TimeNs& high, char op, sqlite3_value* value) {
    const int type = sqlite3_value_numeric_type(value);
    constexpr TimeNs least = std::numeric_limits<TimeNs>::min(), most = std::numeric_limits<TimeNs>::max();
    TimeNs below = 0, above = 0;  // the value rounded down and up
    if (type == SQLITE_INTEGER) {
        below = above = sqlite3_value_int64(value);
    } else if (type == SQLITE_FLOAT && std::abs(sqlite3_value_double(value)) < 9.2e18) {
        below = static_cast<TimeNs>(std::floor(sqlite3_value_double(value)));
        above = static_cast<TimeNs>(std::ceil(sqlite3_value_double(value)));
    } else {
        return;
    }
    if (op == kEqual || op == kGreaterEqual) low = std::max(low, above);
    if (op == kEqual || op == kLessEqual) high = std::min(high, below);
    if (op == kGreater) low = std::max(low, below == most ? most : below + 1);
    if (op == kLess) high = std::min(high, above == least ? least : above - 1);
}

void narrow_equal(SpanFilter& filter, const SpanColumn& column, std::int64_t value) {
    constexpr std::int64_t track_limit = std::int64_t{1} << 24;
    switch (column.field) {
        case SpanField::id:
            filter.nothing |= value < 0 || (filter.span && filter.span->value != value);
            filter.span = SpanId{value};
            break;
        case SpanField::track:
            filter.nothing |=
                value < 0 || value >= track_limit || (filter.track && index_of(*filter.track) != static_cast<std::uint32_t>(value));
            filter.track = TrackId{static_cast<std::uint32_t>(value)};
            break;
        case SpanField::parent:
            filter.nothing |= value < 0 || (filter.parent && filter.parent->value != value);
            filter.parent = SpanId{value};
            break;
        case SpanField::source: filter.track_equal.emplace_back(TrackFact::source, value); break;
        case SpanField::rank: filter.track_equal.emplace_back(TrackFact::rank, value); break;
        case SpanField::device: filter.track_equal.emplace_back(TrackFact::device, value); break;
        case SpanField::stream: filter.track_equal.emplace_back(TrackFact::stream, value); break;
        case SpanField::lane: filter.track_equal.emplace_back(TrackFact::lane, value); break;
        case SpanField::stored:
            filter.nothing |= value == kNull;
            if (column.stored == Column::correlation && !filter.correlation)
                filter.correlation = value;
            else if (column.stored == Column::launch && !filter.launch)
                filter.launch = SpanId{value};
            else
                filter.equal.emplace_back(column.stored, value);
            break;
        default: break;
    }
}

/// What all rows of a track share, behind a column that has such a thing.
std::optional<TrackFact> track_fact(SpanField field) {
    switch (field) {
        case SpanField::track: return TrackFact::track;
        case SpanField::source: return TrackFact::source;
        case SpanField::rank: return TrackFact::rank;
        case SpanField::device: return TrackFact::device;
        case SpanField::stream: return TrackFact::stream;
        case SpanField::lane: return TrackFact::lane;
        default: return std::nullopt;
    }
}

/// The terms of the order that a query wants, where a scan can bring its rows so: one column to group by, or columns of tracks and
/// then the start. Empty where it cannot.
std::string plan_order(sqlite3_index_info* info, std::uint64_t span_count) {
    if (info->nOrderBy == 0 || span_count > kMaxRearrangedSpans) return {};
    const auto columns = span_columns();
    const auto term = [](int at, char op) { return std::string{static_cast<char>(kFirstColumnCharacter + at), op}; };
    const int first = info->aOrderBy[0].iColumn < 0 ? 0 : info->aOrderBy[0].iColumn;
    const SpanColumn& column = columns[static_cast<std::size_t>(first)];
    if (info->nOrderBy == 1 && ((column.field == SpanField::stored && !is_real(column.stored)) || is_text(column))) {
        const int use = sqlite3_libversion_number() >= kVersionWithIn ? sqlite3_vtab_distinct(info) : 0;
        if (use != 1 && use != 2) return {};  // plain sorting is left to SQLite
        return term(first, info->aOrderBy[0].desc ? kGroupByDescending : kGroupBy);
    }
    std::string plan;
    for (int i = 0; i < info->nOrderBy; ++i) {
        const int at = info->aOrderBy[i].iColumn;
        if (at < 0 || info->aOrderBy[i].desc) return {};
        const SpanField field = columns[static_cast<std::size_t>(at)].field;
        const bool last_start = field == SpanField::start && i + 1 == info->nOrderBy;
        if (!track_fact(field) && !last_start) return {};
        plan += term(at, kOrderBy);
    }
    return plan;
}

void order_by(RowOrder& order, const SpanColumn& column, char op) {
    if (op == kOrderBy) {
        if (const std::optional<TrackFact> fact = track_fact(column.field))
            order.facts.push_back(*fact);
        else
            order.start = true;
        return;
    }
    order.descending = op == kGroupByDescending;
    order.numbers = column.field == SpanField::stored;
    order.value = column.field == SpanField::name ? Column::name : column.field == SpanField::kind ? Column::kind : column.stored;
}

/// Few rows, found by an index: not worth another order.
bool is_indexed(const SpanColumn& column) {
    return column.field == SpanField::id ||
           (column.field == SpanField::stored && (column.stored == Column::correlation || column.stored == Column::launch));
}

}  // namespace

int plan_scan(sqlite3_index_info* info, std::uint64_t span_count) {
    const auto columns = span_columns();
    const double all = static_cast<double>(std::max<std::uint64_t>(span_count, 1));
    Estimate estimate{all, all, false};
    std::string plan;
    bool indexed = false;
    for (int i = 0; i < info->nConstraint; ++i) {
        const auto& constraint = info->aConstraint[i];
        if (!constraint.usable) continue;
        const std::size_t at = constraint.iColumn < 0 ? 0 : static_cast<std::size_t>(constraint.iColumn);  // the rowid is the id
        char op = operator_character(constraint.op);
        if (at >= columns.size() || !can_narrow(columns[at], op)) continue;
        const SpanColumn& column = columns[at];
        if (is_text(column) && !has_binary_collation(info, i)) continue;
        if (column.field == SpanField::kind && sqlite3_libversion_number() >= kVersionWithIn && sqlite3_vtab_in(info, i, -1)) {
            sqlite3_vtab_in(info, i, 1);
            op = kIn;
        }
        const bool time = column.field == SpanField::start || column.field == SpanField::end;
        plan += static_cast<char>(kFirstColumnCharacter + static_cast<int>(at));
        plan += op;
        info->aConstraintUsage[i].argvIndex = static_cast<int>(plan.size() / 2);
        info->aConstraintUsage[i].omit = time || column.field == SpanField::collective ? 0 : 1;
        estimate.narrow(column);
        indexed = indexed || is_indexed(column);
    }
    if (const std::string order = indexed ? std::string() : plan_order(info, span_count); !order.empty()) {
        plan += order;
        info->orderByConsumed = 1;
    }
    info->idxStr = sqlite3_mprintf("%s", plan.c_str());
    if (!info->idxStr) return SQLITE_NOMEM;
    info->needToFreeIdxStr = 1;
    info->estimatedCost = estimate.cost;
    info->estimatedRows = static_cast<sqlite3_int64>(estimate.rows);
    if (estimate.unique) info->idxFlags |= SQLITE_INDEX_SCAN_UNIQUE;
    if (info->nOrderBy == 1 && info->aOrderBy[0].iColumn <= 0 && !info->aOrderBy[0].desc) info->orderByConsumed = 1;
    return SQLITE_OK;
}

SpanFilter filter_of_plan(std::string_view plan, sqlite3_value** values, SpanStore& store) {
    SpanFilter filter;
    const auto columns = span_columns();
    for (std::size_t i = 0; i + 1 < plan.size(); i += 2) {
        const SpanColumn& column = columns[static_cast<std::size_t>(plan[i] - kFirstColumnCharacter)];
        const char op = plan[i + 1];
        if (op == kGroupBy || op == kGroupByDescending || op == kOrderBy) {
            order_by(filter.order, column, op);
            continue;
        }
        sqlite3_value* const value = values[i / 2];
        if (column.field == SpanField::kind) {
            filter.kinds &= op == kIn ? kind_bits(value) : kind_bit(value);
            filter.nothing |= filter.kinds == 0;
        } else if (sqlite3_value_type(value) == SQLITE_NULL) {
            filter.nothing = true;
        } else if (column.field == SpanField::name) {
            const std::optional<NameId> name = store.find_name(text_of(value));
            filter.nothing |= !name;
            if (name) filter.equal.emplace_back(Column::name, index_of(*name));
        } else if (column.field == SpanField::start) {
            narrow_times(filter.start_min, filter.start_max, op, value);
        } else if (column.field == SpanField::end) {
            narrow_times(filter.end_min, filter.end_max, op, value);
        } else if (column.field == SpanField::collective) {
            if (equal_integer(value) == 1) filter.flags |= flag_collective;
        } else if (const std::optional<std::int64_t> number = equal_integer(value)) {
            narrow_equal(filter, column, *number);
        } else {
            filter.nothing = true;
        }
    }
    return filter;
}

}  // namespace faultline::FAULTLINE_SQLITE_FORM
