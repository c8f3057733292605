#include "importers/nsys/export_strings.h"

#include <fmt/format.h>

namespace faultline::nsys {

namespace {

constexpr std::string_view kTable = "StringIds";
constexpr std::int64_t kDenseIds = std::int64_t{1} << 22;  // beyond it ids are kept in a map

constexpr bool continues(unsigned char c) noexcept { return (c & 0xC0u) == 0x80u; }

/// Length of the well-formed UTF-8 sequence at `at` (RFC 3629 §4), 0 where there is none.
std::size_t sequence_length(std::string_view text, std::size_t at) noexcept {
    const auto byte = [&](std::size_t i) { return at + i < text.size() ? static_cast<unsigned char>(text[at + i]) : 0u; };
    const unsigned first = byte(0);
    if (first < 0x80) return first == 0 ? 0 : 1;
    if (first >= 0xC2 && first <= 0xDF) return continues(static_cast<unsigned char>(byte(1))) ? 2 : 0;
    const auto tail = [&](std::size_t from, std::size_t to) {
        for (std::size_t i = from; i <= to; ++i)
            if (!continues(static_cast<unsigned char>(byte(i)))) return false;
        return true;
    };
    const unsigned second = byte(1);
    if (first >= 0xE0 && first <= 0xEF) {
        const bool fits = first == 0xE0 ? second >= 0xA0 : first != 0xED || second <= 0x9F;
        return fits && tail(1, 2) ? 3 : 0;
    }
    if (first >= 0xF0 && first <= 0xF4) {
        const bool fits = first == 0xF0 ? second >= 0x90 : first != 0xF4 || second <= 0x8F;
        return fits && tail(1, 3) ? 4 : 0;
    }
    return 0;
}

}  // namespace

std::optional<std::string> repaired_text(std::string_view text) {
    std::size_t at = 0;
    while (at < text.size()) {
        const std::size_t n = sequence_length(text, at);
        if (n == 0) break;
        at += n;
    }
    if (at == text.size()) return std::nullopt;
    std::string out(text.substr(0, at));
    while (at < text.size()) {
        const std::size_t n = sequence_length(text, at);
        out += n == 0 ? std::string_view("\xEF\xBF\xBD") : text.substr(at, n);
        at += n == 0 ? 1 : n;
    }
    return out;
}

std::string_view without_version(std::string_view name) noexcept {
    const std::size_t last = name.find_last_not_of("0123456789");
    if (last == std::string_view::npos || last + 1 == name.size() || last < 1) return name;
    return name[last] == 'v' && name[last - 1] == '_' && last >= 2 ? name.substr(0, last - 1) : name;
}

ExportStrings::ExportStrings(const ScanContext& context, SourceBuilder& source) : context_(context), source_(source) {
    if (!context_.db.has_column(kTable, "id") || !context_.db.has_column(kTable, "value")) return;
    for (const TableColumn& column : context_.db.columns(kTable)) {
        if (column.name != "id") continue;
        if (!column.key) {
            load_all();
            return;
        }
    }
    if (Result<sql::Statement> statement = context_.db.connection().prepare("SELECT value FROM StringIds WHERE id = ?1"))
        by_id_ = std::move(*statement);
}

/// Without a key a look-up would read the whole table.
void ExportStrings::load_all() {
    loaded_ = true;
    TableScan rows(context_, kTable, {"id", "value"}, {{}, {}, TableScan::Losses::noted});
    while (rows.next()) all_.emplace(rows.integer(0), rows.text(1));
}

std::uint32_t& ExportStrings::slot(Known& dense, std::unordered_map<std::int64_t, std::uint32_t>& sparse, std::int64_t id) {
    if (id < 0 || id >= kDenseIds) return sparse.try_emplace(id, kUnknown).first->second;
    const auto at = static_cast<std::size_t>(id);
    if (at >= dense.size()) dense.resize(std::max(at + 1, dense.size() * 2), kUnknown);
    return dense[at];
}

std::optional<std::string> ExportStrings::look_up(std::int64_t id) {
    if (loaded_) {
        const auto found = all_.find(id);
        return found == all_.end() ? std::nullopt : std::optional(found->second);
    }
    if (by_id_.handle() == nullptr) return std::nullopt;
    by_id_.bind(1, id);
    const Result<bool> row = by_id_.step();
    std::optional<std::string> found;
    if (row && *row && !by_id_.is_null(0)) found = std::string(by_id_.text(0));
    by_id_.reset();
    return found;
}

std::string ExportStrings::text(std::int64_t id) {
    const std::optional<std::string> found = look_up(id);
    if (!found) return {};
    return repaired_text(*found).value_or(*found);
}

NameId ExportStrings::name_of(std::string_view text) {
    const std::optional<std::string> repaired = repaired_text(text);
    if (!repaired) return source_.name(text);
    context_.ledger.note("nsys.encoding", "Names that are no UTF-8 were repaired with replacement characters", *repaired);
    return source_.name(*repaired);
}

NameId ExportStrings::name(std::int64_t id) {
    std::uint32_t& known = slot(names_, far_names_, id);
    if (known != kUnknown) return NameId{known};
    const std::optional<std::string> found = id == kNull ? std::optional<std::string>("(no name)") : look_up(id);
    if (!found)
        context_.ledger.note("nsys.no-string", "A name is not in the table of strings; its number stands for it",
                             fmt::format("string {}", id));
    known = index_of(name_of(found.value_or(fmt::format("string {}", id))));
    return NameId{known};
}

NameId ExportStrings::call_name(std::int64_t id) {
    std::uint32_t& known = slot(call_names_, far_call_names_, id);
    if (known != kUnknown) return NameId{known};
    const NameId whole = name(id);
    // The view would not outlive the next name that is interned.
    const std::string stripped(without_version(source_.names().text(whole)));
    known = index_of(source_.name(stripped));
    return NameId{known};
}

}  // namespace faultline::nsys
